//! What is asked of an engine that decides for many nodes, and what is made of its answers.
//!
//! An [`Engine`] keeps a state for every key in its own form and changes it atomically. It is asked in batches of
//! [`StoreRequest`]s, each by the policies of one [`Book`], and says what it found; whatever is derived from that (what
//! is left, how long to wait, the receipt) is worked out here, by the same code that decides in memory. [`Breaker`]
//! says when not to ask at all. What others work out for themselves an engine keeps as a ledger: bytes that are loaded
//! and swapped.
//!
//! Deliberately absent: engines (`tollgate-store-redis`, `tollgate-store-sql`), sockets, clocks, and what a policy
//! wants done when there is no answer (`tollgate-serve`).

mod ask;
mod book;
mod breaker;
mod clock;
mod engine;
mod ledger;
mod memory;
mod own;
mod shape;

pub use ask::{ChangeKind, EngineAnswer, Name, StoreChange, StoreRequest, Verb};
pub use book::{Book, KeyWrite, StoredKey, Write};
pub use breaker::{Breaker, BreakerConfig, Go};
pub use clock::{APART_MAX, ClockComparison};
pub use engine::{Engine, Failure};
pub use ledger::{LedgerId, LedgerVersion, LoadedLedger, Swap, Swapped};
pub use memory::Memory;
pub use shape::{ContractShape, Old};
