//! How fast nodes find, miss and find each other again, and what that costs: the daemon's own membership in virtual
//! time.
//!
//! Not here: what they count (`world`), and sockets.

mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_cluster::MemberState;
use tollgate_sim::Conditions;

use crate::catalogue::RunRequest;
use crate::report::{Bar, Report, Spread};

pub use self::world::{Capture, MS, MembershipWorld, Process, SECOND, address};

/// The name it is run by.
pub(crate) const NAME: &str = "membership";

/// What one run gave; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    /// From the last start until all see all.
    gathered: Option<f64>,
    /// Bytes a node sends in a second while nothing happens.
    bytes: f64,
    /// In a minute in which nothing happens.
    wrongs: Wrongs,
    /// From a death until the first misses it, and until all do.
    first_missed: Option<f64>,
    all_missed: Option<f64>,
    /// From the end of a cut into halves until all see all.
    healed: Option<f64>,
    hash: u64,
}

/// Runs it.
pub(crate) fn run(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let tasks: Vec<(u32, u32, u64)> = NODES
        .iter()
        .flat_map(|nodes| LOSSES.map(|loss| (*nodes, loss)))
        .flat_map(|(nodes, loss)| {
            (0..seeds).map(move |number| (nodes, loss, ask.first.wrapping_add(number)))
        })
        .collect();
    let found = run_all(&tasks, ask);
    let mut report = Report {
        title: "Nodes find, miss and find each other again".to_owned(),
        about: "The membership of the daemon, in a network that takes 1 to 2 ms. All nodes start within a second; after a minute in \
                which nothing happens one is killed; then the network is cut into halves for 30 s, and mended."
            .to_owned(),
        parameters: vec![
            ("seeds".to_owned(), seeds.to_string()),
            ("first seed".to_owned(), ask.first.to_string()),
            ("pace".to_owned(), "lan".to_owned()),
            ("events".to_owned(), format!("{:016x}", hash(&found))),
        ],
        ..Report::default()
    };
    for alike in tasks
        .iter()
        .zip(&found)
        .collect::<Vec<_>>()
        .chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1))
    {
        let (nodes, loss, _) = *alike[0].0;
        let runs: Vec<Found> = alike.iter().map(|(_, found)| **found).collect();
        report.bars.extend(bars(nodes, loss, &runs));
    }
    let missed = report
        .bars
        .iter()
        .filter(|bar| bar.met == Some(false))
        .count();
    report.conclusion = if missed == 0 {
        "Every world came together, missed its dead, and healed; what must hold does.".to_owned()
    } else {
        format!("{missed} figures are not as they must be.")
    };
    report
}

/// One fingerprint of all runs.
fn hash(found: &[Found]) -> u64 {
    found.iter().fold(0, |sum: u64, found| {
        sum.rotate_left(7).wrapping_mul(31).wrapping_add(found.hash)
    })
}

fn run_all(tasks: &[(u32, u32, u64)], ask: &RunRequest<'_>) -> Vec<Found> {
    let of = tasks.len() as u64;
    (ask.progress)(0, of);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let found: Vec<Mutex<Option<Found>>> = tasks.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some(((nodes, loss, seed), slot)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            tasks.get(index).zip(found.get(index))
        } {
            let run = live(*nodes, *loss, *seed);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(run);
            }
            (ask.progress)(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, of);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..ask.threads.clamp(1, tasks.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let taken = found
        .into_iter()
        .filter_map(|slot| slot.into_inner().ok().flatten());
    taken.collect()
}

/// The whole life of one world.
fn live(nodes: u32, loss: u32, seed: u64) -> Found {
    let mut world = gathering(nodes, loss, seed);
    let gathered = wait(&mut world, MembershipWorld::is_one);
    let (bytes, wrongs) = idle(&mut world, nodes);
    world.kill(nodes);
    let died = world.now();
    let first_missed = wait(&mut world, |world| missed_by(world, nodes) > 0);
    let all = |world: &MembershipWorld| missed_by(world, nodes) == world.processes.len();
    let all_missed = wait(&mut world, all).map(|_| seconds(world.now() - died));
    // Whoever lost somebody else on the way finds it again first.
    let _ = wait(&mut world, MembershipWorld::is_one);
    let (left, right): (Vec<u32>, Vec<u32>) = (1..=nodes).partition(|host| *host <= nodes / 2);
    world.part(&left, &right);
    world.run_to(world.now() + CUT_NS);
    world.heal();
    let healed = wait(&mut world, MembershipWorld::is_one);
    Found {
        gathered,
        bytes,
        wrongs,
        first_missed,
        all_missed,
        healed,
        hash: world.hash(),
    }
}

/// Hosts that start within a second and know the first two.
fn gathering(nodes: u32, loss: u32, seed: u64) -> MembershipWorld {
    let weather = Conditions {
        loss,
        ..Conditions::between(DELAY_NS, 2 * DELAY_NS - 1)
    };
    let mut world = MembershipWorld::under(weather, seed);
    let begin = world.now();
    let mut starts: Vec<(u64, u32)> = (1..=nodes)
        .map(|host| (world.below(SECOND), host))
        .collect();
    starts.sort_unstable();
    for (after, host) in starts {
        world.run_to(begin + after);
        world.start(host, &[1, 2]);
    }
    world
}

/// How many of those that run do not see that host.
fn missed_by(world: &MembershipWorld, host: u32) -> usize {
    let seers = world.processes.keys();
    seers
        .filter(|seer| !world.view(**seer).contains(&host))
        .count()
}

/// A minute without events: bytes a node and second, and what nodes were wrong about.
fn idle(world: &mut MembershipWorld, nodes: u32) -> (f64, Wrongs) {
    world.run_to(world.now() + SETTLE_NS);
    let mut watch = Watch::default();
    watch.look(world);
    let (before, begun) = (world.bytes, world.now());
    watch.wrongs = Wrongs::default();
    while world.now() < begun + IDLE_NS {
        world.run_to(world.now() + LOOK_NS);
        watch.look(world);
    }
    #[expect(clippy::cast_precision_loss, reason = "figures to read")]
    let bytes = (world.bytes - before) as f64 / f64::from(nodes);
    (bytes / seconds(IDLE_NS), watch.wrongs)
}

/// How often a node was wrong about another that was alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrongs {
    /// It suspected it.
    suspected: u64,
    /// It took it for gone.
    dropped: u64,
}

