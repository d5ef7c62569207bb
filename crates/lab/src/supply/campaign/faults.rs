//! Whatever breaks, never one token over: random schedules of faults, judged by the audit and by a ghost.

use tollgate_limit::Span;
use tollgate_supply::{Limits, Machine, SupplyConfig};

use super::world::{Dice, MS, Plan, SECOND, World};
use crate::dice::seeds;

const NODES: u16 = 5;
const RATE: u64 = 400;
const FAULTS_END: u64 = 12 * SECOND;

fn plan(seed: u64, lease: Option<Span>, wait_max: Span) -> Plan {
    let burst = [RATE / 10, 3 * RATE, 5][seed as usize % 3];
    Plan {
        seed,
        nodes: NODES,
        limits: Limits::new(RATE * Limits::PER_SECOND, burst).unwrap(),
        config: SupplyConfig {
            term: Span::from_nanos(u128::from(SECOND / 2)),
            lease,
            keeps: true,
            ..SupplyConfig::default()
        },
        wait_max,
        costs_max: 1 + seed % 4,
        drift_ppm: 1_000,
    }
}

fn shake(world: &mut World, dice: &mut Dice) {
    let nodes = u64::from(NODES);
    match dice.below(8) {
        0 | 1 => {
            let node = dice.below(nodes) as u16;
            if world.is_up(node) {
                world.crash(node);
            } else {
                let keeps = dice.chance(70, 100);
                world.restart(node, keeps);
            }
        }
        2 => {
            let node = dice.below(nodes) as u16;
            world.crash(node);
            world.run_until(world.now() + dice.below(50 * MS));
            world.restart(node, true);
        }
        3 => world.part(dice),
        4 => world.net.sim.links.heal(),
        5 => world.lose(dice),
        6 => world.slow(dice),
        _ => demand(world, dice),
    }
}

/// Twice the limit at most, unevenly.
fn demand(world: &mut World, dice: &mut Dice) {
    let demands: Vec<_> = (0..NODES)
        .map(|_| [0, RATE / 20, RATE / 4, RATE][dice.below(4) as usize])
        .collect();
    world.set_demands(&demands);
}

fn run(plan: Plan) -> World {
    let seed = plan.seed;
    let mut dice = Dice::new(seed.wrapping_mul(0x9e37) ^ 0xfa17);
    let mut world = World::new(plan);
    demand(&mut world, &mut dice);
    while world.now() < FAULTS_END {
        let pause = dice.between(20 * MS, 700 * MS);
        world.run_until(world.now() + pause);
        shake(&mut world, &mut dice);
    }
    world.calm();
    for node in 0..NODES {
        if !world.is_up(node) {
            world.restart(node, true);
        }
    }
    world.run_until(world.now() + 15 * SECOND / 2);
    world.seen.best = 0;
    world.run_until(world.now() + SECOND / 2);
    let best = world.seen.best;
    nothing_is_left_behind(&mut world);
    world.seen.best = best;
    world
}

/// Once nobody asks for anything, nothing is lent, nobody waits, and every home is where it belongs.
fn nothing_is_left_behind(world: &mut World) {
    let seed = world.plan.seed;
    world.set_demands(&[0; NODES as usize]);
    world.run_until(world.now() + 8 * SECOND);
    let mut homes = 0;
    for node in 0..NODES {
        let is_quiet = |machine: &Machine, _, _| machine.is_quiet() && machine.keys_count() == 0;
        assert_eq!(world.look(node, is_quiet), Some(true), "SEED={seed}");
        homes += world.inspect(node).home;
    }
    assert_eq!(homes, world.plan.limits.rate(), "SEED={seed}");
}

#[track_caller]
fn judge(name: &str, seed: u64, world: &World) {
    let limits = world.plan.limits;
    assert_eq!(world.seen.broken, None, "{name}: SEED={seed}");
    assert_eq!(world.malformed(), 0, "{name}: SEED={seed}");
    let over = world.over(limits.rate(), limits.burst());
    assert_eq!(over, 0, "{name}: SEED={seed}");
    assert_eq!(
        world.seen.best,
        limits.rate(),
        "{name}: SEED={seed} has not recovered"
    );
}

fn campaign(name: &str, usual: u64, lease: Option<Span>, waits_ms: [u64; 2]) {
    let (mut checks, mut passed, mut offered) = (0, 0, 0);
    for seed in seeds(usual) {
        let wait_max = u128::from(waits_ms[seed as usize % 2] * MS);
        let world = run(plan(seed, lease, Span::from_nanos(wait_max)));
        judge(name, seed, &world);
        checks += world.seen.checks;
        passed += world.seen.passes.len();
        offered += world.seen.asked;
    }
    println!("{name}: {checks} checks, {passed} of {offered} passed");
}

#[test]
fn loans_never_let_one_too_many_pass() {
    campaign("loans", 40, None, [0, 0]);
}

#[test]
fn loans_under_a_lease_never_let_one_too_many_pass() {
    let lease = Span::from_nanos(u128::from(SECOND));
    campaign("lease", 40, Some(lease), [0, 0]);
}

#[test]
fn those_who_wait_are_never_one_too_many() {
    campaign("waits", 40, None, [300, 900]);
}
