//! Requests of leases that wait for what comes back, at clients and at nodes: they pass when one bucket would let them.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_client::{Client, ClientConfig, NodeAsk};
use tollgate_limit::Span;
use tollgate_parts::Wire;
use tollgate_serve::run::start;
use tollgate_serve::settings::{Listener, Settings};

use super::lease::{LeaseLoad, eventually, lender, of_nodes, pair, settings_of, too_many_of};

const LIMIT: i128 = 1_000;
const BURST: i128 = 200;
const CONTRACTS: &str = "contracts:
  - id: api
    key: [user]
    coordination: lease
    policies: [{ name: rate, limit: 1000, per: 1s, burst: 200, on_limit: delay, max_wait: 200ms, term: 1s, timeout: 500ms }]
";

/// Asks a node for every decision, and counts what it is told to wait for.
fn ask_always(at: SocketAddr, stop: &AtomicBool, waited: &AtomicU64) {
    let client = Client::connect(ClientConfig::new([at.to_string()])).unwrap();
    let ask = NodeAsk {
        key: "ada".into(),
        cost: 1,
        contract: None,
    };
    while !stop.load(Relaxed) {
        let outcome = client.check_at_node(&ask);
        let is_late = outcome.is_allowed && outcome.wait > Span::ZERO;
        waited.fetch_add(u64::from(is_late), Relaxed);
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_server_in_no_cluster_tells_what_it_promised() {
    let server = start(Settings {
        http: vec![Listener::loopback()],
        ..settings_of(&CONTRACTS.replace("burst: 200", "burst: 4, recovery: fresh"))
    })
    .unwrap();
    let client = Client::connect(ClientConfig::new([server.resp().unwrap().to_string()])).unwrap();
    let ask = NodeAsk {
        key: "ada".into(),
        cost: 4,
        contract: None,
    };
    eventually("requests wait at the node", || {
        let mut asked = (0..100).map(|_| client.check_at_node(&ask));
        asked.any(|outcome| outcome.is_allowed && outcome.wait > Span::ZERO)
    });
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(client.until_ready_blocking("ada", 4, Duration::from_secs(20)));
    }
    // Eighty tokens of a thousand a second, of which four were there at most.
    assert!(begun.elapsed() > Duration::from_millis(70), "{begun:?}");
    let text = Wire::to(server.http().unwrap()).get("/metrics").body;
    let told = "tollgate_lease_promised_total{contract=\"api\",policy=\"rate\"} ";
    let count = text.split(told).nth(1).unwrap_or("").lines().next();
    assert!(count.is_some_and(|count| count != "0"), "{text}");
}

#[test]
fn requests_that_wait_pass_when_one_bucket_would_let_them() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = pair(&settings_of(CONTRACTS), folder.path());
    let at = [first.resp().unwrap(), second.resp().unwrap()];
    let loads = [LeaseLoad::new(&at), LeaseLoad::new(&[at[1], at[0]])];
    let (stop, waited) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut servers = vec![first, second];
    let promised = |load: &LeaseLoad| load.client.counts().promised;
    thread::scope(|scope| {
        scope.spawn(|| ask_always(at[0], &stop, &waited));
        eventually("clients and nodes make requests wait", || {
            loads.iter().all(|load| promised(load) > 300) && waited.load(Relaxed) > 50
        });
        let gone = lender(&servers).unwrap();
        drop(servers.remove(gone));
        let before: Vec<u64> = loads.iter().map(promised).collect();
        eventually("the other lends", || {
            let more = loads.iter().zip(&before);
            more.fold(true, |all, (load, before)| {
                all && promised(load) > before + 300
            })
        });
        stop.store(true, Relaxed);
    });
    let mut all: Vec<(u64, u64)> = loads.into_iter().flat_map(LeaseLoad::end).collect();
    all.extend(of_nodes(folder.path()));
    let (first, last) = all.iter().fold((u64::MAX, 0), |(first, last), (at, _)| {
        (first.min(*at), last.max(*at))
    });
    let most = LIMIT * i128::from(last - first) / 1_000_000_000;
    println!(
        "{} of {most} and a burst, {waited:?} asked for and waited",
        all.len()
    );
    assert_eq!(too_many_of(LIMIT, BURST, all), 0);
}
