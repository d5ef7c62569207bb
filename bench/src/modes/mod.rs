//! What agreeing costs: three nodes in every mode, compared with three independent nodes, in the same run.
//!
//! A cell is a mode and a shape of traffic. Its rounds alternate with rounds of `local` under the same traffic, so that
//! the ratio of processor time holds on a noisy machine. Processor time is that of all three nodes, without the load
//! generator and without Redis. Not here: one node beside other limiters (`server`), and what is admitted under faults.

mod cluster;
mod flood;
pub(crate) mod options;
mod shape;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::Serialize;
use tollgate_load::{ErrorKind, LoadReport};

use crate::cli::Format;
use crate::server::host::build_tollgate;
use crate::stopwatch::Spread;
use crate::table::TextTable;
use cluster::{ModeCluster, ResourceUse};
use flood::Flood;
use options::{BenchMode, ModesOptions};
use shape::Shape;

#[derive(Debug, Serialize)]
struct Cell {
    mode: String,
    shape: String,
    /// Decisions a second, relative to `local` in the same rounds.
    per_second: Spread,
    throughput_over_local: f64,
    /// Processor time of all nodes for one decision, and that over `local`'s.
    cpu_us: Spread,
    cpu_over_local: f64,
    p99_ms: f64,
    /// Between nodes, or between nodes and their store, for one decision.
    bytes: f64,
    denied_percent: f64,
    /// Beyond one bucket, as the load generator counts; only if one key is above its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    overshoot: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Memory {
    mode: String,
    keys: u64,
    bytes_per_key: f64,
}

#[derive(Debug, Default, Serialize)]
struct Figures {
    cells: Vec<Cell>,
    memory: Vec<Memory>,
    floods: Vec<Flood>,
}

#[derive(Clone, Copy)]
struct Round {
    per_second: f64,
    cpu_us: f64,
    p99_ms: f64,
    bytes: f64,
    denied_percent: f64,
    overshoot: Option<f64>,
}

pub(crate) fn run(options: &ModesOptions) -> Result<()> {
    let binary = options.tollgate.clone().map_or_else(build_tollgate, Ok)?;
    let local = ModeCluster::start(&binary, BenchMode::Local)?;
    let mut figures = Figures::default();
    for mode in options.modes() {
        let cluster = ModeCluster::start(&binary, mode)?;
        for shape in options.shapes() {
            let cell = measure(options, mode, shape, &cluster, &local)?;
            eprintln!(
                "  {} {}: {:.2} times local",
                cell.mode, cell.shape, cell.cpu_over_local
            );
            figures.cells.push(cell);
        }
    }
    drop(local);
    for mode in std::iter::once(BenchMode::Local).chain(options.modes()) {
        let memory = fill(&binary, mode, options.slice() * FILL_SLICES)?;
        eprintln!("  {}: {:.0} bytes a key", memory.mode, memory.bytes_per_key);
        figures.memory.push(memory);
    }
    for mode in options.modes() {
        let flood = Flood::run(&binary, mode, options.flood())?;
        eprintln!(
            "  {}: {:.0} % of new keys pass",
            flood.mode, flood.new_pass_percent
        );
        figures.floods.push(flood);
    }
    match options.format {
        Format::Human => print(&figures),
        Format::Json => println!("{}", serde_json::to_string_pretty(&figures)?),
    }
    Ok(())
}

/// One cell and `local`, alternating, each first equally often.
fn measure(
    options: &ModesOptions,
    mode: BenchMode,
    shape: Shape,
    cluster: &ModeCluster,
    local: &ModeCluster,
) -> Result<Cell> {
    let (mut own, mut beside) = (Vec::new(), Vec::new());
    for turn in 0..options.rounds() {
        let slice = options.slice();
        if turn % 2 == 0 {
            beside.push(round(local, shape, slice)?);
        }
        own.push(round(cluster, shape, slice)?);
        if turn % 2 == 1 {
            beside.push(round(local, shape, slice)?);
        }
    }
    let of =
        |rounds: &[Round], pick: fn(&Round) -> f64| Spread::of(rounds.iter().map(pick).collect());
    let (per_second, cpu_us) = (of(&own, |it| it.per_second), of(&own, |it| it.cpu_us));
    let local_cpu = of(&beside, |it| it.cpu_us).median;
    let overshoot = own
        .iter()
        .filter_map(|it| it.overshoot)
        .max_by(f64::total_cmp);
    Ok(Cell {
        mode: mode.name(),
        shape: shape.name(),
        throughput_over_local: per_second.median / of(&beside, |it| it.per_second).median,
        cpu_over_local: cpu_us.median / local_cpu,
        per_second,
        cpu_us,
        p99_ms: of(&own, |it| it.p99_ms).median,
        bytes: of(&own, |it| it.bytes).median,
        denied_percent: of(&own, |it| it.denied_percent).median,
        overshoot,
    })
}

