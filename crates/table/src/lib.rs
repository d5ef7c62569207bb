//! Where cells live in memory: sharded, dense, and bounded both in bytes and in work per request.
//!
//! A [`Table`] maps the [`Print`] of a key to a cell. It never sees the key itself, never reads a
//! clock and never draws a random number: the caller brings the [`Seed`], the time and the
//! [`CellRules`] of its cells. Several tables may share one [`Budget`] of bytes.
//!
//! ```
//! use std::sync::Arc;
//! use tollgate_table::{Budget, CellRules, Seed, MemoryShare, Table, TableConfig};
//!
//! struct Counted;
//! impl CellRules<u64> for Counted {
//!     fn fresh_at(&self, _cell: &u64) -> u64 {
//!         u64::MAX
//!     }
//!     fn heap_bytes(&self, _cell: &u64) -> usize {
//!         0
//!     }
//! }
//!
//! let seed = Seed::new([1, 2]);
//! let budget = Arc::new(Budget::new(1 << 20));
//! let table = Table::new(Counted, TableConfig::default(), MemoryShare::equal(&budget));
//! let print = seed.bytes(b"user 7");
//! let count = |cell: Option<&mut u64>| match cell {
//!     Some(count) => {
//!         *count += 1;
//!         (*count, None)
//!     }
//!     None => (1, Some(1)),
//! };
//! assert_eq!(table.update(print, 0, count), Ok(1));
//! assert_eq!(table.update(print, 0, count), Ok(2));
//! ```
//!
//! Deliberately not here: what a cell means and how a request is decided, the keys, expiry by a
//! background thread (a shell calls [`Table::drop_fresh`] when it is idle), and writing cells to
//! disk.

mod account;
mod batch;
mod budget;
mod config;
mod directory;
mod growth;
mod lock;
mod page;
mod prefetch;
mod print;
mod room;
mod share;
mod table;

pub use budget::Budget;
pub use config::{CellRules, Counters, Full, Sweep, TableConfig, WhenFull};
pub use print::{Print, PrintHasher, Seed};
pub use share::{Holder, MemoryShare};
pub use table::{LockedPage, PageSpot, Table};
