//! The row of `supply`.

use tollgate_limit::Algorithm;

use super::{Coordination, Decider, ModeRow};

pub(super) const ROW: ModeRow = ModeRow {
    algorithms: &[Algorithm::TokenBucket, Algorithm::LeakyBucket],
    instead: (&[Coordination::Lease], Algorithm::TokenBucket),
    ..ModeRow::new("supply", Decider::Roster)
};
