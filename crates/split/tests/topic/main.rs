//! Machines and their adaptor in a small world, judged by a ghost: random faults, changes, lies, and named scenes.
//!
//! `SEED=n` replays one schedule of a campaign; `SCHEDULES=n` runs so many. Not here: laws of the arithmetic alone.

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

/// The schedules of a campaign: the usual number of them, unless asked otherwise.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    #[allow(
        clippy::disallowed_methods,
        reason = "a replay is asked for from outside"
    )]
    let setting = |name| std::env::var(name).ok()?.parse().ok();
    match setting("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("SCHEDULES").unwrap_or(usual),
    }
}