/// Whom nodes suspected and missed at the last look, and how often they were wrong so far.
#[derive(Default)]
struct Watch {
    wrongs: Wrongs,
    suspects: BTreeMap<u32, BTreeSet<u128>>,
    missing: BTreeSet<(u32, u32)>,
}

impl Watch {
    /// Counts what is new since the last look.
    fn look(&mut self, world: &MembershipWorld) {
        for (host, process) in &world.processes {
            let members = process.cluster.members().iter();
            let suspects = members.filter(|member| member.state == MemberState::Suspect);
            let suspects: BTreeSet<u128> = suspects.map(|member| member.id).collect();
            let before = self.suspects.entry(*host).or_default();
            self.wrongs.suspected += suspects.difference(before).count() as u64;
            *before = suspects;
            let view = world.view(*host);
            for other in world.processes.keys() {
                if view.contains(other) {
                    self.missing.remove(&(*host, *other));
                } else if self.missing.insert((*host, *other)) {
                    self.wrongs.dropped += 1;
                }
            }
        }
    }
}

/// Seconds until it is so; `None` if it never is.
fn wait(world: &mut MembershipWorld, is_so: impl Fn(&MembershipWorld) -> bool) -> Option<f64> {
    let begun = world.now();
    while !is_so(world) {
        if world.now() - begun > PATIENCE_NS {
            return None;
        }
        world.run_to(world.now() + LOOK_NS);
    }
    Some(seconds(world.now() - begun))
}

fn bars(nodes: u32, loss: u32, runs: &[Found]) -> Vec<Bar> {
    let name = |what: &str| {
        format!(
            "{nodes} nodes, {} % lost: {what}",
            f64::from(loss) / 10_000.0
        )
    };
    let spread = |values: Vec<f64>, unit: &str| {
        let worst = values.iter().copied().fold(0.0, f64::max);
        let mean = Spread::of(&values).map_or(0.0, |spread| spread.mean);
        format!("{mean:.1}{unit}, worst {worst:.1}{unit}")
    };
    let time = |what: &str, pick: fn(&Found) -> Option<f64>| {
        let known: Vec<f64> = runs.iter().filter_map(pick).collect();
        let never = runs.len() - known.len();
        Bar {
            name: name(what),
            bar: "happens".to_owned(),
            measured: match never {
                0 => spread(known, " s"),
                never => format!("{}; never in {never} runs", spread(known, " s")),
            },
            met: Some(never == 0),
        }
    };
    let count = |what: &str, pick: fn(&Found) -> f64, (bar, most): (&str, Option<f64>)| {
        let values: Vec<f64> = runs.iter().map(pick).collect();
        let worst = values.iter().copied().fold(0.0, f64::max);
        Bar {
            name: name(what),
            bar: bar.to_owned(),
            measured: spread(values, ""),
            met: most.map(|most| worst <= most),
        }
    };
    let silent = if loss == 0 {
        ("none", Some(0.0))
    } else {
        ("–", None)
    };
    vec![
        time("all see all after the last start", |it| it.gathered),
        count(
            "bytes a node sends in a second",
            |it| it.bytes,
            ("at most 3,000", Some(3_000.0)),
        ),
        count(
            "wrongly suspected in a minute, all pairs",
            |it| whole(it.wrongs.suspected),
            silent,
        ),
        count(
            "wrongly taken for gone in a minute, all pairs",
            |it| whole(it.wrongs.dropped),
            silent,
        ),
        time("the first misses a dead node", |it| it.first_missed),
        time("all miss a dead node", |it| it.all_missed),
        time("all see all after a cut of 30 s", |it| it.healed),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
const fn whole(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "figures to read")]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / SECOND as f64
}

const NODES: [u32; 3] = [5, 30, 100];
/// Every datagram takes that long, and up to as much again.
const DELAY_NS: u64 = MS;
/// Of a million datagrams.
const LOSSES: [u32; 3] = [0, 10_000, 50_000];
const LOOK_NS: u64 = SECOND / 20;
const SETTLE_NS: u64 = 10 * SECOND;
const IDLE_NS: u64 = 60 * SECOND;
const CUT_NS: u64 = 30 * SECOND;
const PATIENCE_NS: u64 = 300 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_nodes_find_miss_and_find_each_other_again() {
        let found = live(5, 0, 1);
        assert_eq!(found.wrongs, Wrongs::default(), "{found:?}");
        assert!(found.bytes < 3_000.0, "{found:?}");
        for time in [
            found.gathered,
            found.first_missed,
            found.all_missed,
            found.healed,
        ] {
            assert!(time.is_some_and(|time| time < 60.0), "{found:?}");
        }
    }

    #[test]
    fn one_seed_is_one_run() {
        assert_eq!(live(5, 10_000, 7), live(5, 10_000, 7));
        assert_ne!(live(5, 10_000, 7).hash, live(5, 10_000, 8).hash);
    }
}
