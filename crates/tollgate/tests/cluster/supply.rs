//! A divided rate on five real processes, by the command that anybody can run.

use serde_json::Value;
use tollgate::cluster::nets;

use crate::kit::tollgate;

/// Runs it, and says what it found.
fn prove(arguments: &[&str]) -> Value {
    let mut command = tollgate(&["cluster", "prove", "--format", "json"]);
    let output = command.args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{text}{errors}");
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn not_one_token_over_whatever_befalls_the_nodes() {
    let found = prove(&["--quick", "--cost", "5"]);
    assert_eq!(found["violations"], 0, "{found}");
    let expected = nets::obstacle().map_or("namespaces", |_| "proxy");
    assert_eq!(found["network"], expected, "{found}");
    assert!(found["admissions"].as_u64().unwrap() > 1000, "{found}");
}

#[test]
#[ignore = "two minutes, and a machine that does nothing else"]
fn not_one_token_over_for_two_minutes_and_little_is_wasted() {
    let found = prove(&[]);
    assert_eq!(found["violations"], 0, "{found}");
    assert!(
        found["all"]["live_percent"].as_f64().unwrap() > 80.0,
        "{found}"
    );
}
