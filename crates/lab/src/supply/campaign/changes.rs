//! Limits and shares change while nodes crash, are cut off and hear of it one after the other: never more than the
//! largest limit in force, and all of the last one in the end.

use tollgate_limit::Span;
use tollgate_supply::{Limits, SupplyConfig};

use super::world::{Dice, MS, Plan, SECOND, World};
use crate::dice::seeds;

const NODES: u16 = 5;
const RATE: u64 = 400;
const CHANGES_END: u64 = 10 * SECOND;

fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        nodes: NODES,
        limits: Limits::new(RATE * Limits::PER_SECOND, RATE / 4).unwrap(),
        config: SupplyConfig {
            term: Span::from_nanos(u128::from(SECOND / 2)),
            keeps: true,
            ..SupplyConfig::default()
        },
        wait_max: Span::from_nanos(u128::from(seed % 2 * 100 * MS)),
        costs_max: 2,
        drift_ppm: 1_000,
    }
}

fn change(world: &mut World, dice: &mut Dice, with_limits: bool) {
    if with_limits && dice.chance(50, 100) {
        let rate = [RATE, RATE / 2, RATE / 10][dice.below(3) as usize];
        let burst = [RATE / 4, RATE / 8, 10][dice.below(3) as usize];
        world.limits = Limits::new(rate * Limits::PER_SECOND, burst).unwrap();
    } else {
        let weights = (0..NODES).map(|node| (node, [0, 1, 5][dice.below(3) as usize]));
        let weights: Vec<_> = weights.collect();
        if weights.iter().any(|(_, weight)| *weight > 0) {
            world.weights = weights;
        }
    }
    for node in 0..NODES {
        if dice.chance(50, 100) {
            world.tell(node);
        }
    }
}

fn shake(world: &mut World, dice: &mut Dice, with_limits: bool) {
    let node = dice.below(u64::from(NODES)) as u16;
    match dice.below(8) {
        0 => {
            world.crash(node);
            world.run_until(world.now() + dice.below(50 * MS));
            let keeps = dice.chance(70, 100);
            world.restart(node, keeps);
        }
        1 => world.part(dice),
        2 => world.net.sim.links.heal(),
        3 => world.lose(dice),
        4 => world.slow(dice),
        5 => change(world, dice, with_limits),
        _ => world.tell(node),
    }
}

fn run(seed: u64, with_limits: bool) -> World {
    let mut dice = Dice::new(seed.wrapping_mul(0x9e37) ^ 0xc4a6);
    let mut world = World::new(plan(seed));
    world.set_demands(&[RATE, RATE / 2, RATE / 4, 0, RATE / 4]);
    while world.now() < CHANGES_END {
        let pause = dice.between(20 * MS, 400 * MS);
        world.run_until(world.now() + pause);
        shake(&mut world, &mut dice, with_limits);
    }
    world.calm();
    for node in 0..NODES {
        world.tell(node);
    }
    world.run_until(world.now() + 6 * SECOND);
    world.seen.best = 0;
    world.limits_max = (world.limits.rate(), world.limits.burst());
    world.run_until(world.now() + SECOND);
    world
}

fn campaign(usual: u64, with_limits: bool) {
    for seed in seeds(usual) {
        let world = run(seed, with_limits);
        assert_eq!(world.seen.broken, None, "SEED={seed}");
        assert_eq!(world.malformed(), 0, "SEED={seed}");
        let most = world.plan.limits;
        assert_eq!(world.over(most.rate(), most.burst()), 0, "SEED={seed}");
        assert_eq!(world.seen.best, world.limits.rate(), "SEED={seed}");
    }
}

#[test]
fn other_shares_never_let_one_too_many_pass() {
    campaign(40, false);
}

#[test]
fn other_limits_never_let_more_pass_than_the_largest() {
    campaign(40, true);
}
