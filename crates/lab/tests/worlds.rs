//! Small worlds drawn by seed, all designs, all kinds of weather: nothing may be found.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{Contender, Weather, check, random_world};

/// Worlds of each weather per design; `--example worlds` draws as many as you like.
const WORLDS: u64 = 200;
/// Worlds with strict shares, for designs that are exact there: one in four thousand showed a mistake that nothing else
/// did.
const STRICT_WORLDS: u64 = 4_000;

#[test]
fn messages_are_instant_and_shares_strict() {
    look_at_all(Weather::Strict);
}

#[test]
fn messages_are_instant_and_shares_strict_where_answers_are_exact() {
    for kind in [Contender::Segments, Contender::Home] {
        let found: Vec<_> = (1..=STRICT_WORLDS)
            .flat_map(|seed| look(Weather::Strict, kind, seed))
            .collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn messages_are_instant() {
    look_at_all(Weather::Calm);
}

#[test]
fn everything_may_fail() {
    look_at_all(Weather::Rough);
}

fn look_at_all(weather: Weather) {
    let mut found = Vec::new();
    for kind in Contender::DESIGNS {
        for seed in 1..=WORLDS {
            found.extend(look(weather, kind, seed));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What is wrong with one world, and the command that shows it again.
fn look(weather: Weather, kind: Contender, seed: u64) -> Vec<String> {
    let (cluster, trace) = random_world(weather, seed);
    let found = check(&cluster, kind, &trace, seed).unwrap();
    let command = format!(
        "cargo run --release -p tollgate-lab --example worlds -- {} {kind} {seed} 1",
        weather.name()
    );
    let tell = |finding| format!("{finding}; replay: {command}");
    found.into_iter().map(tell).collect()
}
