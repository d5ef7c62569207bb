//! Scenes, by hand and by chance, of machines alone. What happens to many of them is tried in the lab.

mod bundling;
pub(crate) mod dice;
mod holding;
mod ledgers;
mod lending;
mod promises;
mod promising;
mod scenes;
mod synced;
mod syncing;
mod windows;
mod wiring;
