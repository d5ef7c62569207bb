//! A world of one grantor and some clients, a checker that shares nothing with them, and what both show.

mod bundling;
pub(crate) mod dice;
mod ghost;
mod holding;
mod ledgers;
mod lending;
mod mutants;
mod naive;
mod promises;
mod promising;
mod scenes;
mod schedule;
mod sharing;
mod synced;
mod syncing;
mod windows;
mod wiring;
mod world;
