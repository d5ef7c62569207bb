//! Leases of two real servers in one process, held by real clients: never a token too many, whichever process fails.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
pub(crate) use tollgate_parts::until as eventually;

use parking_lot::Mutex;
use tollgate_client::{Client, ClientConfig, DecisionPath};
use tollgate_contract::Coordination;
use tollgate_parts::Wire;
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::modes::{self, view::ModePolicyView};
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ClusterSettings, ContractSource, Join, Keeping, Listener, Runtime, Settings, UpstreamSettings,
};
use tollgate_serve::supply::steady_now;

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
pub(crate) const LIMIT: i128 = 2_000;
pub(crate) const BURST: i128 = 1_000;
const CONTRACTS: &str = "contracts:
  - id: api
    key: [user]
    coordination: lease
    policies: [{ name: rate, limit: 2000, per: 1s, burst: 1000, term: 1s, timeout: 500ms }]
  - id: windows
    match: { kind: window }
    key: [who]
    coordination: lease
    policies: [{ name: day, limit: 3, per: 1d, algorithm: fixed-window }]
  - id: both
    match: { kind: both }
    key: [who]
    coordination: lease
    policies:
      - { name: fast, limit: 1000, per: 1s, burst: 500, term: 1s, recovery: fresh }
      - { name: slow, limit: 400, per: 1h, burst: 400, term: 1s, recovery: fresh }
      - { name: log, limit: 1000, per: 1s, algorithm: sliding-log, term: 1s, recovery: fresh }
";

/// How the first policy stands that a server lends.
fn lent(server: &Running) -> ModePolicyView {
    let view = modes::view(server.shared(), Coordination::Lease);
    view.policies.into_iter().next().unwrap()
}

pub(crate) fn settings() -> Settings {
    settings_of(CONTRACTS)
}

pub(crate) fn settings_of(contracts: &str) -> Settings {
    Settings {
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(contracts.to_owned()),
        runtime: Runtime {
            threads: Some(1),
            ..Runtime::default()
        },
        ..Settings::default()
    }
}

pub(crate) fn node(
    settings: Settings,
    folder: &Path,
    name: &str,
    join: Option<SocketAddr>,
) -> Running {
    let join = join.map(|at| Join {
        host: at.ip().to_string(),
        port: at.port(),
    });
    let cluster = ClusterSettings {
        listen: "127.0.0.1:0".parse().unwrap(),
        name: Some(name.to_owned()),
        key_file: Some(folder.join("key")),
        join: join.into_iter().collect(),
        admission_log: Some(folder.join("log")),
        ..settings.cluster.clone().unwrap_or_default()
    };
    let settings = Settings {
        cluster: Some(cluster),
        ..settings
    };
    start(settings).unwrap()
}

/// A client that requests one key all the time, and records its own admissions.
pub(crate) struct LeaseLoad {
    pub(crate) client: Arc<Client>,
    pub(crate) admitted: Arc<Mutex<Vec<(u64, u64)>>>,
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl LeaseLoad {
    pub(crate) fn new(nodes: &[SocketAddr]) -> Self {
        let admitted: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
        let log = Arc::clone(&admitted);
        let config = ClientConfig {
            journal: Some(Arc::new(move |one| {
                log.lock().push((one.at.as_nanos(), one.cost));
            })),
            timeout: Duration::from_secs(1),
            ..ClientConfig::new(nodes.iter().map(ToString::to_string))
        };
        let client = Arc::new(Client::connect(config).unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let (asks, stopped) = (Arc::clone(&client), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            while !stopped.load(Relaxed) {
                let _ = asks.check("ada", 1);
                thread::sleep(Duration::from_micros(300));
            }
        });
        Self {
            client,
            admitted,
            stop,
            thread,
        }
    }

    pub(crate) fn end(self) -> Vec<(u64, u64)> {
        self.stop.store(true, Relaxed);
        self.thread.join().unwrap();
        drop(self.client);
        std::mem::take(&mut *self.admitted.lock())
    }
}

/// What nodes admitted for clients that waited: when it passes, and its cost.
pub(crate) fn of_nodes(folder: &Path) -> Vec<(u64, u64)> {
    let files = std::fs::read_dir(folder.join("log")).unwrap();
    let files = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let mut all = Vec::new();
    for text in files {
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |place: usize| words[place].parse::<u64>().unwrap();
            all.push((number(0) + number(3), number(2)));
        }
    }
    all
}

