//! Requests to an engine that decides for many nodes, and the evaluation of its answers.
//!
//! An [`Engine`] stores a state for every key in its own format and changes it atomically. Requests are batches of
//! [`StoreRequest`]s, each by the policies of one [`Book`]; the answer is the state that was found, and everything
//! derived from it (what is left, how long to wait, the receipt) is computed here, by the same code that decides in
//! memory. [`Breaker`] is the circuit breaker. State that nodes compute themselves is stored as a ledger: bytes that
//! are loaded and swapped.
//!
//! Deliberately absent: engines (`tollgate-store-redis`, `tollgate-store-sql`), sockets, clocks, and
//! `on_failure` (`tollgate-serve`).

#![allow(missing_docs, reason = "internal: comments say why, not what")]

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
