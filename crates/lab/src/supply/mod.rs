//! Supply that is passed around: a world for it, its judges, rivals, and the experiments.
//!
//! Not here: the protocol itself, which the server runs too.

mod cells;
mod check;
mod design;
mod experiment;
mod loans;
mod picture;
mod rival;
mod rounds;
mod row;
mod scenario;
mod schedule;
#[cfg(test)]
mod tests;
pub(crate) mod world;

pub(crate) use design::Design;
pub(crate) use experiment::{bars, convergence, faults, flow, scenarios, sweep};
pub(crate) use loans::Tuning;
pub use row::{SupplyMore, SupplyRow};
