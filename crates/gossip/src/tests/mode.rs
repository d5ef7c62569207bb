//! What a policy asks of a part: costs, charges, refunds, settling, resets, waiting, saving, forgetting, clocks.

use super::*;
use crate::slices::Windows;
use crate::window::{Shape, Window};
use tollgate_mode::{Mode, ModeEvent, ModeVerdict};

const KEY: ModeKey = ModeKey(7);
const LIMIT: u64 = 10;
const HOUR: u64 = 3_600 * SECOND;
/// Half past ten of some morning.
const NOW: u64 = (20_000 * 24 + 10) * HOUR + HOUR / 2;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn plan(writer: u16, nodes: u16) -> MachinePlan {
    MachinePlan {
        me: NodeId(0),
        writer: Writer(writer),
        was: None,
        members: (0..nodes).map(NodeId).collect(),
        seed: 3,
        start: at(NOW),
        delay: Span::ZERO,
        keep: Some(span(300)),
        linger: Span::ZERO,
    }
}

fn bucket(writer: u16, nodes: u16) -> Machine<Buckets> {
    let numbers = JudgedLimit {
        burst: LIMIT,
        tokens: LIMIT,
        per_ns: HOUR,
    };
    Machine::new(numbers.law(), &plan(writer, nodes))
}

fn all(writer: u16) -> Vec<Box<dyn Mode>> {
    let (period, offset) = (Span::from_nanos(u128::from(HOUR)), Span::ZERO);
    let slices = 60;
    let shapes = [
        Shape::Fixed { period, offset },
        Shape::Counters { period, slices },
        Shape::Weighted { period },
    ];
    let mut all: Vec<Box<dyn Mode>> = vec![Box::new(bucket(writer, 3))];
    for shape in shapes {
        let law = Windows {
            window: Window::new(LIMIT, shape).unwrap(),
            sigma: Ratio::new(1, 1),
            grace: span(3_000),
            nodes: 1,
        };
        all.push(Box::new(Machine::new(law, &plan(writer, 3))));
    }
    all
}

fn left(part: &mut dyn Mode, now: u64) -> u64 {
    part.standing(KEY, at(now)).remaining
}

fn take(part: &mut dyn Mode, cost: u64, now: u64) -> bool {
    let is_allowed = part.probe(KEY, cost, at(now)).verdict.is_allowed();
    if is_allowed {
        part.take(KEY, cost, at(now));
        while part.poll_send().is_some() {}
    }
    is_allowed
}

fn set_clock(part: &mut dyn Mode, from: u64, to: u64) {
    let numbers = tollgate_mode::NodeNumbers {
        me: NodeId(0),
        writer: Writer(9),
        was: None,
        members: vec![NodeId(0)],
        seed: 1,
        delay: Span::ZERO,
    };
    let event = ModeEvent::ClockSet {
        from: at(from),
        to: at(to),
        numbers: &numbers,
    };
    part.handle_event(&event, at(to));
}

#[test]
fn what_is_used_up_stays_so_whichever_way_the_clock_is_set_and_comes_back_in_time() {
    for by in [2 * SECOND, 90 * SECOND, 40 * 24 * HOUR] {
        for (number, mut part) in all(1).into_iter().enumerate() {
            let start = NOW;
            assert!(take(&mut *part, LIMIT, start), "{number} {by}");
            let ahead = start + by;
            set_clock(&mut *part, start, ahead);
            assert_eq!(left(&mut *part, ahead), 0, "{number} {by}");
            assert!(!take(&mut *part, 1, ahead + SECOND), "{number} {by}");
            part.handle_timeout(at(ahead + SECOND));
            // And back, which locks nobody out.
            let now = start + SECOND;
            set_clock(&mut *part, ahead + SECOND, now);
            assert_eq!(left(&mut *part, now), 0, "{number} {by}");
            assert!(!take(&mut *part, 1, now + SECOND), "{number} {by}");
            let due = part.poll_timeout();
            assert!(
                due.is_none_or(|due| due < at(now + 2 * HOUR)),
                "{number} {by}"
            );
            for later in [HOUR, 2 * HOUR, 3 * HOUR] {
                part.handle_timeout(at(now + later));
            }
            assert_eq!(left(&mut *part, now + 3 * HOUR), LIMIT, "{number} {by}");
        }
    }
}

