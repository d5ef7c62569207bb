//! `tollgate cluster prove`: a divided rate on five real processes, judged by what they admitted.
//!
//! Twice as much is asked as there is, most of it of another node every second, while nodes are killed, cut off,
//! stopped and restarted. A node writes an admission down before it answers, with the time by which it decided, on a
//! clock that all processes of a machine share; so the log is whole whenever a process dies. All logs together are
//! replayed through one bucket. Beside the use of the limit stands that of the same phases simulated. Not here: what
//! the protocol may do (`tollgate-supply`).

// The checker of `bench`, which shares no code with what it judges.
#[path = "../../../../../bench/src/bin/admissions/judge.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program of its own elsewhere")]
pub(super) mod judge;
mod load;
pub(super) mod phases;
mod show;
mod simulated;
mod stage;
mod story;

use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::Cost;
use tollgate_serve::supply::steady_now;

use super::dev::binary;
use super::nets::{self, Nets};
use super::options::ProveOptions;
use crate::failure::Failure;
use judge::{JudgedBucket, judge};
use load::ProveLoad;
use phases::{PhaseRow, Proof};
use show::ProveReport;
use stage::Stage;
use story::{BURST, LONG, NODES, ProvePhase, QUICK, RATE, share};

pub(super) fn run(options: &ProveOptions) -> Result<(), Failure> {
    let (nets, obstacle) = match network(options)? {
        Network::Own(nets) => (Some(nets), None),
        Network::None(why) => (None, Some(why)),
        Network::Enter => return Err(enter()?),
    };
    let own = tempfile::tempdir().map_err(|error| Failure::system("make a folder", &error))?;
    let folder = options.keep.as_deref().map_or(Ok(own.path()), fresh)?;
    let cost =
        Cost::new(options.cost).map_err(|error| Failure::usage(format!("error: {error}")))?;
    let phases = if options.quick { QUICK } else { LONG };
    let contracts = story::contracts(options.delay);
    let stage = Stage::set(nets, &contracts, folder)?;
    let report = play(stage, phases, &contracts, cost)?;
    let report = ProveReport { obstacle, ..report };
    report.conclude(options.format)
}

enum Network {
    /// Links of a network that is this process' own.
    Own(Nets),
    /// A proxy, and why.
    None(String),
    /// This command, started again in a network of its own.
    Enter,
}

fn network(options: &ProveOptions) -> Result<Network, Failure> {
    if nets::is_inside() {
        let nets = Nets::build(NODES);
        let nets = nets.map_err(|error| Failure::system("make network namespaces", &error))?;
        return Ok(Network::Own(nets));
    }
    if options.proxy {
        return Ok(Network::None("--proxy".to_owned()));
    }
    Ok(nets::obstacle().map_or(Network::Enter, Network::None))
}

/// Becomes the same command in a network of its own; what went wrong otherwise.
fn enter() -> Result<Failure, Failure> {
    let mut command = nets::enter(binary()?);
    let error = command.args(std::env::args_os().skip(1)).exec();
    Ok(Failure::system("enter a network of its own", &error))
}

/// A folder for logs that stay; one with something in it would be judged as well.
fn fresh(folder: &Path) -> Result<&Path, Failure> {
    let made = std::fs::create_dir_all(folder).and_then(|()| std::fs::read_dir(folder));
    let mut made = made.map_err(|error| Failure::file(folder, &error))?;
    if made.next().is_some() {
        let name = folder.display();
        return Err(Failure::usage(format!(
            "error: --keep {name}: the folder is not empty"
        )));
    }
    Ok(folder)
}

fn play(
    mut stage: Stage,
    phases: &'static [ProvePhase],
    contracts: &str,
    cost: Cost,
) -> Result<ProveReport, Failure> {
    let load = ProveLoad::start(stage.fleet(), cost.tokens());
    let mut lived = Vec::new();
    let mut spans = Vec::new();
    for (name, seconds, event) in phases {
        // Nobody is left to tell when standard error is gone.
        let _ = writeln!(std::io::stderr(), "  {name}");
        let begin = steady_now().as_nanos();
        let away = stage.happen(*event, &load)?;
        let happened = Instant::now();
        thread::sleep(Duration::from_secs(*seconds).saturating_sub(happened.elapsed()));
        let end = steady_now().as_nanos();
        spans.push((begin, end));
        let away = u64::try_from(away.as_nanos()).unwrap_or(u64::MAX);
        lived.push((*event, away, end - begin));
    }
    let offered = load.stop();
    let recovered = stage.wait_for_all()?;
    let log = stage.log()?;
    drop(stage);
    let parsed = Contracts::parse(contracts).map_err(|error| Failure::config(error.render("")))?;
    let simulated = simulated::run(&parsed, &lived, cost);
    let rows = phases.iter().zip(&spans).zip(simulated);
    let rows = rows.map(|(((name, ..), span), simulated)| PhaseRow {
        name,
        nanos: span.1 - span.0,
        live: share(log.tokens(span.0, span.1), span.1 - span.0),
        simulated: vec![simulated],
    });
    Ok(ProveReport {
        rows: rows.collect(),
        found: judge(BUCKET, &log),
        offered,
        recovered,
        obstacle: None,
    })
}

const BUCKET: JudgedBucket = JudgedBucket {
    limit: RATE,
    per_ns: 1_000_000_000,
    burst: BURST,
};
