//! A world of nodes that pass supply: requests, clocks that drift, messages that are lost, doubled and late, crashes,
//! cuts.
//!
//! One seed, one history. Not here: the designs, and what is wrong with them.

mod demand;
mod member;
mod outcome;
mod plot;
mod sim;
mod units;

pub(crate) use demand::{Arrivals, Phase, zipf};
pub(crate) use member::{Body, Fleet, Member, Seat};
pub(crate) use outcome::{Outcome, Sample};
pub(crate) use plot::{Change, Plot, RACK, Setting};
pub(crate) use sim::simulate;
pub(crate) use units::{MILLI, PER_SECOND, REQUEST, SECOND, WHOLE, part};
