//! What holds for `home` whatever messages do: ends never fall, broken frames change nothing, and nothing is left
//! behind.

#![allow(clippy::cast_possible_truncation, reason = "there are few nodes")]

mod home_world;

use home_world::random::random_world;
use home_world::{Dice, Event, MS, World};
use tollgate_gossip::{Machine, NodeId, Ratio, Replica};
use tollgate_limit::Instant;

fn now(world: &World) -> Instant {
    Instant::from_nanos(world.now())
}

fn drop_frames(replica: &mut Replica) {
    while replica.poll_send().is_some() {}
}

#[test]
fn no_end_falls_whatever_arrives_and_whoever_becomes_home() {
    for seed in 1000..1080 {
        let mut world = random_world(seed);
        world.watches_ends = true;
        for node in 0..world.nodes.len() as u16 {
            let at = world.now() + (10_000 + 4_000 * u64::from(node)) * MS;
            world.at(at, Event::Crash { node });
            world.at(at, Event::Restart { node });
        }
        world.run(world.now() + 70_000 * MS);
    }
}

#[test]
fn replaying_everything_in_any_order_never_gives_room_back() {
    for seed in 2000..2040 {
        let mut world = random_world(seed);
        world.frames = Some(Vec::new());
        let mut dice = Dice(seed);
        world.run(world.now() + 20_000 * MS + dice.below(30_000) * MS);
        let frames = world.frames.take().unwrap();
        for _ in 0..frames.len().min(2000) {
            let (from, to, bytes) = &frames[dice.below(frames.len() as u64) as usize];
            let node = usize::from(*to);
            let before = [world.known(node, 0), world.known(node, 1)];
            let now = now(&world);
            let Some(replica) = &mut world.nodes[node] else {
                continue;
            };
            replica.handle_frame(NodeId(*from), bytes, now).unwrap();
            drop_frames(replica);
            let after = [world.known(node, 0), world.known(node, 1)];
            assert!(
                before[0] >= after[0] && before[1] >= after[1],
                "seed {seed}"
            );
        }
    }
}

/// Bytes with a few changes, or none of what they were.
fn broken(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match dice.below(4) {
        0 => bytes.truncate(dice.below(bytes.len() as u64 + 1) as usize),
        1 => bytes.push(dice.roll() as u8),
        2 => {
            let length = dice.below(80);
            bytes = (0..length).map(|_| dice.roll() as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = 0x10 | (*first & 0x07);
            }
        }
        _ => {
            for _ in 0..=dice.below(3) {
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << dice.below(8);
            }
        }
    }
    bytes
}

#[test]
fn broken_frames_are_refused_whole_or_taken_without_harm() {
    let mut refused = 0;
    for seed in 3000..3012 {
        let mut world = random_world(seed);
        world.frames = Some(Vec::new());
        let mut dice = Dice(seed);
        world.run(world.now() + 20_000 * MS);
        let frames = world.frames.take().unwrap();
        for _ in 0..1500 {
            let (from, to, bytes) = &frames[dice.below(frames.len() as u64) as usize];
            let now = now(&world);
            let Some(replica) = &mut world.nodes[usize::from(*to)] else {
                continue;
            };
            let bytes = broken(bytes, &mut dice);
            let before = format!("{replica:?}");
            if replica.handle_frame(NodeId(*from), &bytes, now).is_err() {
                refused += 1;
                assert_eq!(before, format!("{replica:?}"), "seed {seed}");
            }
            drop_frames(replica);
            replica.handle_timeout(now);
            drop_frames(replica);
        }
    }
    assert!(refused > 2000, "{refused}");
}

#[test]
fn nothing_is_left_when_everything_has_drained() {
    for seed in 4000..4100 {
        let mut world = random_world(seed);
        if world.knobs.fade == Ratio::new(0, 4) {
            continue;
        }
        world.run(world.now() + 70_000 * MS);
        let refill_ns = world.law.burst * world.law.per_ns / world.law.tokens;
        let fading_ns = 4 * 10 * refill_ns;
        world.run(world.now() + 10 * refill_ns + fading_ns + 60_000 * MS);
        for replica in world.nodes.iter().flatten() {
            let left = replica.footprint();
            assert_eq!((left.local, left.extra), (0, 0), "seed {seed}");
            assert!(replica.is_quiet(), "seed {seed}");
            assert_eq!(replica.poll_timeout(), None, "seed {seed}");
        }
    }
}
