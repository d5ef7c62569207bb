//! Where limiters get the time from: the machine, in two ways, or a test.
//!
//! [`SystemClock`] is the time of day, which takes no step with the wall clock; [`SteadyClock`] counts from the
//! machine's start and is what terms of leases are counted on; a [`FakeClock`] stands still. Deliberately not here:
//! what is done about a step.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod course;
mod steady;
mod system;

pub use course::{ClockStanding, ClockStep};
pub use steady::SteadyClock;
pub use system::{Clock, FakeClock, SystemClock};
