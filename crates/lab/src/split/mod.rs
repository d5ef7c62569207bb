//! A bucket cut into sub-buckets: topics, brokers, a world for borrowing, who judges, and the experiments.
//!
//! The sub-buckets, the adaptor, the distributor and the profile are those of `tollgate-split`; the broker is a model.
//! Not here: the protocol itself. Faults of the network are in `campaign`, which is tests.

mod broker;
#[cfg(test)]
mod campaign;
mod experiment;
mod fitting;
mod measure;
mod row;
#[cfg(test)]
mod tests;
mod topic;
mod traffic;
mod world;

pub(crate) use experiment::{
    adaptor, borrow, eq1, fig6a, fig6b, fig7, fig8, fig9, fig11, profiling, prop1, table1,
};
pub use row::{SplitMore, SplitRow};
