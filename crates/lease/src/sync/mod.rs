//! The older scheme: nodes synchronise now and then.
//!
//! Every node decides at once from the level it believes a key to have, the whole bucket at first. Of the live nodes
//! one is the centre of a key, by the ranking of gossip's `home`; it counts its own requests at once. The others tell
//! it every interval what they spent of keys that changed, as counts that only grow, and take over its level, less what
//! that does not include yet. They say it again until they are answered. Where a key is at least half full, what little
//! was spent of it waits for more keys to be told with. A node that becomes the centre goes on from
//! what it believes, or from the lowest level that it is told at first.
//!
//! This admits too much: [`Syncing::over_max`] says how much it may be, [`SyncStand`] what the centre saw. Not here:
//! sockets, clocks, who lives, and a limit that holds; that is a lease.

mod bucket;
mod centre;
mod config;
mod entry;
mod lists;
mod machine;
mod part;
mod printed;
mod status;
mod talk;
mod wire;

pub use config::{Overdraft, SyncConfig};
pub use machine::{Syncing, SyncingSetup};
pub use part::Sync;
pub use printed::{Centre, Replica};
pub use status::{SyncCounts, SyncKey, SyncStand};
