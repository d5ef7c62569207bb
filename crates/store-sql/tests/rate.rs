//! How many decisions a second: one key and many, one caller and fifty, one policy and five. A measurement, not a check:
//! `cargo test -p tollgate-store-sql --test rate -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::{Algorithm, Cost, Instant as Nanos, Lot, Period, Policy, PolicyConfig};
use tollgate_parts::Postgres as Server;
use tollgate_store::{Ask, Book, Engine, Name, Verb};
use tollgate_store_sql::{Postgres, PostgresConfig, Sqlite, SqliteConfig};

const TIME: Duration = Duration::from_secs(3);

fn book(algorithm: Algorithm, limit: u64, policies: usize) -> Arc<Book> {
    let config = PolicyConfig::new(algorithm, limit, Period::HOUR);
    let policies = vec![Policy::new(config).unwrap(); policies];
    let contracts = Contracts::for_every_key(policies).unwrap();
    Arc::new(Book::of(contracts.get(0).unwrap()).unwrap())
}

/// What is measured.
#[derive(Clone)]
struct Row {
    what: &'static str,
    book: Arc<Book>,
    callers: u64,
    keys: u64,
    batch: u64,
}

async fn rate<E: Engine>(engine: &Arc<E>, row: &Row, names: u128) {
    let begin = Instant::now();
    let callers: Vec<_> = (0..row.callers)
        .map(|caller| {
            let (engine, row) = (Arc::clone(engine), row.clone());
            tokio::spawn(async move {
                let mut done = 0_u64;
                while begin.elapsed() < TIME {
                    let asks = (0..row.batch).map(|ask| Ask {
                        book: Arc::clone(&row.book),
                        name: Name(names + u128::from((caller * 7_919 + done + ask) % row.keys)),
                        verb: Verb::Check {
                            cost: Cost::ONE,
                            lot: Lot::ALWAYS,
                        },
                        now: Nanos::from_nanos(1_700_000_000_000_000_000 + done),
                    });
                    for said in engine.ask(asks.collect(), Duration::from_mins(1)).await {
                        said.unwrap();
                        done += 1;
                    }
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for caller in callers {
        done += caller.await.unwrap();
    }
    let rate = u128::from(done) * 1_000 / begin.elapsed().as_millis();
    println!(
        "{:>9} {:<44} {rate:>7} decisions/s",
        engine.name(),
        row.what
    );
}

fn rows() -> Vec<Row> {
    let bucket = || book(Algorithm::TokenBucket, 1 << 40, 1);
    let row = |what, book, (callers, keys, batch)| Row {
        what,
        book,
        callers,
        keys,
        batch,
    };
    vec![
        row("token-bucket, 1 caller, 1 key", bucket(), (1, 1, 1)),
        row("token-bucket, 50 callers, 1 key", bucket(), (50, 1, 1)),
        row(
            "token-bucket, 1 caller, 10,000 keys",
            bucket(),
            (1, 10_000, 1),
        ),
        row(
            "token-bucket, 50 callers, 10,000 keys",
            bucket(),
            (50, 10_000, 1),
        ),
        row(
            "token-bucket, 8 callers, batches of 50 keys",
            bucket(),
            (8, 10_000, 50),
        ),
        row(
            "token-bucket, 1 caller, batches of 50, 1 key",
            bucket(),
            (1, 1, 50),
        ),
        row(
            "five policies, 50 callers, 10,000 keys",
            book(Algorithm::TokenBucket, 1 << 40, 5),
            (50, 10_000, 1),
        ),
        row(
            "sliding-log of 10, 1 caller, 1 key",
            book(Algorithm::SlidingLog, 10, 1),
            (1, 1, 1),
        ),
        row(
            "sliding-log of 100, 1 caller, 1 key",
            book(Algorithm::SlidingLog, 100, 1),
            (1, 1, 1),
        ),
        row(
            "sliding-log of 1,000, 1 caller, 1 key",
            book(Algorithm::SlidingLog, 1_000, 1),
            (1, 1, 1),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn decisions_a_second() {
    let server = Server::start();
    let postgres = Arc::new(Postgres::new(&PostgresConfig::new(server.url())).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.db");
    let sqlite = Sqlite::open(&SqliteConfig { path, sync: false }).await;
    let sqlite = Arc::new(sqlite.unwrap());
    for (number, row) in (1_u128..).zip(rows()) {
        rate(&postgres, &row, number << 64).await;
        rate(&sqlite, &row, number << 64).await;
    }
}
