//! Leases and the older `sync`: clients of a whole node, their judges, and the experiments.
//!
//! Not here: the protocol itself, which is a crate of its own.

#[cfg(test)]
mod calm;
mod campaign;
mod cells;
mod check;
mod design;
mod experiment;
mod others;
mod row;
mod scenario;
mod schedule;
mod story;
#[cfg(test)]
mod tests;
mod world;

pub use campaign::{LeaseTrial, LeaseTried};
pub(crate) use experiment::{cost, distance, failover, faults, sync, utilisation};
pub use row::{LeaseExpected, LeaseMore, LeaseRow, LeaseSync};
pub use story::{LeaseEvent, LeaseStory, LeaseTold};
