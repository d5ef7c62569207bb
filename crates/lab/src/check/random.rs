//! Small worlds drawn by seed, to find what nobody thought of.
//!
//! Not here: what is wrong with them.

use tollgate_gossip::{Bucket, Knobs, ModeKey, Ratio};
use tollgate_limit::{Instant, Span};

use crate::dice::{LabDice, Purpose};
use crate::modes::Frequency;
use crate::world::{Cluster, RecordingOptions, Request, Routing, WorldFault};

/// Some time in 2020.
const START_NS: u64 = 1_600_000_000_000_000_000;
const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;

/// What may happen in a drawn world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultLevel {
    /// Messages are instant, nothing fails, shares are strict and never fade: what is exact must be so here.
    Strict,
    /// Messages are instant and nothing fails.
    Calm,
    /// Delay, reordering, loss, duplication, outages, cuts, joins.
    Rough,
}

impl FaultLevel {
    /// Every weather.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Calm, Self::Rough];

    /// The name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Calm => "calm",
            Self::Rough => "rough",
        }
    }
}

/// The world of a seed, and its traffic.
pub fn random_world(weather: FaultLevel, seed: u64) -> (Cluster, Vec<Request>) {
    let mut dice = LabDice::new(seed, Purpose::Worlds);
    let nodes = 1 + dice.small(7);
    let bucket = bucket(&mut dice);
    let (knobs, frequency) = knobs(&mut dice, weather);
    let cluster = Cluster {
        nodes,
        bucket,
        knobs,
        frequency,
        routing: pick(
            &mut dice,
            [
                Routing::Hash,
                Routing::Uniform,
                Routing::Sticky,
                Routing::HotNode,
            ],
        ),
        faults: faults(&mut dice, weather, nodes),
        watch: RecordingOptions::default(),
    };
    let dearest = if weather == FaultLevel::Strict { 1 } else { 3 };
    let trace = trace(&mut dice, cluster.bucket.burst(), dearest);
    (cluster, trace)
}

/// A burst of 1 to 60. Half of them regain a token in whole tenths of a second, so that requests meet the very instant.
fn bucket(dice: &mut LabDice) -> Bucket {
    let burst = 1 + dice.below(60);
    let full_ns = (2 + dice.below(59)) * SECOND;
    let token_ns = pick(dice, [100, 200, 1_000]) * MILLI;
    let is_even = dice.below(2) == 0;
    let made = if is_even {
        Bucket::new(burst, 1, token_ns)
    } else {
        Bucket::new(burst, burst, full_ns)
    };
    match made {
        Ok(bucket) => bucket,
        Err(error) => unreachable!("within its limits: {error}"),
    }
}

fn knobs(dice: &mut LabDice, weather: FaultLevel) -> (Knobs, Frequency) {
    let beta = pick(dice, [(5, 4), (1, 1), (1, 2), (0, 1)]);
    let is_strict = weather == FaultLevel::Strict;
    let interval = pick(dice, [100, 300, 1_000].map(millis));
    let delay = pick(dice, [0, 5, 50].map(millis));
    let frequency = Frequency {
        window: pick(dice, [None, Some(1), Some(3)]),
        ..Frequency::default()
    };
    let knobs = Knobs {
        interval,
        delay,
        beta: match beta {
            (5, _) if is_strict => Ratio::new(1, 1),
            (over, under) => Ratio::new(over, under),
        },
        fade: if is_strict {
            Ratio::new(0, 1)
        } else {
            Ratio::new(1, 4)
        },
        grace: pick(dice, [500, 1_000, 3_000].map(millis)),
        buddy: dice.below(2) == 0,
    };
    (knobs, frequency)
}

/// Up to 300 requests of up to four users: bursts, trickles, gaps, and some in step with a beat.
fn trace(dice: &mut LabDice, burst: u64, dearest: u64) -> Vec<Request> {
    let users = 1 + dice.below(4);
    let (gaps, beat) = pick(
        dice,
        [(1, 1), (20, 1), (200, 1), (1_000, 1), (4, 100), (15, 100)],
    );
    let mut at_ns = START_NS;
    let mut requests = Vec::new();
    for _ in 0..dice.below(300) {
        let pause = if dice.below(50) == 0 { 20 * gaps } else { gaps };
        at_ns += dice.below(pause + 1) * beat * MILLI;
        let is_dear = dice.below(8) == 0;
        requests.push(Request {
            at: Instant::from_nanos(at_ns),
            key: ModeKey(u128::from(7 + dice.below(users)) << 70),
            cost: if is_dear {
                1 + dice.below(dearest.min(burst))
            } else {
                1
            },
            node: None,
        });
    }
    requests
}

fn faults(dice: &mut LabDice, weather: FaultLevel, nodes: u16) -> Vec<WorldFault> {
    if weather != FaultLevel::Rough {
        return Vec::new();
    }
    let mut faults = vec![
        WorldFault::Delay {
            base: millis(dice.below(80)),
            jitter: millis(pick(dice, [0, 5, 100])),
        },
        WorldFault::Loss(percent(pick(dice, [0, 0, 5, 30]))),
        WorldFault::Duplication(percent(pick(dice, [0, 0, 20]))),
    ];
    // Some worlds see several failures at about the same time, while nodes disagree about who is there.
    let (count, within_ms) = pick(dice, [(2, 10_000), (2, 10_000), (5, 2_000)]);
    for _ in 0..dice.below(count + 1) {
        faults.push(one_fault(dice, nodes, within_ms));
    }
    faults
}

fn one_fault(dice: &mut LabDice, nodes: u16, within_ms: u64) -> WorldFault {
    let node = dice.small(nodes);
    let at = millis(dice.below(within_ms));
    match dice.below(5) {
        0 => WorldFault::Crash {
            node,
            at,
            outage: Span::ZERO,
            keeps_state: false,
        },
        1 => WorldFault::Crash {
            node,
            at,
            outage: millis(dice.below(8_000)),
            keeps_state: dice.below(2) == 0,
        },
        2 => WorldFault::Cut {
            from: vec![node],
            to: (0..nodes).filter(|&other| other != node).collect(),
            at,
            lasting: millis(dice.below(8_000)),
        },
        // The first node stays from beginning to end, so that somebody answers.
        3 if node > 0 => WorldFault::Leave { node, at },
        _ if node > 0 => WorldFault::Join { node, at },
        _ => WorldFault::Loss(0),
    }
}

fn millis(count: u64) -> Span {
    Span::from_nanos(u128::from(count) * u128::from(MILLI))
}

/// That many in a hundred, in millionths.
fn percent(count: u32) -> u32 {
    count * 10_000
}

fn pick<T: Copy, const N: usize>(dice: &mut LabDice, from: [T; N]) -> T {
    let [first, ..] = from.as_slice() else {
        unreachable!("nothing to pick from");
    };
    let index = usize::try_from(dice.below(N as u64)).unwrap_or(0);
    *from.get(index).unwrap_or(first)
}
