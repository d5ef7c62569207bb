//! Supply that is passed around: what is asked of it in the world of whole nodes, its judges, rivals, and the
//! experiments.
//!
//! Not here: the protocol itself, which the server runs too.

#[cfg(test)]
mod campaign;
mod cells;
mod design;
mod experiment;
mod loans;
mod picture;
mod rival;
mod rounds;
mod row;
mod scenario;
mod schedule;
pub(crate) mod stage;
mod sums;
#[cfg(test)]
mod tests;

pub(crate) use experiment::{bars, convergence, faults, flow, scenarios, sweep};
pub use row::{SupplyMore, SupplyRow};
