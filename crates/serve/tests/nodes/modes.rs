//! Status of each coordination: its name, the state of its contracts with a `match`, and counts
//! that add up.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use tempfile::TempDir;
use tollgate_serve::settings::{ContractSource, Listener, Settings};

use crate::cluster::kit::{NodeServer, until};
use crate::lease::pair;
use crate::pipelines;

pub(crate) fn nodes() -> (TempDir, [NodeServer; 2]) {
    nodes_of(|_| {})
}

pub(crate) fn nodes_of(change: impl FnOnce(&mut Settings)) -> (TempDir, [NodeServer; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings {
        http: vec![Listener::loopback()],
        ..pipelines::settings(folder.path())
    };
    change(&mut settings);
    let nodes = pair(&settings, folder.path()).map(NodeServer::of);
    until("ready", || nodes.iter().all(NodeServer::is_ready));
    (folder, nodes)
}

fn checked(node: &mut NodeServer, mode: &str, cost: u64) -> bool {
    let body = format!(r#"{{"key":{{"mode":"{mode}","user":"1"}},"cost":{cost}}}"#);
    let (status, body) = node.post("/v1/check", &body);
    assert_eq!(status, 200, "{body}");
    body.contains("\"allowed\":true")
}

/// The sum of the samples of a family that have a contract.
fn sum(node: &mut NodeServer, family: &str, contract: &str) -> f64 {
    let text = node.get("/metrics").1;
    let is_it = |line: &&str| {
        line.starts_with(&format!("{family}{{"))
            && line.contains(&format!("contract=\"{contract}\""))
    };
    let values = text
        .lines()
        .filter(is_it)
        .map(|line| line.rsplit(' ').next().unwrap());
    values.map(|value| value.parse::<f64>().unwrap()).sum()
}

#[test]
fn every_policy_is_shown_under_its_own_coordination() {
    let (_folder, nodes) = nodes();
    let shown = nodes[0].view().policies.into_iter();
    let shown: Vec<_> = shown
        .map(|policy| (policy.contract, policy.design))
        .collect();
    for (contract, design) in [
        ("lease", "lease"),
        ("gossip", "links"),
        ("supply", "supply"),
        ("split", "split"),
        ("sync", "sync"),
        ("window", "lease"),
    ] {
        let is_it = |(id, by): &&(String, String)| id == contract && by == design;
        assert!(shown.iter().any(|one| is_it(&one)), "{contract}: {shown:?}");
    }
}

#[test]
fn a_contract_with_a_match_is_asked_about_by_its_key_alone() {
    let (_folder, mut nodes) = nodes();
    for mode in ["supply", "split", "sync"] {
        checked(&mut nodes[0], mode, 1);
        let path = format!("/v1/cluster/{mode}?contract={mode}");
        for key in ["", "&key=user=1", "&key=user=1&key=mode=", "&key=mode="] {
            let key = if key.ends_with("mode=") {
                format!("{key}{mode}")
            } else {
                key.to_owned()
            };
            let (status, body) = nodes[0].get(&format!("{path}{key}"));
            let wants = if key.is_empty() || key.contains("user") {
                200
            } else {
                404
            };
            assert_eq!(status, wants, "{path}{key}: {body}");
        }
    }
    let (status, said) = nodes[0].get("/v1/leases?contract=lease&key=user=1");
    assert_eq!(status, 200, "{said}");
}

/// A divided rate alone, one that refused requests take from too, and one beside a policy that refuses more.
const DIVIDED: &str = "\
contracts:
- { id: plain, match: { mode: plain }, key: [user], policies: [{ name: p, limit: 100, per: 1s, coordination: supply }] }
- { id: counted, match: { mode: counted }, key: [user], policies: [{ name: p, limit: 100, per: 1s, coordination: supply, count_refused: true }] }
- { id: beside, match: { mode: beside }, key: [user], policies: [{ name: p, limit: 100, per: 1s, coordination: supply }, { name: few, limit: 3, per: 1h }] }
";

#[test]
fn requests_of_a_divided_rate_add_up_to_decisions() {
    let (_folder, mut nodes) = nodes_of(|settings| {
        settings.contracts = ContractSource::Text(DIVIDED.to_owned());
    });
    until("homes", || checked(&mut nodes[0], "plain", 1));
    for (node, contract) in [(0, "plain"), (1, "plain"), (0, "counted"), (1, "beside")] {
        let node = &mut nodes[node];
        for _ in 0..200 {
            checked(node, contract, 1);
        }
        // More than there ever is, more than there is now, and a look that takes nothing.
        for cost in [2000, 90, 90, 0] {
            checked(node, contract, cost);
        }
        let decided = sum(node, "tollgate_contract_decisions_total", contract);
        let asked = sum(node, "tollgate_supply_requests_total", contract);
        assert!(
            (decided - asked - 1.0).abs() < f64::EPSILON,
            "{contract}: {decided} decisions with one look, {asked} requests"
        );
    }
}
