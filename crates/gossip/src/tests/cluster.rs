//! Whole clusters against the one bucket that sees everything.

use super::*;

fn numbers(dice: &mut Dice) -> JudgedLimit {
    JudgedLimit {
        burst: 1 + dice.below(60),
        tokens: 1 + dice.below(3),
        per_ns: SECOND * (1 + dice.below(4)),
    }
}

/// A node for a request: any, one of two, always the same, or each in turn.
#[allow(clippy::cast_possible_truncation, reason = "there are few nodes")]
fn route(dice: &mut Dice, style: u64, step: u64, nodes: u16) -> u16 {
    match style {
        0 => any(dice, nodes),
        1 => any(dice, nodes.min(2)),
        2 => 0,
        _ => (step % u64::from(nodes)) as u16,
    }
}

#[test]
fn instant_news_and_all_segments_leave_no_debt() {
    for seed in 0..600 {
        let mut dice = Dice::new(seed);
        let numbers = numbers(&mut dice);
        let mut law = numbers.law();
        (law.segs_max, law.fade) = (usize::MAX, Ratio::new(0, 1));
        let make = Make {
            seed,
            ..Make::calm(2 + any(&mut dice, 6))
        };
        let mut world = LinkWorld::new(law, make);
        let mut central = Central::new(numbers);
        let style = dice.below(4);
        let gap_max = [SECOND / 20, SECOND, 4 * SECOND][dice.place(3)];
        for step in 0..300 {
            let mut gap = dice.below(gap_max);
            if dice.chance(1, 60) {
                gap += numbers.burst * numbers.per_ns;
            }
            world.run(world.now() + gap);
            let key = ModeKey(u128::from(dice.below(2)));
            let node = route(&mut dice, style, step, make.nodes);
            let (now, has_room) = (world.now(), central.has_room(key, 1, world.now()));
            let is_admitted = world.request(node, key, 1);
            world.run(now);
            assert!(
                is_admitted || !has_room,
                "seed {seed}, step {step}: refused"
            );
            if is_admitted {
                central.take(key, 1, now);
            }
            assert_eq!(central.debt(key, now), 0, "seed {seed}, step {step}");
        }
    }
}

/// Clusters with everything that can go wrong, and no copies: those may count a share twice after a crash.
fn random(seed: u64) -> (LinkWorld<Buckets>, JudgedLimit, Dice) {
    let mut dice = Dice::new(seed);
    let numbers = numbers(&mut dice);
    let is_faulty = dice.chance(2, 3);
    let odds = |dice: &mut Dice| u32::try_from(dice.below(301) * 1_000).unwrap();
    let delay = dice.below(81);
    let weather = Conditions {
        loss: if is_faulty { odds(&mut dice) } else { 0 },
        copies: if is_faulty { odds(&mut dice) } else { 0 },
        ..Conditions::between(delay * MS, (delay + dice.below(100)) * MS)
    };
    let make = Make {
        nodes: 2 + any(&mut dice, 6),
        keeps: false,
        weather,
        delay: span(dice.below(delay + 1)),
        seed,
    };
    let mut law = numbers.law();
    law.segs_max = [8, 8, 2][dice.place(3)];
    law.grace = span([3_000, 3_000, 300][dice.place(3)]);
    let mut world = LinkWorld::new(law, make);
    for _ in 0..dice.below(4) {
        let node = any(&mut dice, make.nodes);
        let at = START + dice.below(60_000) * MS;
        let until = at + [0, 400, 3_000, 12_000][dice.place(4)] * MS;
        match dice.below(3) {
            0 => {
                world.sim.plan(at, PlannedStep::Crash(node));
                world.sim.plan(until, PlannedStep::Restart(node));
            }
            1 => world
                .sim
                .links
                .cut(&[node], &[any(&mut dice, make.nodes)], at..until),
            _ => {
                let (some, others): (Vec<_>, Vec<_>) = (0..make.nodes).partition(|it| *it <= node);
                world.sim.links.cut(&some, &others, at..until);
                world.sim.links.cut(&others, &some, at..until);
            }
        }
    }
    (world, numbers, dice)
}

#[test]
fn nothing_is_refused_that_a_bucket_of_all_that_was_admitted_would_admit() {
    let mut refused = 0;
    for seed in 0..3_000 {
        let (mut world, numbers, mut dice) = random(seed);
        let mut central = Central::new(numbers);
        let gap_max = [SECOND / 20, SECOND, 6 * SECOND][dice.place(3)];
        for step in 0..150 {
            world.run(world.now() + dice.below(gap_max));
            let key = ModeKey(u128::from(dice.below(2)));
            let cost = (1 + dice.below(3)).min(numbers.burst);
            let node = any(&mut dice, world.make.nodes);
            let now = world.now();
            if world.nodes.iter().all(Option::is_none) {
                continue;
            }
            if world.request(node, key, cost) {
                central.take(key, cost, now);
            } else {
                refused += 1;
                let has_room = central.has_room(key, cost, now);
                assert!(
                    !has_room,
                    "seed {seed}, step {step}, {numbers:?}, {:?}",
                    world.make
                );
            }
        }
    }
    assert!(refused > 50_000, "{refused}");
}

