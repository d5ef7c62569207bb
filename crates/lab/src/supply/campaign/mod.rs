//! Whole nodes that share a limit, judged by the audit and by a ghost: random faults, changes, and named scenes.
//!
//! `SEED=n` replays one schedule of a campaign; `SCHEDULES=n` runs so many. Not here: one machine on its own, and
//! frames that lie, which the tests of `tollgate-supply` have.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "numbers of a small world, in a test"
)]

mod changes;
mod ends;
mod faults;
mod scenes;
mod world;
