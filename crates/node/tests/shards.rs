//! Policies whose keys are in several shards: what they say to other nodes, and what a lock costs two threads.
//!
//! Figures: `cargo test --release -p tollgate-node --test shards -- --ignored --nocapture --test-threads 1`. Not here:
//! what a mode decides, which every other test sees with as many shards as its row says.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::cast_precision_loss,
    reason = "a test that measures says what it expects, and prints"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::time::Instant as Clock;

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_gossip::{Gossip, Knobs};
use tollgate_lab::nodes::{NodeWorld, contracts};
use tollgate_lease::Sync;
use tollgate_limit::{Cost, Instant, Span};
use tollgate_mode::{Build, ClockKind, Mode, ModeKind, NodeId, Tag, Writer};
use tollgate_node::{Key, Membership, Node, NodeConfig, RateDivision, Roster, RosterPeer};
use tollgate_sim::Conditions;
use tollgate_split::Split;
use tollgate_supply::Supply;
use tollgate_table::Seed;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const MODES: [Coordination; 4] = [
    Coordination::Gossip,
    Coordination::Supply,
    Coordination::Split,
    Coordination::Sync,
];

/// A mode with another number of shards.
#[derive(Debug)]
struct Resharded(Box<dyn ModeKind>, usize);

impl Resharded {
    fn of(by: Coordination, shards: usize) -> Arc<dyn ModeKind> {
        let kind: Box<dyn ModeKind> = match by {
            Coordination::Gossip => Box::new(Gossip {
                knobs: Knobs {
                    delay: Span::from_nanos(u128::from(MS)),
                    ..Knobs::default()
                },
            }),
            Coordination::Supply => Box::new(Supply {
                is_first: true,
                ..Supply::default()
            }),
            Coordination::Split => Box::new(Split::default()),
            _ => Box::new(Sync),
        };
        Arc::new(Self(kind, shards))
    }
}

impl ModeKind for Resharded {
    fn coordination(&self) -> Coordination {
        self.0.coordination()
    }

    fn clock(&self) -> ClockKind {
        self.0.clock()
    }

    fn is_by_roster(&self) -> bool {
        self.0.is_by_roster()
    }

    fn saves_keys(&self) -> bool {
        self.0.saves_keys()
    }

    fn shards(&self) -> usize {
        self.1
    }

    fn counts(&self, contract: &Contract, policy: &NamedPolicy) -> bool {
        self.0.counts(contract, policy)
    }

    fn check(&self, contract: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        self.0.check(contract, policy)
    }

    fn tag(&self, tag: &mut Tag, policy: &NamedPolicy) {
        self.0.tag(tag, policy);
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        self.0.build(build)
    }
}

fn text(by: Coordination, limit: u64) -> String {
    let by = by.name();
    format!(
        "contracts: [{{ id: a, key: [user], coordination: {by}, policies: [{{ name: p, limit: {limit}, per: 1s }}] }}]"
    )
}

/// Three nodes a millisecond apart.
fn three(by: Coordination, shards: usize, limit: u64) -> NodeWorld {
    let mut world = NodeWorld::empty(Conditions::between(MS, MS), 1, 1 << 28);
    world.contracts = contracts(&text(by, limit));
    world.divide(3);
    world.prepare = Some(Box::new(move |_, membership| {
        membership.modes = vec![Resharded::of(by, shards)];
    }));
    world.start(3, 60 * SECOND);
    world
}

/// Frames and their bytes so far, without what IP and UDP add.
fn sent(world: &NodeWorld) -> (u64, u64) {
    let total = world.sent();
    (total.messages, total.bytes - 28 * total.messages)
}

/// So many requests a second for so many keys, at all nodes by turns; frames and bytes of one.
fn load(world: &mut NodeWorld, per_second: u64, keys: u64, seconds: u64) -> (f64, f64) {
    let (frames, bytes) = sent(world);
    let all = per_second * seconds;
    let at_once = per_second.div_ceil(1_000);
    for turn in 0..all {
        let node = usize::try_from(turn % 3).unwrap();
        let key = (turn / 3).wrapping_mul(7919) % keys;
        let _ = world.check(node, &format!("k{key}"), 1);
        if turn % at_once == 0 {
            world.run(SECOND * at_once / per_second);
        }
    }
    let (frames_after, bytes_after) = sent(world);
    let each = |count: u64| count as f64 / all as f64;
    (each(frames_after - frames), each(bytes_after - bytes))
}

