//! A time of day that is set: membership and timers do not go by it.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    reason = "small numbers, and a broken set-up must stop the test"
)]

use tollgate_cluster::Event;
use tollgate_lab::membership::{MembershipWorld, SECOND};
use tollgate_limit::Instant;

/// A time of day far enough from the epoch to step back.
const DAYS: u64 = 1_000 * 86_400 * SECOND;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn settled(seed: u64) -> MembershipWorld {
    let mut world = MembershipWorld::new(seed);
    world.start_many(5);
    world.run_until("everybody meets", 10, MembershipWorld::agrees);
    world
}

#[test]
fn a_time_of_day_that_is_set_disturbs_nobody_who_follows_it() {
    let mut world = settled(1);
    let hosts: Vec<u32> = world.processes.keys().copied().collect();
    for days in [40, -40] {
        for process in world.processes.values_mut() {
            process.events.clear();
        }
        for host in &hosts {
            let now = world.clock(*host);
            let by = days * 86_400 * SECOND as i64;
            let day = at(DAYS + now.as_nanos());
            let day = at(day.as_nanos().saturating_add_signed(by));
            world.cluster(*host).set_day(day, now);
        }
        world.run_seconds(60);
        assert!(world.agrees());
        for process in world.processes.values() {
            assert!(process.events.is_empty(), "{days}: {:?}", process.events);
        }
    }
    // A node with the wrong day is refused, and accepted again once its day is right.
    let (now, there) = (world.clock(4), world.clock(4).as_nanos());
    world.cluster(4).set_day(at(DAYS + there), now);
    world.run_seconds(60);
    assert_eq!(world.view(4).len(), 1);
    let (now, there) = (world.clock(4), world.clock(4).as_nanos());
    world
        .cluster(4)
        .set_day(at(DAYS + there - 40 * 86_400 * SECOND), now);
    world.run_until("it is back", 60, MembershipWorld::agrees);
}

#[test]
fn a_writer_that_writes_anew_is_another_to_all() {
    let mut world = settled(2);
    let (node, before) = world.cluster(2).me();
    let now = world.clock(2);
    world.cluster(2).write_anew(now);
    let (still, after) = world.cluster(2).me();
    assert!(still == node && after != before);
    world.run_until("all know", 10, MembershipWorld::agrees);
    let mut events = world.processes[&2].events.iter();
    assert!(
        events.any(|event| matches!(event, Event::Renumbered { writer, .. } if *writer == after))
    );
}
