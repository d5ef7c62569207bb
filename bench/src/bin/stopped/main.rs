//! What a server answers, how fast, and in how much memory, while its store is stopped.
//!
//! `cargo run --release -p tollgate-bench --bin stopped`, with `redis-server` installed. A server process shares a
//! Redis of its own; requests come at times fixed beforehand, and in the middle Redis is stopped (SIGSTOP) for a
//! minute, then goes on. Latencies count from the time a request was due. A server without a store gets the
//! same load before and after: its latency is that of the machine. Not here: what decisions cost when Redis answers
//! (`store`).

#![allow(clippy::print_stdout, reason = "a report for a terminal")]

#[path = "../../server/host.rs"]
#[allow(dead_code, reason = "other benchmarks ask more of hosts")]
mod host;
mod watch;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use tollgate_load::{
    Arrivals, Call, Distribution, KeyTemplate, Keys, Latency, LoadPlan, LoadReport, Pace,
};

use host::{Host, build_tollgate, doors, redis};
use watch::{ProcessWatch, WatchSample};

/// Stops the store of a server under load, and says what comes of it.
#[derive(Debug, Parser)]
struct Options {
    /// How long the store stands still.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(3..3600))]
    seconds: u64,
    /// Requests a second.
    #[arg(long, default_value_t = 5000.0)]
    rate: f64,
    /// How long the server waits for its store, in milliseconds.
    #[arg(long, default_value_t = 20)]
    deadline_ms: u64,
    /// What policies wish then: `allow`, `deny` or `local`.
    #[arg(long, default_value = "local")]
    on_failure: String,
    /// The server's binary; built where absent.
    #[arg(long)]
    tollgate: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let before = alone(&options)?;
    let store = redis("redis")?;
    let server = serve(&options, &store)?;
    let plan = plan(&options, &server)?;
    let mut watch = ProcessWatch::new(&plan.marks, &store, &server);
    let report = tollgate_load::run(&plan, |progress| watch.look(progress.elapsed))?;
    let samples = watch.end(plan.warm_up + plan.duration)?;
    drop((server, store));
    let after = alone(&options)?;
    tell(&options, &[before, after], &report);
    tell_memory(&samples);
    let is_kept = judge(&options, &report, &samples);
    Ok(ExitCode::from(u8::from(!is_kept)))
}

fn serve(options: &Options, store: &Host) -> Result<Host> {
    let (port, deadline, wish) = (store.port(0), options.deadline_ms, &options.on_failure);
    let store = format!("store: {{ url: \"redis://127.0.0.1:{port}\", deadline: {deadline}ms }}");
    start(
        options,
        &format!(
            "{store}\n{}",
            contracts("store", &format!(", on_failure: {wish}"))
        ),
    )
}

/// The latency of the same load without a store.
fn alone(options: &Options) -> Result<Latency> {
    let server = start(options, &contracts("local", ""))?;
    let plan = LoadPlan {
        duration: ALONE,
        marks: Vec::new(),
        ..plan(options, &server)?
    };
    Ok(tollgate_load::run(&plan, |_| ())?.latency)
}

fn contracts(coordination: &str, more: &str) -> String {
    format!(
        "contracts:
  - id: users
    key: [user]
    coordination: {coordination}
    policies: [{{ name: minute, limit: 1000000, per: 1m{more} }}]
"
    )
}