/// Requests that one bucket would not have let through, of all that were admitted.
pub(crate) fn too_many(all: Vec<(u64, u64)>) -> usize {
    too_many_of(LIMIT, BURST, all)
}

/// The same of a bucket with that limit per second and that burst.
pub(crate) fn too_many_of(limit: i128, burst: i128, mut all: Vec<(u64, u64)>) -> usize {
    all.sort_unstable();
    // In tokens times a second in nanoseconds.
    let full = burst * 1_000_000_000;
    let (mut level, mut at, mut over) = (full, 0, 0);
    for (now, cost) in all {
        level = full.min(level + limit * i128::from(now - at));
        at = now;
        let cost = i128::from(cost) * 1_000_000_000;
        if level < cost {
            over += 1;
        } else {
            level -= cost;
        }
    }
    over
}

pub(crate) fn pair(settings: &Settings, folder: &Path) -> [Running; 2] {
    KeyRing::fresh()
        .unwrap()
        .create(&folder.join("key"))
        .unwrap();
    let first = node(settings.clone(), folder, "a", None);
    let second = node(settings.clone(), folder, "b", first.cluster());
    let both = [first, second];
    eventually("two members", || {
        both.iter().all(|server| {
            let members = server.shared().cluster.get().unwrap().members();
            members.alive.len() == 2 && members.me.is_some()
        })
    });
    both
}

/// Which of the servers lends the key that is asked for.
pub(crate) fn lender(servers: &[Running]) -> Option<usize> {
    let lends = |server: &Running| lent(server).count("lessees") > 0;
    servers.iter().position(lends)
}

#[test]
fn three_clients_and_two_nodes_admit_what_one_bucket_would_and_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = pair(&settings(), folder.path());
    let at = [first.resp().unwrap(), second.resp().unwrap()];
    let loads: Vec<LeaseLoad> = (0..3)
        .map(|place| LeaseLoad::new(&[at[place % 2], at[(place + 1) % 2]]))
        .collect();
    let servers = vec![first, second];
    let admitted = || -> usize { loads.iter().map(|load| load.admitted.lock().len()).sum() };
    eventually("all have leases", || {
        let held = |load: &LeaseLoad| {
            load.client
                .inspect("ada")
                .is_some_and(|held| held.depth > 0)
        };
        loads.iter().all(held) && admitted() > 2_000
    });
    // The node that lends dies with all it knew; clients report their leases to the other, which continues.
    let gone = lender(&servers).unwrap();
    let mut servers = servers;
    drop(servers.remove(gone));
    let before = admitted();
    eventually("the other lends", || {
        lender(&servers).is_some() && admitted() > before + 4_000
    });
    let counts: Vec<_> = loads.iter().map(|load| load.client.counts()).collect();
    let mut all: Vec<(u64, u64)> = loads.into_iter().flat_map(LeaseLoad::end).collect();
    all.extend(of_nodes(folder.path()));
    assert!(counts.iter().all(|counts| counts.local > 500), "{counts:?}");
    assert_eq!(too_many(all), 0, "{counts:?}");
}

/// How far the time of day is ahead of the clock that leases are counted on.
fn ahead() -> u64 {
    loop {
        let before = steady_now();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // Both clocks are to be read at one time, and a busy machine may take the processor in between.
        if steady_now().nanos_since(before) < MOMENT / 10 {
            return u64::try_from(wall.as_nanos()).unwrap() - before.as_nanos();
        }
    }
}

/// Requests that windows of the clock would not have let through. What came within a moment of a window's end may be of
/// the next.
fn too_many_of_fixed(all: &[(u64, u64)], ahead: u64) -> u64 {
    let mut counts = BTreeMap::new();
    for (at, cost) in all {
        let (window, gone) = ((at + ahead) / WINDOW, (at + ahead) % WINDOW);
        let is_full = counts.get(&window).copied().unwrap_or(0) + cost > WINDOW_LIMIT;
        let is_late = gone + MOMENT >= WINDOW;
        *counts
            .entry(window + u64::from(is_full && is_late))
            .or_default() += cost;
    }
    counts
        .values()
        .map(|count| count.saturating_sub(WINDOW_LIMIT))
        .sum()
}

