//! Policies, cells and the decision functions.
//!
//! Every algorithm here is a pure function of (state, policy, now, cost): integers only, no clock, no randomness,
//! no I/O, and no panic for any input. A [`PolicySet`] is the policies of one contract; it decides over a [`Cell`],
//! which is everything remembered about one key.
//!
//! Deliberately absent: keys and their matching (`contract`), where cells live (`table`), names of policies, nodes.
//!
//! ```
//! use tollgate_limit::{Cell, Cost, Instant, Lot, Period, Policy, PolicyConfig, PolicySet, Verdict};
//!
//! let config = PolicyConfig::token_bucket(2, Period::from_nanos(1_000_000_000));
//! let set = PolicySet::new(vec![Policy::new(config)?])?;
//! let mut cell = Cell::<1>::fresh(&set);
//! let now = Instant::from_nanos(0);
//!
//! assert_eq!(set.check(&mut cell, Cost::ONE, now, Lot::ALWAYS).decision.remaining, 1);
//! assert_eq!(set.check(&mut cell, Cost::ONE, now, Lot::ALWAYS).decision.remaining, 0);
//! let third = set.check(&mut cell, Cost::ONE, now, Lot::ALWAYS).decision;
//! assert!(matches!(third.verdict, Verdict::Deny { retry_after } if retry_after.as_nanos() == 500_000_000));
//! # Ok::<(), tollgate_limit::PolicyError>(())
//! ```

mod bucket;
mod calendar;
mod cell;
mod cell_bytes;
mod change;
mod config;
mod decision;
mod forecast;
mod kept;
mod log;
mod operation;
mod plain;
mod policy;
mod ratio;
mod set;
mod slices;
mod state;
mod tally;
mod terms;
mod time;
mod weighted;
mod window;

pub use calendar::Calendar;
pub use cell::Cell;
pub use cell_bytes::{CellBytes, CellError};
pub use config::{
    Algorithm, Inherit, LIMIT_MAX, OnLimit, PERIOD_NS_MAX, Period, PolicyConfig, PolicyError,
    SLICES_MAX,
};
pub use decision::{Charge, Cost, CostTooLarge, Decision, Lot, Outcome, Refusing, Verdict};
pub use forecast::Forecast;
pub use kept::KeptState;
pub use operation::OperationId;
pub use plain::{Plain, PlainDecision};
pub use policy::{Policy, Quota};
pub use set::{KeyStatus, POLICIES_MAX, PolicySet};
pub use terms::RequestTerms;
pub use time::{Instant, Span};
