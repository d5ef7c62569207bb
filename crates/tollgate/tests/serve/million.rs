//! A million assignments behind a real server: how soon it serves, how much memory it takes, how long a key waits that
//! nobody asked for before, what a key costs that somebody did, and what counting requests costs.
//!
//! `cargo test --release -p tollgate --test serve million -- --ignored --nocapture`, alone on the machine. With a path
//! in `CATALOGUE_MILLION` the catalogue is kept there, and used again by the next run; `CATALOGUE_COUNT` says how many
//! instead of a million.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tollgate_catalogue_sql::{Config, Database, Source};
use tollgate_parts::wire::{Wire, check};

use crate::kit::{Server, file};

const COLD: u64 = 5_000;
const WARM: u64 = 10_000;
const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_secs(1);
/// Requests that are sent before answers are read.
const AHEAD: usize = 32;

const CONTRACTS: &str = "plans:
  - { id: free, policies: [{ name: second, limit: 1000000, per: 1s }] }
  - { id: pro, policies: [{ name: second, limit: 2000000, per: 1s }] }
contracts: [{ id: users, key: [user], plan: free }]
";

fn count() -> u64 {
    let count = std::env::var("CATALOGUE_COUNT");
    count.map_or(1_000_000, |count| count.parse().unwrap())
}

#[test]
#[ignore = "takes minutes and prints figures; run it alone, in release"]
fn million_assignments_hold_the_bars() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let contracts = contracts.to_str().unwrap();
    let path = std::env::var("CATALOGUE_MILLION");
    let path = path.map_or_else(|_| folder.path().join("live.db"), PathBuf::from);
    furnish(&path, contracts);

    let start = |name: &str, catalogue: Option<&Path>, has_statistics: bool| {
        start(folder.path(), name, contracts, catalogue, has_statistics)
    };
    let begun = Instant::now();
    let live = start("live", Some(&path), true);
    let started = begun.elapsed();
    println!("start: {started:?}");
    std::thread::sleep(Duration::from_secs(2));
    let resident = live.resident() / 1_000_000;
    println!("idle: {resident} MB");

    let p99 = cold(&live);
    let servers = [
        start("plain", None, false),
        start("counted", None, true),
        start("terms", Some(&path), false),
        live,
    ];
    let [counted, terms, both] = warm(&servers);
    println!(
        "warm: of a contract file, {:.1} % with terms",
        terms * 100.0
    );
    println!(
        "warm: of a contract file, {:.1} % with statistics",
        counted * 100.0
    );
    println!("warm: of a contract file, {:.1} % with both", both * 100.0);
    assert!(started < Duration::from_secs(2), "{started:?}");
    assert!(resident < 150, "{resident} MB");
    assert!(p99 < Duration::from_millis(5), "{p99:?}");
    assert!(terms > 0.9, "{terms}");
    assert!(counted > 0.9, "{counted}");
    // Each may take a tenth.
    assert!(both > 0.81, "{both}");
}

/// A server with its data under a name in a folder.
fn start(
    folder: &Path,
    name: &str,
    contracts: &str,
    catalogue: Option<&Path>,
    has_statistics: bool,
) -> Server {
    let on = format!("statistics: {{ on: {has_statistics} }}\n");
    let settings = file(folder, &format!("{name}.yaml"), &on);
    let mut flags = vec![
        "--contracts",
        contracts,
        "--config",
        settings.to_str().unwrap(),
    ];
    if let Some(path) = catalogue {
        flags.extend(["--catalogue", path.to_str().unwrap()]);
    }
    Server::start(&folder.join(name), &flags)
}

/// How long keys wait that nobody asked for: 99 % of them at most so long.
fn cold(live: &Server) -> Duration {
    let mut cold: Vec<Duration> = Vec::new();
    let mut wire = Wire::to(live.http);
    for place in 0..COLD {
        let begun = Instant::now();
        assert_eq!(limit(&mut wire, place * (count() / COLD)), 2_000_000);
        cold.push(begun.elapsed());
    }
    cold.sort_unstable();
    let at = |percent: usize| cold[(cold.len() - 1) * percent / 100];
    println!(
        "cold: {:?} median, {:?} at 99 %, {:?} at most",
        at(50),
        at(99),
        at(100)
    );
    at(99)
}

/// The first start puts the contracts in, and then all users are put on a plan.
fn furnish(path: &Path, contracts: &str) {
    if path.exists() {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let flags = [
        "--contracts",
        contracts,
        "--catalogue",
        path.to_str().unwrap(),
    ];
    drop(Server::start(data.path(), &flags));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let config = Config {
            time: Duration::from_mins(1),
            ..Config::new(Source::Sqlite(path.to_owned()))
        };
        let database = Database::open(&config).await.unwrap();
        let mut import = database.import("ana", "all of them");
        for user in 0..count() {
            let text = format!("{{\"identity\":\"user={user}\",\"plan\":\"pro\"}}");
            import.add(text).await.unwrap();
        }
        import.finish().await.unwrap();
    });
}

/// What share of the rate of the first server each of the others has, one after the other and again; the medians of all
/// rounds.
fn warm(servers: &[Server; 4]) -> [f64; 3] {
    for server in servers {
        let mut wire = Wire::to(server.http);
        for user in 0..WARM {
            assert!(limit(&mut wire, user) > 0);
        }
    }
    let mut ratios: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        let rates = [0, 1, 2, 3].map(|place| rate(servers[place].http));
        println!("warm: {rates:.0?}");
        for (ratios, rate) in ratios.iter_mut().zip(&rates[1..]) {
            ratios.push(rate / rates[0]);
        }
    }
    ratios.map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    })
}

/// Decisions a second.
fn rate(address: SocketAddr) -> f64 {
    let mut wire = Wire::to(address);
    let (mut done, begun) = (0_u32, Instant::now());
    let mut user = 0;
    while begun.elapsed() < ROUND {
        let mut batch = String::new();
        for _ in 0..AHEAD {
            user = (user + 7) % WARM;
            batch.push_str(&check("user", &user.to_string()));
        }
        wire.send(&batch);
        for _ in 0..AHEAD {
            wire.reply();
            done += 1;
        }
    }
    f64::from(done) / begun.elapsed().as_secs_f64()
}

fn limit(wire: &mut Wire, user: u64) -> u64 {
    let reply = wire.check(&user.to_string());
    reply.json()["limit"].as_u64().unwrap()
}
