//! Random faults for minutes, then none: every node must agree again.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    reason = "small numbers, and a broken set-up must stop the test"
)]

use tollgate_lab::membership::{MembershipWorld, Process, SECOND, address};

const NODES: u32 = 12;

/// Two minutes of faults that the seed chooses.
fn campaign(seed: u64) {
    let mut world = MembershipWorld::new(seed);
    let mut generations = [1_u64; NODES as usize + 1];
    world.start_many(NODES);
    let calm = world.below(10);
    world.run_seconds(calm);
    for _ in 0..30 {
        fault(&mut world, &mut generations);
        let span = world.below(8) * SECOND / 2;
        world.run_for(span);
    }
    world.heal();
    world.lose(0);
    let hosts: Vec<u32> = world.processes.keys().copied().collect();
    for host in hosts {
        world.thaw(host);
        world.skew(host, 0);
    }
    // Hosts that left start again.
    for host in 1..=NODES {
        let is_gone = world
            .processes
            .get(&host)
            .is_none_or(|process| process.cluster.status(world.clock(host)).is_silent);
        if is_gone {
            restart(&mut world, &mut generations, host, true);
        }
    }
    world.run_until(
        &format!("agreement after seed {seed}"),
        60,
        MembershipWorld::agrees,
    );
    world.run_seconds(30);
    assert!(world.agrees(), "agreement lasts after seed {seed}");
}

fn fault(world: &mut MembershipWorld, generations: &mut [u64]) {
    let host = 1 + world.below(u64::from(NODES)) as u32;
    let other = 1 + world.below(u64::from(NODES)) as u32;
    let is_running = world.processes.contains_key(&host);
    match world.below(12) {
        0 => {
            let millionths = world.below(300_000) as u32;
            world.lose(millionths);
        }
        1 => world.lose(0),
        2 if is_running => world.kill(host),
        3 => restart(world, generations, host, true),
        4 => {
            let has_disk = world.below(3) > 0;
            world.kill(host);
            restart(world, generations, host, has_disk);
        }
        5 => {
            let (left, right): (Vec<u32>, Vec<u32>) = (1..=NODES).partition(|at| *at <= host);
            world.part(&left, &right);
        }
        6 => world.heal(),
        7 => world.cut(host, other),
        8 if is_running => world.freeze(host),
        9 if is_running => world.thaw(host),
        10 if is_running && !world.is_frozen(host) => {
            let now = world.clock(host);
            world.cluster(host).leave(now);
        }
        11 if is_running => {
            let skew = world.below(60) as i64 - 30;
            world.skew(host, skew * SECOND as i64);
        }
        _ => {}
    }
}

/// Starts a host that does not run, or whose process has left; it may have lost its disk.
fn restart(world: &mut MembershipWorld, generations: &mut [u64], host: u32, has_disk: bool) {
    let is_silent = |process: &Process| {
        process
            .cluster
            .status(tollgate_limit::Instant::default())
            .is_silent
    };
    if world
        .processes
        .get(&host)
        .is_some_and(|process| !is_silent(process))
    {
        return;
    }
    let mut config = world.config(host, &[1, 2, 3]);
    if has_disk {
        generations[host as usize] += 1;
        config.generation = generations[host as usize];
    } else {
        config.id |= u128::from(world.roll() | 1 << 63);
    }
    config.advertise = address(host);
    world.start_with(host, config);
}

#[test]
fn every_cluster_agrees_after_faults() {
    for seed in 0..24 {
        campaign(seed);
    }
}

#[test]
#[ignore = "minutes; run it with --ignored"]
fn every_cluster_agrees_after_many_faults() {
    for seed in 1000..2000 {
        campaign(seed);
    }
}
