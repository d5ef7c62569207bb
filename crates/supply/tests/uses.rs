//! How much of the limit is used, against one bucket that sees everything. A measurement, not a bar.
//!
//! `cargo test --release -p tollgate-supply --test uses -- --ignored --nocapture`

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "numbers of a small world, in a test"
)]

#[allow(unreachable_pub, dead_code, reason = "a part of this program")]
mod world;

use tollgate_limit::Span;
use tollgate_supply::{Limits, SupplyConfig};
use world::{Pass, Plan, SECOND, World};

const RATE: u64 = 10_000;

fn plan(nodes: u16) -> Plan {
    Plan {
        seed: 7,
        nodes,
        limits: Limits::new(RATE * Limits::PER_SECOND, RATE / 10).unwrap(),
        config: SupplyConfig::default(),
        wait_max: Span::ZERO,
        costs_max: 1,
        drift_ppm: 0,
    }
}

/// Shares of a demand by rank, the first node's rank turned by `turn`.
fn zipf(nodes: u16, total: u64, turn: u16) -> Vec<u64> {
    let weight = |rank: u16| 1.0 / f64::from(rank + 1);
    let sum: f64 = (0..nodes).map(weight).sum();
    let part = |node: u16| weight((node + turn) % nodes) / sum;
    (0..nodes)
        .map(|node| (total as f64 * part(node)) as u64)
        .collect()
}

fn central(asked: &[Pass], rate: u64, burst: u64) -> u64 {
    let full = u128::from(burst) * Limits::REQUEST;
    let (mut level, mut last, mut admitted) = (full, 0, 0);
    for Pass { at, .. } in asked {
        level = full.min(level + u128::from(rate) * u128::from(at - last));
        last = *at;
        if level >= Limits::REQUEST {
            level -= Limits::REQUEST;
            admitted += 1;
        }
    }
    admitted
}

fn measure(name: &str, nodes: u16, phases: &[(u64, Vec<u64>)]) {
    let mut world = World::new(plan(nodes));
    world.seen.is_blind = true;
    for (seconds, demands) in phases {
        world.set_demands(demands);
        world.run_until(world.now + seconds * SECOND);
    }
    let limits = world.plan.limits;
    let central = central(&world.seen.asked, limits.rate(), limits.burst());
    let lost = 100.0 * (1.0 - world.seen.passes.len() as f64 / central as f64);
    let seconds = world.now as f64 / SECOND as f64;
    let messages = world.seen.frames as f64 / f64::from(nodes) / seconds;
    let over = world.over(limits.rate(), limits.burst());
    println!(
        "N={nodes:3} {name:10} lost {lost:6.3} %  frames/node/s {messages:6.1}  over {over:?} broken {:?}",
        world.seen.broken
    );
    for node in [0, 1] {
        let figures = world.nodes[node]
            .machine
            .as_ref()
            .map(tollgate_supply::Machine::figures);
        println!("    {:?}", figures.map(|figures| figures.loans));
    }
}

#[test]
#[ignore = "a measurement"]
fn of_the_limit() {
    for nodes in [10, 30] {
        measure("steady90", nodes, &[(20, zipf(nodes, 9_000, 0))]);
        measure("steady120", nodes, &[(20, zipf(nodes, 12_000, 0))]);
        let step: Vec<_> = (0..4)
            .map(|turn| (10, zipf(nodes, 9_000, turn * nodes / 4)))
            .collect();
        measure("step", nodes, &step);
        let base = RATE * 35 / 100 / u64::from(nodes);
        let flash: Vec<_> = (0..6_u16)
            .map(|phase| {
                let mut demands = vec![base; usize::from(nodes)];
                if phase % 2 == 1 {
                    demands[usize::from(phase)] = RATE * 6 / 10;
                }
                (10, demands)
            })
            .collect();
        measure("flash", nodes, &flash);
        let idle: Vec<_> = (0..4_u16)
            .map(|phase| {
                let each = |node: u16| {
                    if node % 2 == phase % 2 {
                        RATE * 9 / 5 / u64::from(nodes)
                    } else {
                        0
                    }
                };
                (10, (0..nodes).map(each).collect())
            })
            .collect();
        measure("idle", nodes, &idle);
    }
}
