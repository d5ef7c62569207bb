//! A whole node that grants, and clients that hold leases: requests, clocks that drift and step, messages that are
//! lost, doubled and late, crashes, cuts.
//!
//! One seed, one history. Not here: the designs, and what is wrong with them.

mod bench;
mod change;
mod client;
mod outcome;
mod party;
mod plot;
mod promise;
mod sight;
mod sim;

pub(crate) use outcome::LeaseOutcome;
pub(crate) use plot::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND, WindowOf, skewed};
pub(crate) use sim::simulate;