#[test]
fn a_partition_of_ten_seconds_refuses_nobody_for_long_after_it_heals() {
    let numbers = JudgedLimit {
        burst: 1_000,
        tokens: 1_000,
        per_ns: SECOND,
    };
    for (nodes, cut) in [(3, 1), (10, 5)] {
        let make = Make {
            weather: Conditions::between(MS, MS),
            delay: span(1),
            ..Make::calm(nodes)
        };
        let mut world = LinkWorld::new(numbers.law(), make);
        let (one, other): (Vec<_>, Vec<_>) = (0..nodes).partition(|node| *node < cut);
        let from = START + 2 * SECOND;
        let heal = from + 10 * SECOND;
        world.sim.links.cut(&one, &other, from..heal);
        world.sim.links.cut(&other, &one, from..heal);
        let mut dice = Dice::new(u64::from(nodes));
        let (mut since, mut longest, mut after) = (None::<u64>, 0, 0);
        while world.now() < heal + 5 * SECOND {
            let next = world.now() + SECOND / 3_000;
            world.run(next);
            let is_admitted = world.request(any(&mut dice, nodes), ModeKey(7), 1);
            if world.now() < heal {
                continue;
            }
            after += u64::from(is_admitted);
            if is_admitted {
                since = None;
            } else {
                let began = *since.get_or_insert(world.now());
                longest = longest.max(world.now() - began);
            }
        }
        assert!(longest <= 50 * MS, "{nodes} nodes: {} ms", longest / MS);
        assert!((4_900..=5_400).contains(&after), "{nodes} nodes: {after}");
    }
}

#[test]
fn a_slow_drip_over_all_nodes_is_noticed() {
    let numbers = JudgedLimit {
        burst: 60,
        tokens: 3,
        per_ns: 10 * SECOND,
    };
    let mut world = LinkWorld::new(numbers.law(), Make::calm(6));
    let mut central = Central::new(numbers);
    let (mut refused, mut expected) = (0, 0);
    for step in 0..2_000 {
        world.run_for(2_000);
        if central.has_room(ModeKey(1), 1, world.now()) {
            central.take(ModeKey(1), 1, world.now());
        } else {
            expected += 1;
        }
        refused += u64::from(!world.request(step % 6, ModeKey(1), 1));
    }
    assert!(expected > 500);
    assert!(refused * 100 >= expected * 98, "{refused} of {expected}");
}

#[test]
fn what_is_heard_again_changes_no_decision() {
    for seed in 0..60 {
        let run = |replays: bool| {
            let (mut dice, mut other) = (Dice::new(seed), Dice::new(seed));
            let numbers = numbers(&mut dice);
            let mut world = LinkWorld::new(numbers.law(), Make::calm(5));
            world.sent = Some(Vec::new());
            let mut decisions = Vec::new();
            for _ in 0..300 {
                let mut gap = dice.below(SECOND);
                if dice.chance(1, 50) {
                    gap += numbers.burst * numbers.per_ns + 10 * SECOND;
                }
                world.run(world.now() + gap);
                let sent = world.sent.as_ref().unwrap();
                if replays && !sent.is_empty() {
                    let SentFrame { from, to, frame } = sent[other.place(sent.len())].clone();
                    world.deliver(from, to, &frame);
                }
                decisions.push(world.request(any(&mut dice, 5), ModeKey(0), 1));
            }
            decisions
        };
        assert_eq!(run(true), run(false), "seed {seed}");
    }
}

#[test]
fn nothing_is_left_when_everything_has_drained() {
    for keeps in [false, true] {
        let numbers = JudgedLimit {
            burst: 30,
            tokens: 1,
            per_ns: SECOND,
        };
        let make = Make {
            keeps,
            ..Make::calm(5)
        };
        let mut world = LinkWorld::new(numbers.law(), make);
        for step in 0..200 {
            world.run_for(20);
            let _ = world.request(step % 5, ModeKey(1), 1);
            let _ = world.request(step % 5, ModeKey(u128::from(step)), 1);
        }
        assert!(world.nodes.iter().flatten().all(|node| node.bytes() > 0));
        world.run_for(400_000);
        for node in world.nodes.iter().flatten() {
            assert_eq!((node.bytes(), node.keep.bytes()), (0, 0));
            assert!(node.is_quiet(), "{node:?}");
            assert_eq!(node.poll_timeout(), None);
        }
    }
}

#[test]
fn calm_keys_say_nothing_and_take_a_cell_each() {
    let numbers = JudgedLimit {
        burst: 100,
        tokens: 1,
        per_ns: SECOND,
    };
    let mut world = LinkWorld::new(numbers.law(), Make::calm(3));
    for number in 0..30_000 {
        let node = u16::try_from(number % 3).unwrap();
        assert!(world.request(node, ModeKey(number), 1));
    }
    world.run_for(500);
    assert_eq!(world.frames, 0);
    for node in world.nodes.iter().flatten() {
        assert_eq!(node.bytes(), 36 * 10_000);
        let held = node.keys().held();
        assert!(held <= 72 * 10_000, "{} bytes a key", held / 10_000);
    }
}