#[test]
fn what_is_saved_is_there_at_the_next_start_and_broken_bytes_change_nothing() {
    for (number, mut part) in all(1).into_iter().enumerate() {
        assert!(take(&mut *part, 2, NOW));
        assert!(take(&mut *part, 5, NOW));
        let saved = part.save(KEY, at(NOW)).unwrap();
        assert!(saved.fresh_at > at(NOW), "{number}");
        assert!(part.save(ModeKey(1), at(NOW)).is_none());
        let mut next = all(2).remove(number);
        for length in 0..saved.bytes.len() {
            let cut = &saved.bytes[..length];
            assert!(next.restore(KEY, cut, at(NOW)).is_err(), "{number}");
        }
        assert_eq!(next.keys_count(), 0);
        next.restore(KEY, &saved.bytes, at(NOW)).unwrap();
        assert_eq!(left(&mut *next, NOW), 3, "{number}");
        assert_eq!(next.keys(), [KEY]);
    }
}

#[test]
fn charges_go_below_zero_as_far_as_they_may_and_refunds_come_back() {
    for (number, mut part) in all(1).into_iter().enumerate() {
        assert!(take(&mut *part, 8, NOW));
        part.charge(KEY, 7, Some(3), at(NOW));
        let probe = part.probe(KEY, 1, at(NOW));
        assert!(
            matches!(probe.verdict, ModeVerdict::Deny { .. }),
            "{number}"
        );
        assert_eq!((probe.remaining, probe.over), (0, 3), "{number}");
        part.refund(KEY, 4, at(NOW));
        assert_eq!(left(&mut *part, NOW), 1, "{number}");
        part.charge(KEY, 2, None, at(NOW));
        assert_eq!(part.probe(KEY, 1, at(NOW)).over, 1, "{number}");
        part.refund(KEY, 100, at(NOW));
        assert_eq!(left(&mut *part, NOW), LIMIT, "{number}");
        assert!(take(&mut *part, LIMIT, NOW));
        part.reset(KEY, at(NOW + 1));
        assert_eq!(left(&mut *part, NOW + 1), LIMIT, "{number}");
        let probe = part.probe(KEY, LIMIT + 1, at(NOW + 1));
        assert_eq!(probe.verdict, ModeVerdict::Never, "{number}");
        assert!(take(&mut *part, 1, NOW + 2));
        assert_eq!(left(&mut *part, NOW + 2), LIMIT - 1, "{number}");
        // What nobody was told of is given back, too.
        part.reset(KEY, at(NOW + 3));
        assert_eq!(left(&mut *part, NOW + 3), LIMIT, "{number}");
    }
}

#[test]
fn one_node_with_refunds_is_the_obvious_bucket() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let numbers = JudgedLimit {
            burst: 20,
            tokens: 3,
            per_ns: 7 * MS,
        };
        let mut law = numbers.law();
        law.fade = Ratio::new(u32::from(dice.chance(1, 2)), 4);
        let mut node = Machine::new(law, &plan(1, 1));
        let token = i128::from(numbers.per_ns);
        let (mut level, mut now) = (0_i128, NOW);
        for step in 0..80 {
            let gap = dice.below(9 * MS);
            now += gap;
            node.handle_timeout(at(now));
            level = (level - i128::from(gap) * 3).max(0);
            let cost = 1 + dice.below(8);
            let grains = i128::from(cost) * token;
            match dice.below(8) {
                0 => {
                    node.charge(KEY, cost, None, at(now));
                    level += grains;
                }
                1 | 2 => {
                    node.refund(KEY, cost, at(now));
                    level = (level - grains).max(0);
                }
                _ => {
                    let has_room = level + grains <= 20 * token;
                    let is_allowed = node.probe(KEY, cost, at(now)).verdict.is_allowed();
                    assert_eq!(is_allowed, has_room, "seed {seed}, step {step}");
                    if is_allowed {
                        node.take(KEY, cost, at(now));
                        level += grains;
                    }
                }
            }
            while node.poll_send().is_some() {}
        }
    }
}

