//! Windows in the place of buckets, in small worlds drawn by seed: nothing may be found.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use tollgate_lab::{FaultLevel, check_window, random_window, random_world};

/// Worlds of each weather.
const WORLDS: u64 = 1_000;

#[test]
fn messages_are_instant_and_shares_strict() {
    look_at_all(FaultLevel::Strict);
}

#[test]
fn messages_are_instant() {
    look_at_all(FaultLevel::Calm);
}

#[test]
fn everything_may_fail() {
    look_at_all(FaultLevel::Rough);
}

fn look_at_all(weather: FaultLevel) {
    for seed in 1..=WORLDS {
        let (cluster, trace) = random_world(weather, seed);
        let law = random_window(seed);
        let found = check_window(&cluster, law, &trace, seed).unwrap();
        assert!(
            found.is_empty(),
            "{weather:?} world {seed}, {law:?}: {found:?}"
        );
    }
}
