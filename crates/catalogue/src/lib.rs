//! Contracts, plans, assignments and bans as live data: what is allowed, and what it means for a key.
//!
//! A [`Catalogue`] has the contracts and plans at one moment. An [`Assignment`] binds an [`Identity`] to a plan for
//! some
//! time, with overrides. [`Catalogue::ruling`] says what binds one key of one contract at one time. Every edit
//! is a [`Change`]: author, time, reason, and the documents before and after; [`differences`] compares
//! them.
//!
//! Deliberately absent: storage (`tollgate-catalogue-sql`), clocks, and decisions.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod assignment;
mod ban;
mod catalogue;
mod change;
mod deal;
mod diff;
mod identity;
mod refusal;
mod ruling;

pub use assignment::Assignment;
pub use ban::{BAN, Ban};
pub use catalogue::{Affected, Catalogue, documents, documents_within};
pub use change::{Change, Edit, Kind, Seen};
pub use deal::AssignmentShape;
pub use diff::{Difference, differences};
pub use identity::{Identity, candidates, first_of, range};
pub use refusal::Refusal;
pub use ruling::KeyRuling;
pub use tollgate_contract::NAME_BYTES_MAX;

/// A contract, a plan or an assignment in the canonical form in which it is stored.
pub type Document = serde_json::Value;

/// The largest document, in bytes.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;
/// The longest reason of a change, and the longest note of an assignment, in bytes.
pub const REASON_BYTES_MAX: usize = 500;
/// The most bans.
pub const BANS_MAX: u64 = 10_000;
/// The most assignments of one identity.
pub const ASSIGNMENTS_MAX: usize = 8;
