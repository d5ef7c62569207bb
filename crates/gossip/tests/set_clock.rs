//! A clock that is set: what keys have used up stays used up in every design, ahead and back, here and after a restart.

#![allow(clippy::unwrap_used, reason = "a test says what it expects")]

use tollgate_gossip::{
    Bucket, Key, Kind, Knobs, Machine, NodeId, Replica, Setup, Shape, Window, WindowReplica,
    Writer, move_time,
};
use tollgate_limit::{Instant, Span};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;
/// Half past ten of some morning.
const NOW: u64 = (20_000 * 24 + 10) * HOUR + HOUR / 2;
const DAYS_40: u64 = 40 * 24 * HOUR;
const LIMIT: u64 = 10;
const KEY: Key = Key(7);

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// What is counted, and how it begins.
type Make = Box<dyn Fn(u16, u64) -> Box<dyn Machine>>;

fn setup(writer: u16, start: u64) -> Setup {
    Setup {
        bucket: Bucket::new(LIMIT, LIMIT, HOUR).unwrap(),
        me: NodeId(1),
        writer: Writer(writer),
        was: None,
        members: vec![NodeId(1), NodeId(2), NodeId(3)],
        seed: 3,
        start: at(start),
        wait_max: Span::ZERO,
        knobs: Knobs::default(),
    }
}

fn all() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    for kind in Kind::ALL {
        let make = move |writer, start| -> Box<dyn Machine> {
            Box::new(Replica::new(kind, &setup(writer, start)))
        };
        all.push((format!("{kind:?}"), Box::new(make)));
    }
    let (period, offset) = (Span::from_nanos(u128::from(HOUR)), Span::ZERO);
    let slices = 60;
    let shapes = [
        Shape::Fixed { period, offset },
        Shape::Counters { period, slices },
        Shape::Weighted { period },
    ];
    for shape in shapes {
        let name = format!("{shape:?}");
        let make = move |writer, start| -> Box<dyn Machine> {
            let window = Window::new(LIMIT, shape.clone()).unwrap();
            Box::new(WindowReplica::new(window, &setup(writer, start)))
        };
        all.push((name, Box::new(make)));
    }
    all
}

fn left(machine: &mut dyn Machine, now: u64) -> u64 {
    machine.standing(KEY, at(now)).remaining
}

#[test]
fn what_is_used_up_stays_so_whichever_way_the_clock_is_set_and_comes_back_in_time() {
    for (name, make) in all() {
        for by in [2 * SECOND, 90 * SECOND, DAYS_40] {
            let mut machine = make(1, NOW);
            assert!(machine.handle_request(KEY, LIMIT, at(NOW)).is_allowed());
            let ahead = NOW + by;
            move_time(&mut machine, at(NOW), at(ahead), None);
            assert_eq!(left(&mut *machine, ahead), 0, "{name} {by}");
            assert!(
                !machine
                    .handle_request(KEY, 1, at(ahead + SECOND))
                    .is_allowed(),
                "{name} {by}"
            );
            machine.handle_timeout(at(ahead + SECOND));
            // And back, which locks nobody out.
            let now = NOW + SECOND;
            move_time(
                &mut machine,
                at(ahead + SECOND),
                at(now),
                Some(make(2, now)),
            );
            assert_eq!(left(&mut *machine, now), 0, "{name} {by}");
            assert!(
                !machine
                    .handle_request(KEY, 1, at(now + SECOND))
                    .is_allowed(),
                "{name} {by}"
            );
            assert!(
                machine
                    .poll_timeout()
                    .is_none_or(|due| due < at(now + 2 * HOUR)),
                "{name}"
            );
            for later in [HOUR, 2 * HOUR, 3 * HOUR] {
                machine.handle_timeout(at(now + later));
            }
            assert_eq!(left(&mut *machine, now + 3 * HOUR), LIMIT, "{name} {by}");
        }
    }
}

#[test]
fn what_is_owed_drains_once_and_not_beside_what_is_counted() {
    let kind = Kind::Segments;
    let mut machine: Box<dyn Machine> = Box::new(Replica::new(kind, &setup(1, NOW)));
    assert!(machine.handle_request(KEY, 4, at(NOW)).is_allowed());
    let ahead = NOW + DAYS_40;
    move_time(&mut machine, at(NOW), at(ahead), None);
    assert!(machine.handle_request(KEY, 4, at(ahead)).is_allowed());
    assert_eq!(left(&mut *machine, ahead), 2);
    // Eight tokens drain in eight tenths of an hour, whatever they are counted as.
    for tenth in 1..=8 {
        let now = ahead + tenth * HOUR / 10;
        assert_eq!(left(&mut *machine, now), 2 + tenth, "{tenth}");
    }
    machine.refund(KEY, 1, at(ahead + HOUR));
    assert_eq!(left(&mut *machine, ahead + HOUR), LIMIT);
}

#[test]
fn what_is_owed_can_be_given_back_and_reset() {
    for (name, make) in all() {
        let mut machine = make(1, NOW);
        assert!(machine.handle_request(KEY, LIMIT, at(NOW)).is_allowed());
        let ahead = NOW + DAYS_40;
        move_time(&mut machine, at(NOW), at(ahead), None);
        machine.reset(KEY, at(ahead));
        assert_eq!(left(&mut *machine, ahead), LIMIT, "{name}");
    }
}

#[test]
fn what_is_owed_is_saved_for_the_next_start() {
    for (name, make) in all() {
        let mut machine = make(1, NOW);
        assert!(machine.handle_request(KEY, LIMIT, at(NOW)).is_allowed());
        let ahead = NOW + DAYS_40;
        move_time(&mut machine, at(NOW), at(ahead), None);
        let saved = machine.save(KEY, at(ahead)).unwrap();
        assert!(saved.fresh_at > at(ahead), "{name}");
        let mut next = make(2, ahead + SECOND);
        next.restore(KEY, &saved.bytes, at(ahead + SECOND)).unwrap();
        assert_eq!(left(&mut *next, ahead + SECOND), 0, "{name}");
    }
}
