//! `tollgate lab live`: what it refuses, and that the lab tells the truth.

use std::process::Output;

use serde_json::Value;

use crate::kit::tollgate;

fn live(arguments: &[&str]) -> Output {
    let mut command = tollgate(&["lab", "live"]);
    command.args(arguments).output().unwrap()
}

#[test]
fn what_cannot_run_is_refused_before_anything_starts() {
    for (arguments, said) in [
        (&["b-extrem"][..], "did you mean b-extreme?"),
        (&["b-extreme", "--nodes", "0"], "--nodes"),
        (&["thesis-d", "--nodes", "101"], "--nodes"),
        (&[], "NAME"),
    ] {
        let output = live(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}: {errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
}

#[test]
#[ignore = "a minute, and a machine that does nothing else"]
fn the_limited_sets_are_alike_live_and_in_the_lab() {
    let output = live(&[
        "b-extreme",
        "b-substantial",
        "b-barely",
        "--nodes",
        "10",
        "--together",
        "--format",
        "jsonl",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows.len(), 3, "{text}");
    for row in rows {
        assert_eq!(row["within_bounds"], true, "{row}");
        assert_eq!(row["live"]["unanswered"], 0, "{row}");
    }
}
