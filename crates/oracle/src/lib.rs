//! The slow, obvious model that exactness tests compare the product against.
//!
//! Nothing is clever here: levels are exact rationals, windows keep every charge that was ever made, and
//! every waiting time is found by searching for the first moment at which the same question gets another
//! answer. The crate shares no code with the product and does not depend on it, so that a mistake has to be
//! made twice to go unnoticed. `replay.py` in this crate is a second model, written with closed
//! formulas where this one searches.
//!
//! Deliberately absent: eviction, bounded memory, concurrency, policy changes, speed.
//!
//! ```
//! use tollgate_oracle::{ModelAlgorithm, Model, Period, Policy};
//!
//! let mut model = Model::new(vec![Policy::new(ModelAlgorithm::TokenBucket, 2, Period::Nanos(1_000))]);
//! assert!(model.check("a", 2, 0).allowed);
//! assert_eq!(model.check("a", 1, 0).retry_after, Some(500));
//! ```

#![allow(missing_docs, reason = "internal: comments say why, not what")]
#![allow(
    clippy::expect_used,
    reason = "only tests use this crate, and a broken model must stop them"
)]

mod bucket;
mod calendar;
mod history;
mod model;
mod operation;
mod policy;
mod search;
pub mod strategy;
mod window;

pub use bucket::{LeakyBucket, TokenBucket};
pub use history::History;
pub use model::{KeyState, Model, ModelAnswer, ModelReceipt, PolicyAnswer};
pub use operation::Operation;
pub use policy::{ModelAlgorithm, Period, Policy};
pub use window::SlotCosts;
