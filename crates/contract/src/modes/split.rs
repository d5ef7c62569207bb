//! The row of `split`.

use tollgate_limit::Algorithm;

use super::{Coordination, Decider, ModeRow};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[Algorithm::TokenBucket, Algorithm::LeakyBucket],
    instead: (
        &[Coordination::Gossip, Coordination::Lease],
        Algorithm::TokenBucket,
    ),
    ..ModeRow::new("split buckets", Decider::Roster)
};
