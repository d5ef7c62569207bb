//! Engines on private servers, what is asked of them, and load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Lot};
pub(crate) use tollgate_parts::PATIENCE;
use tollgate_parts::{Cluster, Redis as Server};
use tollgate_store::{Ask, Book, Engine, Failure, Name, Said, Verb};
use tollgate_store_redis::{Config, Redis, Servers};

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// For one server, and keys that outlive any trace.
pub(crate) fn config(server: &Server) -> Config {
    lingering(Servers::Single(server.address()))
}

/// Traces have a time of their own, so keys must outlive them in this one.
pub(crate) fn lingering(servers: Servers) -> Config {
    let mut config = Config::new(servers);
    config.linger = Duration::from_hours(1);
    config
}

/// The engine, connected.
pub(crate) async fn open(config: &Config) -> Arc<Redis> {
    let engine = Arc::new(Redis::open(config).unwrap());
    until("the engine is connected", async || engine.is_up()).await;
    engine
}

/// The first contract of these policies, in the words of a contract file.
pub(crate) fn book(policies: &[&str]) -> Arc<Book> {
    let policies: Vec<String> = policies
        .iter()
        .map(|line| format!("      - {{ {line} }}\n"))
        .collect();
    let file = format!(
        "contracts:\n  - id: api\n    key: [user]\n    policies:\n{}",
        policies.concat()
    );
    let contracts = Contracts::parse(&file).unwrap();
    Arc::new(Book::of(contracts.get(0).unwrap()).unwrap())
}

pub(crate) const FIVE: [&str; 5] = [
    "name: second, limit: 100, per: 1s",
    "name: minute, limit: 1000, per: 1m, algorithm: sliding-weighted",
    "name: hour, limit: 10000, per: 1h, algorithm: fixed-window",
    "name: day, limit: 50000, per: 1d",
    "name: month, limit: 1000000, per: month, algorithm: fixed-window",
];

pub(crate) fn now() -> tollgate_limit::Instant {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    tollgate_limit::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap())
}

pub(crate) fn check(book: &Arc<Book>, name: u128, cost: u32) -> Ask {
    let verb = Verb::Check {
        cost: Cost::from_u32(cost),
        lot: Lot::ALWAYS,
    };
    asks(book, name, verb)
}

pub(crate) fn asks(book: &Arc<Book>, name: u128, verb: Verb) -> Ask {
    Ask {
        book: Arc::clone(book),
        name: Name(name),
        verb,
        now: now(),
    }
}

/// Asks for one thing, and whether it was admitted.
pub(crate) async fn one(engine: &Redis, ask: Ask, time: Duration) -> Result<bool, Failure> {
    let said = engine.ask(vec![ask], time).await.remove(0)?;
    match said {
        Said::Outcome { outcome, .. } => Ok(outcome.decision.verdict.is_allowed()),
        said => panic!("a check is answered by {said:?}"),
    }
}

/// The place of the primary that has a key at the start.
pub(crate) fn owner(cluster: &Cluster, book: &Book, name: u128) -> usize {
    cluster.owner(&format!("{:016x}{name:032x}", book.tag()))
}

/// What load saw while something happened to the servers.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) admitted: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) slowest: Duration,
}

/// Asks for one key from several tasks until told to stop, each ask with so much time.
pub(crate) async fn load(
    engine: &Arc<Redis>,
    book: &Arc<Book>,
    name: u128,
    time: Duration,
    stop: &Arc<std::sync::atomic::AtomicBool>,
) -> Seen {
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (engine, book, stop) = (Arc::clone(engine), Arc::clone(book), Arc::clone(stop));
            tokio::spawn(async move {
                let mut seen = Seen::default();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let start = Instant::now();
                    match one(&engine, check(&book, name, 1), time).await {
                        Ok(true) => seen.admitted += 1,
                        Ok(false) => seen.refused += 1,
                        Err(_) => {
                            seen.failed += 1;
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                    }
                    seen.slowest = seen.slowest.max(start.elapsed());
                }
                seen
            })
        })
        .collect();
    let mut all = Seen::default();
    for task in tasks {
        let seen = task.await.unwrap();
        all.admitted += seen.admitted;
        all.refused += seen.refused;
        all.failed += seen.failed;
        all.slowest = all.slowest.max(seen.slowest);
    }
    all
}

/// What is counted for a key of a contract with one fixed window.
pub(crate) async fn counted(engine: &Redis, book: &Arc<Book>, name: u128) -> u64 {
    let said = engine
        .ask(vec![asks(book, name, Verb::Show)], PATIENCE)
        .await
        .remove(0);
    match said.expect("an answer") {
        Said::Found(None) => 0,
        Said::Found(Some(found)) => match found.kept[0] {
            tollgate_limit::Kept::Count(count) => count,
            ref kept => panic!("not a count: {kept:?}"),
        },
        said => panic!("a show is answered by {said:?}"),
    }
}

/// The failure that an engine ends up with.
pub(crate) async fn kind_of(config: &Config, ask: &Ask) -> &'static str {
    let engine = Redis::open(config).unwrap();
    let mut kind = "";
    until("there is a reason", async || {
        let failure = one(&engine, ask.clone(), PATIENCE)
            .await
            .expect_err("it cannot be asked");
        kind = failure.kind();
        !failure.to_string().contains("not connected yet")
    })
    .await;
    kind
}
