//! Sources of time for limiters: the machine, in two ways, or a test.
//!
//! [`SystemClock`] is the time of day, which does not step with the wall clock; [`SteadyClock`] counts from the
//! machine's start and measures terms of leases; a [`FakeClock`] stands still. Deliberately not here: the reaction to a
//! step.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod course;
mod steady;
mod system;

pub use course::{ClockStanding, ClockStep};
pub use steady::SteadyClock;
pub use system::{Clock, FakeClock, SystemClock};
