//! The row of `store`.

use super::{Decider, ModeRow};

pub(super) const ROW: ModeRow = ModeRow::new("a shared store", Decider::Store);
