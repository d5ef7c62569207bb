//! What decisions cost in databases: by callers, keys, batches, policies and the length of logs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tollgate_parts::Postgres as Server;
use tollgate_store::{Book, Engine};
use tollgate_store_sql::{Postgres, PostgresConfig, Sqlite, SqliteConfig};

use crate::load::{FIVE, ONE, StoreLoad, book, median, rate};

const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(1);

/// What is measured: callers, keys, and keys in a batch.
struct Row {
    what: &'static str,
    book: Arc<Book>,
    load: StoreLoad,
}

pub(crate) async fn run() -> Result<()> {
    let server = Server::start();
    let postgres = Arc::new(Postgres::new(&PostgresConfig::new(server.url()))?);
    let folder = tempfile::tempdir()?;
    let mut config = SqliteConfig::new(folder.path().join("tollgate.db"));
    config.sync = false;
    let sqlite = Arc::new(Sqlite::open(&config).await?);
    println!("medians of {ROUNDS} rounds of {ROUND:?}, `fsync` off\n");
    let (postgres, sqlite) = (rates(&postgres).await?, rates(&sqlite).await?);
    println!("| decisions/s | PostgreSQL | SQLite |\n|---|---|---|");
    for ((row, postgres), sqlite) in rows()?.iter().zip(&postgres).zip(&sqlite) {
        println!("| {} | {postgres:.0} | {sqlite:.0} |", row.what);
    }
    for (name, rates) in [("PostgreSQL", &postgres), ("SQLite", &sqlite)] {
        let cost = rates[MANY_KEYS] / rates[FIVE_POLICIES];
        println!("\nfive policies cost {cost:.2} times one in {name}");
    }
    Ok(())
}

/// The median of every row; rounds of all rows take turns.
async fn rates<E: Engine>(engine: &Arc<E>) -> Result<Vec<f64>> {
    let rows = rows()?;
    let mut rates = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for (row, rates) in rows.iter().zip(&mut rates) {
            rates.push(rate(engine, &row.book, row.load, ROUND).await?);
        }
    }
    Ok(rates.into_iter().map(median).collect())
}

/// Rows that are compared.
const MANY_KEYS: usize = 3;
const FIVE_POLICIES: usize = 4;

fn rows() -> Result<Vec<Row>> {
    let (one, five) = (book(&ONE)?, book(&FIVE)?);
    let log = |limit: u32| {
        let policy = format!("name: log, limit: {limit}, per: 1h, algorithm: sliding-log");
        book(&[&policy])
    };
    let row = |what, book: &Arc<Book>, [callers, keys, batch]: [u64; 3]| Row {
        what,
        book: Arc::clone(book),
        load: StoreLoad {
            callers,
            keys,
            batch,
        },
    };
    Ok(vec![
        row("one policy, 1 caller, 1 key", &one, [1, 1, 1]),
        row("one policy, 50 callers, 1 key", &one, [50, 1, 1]),
        row("one policy, 1 caller, 10,000 keys", &one, [1, 10_000, 1]),
        row("one policy, 50 callers, 10,000 keys", &one, [50, 10_000, 1]),
        row(
            "five policies, 50 callers, 10,000 keys",
            &five,
            [50, 10_000, 1],
        ),
        row(
            "one policy, 8 callers, batches of 50 keys",
            &one,
            [8, 10_000, 50],
        ),
        row(
            "one policy, 1 caller, batches of 50, 1 key",
            &one,
            [1, 1, 50],
        ),
        row("sliding-log of 10, 1 caller, 1 key", &log(10)?, [1, 1, 1]),
        row("sliding-log of 100, 1 caller, 1 key", &log(100)?, [1, 1, 1]),
        row(
            "sliding-log of 1,000, 1 caller, 1 key",
            &log(1_000)?,
            [1, 1, 1],
        ),
    ])
}
