//! Machines and their adaptor in a small world, judged by a ghost: random faults, changes, lies, and named scenes.
//!
//! `SEED=n` replays one schedule of a campaign; `SCHEDULES=n` runs so many.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "numbers of a small world, in a test"
)]

mod faults;
mod ghost;
mod laws;
mod scenes;
mod world;
