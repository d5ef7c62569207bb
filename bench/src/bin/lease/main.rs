//! What a decision costs with a held lease, compared with the embedded limiter and a round trip over RESP.
//!
//! `cargo run --release -p tollgate-bench --bin lease`. One server process lends one key; one thread asks for that key
//! in three ways by turns, many rounds, and ratios are taken within a round. The lease never runs dry: the limit is a
//! billion a
//! second. Not here: what leases use of a limit (`tollgate cluster prove-lease`), how often clients renew.

#![allow(clippy::print_stdout, reason = "a report for a terminal")]

#[path = "../../server/host.rs"]
#[allow(dead_code, reason = "other benchmarks ask more of hosts")]
mod host;

use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use tollgate_client::{Client, ClientConfig, DecisionPath, Limiter, Period, PolicyConfig};

use host::{Host, build_tollgate, doors};

/// Compares a lease at hand with the embedded limiter and a round trip.
#[derive(Debug, Parser)]
struct Options {
    /// Rounds; each asks in all three ways.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(3..1000))]
    rounds: u32,
}

const KEY: &str = "user:0000000000001234";
const LIMIT: u64 = 1_000_000_000;
const DECISIONS: u32 = 1_000_000;
const TRIPS: u32 = 2_000;
/// The most, relative to the embedded limiter.
const LIMITER_BAR: f64 = 1.5;
/// The least, relative to a round trip.
const TRIP_BAR: f64 = 20.0;

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let folder = tempfile::tempdir()?;
    let server = serve(folder.path())?;
    let resp = format!("127.0.0.1:{}", server.port(1));
    let client = warm(&resp)?;
    let policy = PolicyConfig::token_bucket(LIMIT, Period::SECOND);
    let limiter = Limiter::new([policy]).context("no limiter")?;
    let mut trip = Trip::open(&resp)?;
    let mut rows: Vec<[f64; 3]> = Vec::new();
    let before = client.counts();
    for round in 0..options.rounds {
        let mut row = [0.0; 3];
        // The order changes, so that no way always follows the same one.
        for turn in 0..3 {
            let way = (turn + round) % 3;
            row[way as usize] = match way {
                0 => each(DECISIONS, || limiter.check(black_box(KEY), 1).is_allowed())?,
                1 => each(DECISIONS, || client.check(black_box(KEY), 1).is_allowed)?,
                _ => each(TRIPS, || trip.go().unwrap_or(false))?,
            };
        }
        rows.push(row);
    }
    let after = client.counts();
    let local = after.local - before.local;
    let limiter_ratio = median(rows.iter().map(|[limiter, client, _]| client / limiter));
    let trip_ratio = median(rows.iter().map(|[_, client, trip]| trip / client));
    for (at, name) in ["embedded limiter", "lease at hand", "round trip, RESP"]
        .into_iter()
        .enumerate()
    {
        let mut all: Vec<f64> = rows.iter().map(|row| row[at]).collect();
        all.sort_by(f64::total_cmp);
        println!(
            "{name:<18} {:>9.1} ns  ({:.1} to {:.1})",
            all[all.len() / 2],
            all[0],
            all[all.len() - 1]
        );
    }
    println!(
        "\nlease at hand is {limiter_ratio:.2} times the embedded limiter (at most {LIMITER_BAR})"
    );
    println!("and {trip_ratio:.0} times faster than a round trip (at least {TRIP_BAR})");
    println!(
        "{local} decisions from the lease, {} that waited, {} messages",
        after.waited - before.waited,
        after.sent - before.sent
    );
    let is_met = limiter_ratio <= LIMITER_BAR && trip_ratio >= TRIP_BAR;
    Ok(if is_met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A server whose limit is never reached.
fn serve(folder: &Path) -> Result<Host> {
    let contracts = folder.join("contracts.yaml");
    let text = format!(
        "contracts: [{{ id: api, key: [user], coordination: lease, policies: [{{ name: all, limit: {LIMIT}, per: 1s, term: 10s }}] }}]"
    );
    fs::write(&contracts, text)?;
    let mut command = Command::new(build_tollgate()?);
    command.args([
        "serve",
        "--format",
        "json",
        "--http",
        "127.0.0.1:0",
        "--resp",
        "127.0.0.1:0",
    ]);
    command.arg("--contracts").arg(&contracts);
    command.arg("--data-dir").arg(folder.join("data"));
    Host::start_told("tollgate", command, doors)
}

/// A client that has a lease.
fn warm(resp: &str) -> Result<Client> {
    let client = Client::connect(ClientConfig::new([resp])).context("no client")?;
    let begun = Instant::now();
    loop {
        let warm = (0..1_000)
            .filter(|_| client.check(KEY, 1).path == DecisionPath::Lease)
            .count();
        if warm == 1_000 {
            return Ok(client);
        }
        if begun.elapsed() > Duration::from_secs(30) {
            bail!("no lease after 30 s: {:?}", client.counts());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Mean nanoseconds of a decision; all must pass.
fn each(count: u32, mut decide: impl FnMut() -> bool) -> Result<f64> {
    let begun = Instant::now();
    let passed = (0..count).filter(|_| decide()).count();
    let took = begun.elapsed();
    if passed != count as usize {
        bail!("{passed} of {count} passed");
    }
    Ok(took.as_secs_f64() * 1e9 / f64::from(count))
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

struct Trip {
    stream: TcpStream,
    command: Vec<u8>,
    reply: Vec<u8>,
}

impl Trip {
    fn open(resp: &str) -> Result<Self> {
        let stream = TcpStream::connect(resp)?;
        stream.set_nodelay(true)?;
        let length = KEY.len();
        Ok(Self {
            stream,
            command: format!("*3\r\n$14\r\nTOLLGATE.CHECK\r\n$3\r\nKEY\r\n${length}\r\n{KEY}\r\n")
                .into_bytes(),
            reply: vec![0; 4096],
        })
    }

    /// Whether the request passes.
    fn go(&mut self) -> Result<bool> {
        self.stream.write_all(&self.command)?;
        let length = self.stream.read(&mut self.reply)?;
        let reply = self.reply.get(..length).unwrap_or_default();
        // A reply always fits in one read.
        Ok(memchr::memmem::find(reply, b"allowed\r\n:1\r\n").is_some())
    }
}
