//! The one world: whole nodes as the daemon runs them, under everything that the simulator can do to them.
//!
//! [`NodeWorld`] has nodes, which count, lend and divide by the contracts that it is given. They come, crash, restart
//! with or without their disk, change numbers and contracts; clocks, links and pauses are those of `sim`. Judges are
//! [`Observer`]s: they hear every decision and share no code with what decides. [`Net`] is what carries messages
//! between members of any kind: also places that hold leases of what nodes lend (`site`), and designs that exist in the
//! lab alone. Not here: experiments.

pub mod control;
mod judge;
mod net;
pub(crate) mod site;
mod whole;
mod world;

pub use crate::dice::LabDice;
pub use judge::{Decision, Observer, OneBucket};
pub(crate) use net::{Happened, address};
pub use net::{Member, Net, SentCounts};
pub use tollgate_sim::{Conditions, SimClock};
pub use whole::{NodeFrame, Whole};
pub use world::{NodeWorld, Prepare, START, contracts};
