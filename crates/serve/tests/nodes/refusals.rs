//! Where several policies refuse, answers name all of them and describe the one that does so longest, under every
//! coordination.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate_serve::settings::ContractSource;

use crate::cluster::kit::NodeServer;
use crate::modes::nodes_of;

/// Under each: one policy that refuses, one that does not, and one that refuses longer. Each is of another key.
fn contracts() -> String {
    let mut text = "contracts:\n".to_owned();
    for mode in ["owner", "store", "gossip"] {
        for (name, key, per) in [
            ("day", "user", "1d"),
            ("idle", "region", "1h"),
            ("month", "tenant", "30d"),
        ] {
            let limit = match name {
                "day" => 3,
                "month" => 4,
                _ => 1000,
            };
            writeln!(
                text,
                "  - {{id: {mode}-{name}, match: {{mode: {mode}}}, key: [{key}], coordination: {mode}, policies: [{{name: {name}, limit: {limit}, per: {per}}}]}}"
            )
            .unwrap();
        }
    }
    text
}

fn asked(node: &mut NodeServer, path: &str, body: &Value) -> Value {
    let (_, text) = node.post(path, &body.to_string());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

/// Uses up two policies of each of some keys and asks all three; at the node that was told alone where others hear of
/// it later.
fn refuses(mode: &str, asks_both: bool) {
    let (_folder, mut nodes) =
        nodes_of(|settings| settings.contracts = ContractSource::Text(contracts()));
    for place in 0..8 {
        let name = place.to_string();
        for (entry, cost) in [("user", 3), ("tenant", 4)] {
            let charge = json!({"key": {"mode": mode, entry: name}, "cost": cost});
            assert_eq!(
                asked(&mut nodes[0], "/v1/charge", &charge),
                json!({"applied": true})
            );
        }
        let key = json!({"key": {"mode": mode, "user": name, "tenant": name, "region": name}});
        let asks = if asks_both { 2 } else { 1 };
        for node in &mut nodes[..asks] {
            let problem = asked(node, "/v1/check?status=1", &key);
            assert_eq!(
                problem["violated-policies"],
                json!(["day", "month"]),
                "{problem}"
            );
            let told = asked(node, "/v1/check", &key);
            let of = ["policy", "limit", "capacity", "remaining"].map(|field| told[field].clone());
            assert_eq!(of, [json!("month"), json!(4), json!(4), json!(0)], "{told}");
            // A token of the month comes back in a week, one of the day in eight hours.
            let after = told["retry_after_ms"].as_u64().unwrap();
            assert!((600_000_000..=648_000_000).contains(&after), "{told}");
        }
        let idle = asked(
            &mut nodes[0],
            "/v1/peek",
            &json!({"key": {"mode": mode, "region": name}}),
        );
        assert_eq!(
            idle["policies"][0]["remaining"], 1000,
            "nothing was taken: {idle}"
        );
    }
}

#[test]
fn owners_name_all_policies_that_refuse() {
    refuses("owner", true);
}

#[test]
fn a_store_names_all_policies_that_refuse() {
    refuses("store", true);
}

#[test]
fn gossip_names_all_policies_that_refuse() {
    refuses("gossip", false);
}
