//! Every checker, quickly: what `cargo xtask mutants` runs with each known bug planted in turn.
//!
//! `TOLLGATE_PLANTED` names the bug, if the feature `planted` is on; without one everything must pass. Not here: what
//! only the tests of `tollgate-gossip` can see, which are run after these.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a test fails that way, and rounds what it shows"
)]

use tollgate_lab::{
    Cluster, Contender, FaultLevel, RecordingOptions, RunOutcome, WorldFault, check, check_window,
    random_window, random_world, set, simulate,
};
use tollgate_limit::Span;

/// Worlds of calm weather per design.
const CALM_WORLDS: u64 = 200;
/// Worlds of rough weather per design; much must come together there.
const ROUGH_WORLDS: u64 = 800;

/// A design on a set, over a few seeds, in a cluster changed to taste.
struct Cell<'a> {
    set: &'a str,
    kind: Contender,
    seeds: u64,
    change: &'a dyn Fn(&mut Cluster),
}

impl Cell<'_> {
    fn runs(&self) -> Vec<RunOutcome> {
        let set = set(self.set).unwrap();
        let mut cluster = Cluster::new(set.bucket());
        (self.change)(&mut cluster);
        let run = |seed| {
            let trace = set.trace(cluster.bucket, cluster.nodes, seed);
            simulate(&cluster, self.kind, &trace, seed).unwrap()
        };
        (1..=self.seeds).map(run).collect()
    }

    /// The mean of a figure over the seeds.
    fn mean(&self, pick: impl Fn(&RunOutcome) -> f64) -> f64 {
        let runs = self.runs();
        runs.iter().map(pick).sum::<f64>() / runs.len() as f64
    }
}

fn cell(set: &str, kind: Contender) -> Cell<'_> {
    Cell {
        set,
        kind,
        seeds: 4,
        change: &|_| {},
    }
}

fn total(outcome: &RunOutcome) -> f64 {
    outcome.judged.total.unwrap_or(100.0)
}

fn area(outcome: &RunOutcome) -> f64 {
    outcome.judged.area.unwrap_or(100.0)
}

fn over(outcome: &RunOutcome) -> f64 {
    outcome.judged.over as f64
}

fn kilobytes(outcome: &RunOutcome) -> f64 {
    outcome.traffic.bytes as f64 / 1_000.0
}

fn messages(outcome: &RunOutcome) -> f64 {
    outcome.traffic.messages as f64
}

/// Asserts a figure's mean, and says how to see it again.
fn assert_within(cell: &Cell<'_>, what: &str, found: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&found),
        "{} on {}: {what} is {found:.2}, expected {low} to {high}, mean of {} seeds",
        cell.kind,
        cell.set,
        cell.seeds
    );
}

fn worlds(weather: FaultLevel, kinds: &[Contender]) {
    for &kind in kinds {
        let count = if weather == FaultLevel::Rough {
            ROUGH_WORLDS
        } else {
            CALM_WORLDS
        };
        for seed in 1..=count {
            let (cluster, trace) = random_world(weather, seed);
            let found = check(&cluster, kind, &trace, seed).unwrap();
            assert!(
                found.is_empty(),
                "{found:?}; replay: cargo run --release -p tollgate-lab --example worlds -- {} {kind} {seed} 1",
                weather.name()
            );
        }
    }
}

#[test]
fn drawn_worlds_with_strict_shares() {
    worlds(FaultLevel::Strict, &Contender::DESIGNS);
}

#[test]
fn drawn_worlds_with_instant_messages() {
    worlds(FaultLevel::Calm, &Contender::DESIGNS);
}

#[test]
fn drawn_worlds_with_faults() {
    worlds(FaultLevel::Rough, &Contender::DESIGNS);
}

