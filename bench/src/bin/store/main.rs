//! What decisions cost when Redis makes them: against a bare script, on a hot key, and by five policies instead of one.
//!
//! `cargo run --release -p tollgate-bench --bin store`, with `redis-server` and `redis-benchmark` installed. Everything runs on
//! one machine and shares its cores; rounds of what is compared take turns, and medians are printed.

#![allow(clippy::print_stdout, reason = "a report for a terminal")]

mod bare;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use tollgate_contract::Contracts;
use tollgate_limit::{Cost, Lot};
use tollgate_parts::{Cluster, Redis as Server, Setup};
use tollgate_store::{Ask, Book, Engine, Name, Verb};
use tollgate_store_redis::{Config, Redis, Servers};

const CALLERS: usize = 50;
const KEYS: u64 = 100_000;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(5);

const ONE: [&str; 1] = ["name: second, limit: 1000000, per: 1s"];
const FIVE: [&str; 5] = [
    "name: second, limit: 1000000, per: 1s",
    "name: minute, limit: 10000000, per: 1m, algorithm: sliding-weighted",
    "name: hour, limit: 100000000, per: 1h, algorithm: fixed-window",
    "name: day, limit: 100000000, per: 1d",
    "name: month, limit: 1000000000, per: month, algorithm: fixed-window",
];

#[tokio::main]
async fn main() -> Result<()> {
    let server = Server::start();
    let script = bare::load(&server);
    let (one, five) = (book(&ONE)?, book(&FIVE)?);
    println!(
        "{CALLERS} callers, one ask at a time each, {KEYS} keys, medians of {ROUNDS} rounds of {ROUND:?}\n"
    );
    println!("| single server | decisions/s | to the bare script |\n|---|---|---|");
    let mut engines = Vec::new();
    for connections in [1, 2, 4, CALLERS] {
        let mut config = Config::new(Servers::Single(server.address()));
        config.connections = connections;
        engines.push((connections, open(&config).await?));
    }
    let mut rates = vec![Vec::new(); engines.len() + 3];
    for _ in 0..ROUNDS {
        rates[0].push(bare::rate(&server, &script, CALLERS, KEYS)?);
        for (place, (_, engine)) in engines.iter().enumerate() {
            rates[place + 1].push(rate(engine, &one, KEYS).await?);
        }
        let engine = &engines[0].1;
        rates[engines.len() + 1].push(rate(engine, &one, 1).await?);
        rates[engines.len() + 2].push(rate(engine, &five, KEYS).await?);
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

async fn cluster(one: &Arc<Book>, five: &Arc<Book>) -> Result<()> {
    let cluster = Cluster::without_replicas(&Setup::default());
    let engine = open(&Config::new(Servers::Cluster(cluster.addresses()))).await?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rates[0].push(rate(&engine, one, KEYS).await?);
        rates[1].push(rate(&engine, five, KEYS).await?);
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

fn book(policies: &[&str]) -> Result<Arc<Book>> {
    let policies: Vec<String> = policies
        .iter()
        .map(|line| format!("      - {{ {line} }}\n"))
        .collect();
    let file = format!(
        "contracts:\n  - id: bench{}\n    key: [user]\n    policies:\n{}",
        policies.len(),
        policies.concat()
    );
    let contracts = Contracts::parse(&file).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let contract = contracts.get(0).context("one contract")?;
    Ok(Arc::new(Book::of(contract)?))
}

/// Decisions per second of all callers together.
async fn rate(engine: &Arc<Redis>, book: &Arc<Book>, keys: u64) -> Result<f64> {
    let (stop, done) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let callers: Vec<_> = (0..CALLERS as u64)
        .map(|caller| {
            let (engine, book) = (Arc::clone(engine), Arc::clone(book));
            let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
            tokio::spawn(async move {
                let mut number = caller + 1;
                while !stop.load(Ordering::Relaxed) {
                    // A generator good enough to spread keys.
                    number = number
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let said = engine
                        .ask(vec![ask(&book, (number >> 33) % keys)], TIME)
                        .await;
                    if let Some(Err(failure)) = said.into_iter().next() {
                        bail!("{failure}");
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        })
        .collect();
    let start = Instant::now();
    tokio::time::sleep(ROUND).await;
    let (count, elapsed) = (done.load(Ordering::Relaxed), start.elapsed());
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await??;
    }
    #[allow(clippy::cast_precision_loss)] // a rate to print
    Ok(count as f64 / elapsed.as_secs_f64())
}

fn ask(book: &Arc<Book>, name: u64) -> Ask {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Ask {
        book: Arc::clone(book),
        name: Name(u128::from(name)),
        verb: Verb::Check {
            cost: Cost::ONE,
            lot: Lot::ALWAYS,
        },
        now: tollgate_limit::Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(0)),
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}
