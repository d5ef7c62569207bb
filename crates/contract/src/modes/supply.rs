//! The row of `supply`.

use tollgate_limit::Algorithm;

use super::{Coordination, Decider, Feature, ModeRow};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[Algorithm::TokenBucket, Algorithm::LeakyBucket],
    instead: (&[Coordination::Lease], Algorithm::TokenBucket),
    lacks: &[(
        Feature::Durable,
        "under supply a bucket begins empty after a start, whatever it held, so that nothing is admitted twice; leave `durable` \
         out, or use `coordination: gossip`, `owner` or `store`",
    )],
    ..ModeRow::new("supply", Decider::Roster)
};
