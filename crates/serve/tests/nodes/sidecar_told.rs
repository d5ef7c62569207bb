//! What answers of a sidecar say of the policy they name.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use serde_json::{Value, json};
use tollgate_parts::until as eventually;

use crate::sidecar::pair;

#[test]
fn what_a_lease_has_left_is_called_a_part() {
    let (_folder, _node, sidecar) = pair();
    let check = |kind: &str| sidecar.post("check", &json!({"key": {"kind": kind, "user": "kim"}}));
    let asked = check("day");
    assert_eq!(
        (&asked["remaining"], &asked["part"]),
        (&json!(9), &Value::Null),
        "{asked}"
    );
    eventually("a lease of both policies decides", || {
        let leased = check("pair");
        if leased["part"] != true || leased["remaining"] == 0 {
            return false;
        }
        // All of it is the policy's that has the least: its limit, and at most what it has.
        let of = (&leased["policy"], &leased["limit"], &leased["capacity"]);
        assert_eq!(of, (&json!("tight"), &json!(100), &json!(600)), "{leased}");
        leased["remaining"].as_u64() <= Some(sidecar.left("pair", "kim", "tight"))
    });
    let said = sidecar.say("TOLLGATE.CHECK KEY kind pair user kim\r\n", 38);
    let at = said.iter().position(|line| line == "part");
    assert_eq!(at.map(|at| &*said[at + 1]), Some(":1"), "{said:?}");
}

#[test]
fn a_sidecar_names_all_policies_that_refuse_and_tells_of_the_longest() {
    let (_folder, _node, sidecar) = pair();
    let key = json!({"kind": "twice", "user": "lou"});
    sidecar.post("charge", &json!({"key": key, "cost": 3}));
    let refused = || sidecar.post("check?status=1", &json!({"key": key}));
    // The first is the node's, the second is the same, kept.
    for _ in 0..2 {
        let problem = refused();
        assert_eq!(
            problem["violated-policies"],
            json!(["hour", "day"]),
            "{problem}"
        );
        let told = sidecar.post("check", &json!({"key": key}));
        let of = (&told["policy"], &told["limit"], &told["remaining"]);
        assert_eq!(of, (&json!("day"), &json!(3), &json!(0)), "{told}");
        assert!(
            told["retry_after_ms"].as_u64() > Some(3_600_000),
            "the day's: {told}"
        );
    }
    let key = json!({"kind": "twice", "user": "max"});
    sidecar.post("charge", &json!({"key": key, "cost": 1}));
    let large = sidecar.post("check", &json!({"key": key, "cost": 3}));
    assert_eq!(large["allowed"], false, "{large}");
    let small = sidecar.post("check", &json!({"key": key}));
    assert_eq!(
        small["allowed"], true,
        "a kept refusal is of what costs as much: {small}"
    );
}
