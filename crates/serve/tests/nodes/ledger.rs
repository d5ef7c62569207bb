//! Leases whose ledger is in a store that two real servers share: if one fails the other continues at once, and never a
//! token too many.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::time::{Duration, Instant};

use tollgate_client::{Client, ClientConfig};
use tollgate_parts::{Redis, Wire};
use tollgate_serve::owner::Count;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ContractSource, Keeping, Listener, Runtime, Settings, StoreSettings,
};
use tollgate_serve::supply::steady_now;

use crate::lease::{LIMIT, LeaseLoad, ask, eventually, of_nodes, pair, too_many};

const CONTRACTS: &str = "contracts:
  - id: api
    key: [user]
    coordination: lease
    policies: [{ name: rate, limit: 2000, per: 1s, burst: 1000, term: 1s, timeout: 500ms, recovery: ledger }]
  - id: slow
    match: { kind: slow }
    key: [who]
    coordination: lease
    policies:
      - { name: hour, limit: 10, per: 1h, recovery: ledger }
      - { name: day, limit: 7, per: 1d, on_failure: allow }
  - id: sure
    match: { kind: sure }
    key: [who]
    coordination: lease
    policies: [{ name: hour, limit: 10, per: 1h, recovery: ledger, on_failure: allow }]
";

fn settings(store: Option<&str>) -> Settings {
    let store = store.map(|url| StoreSettings {
        deadline: Duration::from_millis(200),
        ..StoreSettings::new(url.parse().unwrap())
    });
    Settings {
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(1),
            ..Runtime::default()
        },
        keeping: Keeping {
            store,
            ..Keeping::default()
        },
        ..Settings::default()
    }
}

fn connected(server: &Running) -> Wire {
    Wire::to(server.resp().unwrap())
}

/// How often a server has written ledgers, lost a swap and loaded one.
fn counted(server: &Running) -> [u64; 3] {
    let store = server.shared().owner.get().unwrap().store().unwrap();
    let counts = store.ledger_counts();
    [&counts.swaps, &counts.swaps_lost, &counts.loads].map(Count::get)
}

#[test]
fn the_other_server_goes_on_at_once_and_nothing_is_admitted_twice() {
    let redis = Redis::start();
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = pair(&settings(Some(&redis.url())), folder.path());
    let at = [first.resp().unwrap(), second.resp().unwrap()];
    // All talk to the first as long as it is there, but for one.
    let loads: Vec<LeaseLoad> = [[0, 1], [0, 1], [1, 0]]
        .map(|[one, other]| LeaseLoad::new(&[at[one], at[other]]))
        .into_iter()
        .collect();
    let admitted = || -> usize { loads.iter().map(|load| load.admitted.lock().len()).sum() };
    eventually("all have leases", || {
        let held = |load: &LeaseLoad| {
            let held = load.client.inspect("ada");
            held.is_some_and(|held| held.depth > 0)
        };
        loads.iter().all(held) && admitted() > 6_000
    });
    let (one, other) = (counted(&first), counted(&second));
    assert!(one[0] > 0 && other[0] > 0, "{one:?} {other:?}");
    let (lost, loaded) = (one[1] + other[1], one[2] + other[2]);
    let killed = steady_now().as_nanos();
    drop(first);
    let before = admitted();
    let enough = usize::try_from(LIMIT * 3).unwrap();
    eventually("the other lends", || admitted() > before + enough);
    let end = steady_now().as_nanos();
    let counts: Vec<_> = loads.iter().map(|load| load.client.counts()).collect();
    let mut all: Vec<(u64, u64)> = loads.into_iter().flat_map(LeaseLoad::end).collect();
    drop(second);
    all.extend(of_nodes(folder.path()));
    let rate = |from: u64, to: u64| {
        let within = all.iter().filter(|(at, _)| (from..to).contains(at)).count();
        // In thousandths.
        within as u64 * 1_000_000_000_000 / (to - from) / u64::try_from(LIMIT).unwrap()
    };
    let second = 1_000_000_000;
    let (calm, after) = (rate(killed - second, killed), rate(killed, killed + second));
    println!(
        "{} admissions; thousandths of the limit: {calm} in the second before the kill, {after} in the second after it, {} since; \
         {lost} swaps after {loaded} loads were lost to the other",
        all.len(),
        rate(killed, end),
    );
    assert!(
        after > 700,
        "{after}: more than a tenth of a second, and what finding out takes"
    );
    assert_eq!(too_many(all), 0, "{counts:?}");
}

#[test]
fn books_outlive_servers_and_are_decided_over_all_or_nothing() {
    let redis = Redis::start();
    let settings = settings(Some(&redis.url()));
    let servers = [
        start(settings.clone()).unwrap(),
        start(settings.clone()).unwrap(),
    ];
    let mut streams = servers.each_ref().map(connected);
    let key = ["kind", "slow", "who", "ada"];
    let passed = (0..20)
        .filter(|turn| ask(&mut streams[turn % 2], &key))
        .count();
    assert_eq!(passed, 7, "by the stricter of two policies");
    drop(servers);
    let server = start(settings).unwrap();
    let mut stream = connected(&server);
    assert!(!ask(&mut stream, &key), "it is remembered");
    let other = ["kind", "slow", "who", "bob"];
    let passed = (0..20).filter(|_| ask(&mut stream, &other)).count();
    assert_eq!(passed, 7, "a key never seen begins full");
}

#[test]
fn a_store_that_stops_is_done_without_and_clients_keep_what_they_hold() {
    let redis = Redis::start();
    let server = start(settings(Some(&redis.url()))).unwrap();
    let mut stream = connected(&server);
    let config = ClientConfig {
        timeout: Duration::from_secs(5),
        ..ClientConfig::new([server.resp().unwrap().to_string()])
    };
    let client = Client::connect(config).unwrap();
    eventually("a lease", || {
        (0..20).for_each(|_| drop(client.check("bob", 1)));
        client.inspect("bob").is_some_and(|held| held.tokens >= 20)
    });
    redis.pause();
    let begun = Instant::now();
    let held = client.inspect("bob").unwrap().tokens;
    assert!((0..held.min(5)).all(|_| client.check("bob", 1).is_allowed));
    assert!(ask(&mut stream, &["kind", "sure", "who", "ada"]), "allow");
    assert!(
        !ask(&mut stream, &["kind", "slow", "who", "ada"]),
        "of deny and allow"
    );
    assert!(begun.elapsed() < Duration::from_secs(5));
    redis.resume();
    eventually("it is counted again", || {
        let key = ["kind", "sure", "who", "eve"];
        (0..10).filter(|_| ask(&mut stream, &key)).count() == 0
    });
}

#[test]
fn a_ledger_needs_a_store() {
    let refused = start(settings(None)).err().unwrap().to_string();
    assert!(
        refused.contains("contract `api` says `recovery: ledger`"),
        "{refused}"
    );
    assert!(refused.contains("store: { url"), "{refused}");
}
