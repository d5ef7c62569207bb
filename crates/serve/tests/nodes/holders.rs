//! Nodes that lease keys of each other: they decide for those who ask them, and together admit what one bucket would.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use tollgate_client::{Client, ClientConfig, NodeAsk};
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::run::Running;
use tollgate_serve::settings::Settings;

use super::lease::{
    BURST, LIMIT, eventually, lender, node, of_nodes, pair, settings, settings_of, too_many_of,
};

/// Asks a node for a key all the time, and counts what passes.
fn ask(at: SocketAddr, key: &str, stop: &AtomicBool, passed: &AtomicU64) {
    let client = Client::connect(ClientConfig::new([at.to_string()])).unwrap();
    let ask = NodeAsk {
        key: key.into(),
        cost: 1,
        contract: None,
    };
    while !stop.load(Relaxed) {
        let outcome = client.check_at_node(&ask);
        passed.fetch_add(u64::from(outcome.is_allowed), Relaxed);
    }
}

/// Requests that a node decided by leases that it holds.
fn by_leases(server: &Running) -> u64 {
    let figures = server.shared().engine.node().held_figures();
    figures.map_or(0, |(_, figures)| figures.local)
}

/// Questions that a node sent to others.
fn forwarded(server: &Running) -> u64 {
    let owner = server.shared().owner.get().unwrap();
    owner.counts().forwarded.get()
}

#[test]
fn a_node_decides_a_busy_key_by_a_lease_and_goes_on_where_the_lender_falls() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Vec::from(pair(&settings(), folder.path()));
    let at: Vec<SocketAddr> = servers.iter().map(|one| one.resp().unwrap()).collect();
    let (stop, passed) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 2]);
    let (stop, passed) = (&stop, &passed);
    thread::scope(|scope| {
        for (at, passed) in at.iter().zip(passed) {
            for _ in 0..2 {
                scope.spawn(|| ask(*at, "ada", stop, passed));
            }
        }
        eventually("the other node holds a lease", || {
            servers.iter().any(|server| by_leases(server) > 1_000)
        });
        let holder = servers
            .iter()
            .position(|server| by_leases(server) > 0)
            .unwrap();
        assert_eq!(lender(&servers), Some(1 - holder), "the other lends");
        let (asked, local) = (forwarded(&servers[holder]), by_leases(&servers[holder]));
        eventually("it goes on", || by_leases(&servers[holder]) > local + 1_000);
        let asked = forwarded(&servers[holder]) - asked;
        assert!(asked < 200, "{asked} questions for a thousand decisions");
        drop(servers.remove(1 - holder));
        let before = passed[holder].load(Relaxed);
        eventually("it lends in the other's place", || {
            passed[holder].load(Relaxed) > before + 2_000
        });
        stop.store(true, Relaxed);
    });
    let all = of_nodes(folder.path());
    assert_eq!(too_many_of(LIMIT, BURST, all), 0);
}

#[test]
fn what_a_lease_paid_is_settled_and_keys_asked_for_now_and_then_are_not_held() {
    let folder = tempfile::tempdir().unwrap();
    let servers = pair(&settings(), folder.path());
    let client = Client::connect(ClientConfig::new([servers[0].resp().unwrap().to_string()]));
    let client = client.unwrap();
    let check = |key: &str, cost: u64| {
        client.check_at_node(&NodeAsk {
            key: key.into(),
            cost,
            contract: None,
        })
    };
    for number in 0..200 {
        let _ = check(&format!("user-{number}"), 1);
    }
    let figures = servers[0].shared().engine.node().held_figures();
    assert_eq!(figures.unwrap().0, 0, "each was asked for once");
    let mut names = (0..).map(|number| format!("busy-{number}"));
    let busy = names
        .find(|name| {
            (0..100).for_each(|_| drop(check(name, 1)));
            by_leases(&servers[0]) > 0
        })
        .unwrap();
    let tasks = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let tasks = tasks.unwrap();
    eventually("ten tokens, of which nine come back", || {
        let taken = check(&busy, 10);
        taken.receipt.is_some_and(|receipt| {
            taken.is_allowed && tasks.block_on(client.settle_in_task(&receipt, 1))
        })
    });
}

#[test]
fn keys_of_a_new_cluster_pass_at_once() {
    let folder = tempfile::tempdir().unwrap();
    KeyRing::fresh()
        .unwrap()
        .create(&folder.path().join("key"))
        .unwrap();
    // The test does not wait for so long.
    let contracts = "contracts:
  - { id: api, key: [user], coordination: lease, policies: [{ name: rate, limit: 10, per: 1s, term: 60s }] }
";
    let of = |name: &str| Settings {
        data_dir: Some(folder.path().join(name)),
        ..settings_of(contracts)
    };
    let first = node(of("a"), folder.path(), "a", None);
    let second = node(of("b"), folder.path(), "b", first.cluster());
    let at = [first.resp().unwrap(), second.resp().unwrap()];
    let clients = at.map(|at| Client::connect(ClientConfig::new([at.to_string()])).unwrap());
    for number in 0..20 {
        let key = format!("user-{number}");
        eventually("a key passes at both nodes", || {
            clients.iter().all(|client| {
                let ask = NodeAsk {
                    key: key.as_str().into(),
                    cost: 1,
                    contract: None,
                };
                client.check_at_node(&ask).is_allowed
            })
        });
    }
    drop((first, second));
    // It ran before: what it lent may be out.
    let again = node(of("a"), folder.path(), "a", None);
    let client = Client::connect(ClientConfig::new([again.resp().unwrap().to_string()]));
    let ask = NodeAsk {
        key: "user-1".into(),
        cost: 1,
        contract: None,
    };
    assert!(!client.unwrap().check_at_node(&ask).is_allowed);
}
