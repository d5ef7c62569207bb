//! `tollgate lab live`: an experiment with real processes, beside its simulation with the measured delay.
//!
//! Not here: the processes (`cluster::fleet`), and the simulation (`tollgate-lab`).

mod drive;
mod figures;
mod lanes;
mod show;

use std::collections::BTreeMap;
use std::io::{self, Write, stderr, stdout};
use std::os::unix::process::CommandExt;
use std::time::Duration;

use tollgate_lab::{BadWorld, Contender, Request, WorldFault, judge, simulate};
use tollgate_limit::Span;

use super::options::LiveOptions;
use crate::cli::OutputFormat;
use crate::cluster::fleet::{ClusterPlan, Fleet, Spot};
use crate::cluster::nets::{self, Nets};
use crate::cluster::script;
use crate::cluster::{binary, threads};
use crate::failure::Failure;
use crate::report::TerminalStyle;
use drive::Driven;
use figures::LiveFigures;
use lanes::{LiveLane, lanes};
use show::{Drawn, LaneRow};

/// Runs every lane and shows each beside its simulation.
pub(super) fn run(options: &LiveOptions) -> Result<(), Failure> {
    let lanes = lanes(options)?;
    let spots = spots(options)?;
    let mut rows = Vec::new();
    // Faults have lasting effects, so what comes after them gets a new cluster.
    let share = |a: &LiveLane, b: &LiveLane| {
        (a.is_calm() || options.together) && a.cluster.faults == b.cluster.faults
    };
    for group in lanes.chunk_by(share) {
        rows.extend(run_group(group, options, &spots)?);
    }
    let text = match options.format {
        OutputFormat::Human => show::human(&rows, options, TerminalStyle::of_stdout()),
        OutputFormat::Json => show::json(&rows, options),
        OutputFormat::Jsonl => show::lines(&rows),
    };
    stdout().write_all(text.as_bytes()).map_err(Failure::output)
}

/// Namespaces for the nodes, if requested.
fn spots(options: &LiveOptions) -> Result<BTreeMap<u16, Spot>, Failure> {
    if !options.namespaces {
        return Ok(BTreeMap::new());
    }
    let failed = |error: &io::Error| Failure::system("make network namespaces", error);
    if nets::is_inside() {
        let nets = Nets::build(options.nodes).map_err(|error| failed(&error))?;
        return Ok(nets.spots());
    }
    if let Some(why) = nets::obstacle() {
        return Err(Failure::no_permission(format!(
            "error: no network namespaces here: {why}"
        )));
    }
    // Runs this command again in a network of its own; returns only if that fails.
    let mut again = nets::enter(binary()?);
    Err(failed(&again.args(std::env::args_os().skip(1)).exec()))
}

fn run_group(
    lanes: &[LiveLane],
    options: &LiveOptions,
    spots: &BTreeMap<u16, Spot>,
) -> Result<Vec<LaneRow>, Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::system("make a folder", &error))?;
    let contracts = folder.path().join("contracts.yaml");
    let text = lanes::contracts(lanes);
    std::fs::write(&contracts, text).map_err(|error| Failure::file(&contracts, &error))?;
    let faults = lanes.first().map_or(&[][..], |lane| &lane.cluster.faults);
    let script = script::of_faults(faults).map_err(|script::NoClock| {
        Failure::usage("error: clocks that are off are simulated only; processes here share one")
    })?;
    let is_calm = script.steps().is_empty();
    if !is_calm && !spots.is_empty() {
        let why = "error: faults go through a proxy on loopback, so there are none in namespaces";
        return Err(Failure::usage(why));
    }
    let mut fleet = Fleet::start(ClusterPlan {
        binary: binary()?,
        nodes: options.nodes,
        contracts,
        flags: threads(options.nodes),
        faults: (!is_calm).then_some(options.seed),
        spots: spots.clone(),
    })?;
    let mut rows = Vec::new();
    if options.together {
        rows.extend(run_lanes(lanes, &mut fleet, &script, options)?);
    } else {
        for lane in lanes {
            rows.extend(run_lanes(
                std::slice::from_ref(lane),
                &mut fleet,
                &script,
                options,
            )?);
        }
    }
    Ok(rows)
}

/// Runs some lanes at the same time.
fn run_lanes(
    lanes: &[LiveLane],
    fleet: &mut Fleet,
    script: &tollgate_fault::Script,
    options: &LiveOptions,
) -> Result<Vec<LaneRow>, Failure> {
    let names: Vec<String> = lanes.iter().map(|lane| lane.set.clone()).collect();
    // Nothing can be done if standard error is closed.
    let _ = writeln!(stderr(), "live: {}", names.join(", "));
    settle_delay(fleet)?;
    let before = LiveFigures::read(fleet)?;
    let driven = drive::drive(lanes, fleet, script)?;
    let after = figures::when_quiet(fleet, lanes, &before)?;
    let delay = after.delay;
    let mut rows = Vec::new();
    for (lane, driven) in lanes.iter().zip(&driven) {
        rows.push(row(lane, driven, after.of(lane, &before), delay, options)?);
    }
    Ok(rows)
}

/// Waits until every node has measured the delay of messages.
fn settle_delay(fleet: &Fleet) -> Result<(), Failure> {
    let begun = std::time::Instant::now();
    while !LiveFigures::read(fleet)?.is_measured {
        if begun.elapsed() > DELAY_KNOWN {
            return Err(Failure::unavailable(
                "error: the nodes do not say how long messages take",
            ));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

const DELAY_KNOWN: Duration = Duration::from_secs(30);

fn row(
    lane: &LiveLane,
    driven: &Driven,
    live: figures::ContractTraffic,
    delay: Span,
    options: &LiveOptions,
) -> Result<LaneRow, Failure> {
    let judged = judge(lane.cluster.bucket, &lane.trace, &driven.admitted);
    let simulated = simulated(lane, delay, options.seed)
        .map_err(|error| Failure::usage(format!("error: {error}")))?;
    Ok(LaneRow {
        set: lane.set.clone(),
        requests: lane.trace.len() as u64,
        delay,
        judged,
        live,
        unanswered: driven.unanswered,
        late: driven.late,
        simulated,
    })
}

/// The same in the lab, with the measured delay. Processes have random phases of their rounds, so the lab draws them
/// repeatedly.
fn simulated(lane: &LiveLane, delay: Span, seed: u64) -> Result<Drawn, BadWorld> {
    let mut cluster = lane.cluster.clone();
    let is_delayed = |fault: &WorldFault| matches!(fault, WorldFault::Delay { .. });
    if !cluster.faults.iter().any(is_delayed) {
        cluster.faults.push(WorldFault::Delay {
            base: delay,
            jitter: Span::ZERO,
        });
    }
    let placed = lane.trace.iter().zip(&lane.places);
    let trace: Vec<Request> = placed
        .map(|(request, place)| Request {
            node: Some(*place),
            ..*request
        })
        .collect();
    let mut draws = (0..DRAWS)
        .map(|draw| simulate(&cluster, Contender::Links, &trace, seed + draw))
        .collect::<Result<Vec<_>, _>>()?;
    draws.sort_by_key(|outcome| outcome.judged.rejected);
    let ends = [draws.first(), draws.last()];
    Ok(Drawn {
        count: DRAWS,
        rejected: ends.map(|outcome| outcome.map_or(0, |outcome| outcome.judged.rejected)),
        typical: draws.swap_remove(draws.len() / 2),
    })
}

/// How often the lab draws what is random in processes.
const DRAWS: u64 = 41;
