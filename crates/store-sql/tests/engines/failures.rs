//! A database that is restarted, held still, read-only, or does not let us in: each its answer, in time, and back to normal.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Instant as Nanos, Lot};
use tollgate_parts::Postgres as Server;
use tollgate_store::{Ask, Book, Engine, Failure, Name, Said, Verb};
use tollgate_store_sql::{Postgres, PostgresConfig, Sweep};

const FILE: &str = "
contracts:
  - id: api
    key: [user]
    policies:
      - { name: hourly, limit: 1000, per: 1h, algorithm: fixed-window }
";

/// So long that only what hangs takes it.
const PATIENT: Duration = Duration::from_secs(30);
/// What an answer may take on a machine that does other things, beyond the time it was given.
const SLACK: Duration = Duration::from_secs(2);

struct Key {
    engine: Postgres,
    book: Arc<Book>,
    name: Name,
}

impl Key {
    fn new(url: String) -> Self {
        let contracts = Contracts::parse(FILE).unwrap();
        let book = Arc::new(Book::of(contracts.get(0).unwrap()).unwrap());
        let engine = Postgres::new(&PostgresConfig::new(url)).unwrap();
        let name = Name(7);
        Self { engine, book, name }
    }

    /// Asks for one token; whether it was given.
    async fn ask(&self, time: Duration) -> Result<bool, Failure> {
        let begin = Instant::now();
        let (cost, lot) = (Cost::ONE, Lot::ALWAYS);
        let ask = Ask {
            book: Arc::clone(&self.book),
            name: self.name,
            verb: Verb::Check { cost, lot },
            now: Nanos::from_nanos(1_700_000_000_000_000_000),
        };
        let said = self.engine.ask(vec![ask], time).await.remove(0);
        assert!(begin.elapsed() < time + SLACK, "{:?} late", begin.elapsed());
        match said? {
            Said::Outcome { outcome, .. } => Ok(outcome.decision.verdict.is_allowed()),
            said => panic!("a check is answered by {said:?}"),
        }
    }

    /// Asks until it is answered again.
    async fn recovers(&self) -> bool {
        let begin = Instant::now();
        loop {
            match self.ask(PATIENT).await {
                Ok(given) => return given,
                Err(failure) => assert!(begin.elapsed() < Duration::from_mins(1), "{failure}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_under_load_is_survived_and_nothing_is_given_twice() {
    let mut server = Server::start();
    let key = Arc::new(Key::new(server.url()));
    assert_eq!(key.ask(PATIENT).await, Ok(true));
    let loads: Vec<_> = (0..8)
        .map(|_| {
            let key = Arc::clone(&key);
            tokio::spawn(async move {
                let (mut given, mut unknown) = (0_u32, 0_u32);
                // Until the limit is reached, whatever happens to the server.
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
    // What was not answered may have been done: never more than the limit, and as much as that leaves.
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
    let key = Key::new(server.url());
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
    let key = Key::new(server.url());
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
    let key = Key::new(server.url_as("tollgate:open-sesame"));
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

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_drops_what_is_fresh_and_nothing_else() {
    const YEAR_2500: u64 = 16_725_225_600_000_000_000;
    let server = Server::start();
    let mut key = Key::new(server.url());
    let mut config = PostgresConfig::new(server.url());
    config.sweep = Some(Sweep {
        every: Duration::from_millis(20),
        grace: Duration::ZERO,
    });
    // Charged in 2023 for an hour, and in 2500.
    assert_eq!(key.ask(PATIENT).await, Ok(true));
    let ask = |name, verb| Ask {
        book: Arc::clone(&key.book),
        name: Name(name),
        verb,
        now: Nanos::from_nanos(YEAR_2500),
    };
    let (charge, shows) = (
        ask(8, Verb::Charge(Cost::ONE)),
        [ask(7, Verb::Show), ask(8, Verb::Show)],
    );
    let charged = key.engine.ask(vec![charge], PATIENT).await;
    assert_eq!(charged, [Ok(Said::Done)]);
    key.engine = Postgres::new(&config).unwrap();
    let begin = Instant::now();
    loop {
        let said = key.engine.ask(shows.to_vec(), PATIENT).await;
        let is_there = |place: usize| matches!(said[place], Ok(Said::Found(Some(_))));
        assert!(is_there(1), "{said:?}");
        if said[0] == Ok(Said::Found(None)) {
            return;
        }
        assert!(
            is_there(0) && begin.elapsed() < Duration::from_mins(1),
            "{said:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
