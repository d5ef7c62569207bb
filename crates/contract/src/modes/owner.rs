//! The row of `owner`.

use super::{Decider, ModeRow};

pub(super) const ROW: ModeRow = ModeRow::new("the key's owner", Decider::Owner);