/// Requests that a log would not have let through, but for a moment.
fn too_many_of_log(all: &[(u64, u64)], _: u64) -> u64 {
    let (mut first, mut sum, mut over) = (0, 0, 0);
    for (at, cost) in all {
        sum += cost;
        while all[first].0 + WINDOW - MOMENT <= *at {
            sum -= all[first].1;
            first += 1;
        }
        over += u64::from(sum > WINDOW_LIMIT);
    }
    over
}

const WINDOW: u64 = 1_000_000_000;
const WINDOW_LIMIT: u64 = 1_000;
const MOMENT: u64 = 5_000_000;

#[test]
fn two_clients_admit_what_one_window_would_and_nothing_more() {
    type Judge = fn(&[(u64, u64)], u64) -> u64;
    let judges: [(&str, Judge); 2] = [
        ("fixed-window", too_many_of_fixed),
        ("sliding-log", too_many_of_log),
    ];
    for (algorithm, too_many) in judges {
        let contracts = format!(
            "contracts: [{{ id: api, key: [user], coordination: lease, policies: [
               {{ name: rate, limit: {WINDOW_LIMIT}, per: 1s, algorithm: {algorithm}, term: 1s, timeout: 500ms }}] }}]"
        );
        let folder = tempfile::tempdir().unwrap();
        let ring = KeyRing::fresh().unwrap();
        ring.create(&folder.path().join("key")).unwrap();
        let server = node(settings_of(&contracts), folder.path(), "a", None);
        let at = server.resp().unwrap();
        let loads = [LeaseLoad::new(&[at]), LeaseLoad::new(&[at])];
        let admitted = || -> usize { loads.iter().map(|load| load.admitted.lock().len()).sum() };
        let of_leases = |load: &LeaseLoad| load.client.counts().local;
        eventually("leases of windows", || {
            admitted() > 3_000 && loads.iter().all(|load| of_leases(load) > 500)
        });
        let counts = [loads[0].client.counts(), loads[1].client.counts()];
        let mut all: Vec<(u64, u64)> = loads.into_iter().flat_map(LeaseLoad::end).collect();
        let held = all.len();
        all.extend(of_nodes(folder.path()));
        all.sort_unstable();
        println!("{algorithm}: {held} of leases, {} in all", all.len());
        assert_eq!(too_many(&all, ahead()), 0, "{algorithm}: {counts:?}");
    }
}

fn alone() -> (Running, Client) {
    let server = start(settings()).unwrap();
    let config = ClientConfig {
        timeout: Duration::from_secs(5),
        ..ClientConfig::new([server.resp().unwrap().to_string()])
    };
    let client = Client::connect(config).unwrap();
    (server, client)
}

#[test]
fn what_cannot_be_lent_is_asked_for_and_exact() {
    let (_server, client) = alone();
    let key = &[("kind", "window"), ("who", "ada")];
    let passed = (0..6).map(|_| client.check(key, 1)).collect::<Vec<_>>();
    let allowed = passed.iter().filter(|one| one.is_allowed).count();
    assert_eq!(allowed, 3, "{passed:?}");
    assert_eq!(passed[0].path, DecisionPath::Asked);
    assert_eq!(client.inspect(key), None);
    assert!(
        !client.try_check(key, 1).is_allowed,
        "nothing is decided here"
    );
}

#[test]
fn all_policies_of_a_contract_are_held_together() {
    let (server, client) = alone();
    let key = &[("kind", "both"), ("who", "ada")];
    let mut allowed = 0;
    eventually("the slow policy is used up", || {
        let passed = (0..50).filter(|_| client.check(key, 1).is_allowed).count();
        allowed += passed;
        let view = modes::view(server.shared(), Coordination::Lease);
        let slow = view
            .policies
            .iter()
            .find(|one| one.policy == "slow")
            .unwrap();
        allowed > 300 && passed == 0 && slow.count("pool") < 10
    });
    // A token comes back every nine seconds, and some of what was held of the other policy's may have been lost.
    assert!((300..=404).contains(&allowed), "{allowed}");
    client.release_all();
}

