//! What designs that pass supply are put through: requests, clocks that drift, messages that are lost, doubled and
//! late, crashes, cuts.
//!
//! One seed, one history. Not here: what carries messages (`nodes`), the designs, and what is wrong with them.

mod demand;
mod drive;
mod member;
mod outcome;
mod plot;
mod units;

pub(crate) use demand::{DemandArrivals, Phase, zipf};
pub(crate) use drive::simulate;
pub(crate) use member::{Audited, Fleet, MemberStart, Passed, Sharer};
pub(crate) use outcome::{HoldingSample, SupplyOutcome};
pub(crate) use plot::{ClusterChange, Plot, RACK, SupplySetting};
pub(crate) use units::{MILLI, PER_SECOND, REQUEST, SECOND, WHOLE, part};
