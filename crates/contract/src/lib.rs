//! The contract file: text in, checked types out; and which contracts bind a request.
//!
//! [`Contracts::parse`] reads the contract file, [`envoy::parse`] the descriptor file of envoyproxy/ratelimit, and
//! [`Contracts::parse_any`] whichever of the two it is given. Whatever is wrong with a file is a [`ContractErrors`]
//! that shows each place, never a panic. Checked contracts answer one question: which of them bind a request, and by
//! which values do they count it ([`Contracts::bind`]).
//!
//! Deliberately absent: files, clocks, and the decision itself (`tollgate-limit`).
//!
//! ```
//! use tollgate_contract::{Contracts, Descriptor};
//!
//! let contracts = Contracts::parse(
//!     "contracts:
//!   - id: free-users
//!     match: { plan: free }
//!     key: [user]
//!     policies:
//!       - { name: burst, limit: 20, per: 1s }
//! ",
//! )?;
//! let entries = [("plan", "free"), ("user", "42")];
//! let mut bound = Vec::new();
//! contracts.bind(&Descriptor::of(&entries), |index, identity| {
//!     bound.push((index, identity.collect::<Vec<_>>()));
//! });
//! assert_eq!(bound, [(0, vec!["42"])]);
//! # Ok::<(), tollgate_contract::ContractErrors>(())
//! ```

mod check;
mod code;
mod contract;
mod contracts;
mod dialect;
mod duration;
mod entries;
pub mod envoy;
mod error;
mod fields;
pub mod file;
mod index;
mod kept;
mod merge;
mod modes;
mod nearest;
mod plans;
mod policy;
mod problems;
mod raw;
mod scalar;
mod schema;
mod snippet;
mod source;
mod terms;
mod text;
mod yaml;

pub use contract::{Contract, NamedPolicy, OnFailure, are_lent};
pub use contracts::{Contracts, Unmatched};
pub use dialect::{Dialect, Reset};
pub use entries::{CounterIdentity, Descriptor};
pub use error::{ContractError, ContractErrors, ErrorKind};
pub use fields::{FieldShape, PolicyField};
pub use modes::{Coordination, Decider, Feature, ModeFields, ModeRow, Recovery};
pub use nearest::nearest;
pub use plans::Plans;
pub use schema::json_schema;
pub use source::Deal;
pub use terms::Terms;
pub use yaml::decode;

/// The largest contract file, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// The most contracts in one file.
pub const CONTRACTS_MAX: usize = 100_000;
/// The most policies in one file, counted in every contract that has them.
pub const POLICIES_TOTAL_MAX: usize = 500_000;
/// The most plans in one file.
pub const PLANS_MAX: usize = 10_000;
/// The most plans that follow each other, the last included.
pub const PLAN_DEPTH_MAX: usize = 8;
/// The most entries a contract matches, and the most it counts by.
pub const ENTRIES_MAX: usize = 64;
/// The longest id, name, entry key or entry value, in bytes.
pub const NAME_BYTES_MAX: usize = 256;
/// The most errors reported at once.
pub const ERRORS_MAX: usize = 20;
