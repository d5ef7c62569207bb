//! Small worlds drawn by seed, for designs that are exact where shares are strict: nothing may be found.
//!
//! Not here: all designs in all kinds of weather, which `checkers` has.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{Contender, FaultLevel, check, random_world};

/// One in four thousand showed a mistake that nothing else did; `--example worlds` draws as many as you like.
const WORLDS: u64 = 4_000;

#[test]
fn messages_are_instant_and_shares_strict_where_answers_are_exact() {
    let found: Vec<_> = (1..=WORLDS).flat_map(look).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What is wrong with one world, and the command that shows it again.
fn look(seed: u64) -> Vec<String> {
    let kind = Contender::Links;
    let (cluster, trace) = random_world(FaultLevel::Strict, seed);
    let found = check(&cluster, kind, &trace, seed).unwrap();
    let command =
        format!("cargo run --release -p tollgate-lab --example worlds -- strict {kind} {seed} 1");
    let tell = |finding| format!("{finding}; replay: {command}");
    found.into_iter().map(tell).collect()
}
