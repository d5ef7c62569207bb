//! What decisions cost when an engine makes them: against a bare script, on a hot key, and by five policies instead of
//! one.
//!
//! `cargo run --release -p tollgate-bench --bin store`, with `redis-server` and `redis-benchmark` installed, and the
//! same with `-- sql` for `PostgreSQL` and `SQLite`. Everything runs on one machine and shares its cores; rounds of
//! what is compared take turns, and medians are printed.

#![allow(clippy::print_stdout, reason = "a report for a terminal")]

mod bare;
mod load;
mod sql;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tollgate_parts::{Redis as Server, RedisCluster, RedisSetup};
use tollgate_store::Book;
use tollgate_store_redis::{Config, Redis, Servers};

use load::{FIVE, ONE, StoreLoad, book, median, rate};

const CALLERS: u64 = 50;
const KEYS: u64 = 100_000;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        None | Some("redis") => redis().await,
        Some("sql") => sql::run().await,
        Some(other) => bail!("`{other}` is none of redis, sql"),
    }
}

async fn redis() -> Result<()> {
    let server = Server::start();
    let script = bare::load(&server);
    let (one, five) = (book(&ONE)?, book(&FIVE)?);
    println!(
        "{CALLERS} callers, one ask at a time each, {KEYS} keys, medians of {ROUNDS} rounds of {ROUND:?}\n"
    );
    println!("| single server | decisions/s | to the bare script |\n|---|---|---|");
    let mut engines = Vec::new();
    for connections in [1, 2, 4, 50] {
        let mut config = Config::new(Servers::Single(server.address()));
        config.connections = connections;
        engines.push((connections, open(&config).await?));
    }
    let mut rates = vec![Vec::new(); engines.len() + 3];
    for _ in 0..ROUNDS {
        rates[0].push(bare::rate(&server, &script, CALLERS, KEYS)?);
        for (place, (_, engine)) in engines.iter().enumerate() {
            rates[place + 1].push(of(engine, &one, KEYS).await?);
        }
        let engine = &engines[0].1;
        rates[engines.len() + 1].push(of(engine, &one, 1).await?);
        rates[engines.len() + 2].push(of(engine, &five, KEYS).await?);
    }
    let mut medians: Vec<f64> = rates.into_iter().map(median).collect();
    let bare = medians[0];
    let row = |what: &str, rate: f64| println!("| {what} | {rate:.0} | {:.2} |", rate / bare);
    row("redis-benchmark, bare EVALSHA of a token bucket", bare);
    for (place, (connections, _)) in engines.iter().enumerate() {
        row(
            &format!("one policy, {connections} connections"),
            medians[place + 1],
        );
    }
    row(
        "one policy, one hot key, 1 connection",
        medians[engines.len() + 1],
    );
    row("five policies, 1 connection", medians[engines.len() + 2]);
    let five_cost = medians[1] / medians.pop().unwrap_or(1.0);
    println!("\nfive policies cost {five_cost:.2} times one on a single server");
    drop(engines);
    cluster(&one, &five).await
}

async fn of(engine: &Arc<Redis>, book: &Arc<Book>, keys: u64) -> Result<f64> {
    let (callers, batch) = (CALLERS, 1);
    let load = StoreLoad {
        callers,
        keys,
        batch,
    };
    rate(engine, book, load, ROUND).await
}

async fn cluster(one: &Arc<Book>, five: &Arc<Book>) -> Result<()> {
    let cluster = RedisCluster::without_replicas(&RedisSetup::default());
    let engine = open(&Config::new(Servers::Cluster(cluster.addresses()))).await?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rates[0].push(of(&engine, one, KEYS).await?);
        rates[1].push(of(&engine, five, KEYS).await?);
    }
    let [one, five] = rates.map(median);
    println!("\n| Cluster of 3 primaries | decisions/s |\n|---|---|");
    println!("| one policy | {one:.0} |\n| five policies | {five:.0} |");
    println!(
        "\nfive policies cost {:.2} times one in a Cluster",
        one / five
    );
    Ok(())
}

async fn open(config: &Config) -> Result<Arc<Redis>> {
    let engine = Arc::new(Redis::open(config)?);
    let start = Instant::now();
    while !engine.is_up() {
        if start.elapsed() > Duration::from_secs(10) {
            bail!("Redis cannot be reached");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(engine)
}
