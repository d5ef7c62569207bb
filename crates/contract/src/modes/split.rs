//! The row of `split`.

use tollgate_limit::Algorithm;

use super::{Coordination, Decider, Feature, ModeRow};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[Algorithm::TokenBucket, Algorithm::LeakyBucket],
    instead: (
        &[Coordination::Gossip, Coordination::Lease],
        Algorithm::TokenBucket,
    ),
    lacks: &[(
        Feature::Durable,
        "under split a bucket begins empty after a start, whatever it held, so that nothing is admitted twice; leave `durable` \
         out, or use `coordination: gossip`, `owner` or `store`",
    )],
    ..ModeRow::new("split buckets", Decider::Roster)
};
