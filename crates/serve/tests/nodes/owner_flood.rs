//! Durable counts of owned keys under a flood: what left memory at the owner is read before it answers another node.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::time::Duration;

use tollgate_parts::until;
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Settings};

use crate::owner_cluster::{ask, ask_for, everybody_sees, settings};

const CONTRACTS: &str = "contracts:
  - id: a
    key: [user]
    coordination: owner
    policies: [{name: p, limit: 20, per: 1000d, algorithm: fixed-window, durable: true}]
";

fn evicted(servers: &[Running]) -> u64 {
    let engines = servers.iter().map(|server| &server.shared().engine);
    engines.map(|engine| engine.counters().evicted_live).sum()
}

#[test]
fn no_used_up_quota_passes_by_another_node_after_a_flood_of_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("cluster.key");
    KeyRing::fresh().unwrap().create(&key_file).unwrap();
    let server = |name: &str, join| {
        let mut settings = Settings {
            contracts: ContractSource::Text(CONTRACTS.to_owned()),
            data_dir: Some(folder.path().join(name)),
            ..settings(&key_file, join)
        };
        settings.node.bytes_max = 2 << 20;
        settings.keeping.flush_every = Duration::from_millis(100);
        start(settings).unwrap()
    };
    let first = server("a", None);
    let second = server("b", first.cluster());
    let servers = [first, second];
    everybody_sees(&servers, 2);
    for turn in 0..20 {
        let passed = ask(&servers[turn % 2]);
        assert!(passed.into_iter().all(|is_allowed| is_allowed), "{turn}");
    }
    let mut made_up = 0;
    until("keys are evicted", || {
        let keys = (made_up..made_up + 500).map(|key| format!("made-up-{key}"));
        made_up += 500;
        ask_for(&servers[made_up / 500 % 2], keys, 20);
        evicted(&servers) > 60_000
    });
    for server in &servers {
        let passed = ask(server).into_iter().filter(|is_allowed| *is_allowed);
        assert_eq!(passed.count(), 0, "of quotas that are used up");
    }
}