#[test]
fn drawn_worlds_with_windows() {
    for weather in FaultLevel::ALL {
        for seed in 1..=CALM_WORLDS {
            let (cluster, trace) = random_world(weather, seed);
            let found = check_window(&cluster, random_window(seed), &trace, seed).unwrap();
            assert!(found.is_empty(), "{weather:?} {seed}: {found:?}");
        }
    }
}

#[test]
fn links_are_exact() {
    let sets = [
        "b-extreme",
        "b-substantial",
        "b-barely",
        "b-calm",
        "a",
        "d",
        "mob",
        "two",
        "idle",
    ];
    for set in sets {
        let seeds = if set == "a" { 1 } else { 4 };
        let cell = Cell {
            seeds,
            ..cell(set, Contender::Links)
        };
        for outcome in cell.runs() {
            let judged = outcome.judged;
            let wrong = (judged.over, judged.under, judged.false_rejections);
            assert_eq!(wrong, (0, 0, 0), "{set}, seed {}", outcome.seed);
        }
    }
}

#[test]
fn links_are_cheap() {
    let bars = [
        ("b-extreme", 345.0),
        ("b-substantial", 375.0),
        ("b-barely", 345.0),
        ("b-calm", 3.0),
    ];
    for (set, most) in bars {
        let cell = cell(set, Contender::Links);
        assert_within(&cell, "KB", cell.mean(kilobytes), 0.0, most);
    }
}

#[test]
fn slow_drips_are_noticed() {
    for (set, least) in [("drip-1.5", 97.0), ("drip-5", 99.0), ("split", 99.5)] {
        let cell = Cell {
            seeds: 2,
            ..cell(set, Contender::Links)
        };
        assert_within(&cell, "total", cell.mean(total), least, 101.0);
    }
}

#[test]
fn counters_are_as_close_as_reported() {
    for kind in [Contender::Counter, Contender::CounterFixed] {
        let extreme = cell("b-extreme", kind);
        assert_within(&extreme, "area", extreme.mean(area), 96.0, 97.6);
        assert_within(&extreme, "over", extreme.mean(over), 85.0, 125.0);
        assert_within(
            &extreme,
            "messages",
            extreme.mean(messages),
            1_200.0,
            1_650.0,
        );
        let substantial = cell("b-substantial", kind);
        assert_within(&substantial, "area", substantial.mean(area), 95.2, 98.0);
        assert_within(
            &substantial,
            "messages",
            substantial.mean(messages),
            2_700.0,
            3_500.0,
        );
    }
}

#[test]
fn a_clamped_counter_does_not_save_up() {
    let fixed = Cell {
        seeds: 10,
        ..cell("idle", Contender::CounterFixed)
    };
    assert_within(&fixed, "over", fixed.mean(over), 0.0, 360.0);
    let printed = cell("idle", Contender::Counter);
    assert_within(&printed, "over", printed.mean(over), 900.0, 1_200.0);
    for interval in [300, 450, 900] {
        let change = |cluster: &mut Cluster| cluster.knobs.interval = millis(interval);
        let fixed = Cell {
            seeds: 8,
            change: &change,
            ..cell("d", Contender::CounterFixed)
        };
        let wrong = fixed.mean(|outcome| outcome.judged.false_rejections as f64);
        assert_within(&fixed, "false rejections", wrong, 0.0, 0.0);
    }
}

#[test]
fn counters_agree_once_all_is_said() {
    let change = |cluster: &mut Cluster| {
        cluster.watch = RecordingOptions {
            probes: true,
            ..RecordingOptions::default()
        };
    };
    for kind in [Contender::CounterFixed, Contender::Queue] {
        for set in ["b-extreme", "b-substantial", "b-barely", "d"] {
            for outcome in (Cell {
                change: &change,
                ..cell(set, kind)
            })
            .runs()
            {
                for probe in outcome.probes {
                    assert!(probe.most - probe.least <= 1, "{kind} on {set}: {probe:?}");
                }
            }
        }
    }
}