fn start(options: &Options, text: &str) -> Result<Host> {
    let folder = std::env::temp_dir().join(format!("tollgate-stopped-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let config = folder.join("tollgate.yaml");
    fs::write(&config, text)?;
    let tollgate = options.tollgate.clone().map_or_else(build_tollgate, Ok)?;
    let mut command = Command::new(tollgate);
    command.args(["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command
        .args(["--resp", "127.0.0.1:0", "--config"])
        .arg(config);
    let server = Host::start_told("tollgate", command, doors);
    fs::remove_dir_all(folder)?;
    server
}

/// Before, stopped, after; split where the store stops, a second later, and where it goes on.
fn plan(options: &Options, server: &Host) -> Result<LoadPlan> {
    let stop = WARM_UP + BEFORE;
    let on = stop + Duration::from_secs(options.seconds);
    Ok(LoadPlan {
        server: format!("127.0.0.1:{}", server.port(0)).parse()?,
        others: Vec::new(),
        call: Call::Check { batch: 1 },
        keys: Keys {
            count: KEYS,
            distribution: Distribution::Sequence,
            template: KeyTemplate::new("user={}")?,
        },
        pace: Pace::Open {
            rate: options.rate,
            arrivals: Arrivals::Poisson,
        },
        connections: CONNECTIONS,
        depth: 1,
        threads: 1,
        warm_up: WARM_UP,
        duration: BEFORE + Duration::from_secs(options.seconds) + AFTER,
        marks: vec![stop, stop + Duration::from_secs(1), on],
        token: None,
        seed: 1,
    })
}

fn tell(options: &Options, alone: &[Latency; 2], report: &LoadReport) {
    let (rate, deadline) = (options.rate, options.deadline_ms);
    println!(
        "{rate:.0} requests/s, {CONNECTIONS} connections, {KEYS} keys, deadline {deadline} ms\n"
    );
    println!(
        "| store | answers | p50 ms | p99 ms | p99.9 ms | max ms |\n|---|---|---|---|---|---|"
    );
    let [before, after] = alone;
    let parts = [before].into_iter().chain(&report.parts).chain([after]);
    for (name, part) in PARTS.iter().zip(parts) {
        let Latency {
            count,
            p50,
            p99,
            p999,
            max,
            ..
        } = part;
        let [p50, p99, p999, max] = [p50, p99, p999, max].map(|ns| ms(*ns));
        println!("| {name} | {count} | {p50:.2} | {p99:.2} | {p999:.2} | {max:.2} |");
    }
    let (allowed, denied) = (report.allowed, report.denied);
    println!(
        "\n{allowed} allowed, {denied} denied, errors: {:?}",
        report.errors
    );
}

fn tell_memory(samples: &[WatchSample]) {
    println!(
        "\n| second | store | resident MiB | by on_failure | breaker | owing |\n|---|---|---|---|---|---|"
    );
    for sample in samples {
        let (mib, breaker) = (
            sample.resident / MIB,
            if sample.open > 0.0 { "open" } else { "closed" },
        );
        println!(
            "| {:.0} | {} | {mib:.2} | {:.0} | {breaker} | {:.0} |",
            sample.at.as_secs_f64(),
            sample.store,
            sample.fell_back,
            sample.owing
        );
    }
}

/// Checks every bar.
fn judge(options: &Options, report: &LoadReport, samples: &[WatchSample]) -> bool {
    let p99 = |part: usize| report.parts.get(part).map_or(f64::MAX, |part| ms(part.p99));
    let resident = |sample: &WatchSample| sample.resident / MIB;
    let of = |store: &'static str| samples.iter().filter(move |sample| sample.store == store);
    let before = of("answers").next_back().map_or(0.0, resident);
    let grown = of("stopped").map(|sample| resident(sample) - before);
    let grown = grown.fold(0.0_f64, f64::max);
    #[allow(clippy::cast_precision_loss, reason = "milliseconds")]
    let deadline = options.deadline_ms as f64;
    let bars = [
        ("p99 of the first second, ms", deadline + 2.0, p99(1)),
        ("p99 with the breaker open, ms", 1.0, p99(2)),
        ("growth while stopped, MiB", GROWTH_MAX_MIB, grown),
    ];
    println!("\n| bar | at most | measured | |\n|---|---|---|---|");
    let mut is_kept = true;
    for (what, most, measured) in bars {
        let is_met = measured <= most;
        is_kept &= is_met;
        let word = if is_met { "met" } else { "missed" };
        println!("| {what} | {most} | {measured:.2} | {word} |");
    }
    is_kept
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

const PARTS: [&str; 6] = [
    "none needed",
    "answers",
    "stopped, first second",
    "stopped, after that",
    "goes on",
    "none needed",
];
/// How long a server without a store is loaded.
const ALONE: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_secs(3);
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(10);
/// More than are in flight at a rate of 5,000 when each takes twice the deadline.
const CONNECTIONS: usize = 256;
const KEYS: u64 = 10_000;
const MIB: f64 = 1_048_576.0;
/// Tolerance for the allocator; keeping one request per answer would take a hundred times that.
const GROWTH_MAX_MIB: f64 = 1.0;