#[test]
fn a_client_gives_back_what_it_holds_and_settles_what_it_took() {
    let (server, client) = alone();
    eventually("a lease", || {
        (0..20).for_each(|_| drop(client.check("bob", 1)));
        client.inspect("bob").is_some_and(|held| held.tokens >= 20)
    });
    let taken = client.check("bob", 10);
    assert_eq!((taken.is_allowed, taken.path), (true, DecisionPath::Lease));
    let before = client.inspect("bob").unwrap().tokens;
    client.settle(&taken.receipt.unwrap(), 1);
    assert!(client.inspect("bob").unwrap().tokens >= before + 9);
    client.release("bob");
    eventually("nothing is lent", || lent(&server).count("lessees") == 0);
    assert!(client.counts().local > 0);
}

#[test]
fn leases_that_were_not_used_lately_make_room_for_others() {
    let server = start(settings()).unwrap();
    let client = Client::connect(ClientConfig {
        timeout: Duration::from_secs(5),
        keys_max: 128,
        ..ClientConfig::new([server.resp().unwrap().to_string()])
    });
    let client = client.unwrap();
    let hot = || client.check("hot", 1).is_allowed;
    eventually("a lease", || hot() && client.inspect("hot").is_some());
    let mut user = 0_u64;
    eventually("leases are given back", || {
        for _ in 0..20 {
            user += 1;
            let key = format!("user-{user}");
            (0..12).for_each(|_| drop(client.check(&*key, 1)));
            hot();
        }
        client.counts().returned >= 300
    });
    assert!(client.inspect("hot").is_some(), "it is used all the time");
    let counts = client.counts();
    assert_eq!(counts.keys, 128, "{counts:?}");
    eventually("nodes know what is held", || {
        lent(&server).count("lessees") <= 128
    });
}

#[test]
fn nobody_there_is_an_answer_too() {
    let config = |when| ClientConfig {
        timeout: Duration::from_millis(50),
        when_away: when,
        ..ClientConfig::new(["127.0.0.1:1", "unix:/nowhere/at.all"])
    };
    for (when, passes) in [
        (tollgate_client::WhenAway::Deny, false),
        (tollgate_client::WhenAway::Allow, true),
    ] {
        let client = Client::connect(config(when)).unwrap();
        let outcome = client.check("ada", 1);
        assert_eq!(
            (outcome.is_allowed, outcome.path),
            (passes, DecisionPath::Failed)
        );
        assert!(!client.try_check("bob", 1).is_allowed);
    }
}

/// Asks a server over RESP; whether the request passes.
pub(crate) fn ask(wire: &mut Wire, words: &[&str]) -> bool {
    let fields = wire.call(&[&["TOLLGATE.CHECK", "KEY"], words].concat());
    let verdict = fields.iter().position(|field| field == "allowed");
    fields[verdict.unwrap() + 1] == ":1"
}

#[test]
fn a_sidecar_decides_by_leases_of_its_nodes() {
    let node = start(settings()).unwrap();
    let upstream = UpstreamSettings {
        nodes: vec![node.resp().unwrap().to_string()],
        token: None,
        zone: None,
        tls: None,
    };
    let sidecar = Settings {
        keeping: Keeping {
            upstream: Some(upstream),
            ..Keeping::default()
        },
        ..settings()
    };
    let sidecar = start(sidecar).unwrap();
    let mut stream = Wire::to(sidecar.resp().unwrap());
    let window = ["kind", "window", "who", "zed"];
    let passed = (0..6).filter(|_| ask(&mut stream, &window)).count();
    assert_eq!(passed, 3, "the node counts what cannot be lent");
    assert!(
        ask(&mut stream, &["colour", "blue"]),
        "no contract binds it"
    );
    eventually("the sidecar has a lease", || {
        let passed = (0..10)
            .filter(|_| ask(&mut stream, &["user", "eve"]))
            .count();
        let stands = lent(&node);
        // Buckets that start empty have filled by then.
        passed == 10 && stands.count("reserved_depth") >= 100 && stands.count("pool") >= 200
    });
    let served = || lent(&node).count("counts.served");
    let before = served();
    let passed = (0..100)
        .filter(|_| ask(&mut stream, &["user", "eve"]))
        .count();
    assert!(passed > 90, "{passed}");
    assert!(
        served() - before < 50,
        "most were decided beside the program"
    );
}
