//! Three nodes are killed at once and started again: what durable policies counted together is there again,
//! from their disks, or from a database after these are lost as well.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::Fleet;
use tollgate_fault::ProcessFault;
use tollgate_parts::{Postgres, Wire, until};

use crate::kit::plan;

const LIMIT: u64 = 60;
/// What each node admits of each key.
const EACH: u64 = 15;
const LANES: &[(&str, &str)] = &[
    ("bucket", "algorithm: token-bucket"),
    ("window", "algorithm: fixed-window"),
    ("sliding", "algorithm: sliding-counters"),
];
const PATIENCE: Duration = Duration::from_secs(10);

fn contracts() -> String {
    let mut text = "contracts:\n".to_owned();
    for (lane, how) in LANES {
        writeln!(
            text,
            "  - id: {lane}\n    match: {{ lane: {lane} }}\n    key: [user]\n    coordination: gossip\n    policies:\n      \
             - {{ name: days, limit: {LIMIT}, per: 30d, durable: true, {how} }}"
        )
        .unwrap();
    }
    text
}

/// What a node thinks is left of a key.
fn left(at: SocketAddr, lane: &str) -> u64 {
    let body = format!(r#"{{"key": {{"lane": "{lane}", "user": "42"}}, "cost": 0}}"#);
    let answer = Wire::to(at).post("/v1/check", &body).json();
    answer["remaining"].as_u64().unwrap()
}

/// Waits until everything that was charged before is written.
pub(crate) fn flushed(fleet: &Fleet) {
    for node in fleet.nodes() {
        let name = "tollgate_durable_flushes_total{result=\"ok\"}";
        let flushes = || Wire::to(node.http).get("/metrics").metric(name);
        let before = flushes();
        until("two flushes", || flushes() >= before + 2.0);
    }
}

fn all_left(fleet: &Fleet, lane: &str) -> Vec<u64> {
    let nodes = fleet.nodes().iter();
    nodes.map(|node| left(node.http, lane)).collect()
}

#[test]
fn a_cluster_that_is_killed_whole_remembers_what_is_durable() {
    remembers(&[], false);
}

#[test]
fn a_cluster_that_lost_all_its_disks_remembers_by_its_database() {
    let database = Postgres::start();
    remembers(&["--database", &database.url()], true);
}

fn remembers(flags: &[&str], is_empty: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    std::fs::write(&path, contracts()).unwrap();
    let mut plan = plan(3, path);
    plan.flags
        .extend(flags.iter().map(|flag| (*flag).to_owned()));
    let mut fleet = Fleet::start(plan).unwrap();
    for node in fleet.nodes() {
        let mut asker = Asker::connect(node.resp, PATIENCE).unwrap();
        for (lane, _) in LANES {
            for _ in 0..EACH {
                assert!(asker.ask(&[("lane", lane), ("user", "42")], 1).unwrap());
            }
        }
    }
    for round in 0..2 {
        let before: Vec<_> = LANES
            .iter()
            .map(|(lane, _)| all_left(&fleet, lane))
            .collect();
        flushed(&fleet);
        for node in 0..3 {
            fleet.suffer(ProcessFault::Kill(node)).unwrap();
        }
        for node in 0..3 {
            fleet
                .suffer(ProcessFault::Start { node, is_empty })
                .unwrap();
        }
        fleet.gather().unwrap();
        // Silent tokens may be silent again, so that nobody knows more than before.
        for ((lane, _), before) in LANES.iter().zip(before) {
            until(&format!("{lane}, round {round}: {before:?} left"), || {
                let now = all_left(&fleet, lane);
                now.iter().zip(&before).all(|(now, was)| now <= was)
            });
        }
    }
    // More than a node may keep to itself makes everybody tell what it has: nothing is forgotten, nothing counts twice.
    let more = LIMIT / 3 - EACH + 7;
    for (lane, _) in LANES {
        let mut asker = Asker::connect(fleet.nodes()[0].resp, PATIENCE).unwrap();
        assert!(asker.ask(&[("lane", lane), ("user", "42")], more).unwrap());
        let left = [LIMIT - 3 * EACH - more; 3];
        until(&format!("{lane}: {left:?} left"), || {
            all_left(&fleet, lane) == left
        });
    }
}
