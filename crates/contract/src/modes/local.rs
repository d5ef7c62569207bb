//! The row of `local`.

use super::{Decider, ModeRow};

pub(super) const ROW: ModeRow = ModeRow::new("each node alone", Decider::Alone);
