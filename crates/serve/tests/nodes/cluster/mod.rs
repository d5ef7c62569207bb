//! Several servers in one process that count as one, over real sockets.
//!
//! Not here: processes that are killed and networks that are cut (`crates/tollgate/tests`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad;
mod count;
mod identity;
mod keys;
pub(crate) mod kit;
mod measure;
mod missing;
mod numbers;
mod relay;
mod strangers;
mod streams;
mod synced;
mod uncounted;
mod versions;
