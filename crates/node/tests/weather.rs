//! Whole nodes and many keys in bad weather: frames are lost, doubled, late and out of order, links are cut, nodes
//! fall, and where limits are divided clocks differ. What one bucket says of it has arithmetic of its own.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    reason = "small numbers, and a broken set-up must stop the test"
)]

use std::collections::BTreeMap;

use tollgate_kit::Dice;
use tollgate_lab::nodes::{Decision, NodeWorld, Observer, OneBucket, contracts};
use tollgate_node::Key;
use tollgate_sim::{Conditions, SimClock};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const NODES: u64 = 5;
const KEYS: u64 = 300;
/// Half of all requests are for as many of them.
const HOT: u64 = 6;
const PER_SECOND: u64 = 20;
const BURST: u64 = 10;
const STORM: u64 = 8 * SECOND;

/// What came of a storm, by one bucket for each user that sees all that is admitted.
#[derive(Default)]
struct Judge {
    buckets: BTreeMap<String, OneBucket>,
    admitted: u64,
    refused: u64,
    /// Refused although the bucket of all that was admitted had a token.
    falsely: u64,
}

impl Observer for Judge {
    fn decided(&mut self, decision: &Decision<'_>) {
        let Key::Entries([(_, user)]) = decision.key else {
            panic!("asked otherwise");
        };
        let bucket = self.buckets.entry((*user).to_owned());
        let bucket = bucket.or_insert(OneBucket::full(PER_SECOND, BURST, decision.at));
        let has = bucket.has(1, decision.at);
        if decision.is_allowed {
            self.admitted += 1;
            bucket.take(1);
        } else {
            self.refused += 1;
            self.falsely += u64::from(has);
        }
    }
}

fn world(coordination: &str, seed: u64) -> NodeWorld<Judge> {
    let text = format!(
        "contracts: [{{ id: a, key: [user], policies: [{{ name: p, limit: {PER_SECOND}, per: 1s, burst: {BURST}, coordination: {coordination} }}] }}]"
    );
    let storm = Conditions {
        loss: 100_000,
        copies: 100_000,
        late: 20_000,
        late_max: SECOND,
        ..Conditions::between(MS / 4, 20 * MS)
    };
    let mut world = NodeWorld::watched(storm, seed, 1 << 26, Judge::default());
    world.contracts = contracts(&text);
    world
}

/// Requests for keys of which some are far above their limit, and faults, as a seed says; then a calm.
fn run(world: &mut NodeWorld<Judge>, seed: u64) {
    world.start(NODES as usize, 3 * SECOND);
    let mut dice = Dice::new(seed ^ 0x57);
    let mut back = BTreeMap::new();
    let end = world.sim.now() + STORM;
    while world.sim.now() < end {
        world.run(MS);
        for _ in 0..2 {
            let node = dice.below(NODES) as usize;
            let hot = dice.below(2) == 0;
            let user = dice.below(if hot { HOT } else { KEYS });
            if world.nodes[node].is_up {
                let _ = world.check(node, &format!("u{user}"), 1);
            }
        }
        shake(world, &mut dice, &mut back);
    }
    world.sim.links.heal();
    world.sim.links.weather = Conditions::between(MS / 4, MS);
}

/// Now and then a link is cut one way, or a node falls for a while.
fn shake(world: &mut NodeWorld<Judge>, dice: &mut Dice, back: &mut BTreeMap<usize, u64>) {
    let now = world.sim.now();
    if dice.below(500) == 0 {
        let (from, to) = (dice.below(NODES) as u16, dice.below(NODES) as u16);
        let until = now + dice.below(2 * SECOND);
        world.sim.links.cut(&[from], &[to], now..until);
    }
    if dice.below(1_500) == 0 && back.is_empty() {
        let node = dice.below(NODES) as usize;
        world.crash(node);
        back.insert(node, now + dice.below(SECOND));
    }
    if let Some((node, _)) = back.pop_first().filter(|(_, at)| *at <= now) {
        world.restart(node);
        world.tell();
    }
}

#[test]
fn nobody_is_refused_what_one_bucket_has() {
    for seed in 0..4 {
        let mut world = world("gossip", seed);
        run(&mut world, seed);
        let seen = world.observer;
        assert_eq!(seen.falsely, 0, "seed {seed}");
        assert!(seen.admitted > 3_000, "{}", seen.admitted);
        assert!(seen.refused > 1_000, "{}", seen.refused);
    }
}

#[test]
fn divided_limits_never_let_one_too_many_pass() {
    for seed in 0..4 {
        for coordination in ["supply", "split"] {
            let mut world = world(coordination, seed);
            world.divide(NODES as usize);
            let mut dice = Dice::new(seed ^ 0xc1);
            for node in 0..NODES as u16 {
                let ahead = dice.below(20 * SECOND) as i64 - 10 * SECOND as i64;
                let drift = dice.below(401) as i64 - 200;
                world.sim.set_clock(node, SimClock { ahead, drift });
            }
            run(&mut world, seed);
            world.run(10 * SECOND);
            let log = world.log();
            let mut passes: Vec<_> = log
                .iter()
                .map(|(node, admitted)| {
                    let at = admitted.at.saturating_add(admitted.wait);
                    let at = world.sim.clock(*node as u16).world(at.as_nanos());
                    (at, admitted.key)
                })
                .collect();
            passes.sort_unstable();
            let mut buckets = BTreeMap::new();
            for (at, key) in passes {
                let full = OneBucket::full(PER_SECOND, BURST, at);
                let bucket = buckets.entry(key).or_insert(full);
                assert!(bucket.has(1, at), "{coordination}: seed {seed} at {at}");
                bucket.take(1);
            }
            let admitted = world.observer.admitted;
            assert!(admitted > 1_000, "{coordination}: {admitted}");
        }
    }
}
