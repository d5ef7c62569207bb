//! What must hold, and whether it does.
//!
//! Not here: laws, which property tests hold.

use super::plan::Plan;
use crate::report::Report;

/// The name it is run by.
pub(super) const NAME: &str = "bars";

pub(super) fn plan() -> Plan {
    super::thesis::b()
}

/// Judges the rows.
pub(super) fn judge(_report: &mut Report) {}
