//! Engines on private servers, requests, and load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Lot};
pub(crate) use tollgate_parts::PATIENCE;
use tollgate_parts::Redis as Server;
use tollgate_store::{Book, Engine, EngineAnswer, Failure, Name, StoreRequest, Verb};
use tollgate_store_redis::{Config, Redis, Servers};

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

/// Traces have their own time, so keys must outlive them in real time.
pub(crate) fn lingering(servers: Servers) -> Config {
    let mut config = Config::new(servers);
    config.linger = Duration::from_hours(1);
    config
}

/// An ACL user with the rights that requests need; Clusters and Sentinels add theirs.
pub(crate) const USER: &str = "user app on >secret ~tg:* +evalsha +eval +get +set +del +llen +lrange +lindex +rpush +rpop +ltrim +pexpire +time";

pub(crate) fn as_user(mut config: Config) -> Config {
    (config.user, config.password) = (Some("app".into()), Some("secret".into()));
    config
}

pub(crate) async fn open(config: &Config) -> Arc<Redis> {
    let engine = Arc::new(Redis::open(config).unwrap());
    until("the engine is connected", async || engine.is_up()).await;
    engine
}

/// The first contract of these policies, in the format of a contract file.
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

pub(crate) fn check(book: &Arc<Book>, name: u128, cost: u32) -> StoreRequest {
    let verb = Verb::Check {
        cost: Cost::from_u32(cost),
        lot: Lot::ALWAYS,
    };
    asks(book, name, verb)
}

pub(crate) fn asks(book: &Arc<Book>, name: u128, verb: Verb) -> StoreRequest {
    StoreRequest {
        book: Arc::clone(book),
        name: Name(name),
        verb,
        now: now(),
    }
}

/// Returns whether it was admitted.
pub(crate) async fn one(
    engine: &Redis,
    ask: StoreRequest,
    time: Duration,
) -> Result<bool, Failure> {
    let said = engine.ask(vec![ask], time).await.remove(0)?;
    match said {
        EngineAnswer::Outcome { outcome, .. } => Ok(outcome.decision.verdict.is_allowed()),
        said => panic!("a check is answered by {said:?}"),
    }
}

/// The count of a key in a contract with one fixed window.
pub(crate) async fn counted(engine: &Redis, book: &Arc<Book>, name: u128) -> u64 {
    let said = engine
        .ask(vec![asks(book, name, Verb::Show)], PATIENCE)
        .await
        .remove(0);
    match said.expect("an answer") {
        EngineAnswer::Found(None) => 0,
        EngineAnswer::Found(Some(found)) => match found.kept[0] {
            tollgate_limit::KeptState::Count(count) => count,
            ref kept => panic!("not a count: {kept:?}"),
        },
        said => panic!("a show is answered by {said:?}"),
    }
}

/// The failure that an engine ends up with.
pub(crate) async fn kind_of(config: &Config, ask: &StoreRequest) -> &'static str {
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
