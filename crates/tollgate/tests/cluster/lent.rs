//! A limit lent by two real nodes to three real clients, by the command that anybody can run.

use serde_json::Value;

use crate::kit::tollgate;

#[test]
fn not_one_token_over_whatever_befalls_clients_and_nodes() {
    let mut command = tollgate(&["cluster", "prove-lease", "--quick", "--rate", "500"]);
    command.args(["--format", "json"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}{errors}");
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["violations"], 0, "{found}");
    assert!(found["admissions"].as_u64().unwrap() > 5_000, "{found}");
    let phases = found["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 7, "{found}");
}