#[test]
fn idle_shards_send_no_more_than_one_would() {
    for by in MODES {
        let quiet = |shards| {
            let mut world = three(by, shards, 1_000);
            for key in 0..50 {
                let _ = world.check(key % 3, &format!("k{key}"), 1);
            }
            world.run(120 * SECOND);
            let before = sent(&world);
            world.run(60 * SECOND);
            let after = sent(&world);
            (after.0 - before.0, after.1 - before.1)
        };
        assert_eq!(quiet(8), (0, 0), "{by:?}");
    }
}

#[test]
#[ignore = "measures; see the top of the file"]
fn frames_by_shards() {
    for by in MODES {
        for (per_second, keys, limit) in [
            (100, 1_000, 1_000),
            (5_000, 10_000, 1_000),
            (5_000, 1_000, 5),
            (3_000, 1, 1_000),
        ] {
            for shards in [1, 4, 8, 16] {
                let mut world = three(by, shards, limit);
                load(&mut world, per_second, keys, 2);
                let (frames, bytes) = load(&mut world, per_second, keys, 3);
                println!(
                    "{by:?} {per_second}/s {keys} keys limit {limit}, {shards} shards: {frames:.3} frames, {bytes:.1} bytes"
                );
            }
        }
    }
}

/// A node that knows two others, which say nothing.
fn alone(by: Coordination, shards: usize) -> Node {
    let start = Instant::from_nanos(SECOND);
    let mut membership = Membership::alone(NodeId(1), Writer(1), start);
    membership.members = (1..=3).map(NodeId).collect();
    membership.modes = vec![Resharded::of(by, shards)];
    let names = ["n1", "n2", "n3"];
    let roster = Roster::new(names.map(|name| (name.to_owned(), 1))).unwrap();
    membership.share = Some(RateDivision::new(roster, 1));
    let node = Node::with_company(
        contracts(&text(by, 1_000_000_000)),
        NodeConfig::default(),
        Seed::new([1, 2]),
        membership,
    );
    let peers = (1_u16..).zip(names).map(|(number, name)| RosterPeer {
        node: NodeId(number),
        name: name.to_owned(),
        age: (1, 1),
    });
    node.handle_peers(NodeId(1), peers.collect(), start);
    node
}

/// Decisions of a round: fewer than a processor makes before another thread has it, so that some rounds of two threads
/// run side by side however much else there is to do.
const DECISIONS: u64 = 1_000;
const ROUNDS: u64 = 1_000;

/// So many threads decide, each about keys of its own; nanoseconds of one decision of all, in the best of the rounds.
fn decide(node: &Node, threads: u64, at: u64) -> u64 {
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let round = |thread: u64, round: u64| {
        for turn in 0..DECISIONS {
            let turn = round * DECISIONS + turn;
            let key = Key::Word((turn * 7919 % 50_000) << 1 | thread);
            let now = Instant::from_nanos(at + turn * 1_000);
            assert!(node.check(key, Cost::ONE, now).is_allowed());
        }
        done.fetch_add(1, AcqRel);
    };
    let wait = |count: &AtomicU64, least: u64| {
        while count.load(Acquire) < least {
            std::hint::spin_loop();
        }
    };
    let mut best = u64::MAX;
    std::thread::scope(|scope| {
        for thread in 1..threads {
            let (begun, round, wait) = (&begun, &round, &wait);
            scope.spawn(move || {
                for number in 0..ROUNDS {
                    wait(begun, number + 1);
                    round(thread, number);
                }
            });
        }
        for number in 0..ROUNDS {
            let clock = Clock::now();
            begun.store(number + 1, Release);
            round(0, number);
            wait(&done, threads * (number + 1));
            best = best.min(u64::try_from(clock.elapsed().as_nanos()).unwrap());
            while node.poll_send().is_some() {}
        }
    });
    best / (threads * DECISIONS)
}

#[test]
#[ignore = "measures; see the top of the file"]
fn decisions_of_two_threads() {
    for by in [Coordination::Local].into_iter().chain(MODES) {
        let all: &[usize] = if by == Coordination::Local {
            &[1]
        } else {
            &[1, 4, 8, 16]
        };
        for shards in all.iter().copied() {
            let node = alone(by, shards);
            let one = decide(&node, 1, 1_000 * SECOND);
            let two = decide(&node, 2, 2_000 * SECOND);
            println!("{by:?}, {shards} shards: a decision of one thread {one} ns, of two {two} ns");
        }
    }
}