fn round(cluster: &ModeCluster, shape: Shape, slice: Duration) -> Result<Round> {
    let before = cluster.taken()?;
    let report = shape.ask(&cluster.sockets, slice)?;
    let after = cluster.taken()?;
    check(&report)?;
    let ResourceUse { cpu_ns, bytes, .. } = after;
    let decisions = number(report.whole.total()).max(1.0);
    let seconds = (slice + shape::WARM_UP).as_secs_f64();
    let one_bucket = shape.one_bucket(seconds);
    Ok(Round {
        per_second: report.decisions_per_second(),
        cpu_us: (cpu_ns - before.cpu_ns) / decisions / 1e3,
        p99_ms: number(report.latency.p99) / 1e6,
        bytes: (bytes - before.bytes) / decisions,
        denied_percent: 100.0 * number(report.whole.denied) / decisions,
        overshoot: one_bucket.map(|most| (number(report.whole.allowed) - most).max(0.0)),
    })
}

/// Requests a million keys once from new nodes, and measures the growth of the largest node.
fn fill(binary: &Path, mode: BenchMode, duration: Duration) -> Result<Memory> {
    let cluster = ModeCluster::start(binary, mode)?;
    let before = cluster.taken()?;
    let report = Shape::Calm1M.fill(&cluster.sockets, duration)?;
    check(&report)?;
    let keys = report.whole.total().min(Shape::Calm1M.keys());
    let grown = cluster.taken()?.resident - before.resident;
    Ok(Memory {
        mode: mode.name(),
        keys,
        bytes_per_key: grown / number(keys).max(1.0),
    })
}

/// Requests that could not be sent in time are in the latencies; anything else fails the run.
fn check(report: &LoadReport) -> Result<()> {
    let mut errors = report.errors.iter();
    let trouble =
        errors.find(|error| !matches!(error.kind, ErrorKind::Unsent | ErrorKind::Unanswered));
    ensure!(trouble.is_none(), "errors: {trouble:?}");
    Ok(())
}

fn print(figures: &Figures) {
    let head = [
        "mode",
        "shape",
        "decisions/s",
        "over local",
        "CPU us",
        "over local",
        "p99 ms",
        "bytes",
        "denied %",
        "overshoot",
    ];
    let mut table = TextTable::new("modes: three nodes, over `local` in the same run", &head);
    for cell in &figures.cells {
        table.push(vec![
            cell.mode.clone(),
            cell.shape.clone(),
            format!("{:.0}", cell.per_second.median),
            format!("{:.2}", cell.throughput_over_local),
            format!("{:.2}", cell.cpu_us.median),
            format!("{:.2}", cell.cpu_over_local),
            format!("{:.2}", cell.p99_ms),
            format!("{:.1}", cell.bytes),
            format!("{:.1}", cell.denied_percent),
            cell.overshoot
                .map_or_else(String::new, |tokens| format!("{tokens:.0}")),
        ]);
    }
    print!("{table}");
    let mut table = TextTable::new(
        "memory: the node that takes most",
        &["mode", "keys", "bytes a key"],
    );
    for Memory {
        mode,
        keys,
        bytes_per_key,
    } in &figures.memory
    {
        table.push(vec![
            mode.clone(),
            keys.to_string(),
            format!("{bytes_per_key:.0}"),
        ]);
    }
    print!("{table}");
    print!("{}", flood::table(&figures.floods));
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below 2^53"
)]
fn number(count: u64) -> f64 {
    count as f64
}

/// Filling takes longer than a round.
const FILL_SLICES: u32 = 4;
