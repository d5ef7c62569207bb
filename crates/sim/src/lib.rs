//! What every simulated world has in common: one agenda, one network, one clock for each node, and what goes wrong with
//! them.
//!
//! A world owns its machines, its requests and its judges. It calls [`Sim::next`] for the next event, lets a machine
//! handle
//! it, sends that machine's messages ([`Sim::post`]) and sets its alarm ([`Sim::wake_at`]). Times are
//! whole numbers; whether they are nanoseconds or microseconds is the world's choice. The same seed and the same calls
//! give the same history.
//!
//! Not here: machines, bytes, requests, judges, and random generators, which the world provides.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod clock;
mod links;
mod sim;

pub use clock::SimClock;
pub use links::{Conditions, Links, RandomSource};
pub use sim::{Sim, SimEvent};