#[test]
fn a_plain_queue_decides_as_the_clamped_counter_does() {
    for set in ["b-extreme", "b-substantial", "b-barely"] {
        let queue = cell(set, Contender::Queue).runs();
        let counter = cell(set, Contender::CounterFixed).runs();
        for (queue, counter) in queue.iter().zip(&counter) {
            let (queue, counter) = (queue.judged, counter.judged);
            let apart = queue.rejected.abs_diff(counter.rejected);
            assert!(
                apart <= queue.rejected / 1_000 + 1,
                "{set}: {queue:?} {counter:?}"
            );
        }
    }
}

#[test]
fn queues_are_as_close_as_reported() {
    for (set, least, most_over) in [
        ("b-extreme", 99.5, 27.0),
        ("b-substantial", 98.5, 12.0),
        ("b-barely", 70.0, 3.0),
    ] {
        let freq = cell(set, Contender::QueueFreq);
        assert_within(&freq, "area", freq.mean(area), least, 100.5);
        assert_within(&freq, "over", freq.mean(over), 0.0, most_over);
    }
    let extreme = cell("b-extreme", Contender::QueueFreq);
    assert_within(&extreme, "messages", extreme.mean(messages), 0.0, 10_500.0);
    assert_within(&extreme, "KB", extreme.mean(kilobytes), 0.0, 8_500.0);
    for interval in [300, 450, 900] {
        let change = |cluster: &mut Cluster| cluster.knobs.interval = millis(interval);
        let freq = Cell {
            change: &change,
            ..cell("d", Contender::QueueFreq)
        };
        assert_within(&freq, "total", freq.mean(total), 100.0, 100.0);
    }
}

#[test]
fn the_least_informed_come_first() {
    let plain = cell("b-extreme", Contender::Queue);
    let linf = cell("b-extreme", Contender::QueueLinf);
    let quiet = linf.mean(|outcome| outcome.quiet_s.unwrap_or(300.0));
    assert_within(&linf, "seconds until quiet", quiet, 0.0, 10.0);
    let extra = |outcome: &RunOutcome| outcome.state_bytes - outcome.local_bytes;
    let saved = linf.mean(extra) / plain.mean(extra);
    assert_within(&linf, "part of the delta states left", saved, 0.0, 0.85);
    assert_within(&linf, "area", linf.mean(area), 96.0, 98.0);
}

#[test]
fn links_bear_faults() {
    let reorder = WorldFault::Delay {
        base: millis(5),
        jitter: millis(40),
    };
    let swift = WorldFault::Delay {
        base: millis(5),
        jitter: Span::ZERO,
    };
    let crash = |node, outage| WorldFault::Crash {
        node,
        at: millis(30_000),
        outage: millis(outage),
        keeps_state: false,
    };
    let skew = WorldFault::Skew(millis(50));
    let trials: [(&str, Vec<WorldFault>, f64); 5] = [
        ("loss", vec![swift.clone(), WorldFault::Loss(50_000)], 85.0),
        (
            "copies",
            vec![reorder, WorldFault::Duplication(200_000)],
            92.0,
        ),
        ("skew", vec![swift.clone(), skew], 92.0),
        ("crash", vec![swift.clone(), crash(7, 0)], 92.0),
        ("outage", vec![swift, crash(3, 10_000), crash(9, 0)], 92.0),
    ];
    for (name, faults, barely) in &trials {
        let change = |cluster: &mut Cluster| {
            cluster.knobs.delay = millis(5);
            cluster.faults.clone_from(faults);
        };
        for (set, least) in [("b-substantial", 99.5), ("b-barely", *barely)] {
            let cell = Cell {
                change: &change,
                ..cell(set, Contender::Links)
            };
            assert_within(&cell, name, cell.mean(total), least, 103.0);
        }
    }
}

fn millis(count: u64) -> Span {
    Span::from_nanos(u128::from(count) * 1_000_000)
}
