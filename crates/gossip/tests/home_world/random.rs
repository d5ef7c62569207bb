//! Random small clusters with everything that can go wrong.

#![allow(
    dead_code,
    clippy::cast_possible_truncation,
    reason = "each test uses a part of it; there are few nodes"
)]

use tollgate_gossip::{Knobs, Ratio};
use tollgate_limit::Span;
use tollgate_sim::Weather;

use crate::home_world::{Dice, Event, Law, MS, World};

fn span_ms(millis: u64) -> Span {
    Span::from_nanos(u128::from(millis * MS))
}

/// A random cluster with everything that can go wrong, and up to a minute of traffic.
pub(crate) fn random_world(seed: u64) -> World {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9).wrapping_add(17));
    let nodes = 2 + dice.below(7) as u16;
    let law = Law {
        burst: [3, 10, 30, 100][dice.below(4) as usize],
        tokens: [1, 3, 7, 50][dice.below(4) as usize],
        per_ns: [1_000_000_000, 7_000_000_000, 10_000_000_000][dice.below(3) as usize],
    };
    let delay = dice.below(81);
    let faulty = dice.below(3) > 0;
    let jitter = if faulty { dice.below(101) } else { 0 };
    let odds = |dice: &mut Dice| {
        if faulty {
            dice.below(301) as u32 * 1_000
        } else {
            0
        }
    };
    let weather = Weather {
        loss: odds(&mut dice),
        copies: odds(&mut dice),
        ..Weather::between(delay * MS, (delay + jitter) * MS)
    };
    let knobs = Knobs {
        delay: span_ms([delay, delay, 0, 5][dice.below(4) as usize]),
        beta: [None, Some(Ratio::new(1, 1)), Some(Ratio::new(0, 1))][dice.below(3) as usize],
        fade: Ratio::new([0, 1, 1, 4][dice.below(4) as usize], 4),
        grace: span_ms([3000, 3000, 500][dice.below(3) as usize]),
        buddy: dice.below(4) > 0,
        standby: dice.below(4) > 0,
        repeat: dice.below(4) > 0,
        direct: [Some(0), Some(1), Some(1), Some(5), Some(20), None][dice.below(6) as usize],
        tree: [None, None, Some(2), Some(4)][dice.below(4) as usize],
        ..Knobs::default()
    };
    let mut world = World::new(nodes, law, knobs, weather, seed);
    traffic(&mut world, &mut dice, nodes);
    faults(&mut world, &mut dice, nodes);
    world
}

/// Bursts and drips around the refill rate, on one or two keys.
fn traffic(world: &mut World, dice: &mut Dice, nodes: u16) {
    let token_ns = world.law.per_ns / world.law.tokens;
    let mut at = world.now();
    let end = at + 60_000 * MS;
    let keys = 1 + dice.below(2);
    let costs = 1 + dice.below(3) * dice.below(2);
    for _ in 0..1500 {
        let pace = [token_ns / 20, token_ns / 3, token_ns, 3 * token_ns][dice.below(4) as usize];
        at += if dice.below(40) == 0 {
            dice.below(world.law.burst * token_ns / 2)
        } else {
            dice.below(pace.min(2_000 * MS))
        };
        if at > end {
            break;
        }
        let event = Event::Request {
            node: dice.below(u64::from(nodes)) as u16,
            key: u128::from(dice.below(keys)),
            cost: 1 + dice.below(costs),
        };
        world.at(at, event);
    }
}

fn faults(world: &mut World, dice: &mut Dice, nodes: u16) {
    for _ in 0..dice.below(4) {
        let node = dice.below(u64::from(nodes)) as u16;
        let at = world.now() + dice.below(40_000) * MS;
        let lasting = [0, 300, 5_000, 15_000][dice.below(4) as usize];
        world.at(at, Event::Crash { node });
        world.at(at + lasting * MS, Event::Restart { node });
    }
}