#[test]
fn refunds_and_resets_reach_the_other_nodes() {
    let numbers = JudgedLimit {
        burst: 30,
        tokens: 1,
        per_ns: HOUR,
    };
    let make = Make {
        weather: Conditions {
            loss: 200_000,
            copies: 200_000,
            ..Conditions::between(MS, 90 * MS)
        },
        ..Make::calm(3)
    };
    let mut world = LinkWorld::new(numbers.law(), make);
    for _ in 0..20 {
        assert!(world.request(0, KEY, 1));
    }
    let now = world.instant();
    world.node(0).refund(KEY, 15, now);
    world.run_for(5_000);
    world.tell_all();
    world.run_for(5_000);
    assert_eq!(world.left(KEY), [25; 3]);
    let now = world.instant();
    world.node(1).reset(KEY, now);
    world.run_for(5_000);
    assert_eq!(world.left(KEY), [30; 3]);
    assert!(world.request(2, KEY, 12));
    world.run_for(5_000);
    world.tell_all();
    assert_eq!(world.left(KEY), [18; 3]);
}

#[test]
fn requests_that_may_wait_are_promised_their_tokens_in_turn() {
    let numbers = JudgedLimit {
        burst: 2,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut law = numbers.law();
    law.wait_max = span(3_000);
    let mut world = LinkWorld::new(law, Make::calm(3));
    let mut waits = Vec::new();
    for node in [0, 1, 2, 0, 1, 2] {
        let now = world.instant();
        let verdict = world.node(node).probe(KEY, 1, now).verdict;
        if let ModeVerdict::Allow { wait, .. } = verdict {
            waits.push(wait.as_nanos() / u128::from(SECOND));
            world.node(node).take(KEY, 1, now);
        }
        world.run(world.now());
    }
    assert_eq!(waits, [0, 0, 1, 2, 3]);
}

#[test]
fn who_leaks_waits_for_those_before() {
    let numbers = JudgedLimit {
        burst: 3,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut law = numbers.law();
    law.leaks = true;
    let mut world = LinkWorld::new(law, Make::calm(1));
    for (node, wanted) in [(0, 0), (0, 1), (0, 2)] {
        let now = world.instant();
        let verdict = world.node(node).probe(KEY, 1, now).verdict;
        let ModeVerdict::Allow { wait, .. } = verdict else {
            panic!()
        };
        assert_eq!(wait.as_nanos(), u128::from(wanted * SECOND));
        world.node(node).take(KEY, 1, now);
        world.run(world.now());
    }
    let now = world.instant();
    let verdict = world.node(0).probe(KEY, 1, now).verdict;
    assert!(matches!(verdict, ModeVerdict::Deny { .. }));
}

#[test]
fn keys_that_are_used_up_go_last_and_everything_can_be_given_up() {
    let mut world = LinkWorld::new(
        bucket(1, 2).law.clone(),
        Make {
            keeps: true,
            ..Make::calm(2)
        },
    );
    for number in 0..5_000 {
        let cost = if number % 5 == 0 { LIMIT } else { 1 };
        assert!(world.request(0, ModeKey(number), cost));
    }
    world.run_for(1_000);
    let now = world.instant();
    assert!(world.node(1).keep.len() > 1_000);
    while world.node(1).drop_copy() {}
    assert_eq!(world.node(1).keep.len(), 0);
    let node = world.node(0);
    // Of a table in which nearly all keys are used up only a part is looked at.
    for _ in 0..3_700 {
        assert!(node.evict(now));
    }
    let left = (0..5_000)
        .step_by(5)
        .filter(|number| node.knows(ModeKey(*number)));
    assert!(left.count() >= 995);
    while node.evict(now) {}
    assert_eq!((node.keys_count(), node.bytes()), (0, 0));
    // What only it knew is with the other node.
    world.run_for(1_000);
    assert_eq!(world.node(1).standing(ModeKey(1), now).remaining, LIMIT - 1);
}

#[test]
fn a_node_that_leaves_tells_everything() {
    let mut world = LinkWorld::new(bucket(1, 3).law.clone(), Make::calm(3));
    assert!(world.request(1, KEY, 2));
    world.run_for(1_000);
    let now = world.instant();
    assert_eq!(world.left(KEY), [LIMIT, LIMIT - 2, LIMIT]);
    world.node(1).handle_event(&ModeEvent::Leave, now);
    world.run_for(1_000);
    assert_eq!(world.left(KEY), [LIMIT - 2; 3]);
}

#[test]
fn figures_have_names() {
    let mut part = bucket(1, 3);
    let names: Vec<_> = part
        .status(None, at(NOW))
        .iter()
        .map(|it| it.name)
        .collect();
    assert!(names.contains(&"copies") && names.contains(&"suspended"));
    assert_eq!(part.design(), "links");
}
