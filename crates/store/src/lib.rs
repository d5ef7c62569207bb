//! What is asked of an engine that decides for many nodes, and what is made of its answers.
//!
//! An [`Engine`] keeps a state for every key in its own form and changes it atomically. It is asked in batches of
//! [`Ask`]s, each by the policies of one [`Book`], and says what it found; whatever is derived from that (what is left,
//! how long to wait, the receipt) is worked out here, by the same code that decides in memory. [`Breaker`] says when
//! not to ask at all. What others work out for themselves an engine keeps as a ledger: bytes that are loaded and
//! swapped.
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

pub use ask::{Ask, Change, ChangeKind, Name, Said, Verb};
pub use book::{Book, Found, Next, Write};
pub use breaker::{Breaker, BreakerConfig, Go};
pub use clock::{APART_MAX, Clock};
pub use engine::{Engine, Failure};
pub use ledger::{LedgerId, Loaded, Swap, Swapped, Version};
pub use memory::Memory;
pub use shape::{Old, Shape};
