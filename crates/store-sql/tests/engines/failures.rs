//! A database that is restarted, stopped, read-only, or refuses the login: each gets its failure in time, and
//! recovers to
//! normal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_parts::Postgres as Server;
use tollgate_store::Failure;
use tollgate_store_sql::{Postgres, PostgresConfig};

use crate::kit::{EngineKey, PATIENT};

fn key(url: String) -> EngineKey<Postgres> {
    EngineKey::new(Postgres::new(&PostgresConfig::new(url)).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_under_load_is_survived_and_nothing_is_given_twice() {
    let mut server = Server::start();
    let key = Arc::new(key(server.url()));
    assert_eq!(key.ask(PATIENT).await, Ok(true));
    let loads: Vec<_> = (0..8)
        .map(|_| {
            let key = Arc::clone(&key);
            tokio::spawn(async move {
                let (mut given, mut unknown) = (0_u32, 0_u32);
                // Until the limit is reached, despite the restart.
                loop {
                    match key.ask(Duration::from_secs(5)).await {
                        Ok(true) => given += 1,
                        Ok(false) => return (given, unknown),
                        Err(Failure::Late | Failure::Unreachable(_) | Failure::Starting) => {
                            unknown += 1;
                        }
                        Err(failure) => panic!("{failure}"),
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
        })
        .collect();
    let restarted = tokio::task::spawn_blocking(move || {
        server.stop();
        server.run(&[]);
        server
    });
    let _server = restarted.await.unwrap();
    let (mut given, mut unknown) = (1, 0);
    for load in loads {
        let (more, lost) = load.await.unwrap();
        given += more;
        unknown += lost;
    }
    // Unanswered requests may have been done: never more than the limit, and at least the rest.
    assert!(unknown > 0, "nobody noticed the restart");
    let (fewest, most) = (1_000_u32.saturating_sub(unknown), 1_000);
    assert!(
        (fewest..=most).contains(&given),
        "{given} given, {unknown} unknown"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_held_still_makes_nobody_wait_longer() {
    let server = Server::start();
    let key = key(server.url());
    assert_eq!(key.ask(PATIENT).await, Ok(true));
    server.pause();
    for _ in 0..20 {
        assert_eq!(key.ask(Duration::from_millis(20)).await, Err(Failure::Late));
    }
    server.resume();
    assert!(key.recovers().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_server_says_so_and_is_used_again_when_it_is_not() {
    let mut server = Server::start();
    let key = key(server.url());
    assert_eq!(key.ask(PATIENT).await, Ok(true));
    server.stop();
    let gone = key.ask(PATIENT).await.unwrap_err();
    assert!(matches!(gone.kind(), "unreachable" | "starting"), "{gone}");
    server.run(&["default_transaction_read_only=on"]);
    let begin = Instant::now();
    while key.ask(PATIENT).await != Err(Failure::ReadOnly) {
        assert!(begin.elapsed() < Duration::from_mins(1));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop();
    server.run(&[]);
    assert!(key.recovers().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_forbidden_and_not_told() {
    let server = Server::start();
    let key = key(server.url_as("tollgate:open-sesame"));
    let failure = key.ask(PATIENT).await.unwrap_err();
    assert_eq!(failure.kind(), "forbidden");
    assert!(!failure.to_string().contains("open-sesame"), "{failure}");
    let again = key.ask(PATIENT).await.unwrap_err();
    assert_eq!(again.kind(), "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_address_is_refused_and_not_told() {
    let config = PostgresConfig::new("postgres://user:open-sesame@[");
    let failure = Postgres::new(&config).unwrap_err();
    assert!(!failure.to_string().contains("open-sesame"), "{failure}");
}
