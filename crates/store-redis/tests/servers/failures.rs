//! Failures of a server, and the answers during them.

use std::time::{Duration, Instant};

use tollgate_parts::{Redis as Server, RedisSetup};
use tollgate_store::{Engine, EngineAnswer, Failure, Verb};
use tollgate_store_redis::Servers;

use crate::failover::{SLACK, TIME};
use crate::kit::{
    PATIENCE, USER, as_user, asks, book, check, config, counted, kind_of, lingering, one, open,
    until,
};

const LIMIT: &str = "name: few, limit: 100, per: month, algorithm: fixed-window";

#[tokio::test(flavor = "multi_thread")]
async fn scripts_and_keys_that_are_flushed_are_made_again() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&[LIMIT]);
    assert_eq!(one(&engine, check(&book, 1, 60), PATIENCE).await, Ok(true));
    let lost = engine.figures().scripts_lost();
    server.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(one(&engine, check(&book, 1, 40), PATIENCE).await, Ok(true));
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(false));
    assert_eq!(
        engine.figures().scripts_lost(),
        lost + 1,
        "and then it is known again"
    );
    server.cli(&["FLUSHALL"]);
    assert_eq!(one(&engine, check(&book, 1, 100), PATIENCE).await, Ok(true));
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_late_and_then_recovers() {
    let server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&[LIMIT]);
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    server.pause();
    let begin = Instant::now();
    let mut slowest = Duration::ZERO;
    // Longer than a silent connection is kept, so that a dead one is replaced.
    while begin.elapsed() < Duration::from_millis(1_500) {
        let start = Instant::now();
        let said = one(&engine, check(&book, 1, 1), TIME).await;
        assert_eq!(said.map_err(|failure| failure.kind()), Err("late"));
        slowest = slowest.max(start.elapsed());
    }
    server.resume();
    println!(
        "stopped: slowest answer {slowest:?}, {} dials",
        engine.dials()
    );
    assert!(slowest < TIME + SLACK, "{slowest:?}");
    until("it answers again", async || {
        one(&engine, check(&book, 1, 1), TIME).await.is_ok()
    })
    .await;
    until("nothing is under way", async || engine.in_flight() == 0).await;
    server.cli(&["CLIENT", "PAUSE", "300", "ALL"]);
    assert_eq!(
        one(&engine, check(&book, 1, 1), TIME).await,
        Err(Failure::Late)
    );
    until("it answers again", async || {
        one(&engine, check(&book, 1, 1), TIME).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_memory_is_full_until_it_has_some() {
    let server = Server::of(&RedisSetup::with(&["maxmemory-policy noeviction"]));
    let engine = open(&config(&server)).await;
    let book = book(&[LIMIT]);
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(
        one(&engine, check(&book, 1, 1), PATIENCE).await,
        Err(Failure::Full)
    );
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(
        counted(&engine, &book, 1).await,
        1,
        "what was refused wrote nothing"
    );
    assert_eq!(one(&engine, check(&book, 1, 99), PATIENCE).await, Ok(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_takes_no_writes() {
    let primary = Server::start();
    let replica = primary.replica();
    let engine = open(&config(&replica)).await;
    let said = one(&engine, check(&book(&[LIMIT]), 1, 1), PATIENCE).await;
    assert_eq!(said, Err(Failure::ReadOnly));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_is_unreachable_at_once_and_found_again() {
    let mut server = Server::start();
    let engine = open(&config(&server)).await;
    let book = book(&[LIMIT]);
    assert_eq!(one(&engine, check(&book, 1, 1), PATIENCE).await, Ok(true));
    server.kill();
    until("that is known", async || !engine.is_up()).await;
    let said = one(&engine, check(&book, 1, 1), PATIENCE).await;
    assert_eq!(said.map_err(|failure| failure.kind()), Err("unreachable"));
    server.restart();
    until("it is found again", async || {
        one(&engine, check(&book, 1, 1), TIME).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_right_is_forbidden() {
    let users = [USER, "user weak on >secret ~tg:* +time"];
    let server = Server::of(&RedisSetup::with(&users).password("root"));
    let mut config = as_user(config(&server));
    let engine = open(&config).await;
    let policies = [
        LIMIT,
        "name: log, limit: 9, per: 1h, algorithm: sliding-log",
    ];
    let ask = check(&book(&policies), 1, 1);
    assert_eq!(one(&engine, ask.clone(), PATIENCE).await, Ok(true));
    let settled = asks(&book(&policies), 1, Verb::Charge(tollgate_limit::Cost::ONE));
    assert_eq!(
        engine.ask(vec![settled], PATIENCE).await,
        [Ok(EngineAnswer::Done)]
    );
    config.user = Some("weak".into());
    assert_eq!(kind_of(&config, &ask).await, "forbidden");
    config.password = Some("wrong".into());
    assert_eq!(kind_of(&config, &ask).await, "forbidden");
    (config.user, config.password) = (None, None);
    assert_eq!(kind_of(&config, &ask).await, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_unreachable_and_too_many_at_once_are_busy() {
    let gone = Server::start();
    let servers = Servers::Single(gone.address());
    drop(gone);
    let mut config = lingering(servers);
    assert_eq!(
        kind_of(&config, &check(&book(&[LIMIT]), 1, 1)).await,
        "unreachable"
    );
    let server = Server::start();
    config.servers = Servers::Single(server.address());
    config.in_flight_max = 1;
    let engine = open(&config).await;
    let book = book(&[LIMIT]);
    let both = vec![check(&book, 1, 1), check(&book, 2, 1)];
    let said = engine.ask(both, PATIENCE).await;
    assert!(said[0].is_ok());
    assert_eq!(said[1], Err(Failure::Busy));
}
