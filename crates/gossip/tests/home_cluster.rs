//! Small clusters of `home` under random traffic and faults, judged by a bucket that saw everything.

#![allow(clippy::cast_possible_truncation, reason = "there are few nodes")]

mod home_world;

use home_world::random::random_world;
use home_world::{Dice, Event, Law, MS, World};
use tollgate_gossip::{Key, Knobs, NodeId, Ratio, collectors};
use tollgate_limit::Span;
use tollgate_sim::Weather;

#[test]
fn nobody_is_rejected_while_the_bucket_that_saw_everything_has_room() {
    let mut rejected = 0;
    for seed in 0..800 {
        let mut world = random_world(seed);
        world.run(world.now() + 70_000 * MS);
        assert_eq!(world.score.false_rejections, 0, "seed {seed}");
        rejected += world.score.rejected;
    }
    assert!(
        rejected > 10_000,
        "too little was rejected to judge: {rejected}"
    );
}

/// Who gets the next request.
#[derive(Clone, Copy, Debug)]
enum Routing {
    Random,
    Sticky,
    RoundRobin,
    Skewed,
}

fn pick(routing: Routing, step: u64, nodes: u64, dice: &mut Dice) -> u16 {
    let node = match routing {
        Routing::Sticky => step / 40 % nodes,
        Routing::RoundRobin => step % nodes,
        Routing::Skewed if dice.below(3) > 0 => 0,
        Routing::Random | Routing::Skewed => dice.below(nodes),
    };
    node as u16
}

/// One key on a few nodes, with strict shares and messages that take no time.
fn strict_world(seed: u64, routing: Routing) -> (World, u64) {
    let mut dice = Dice(seed * 31 + 5);
    let nodes = 2 + dice.below(6);
    let law = Law {
        burst: [5, 20, 60, 200][dice.below(4) as usize],
        tokens: [1, 3][dice.below(2) as usize],
        per_ns: [1_000_000_000, 7_000_000_000][dice.below(2) as usize],
    };
    let knobs = Knobs {
        beta: Some(Ratio::new(1, 1)),
        fade: Ratio::new(0, 1),
        direct: [Some(0), Some(1), Some(4), None][dice.below(4) as usize],
        standby: dice.below(2) == 0,
        ..Knobs::default()
    };
    let mut world = World::new(nodes as u16, law, knobs, Weather::default(), seed);
    let token_ns = law.per_ns / law.tokens;
    let mut at = world.now();
    for step in 0..400 {
        let pace = [token_ns / 30, token_ns / 3, token_ns][dice.below(3) as usize];
        at += if dice.below(60) == 0 {
            dice.below(law.burst * token_ns)
        } else {
            dice.below(pace)
        };
        let node = pick(routing, step, nodes, &mut dice);
        let (key, cost) = (1, 1);
        world.at(at, Event::Request { node, key, cost });
    }
    (world, at + 1)
}

#[test]
fn strict_shares_and_instant_messages_decide_like_one_bucket_for_any_routing() {
    let routings = [
        Routing::Random,
        Routing::Sticky,
        Routing::RoundRobin,
        Routing::Skewed,
    ];
    for seed in 0..300 {
        for routing in routings {
            let (mut world, end) = strict_world(seed, routing);
            world.run(end);
            assert_eq!(world.score.wrong, 0, "seed {seed}, {routing:?}");
        }
    }
}

/// A rush on a bucket that regains next to nothing, at random nodes: whoever speaks when, exactly the burst is
/// admitted.
#[test]
fn a_rush_takes_the_burst_and_not_one_more() {
    for seed in 0..2000 {
        let mut dice = Dice(seed * 17 + 3);
        let law = Law {
            burst: 5 + dice.below(56),
            tokens: 1,
            per_ns: 1_000_000_000_000,
        };
        let knobs = Knobs {
            beta: Some(Ratio::new(1, 1)),
            fade: Ratio::new(0, 1),
            direct: [Some(0), Some(1), Some(4)][dice.below(3) as usize],
            standby: dice.below(2) == 0,
            ..Knobs::default()
        };
        let nodes = 2 + dice.below(3);
        let mut world = World::new(nodes as u16, law, knobs, Weather::default(), seed);
        let start = world.now();
        for step in 0..2 * law.burst {
            let node = pick(Routing::Random, step, nodes, &mut dice);
            let (key, cost) = (1, 1);
            world.at(start + step * MS, Event::Request { node, key, cost });
        }
        world.run(start + 1_000 * MS);
        assert_eq!(world.score.wrong, 0, "seed {seed}");
        assert_eq!(world.score.rejected, law.burst, "seed {seed}");
    }
}

/// The first byte of an announcement.
const ANNOUNCE: u8 = 0x12;

#[test]
fn the_standby_is_silent_as_long_as_the_home_speaks() {
    let nodes = 10_u16;
    let members: Vec<_> = (0..nodes).map(NodeId).collect();
    let (home, _) = collectors(Key(1), &members);
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let law = Law {
            burst: 100,
            tokens: 1,
            per_ns: 3_000_000_000,
        };
        let delay_ms = 20 + dice.below(180);
        let knobs = Knobs {
            delay: Span::from_nanos(u128::from(delay_ms * MS)),
            direct: None,
            ..Knobs::default()
        };
        let weather = Weather::between(delay_ms * MS, delay_ms * MS);
        let mut world = World::new(nodes, law, knobs, weather, seed);
        world.frames = Some(Vec::new());
        let mut at = world.now();
        for _ in 0..400 {
            at += dice.below(100 * MS);
            let node = dice.below(u64::from(nodes)) as u16;
            let (key, cost) = (1, 1);
            world.at(at, Event::Request { node, key, cost });
        }
        world.run(at);
        let frames = world.frames.take().unwrap_or_default();
        let announced = frames.iter().filter(|(_, _, bytes)| bytes[0] == ANNOUNCE);
        let others = announced.filter(|(from, _, _)| Some(NodeId(*from)) != home);
        assert_eq!(others.count(), 0, "seed {seed}");
    }
}
