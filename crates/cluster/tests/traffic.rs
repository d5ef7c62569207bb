//! What nodes send each other: complete, once, bounded, and safe against garbage.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    reason = "small numbers, and a broken set-up must stop the test"
)]

use proptest::prelude::*;
use tollgate_cluster::{Event, FrameKind, Refused, Via};
use tollgate_gossip::NodeId;
use tollgate_lab::membership::{Capture, MS, MembershipWorld, SECOND};

fn settled(count: u32) -> MembershipWorld {
    let mut world = MembershipWorld::new(1);
    world.start_many(count);
    world.run_until("everybody meets", 15, MembershipWorld::agrees);
    world
}

fn node(world: &mut MembershipWorld, host: u32) -> NodeId {
    world.cluster(host).me().0
}

/// Frames of replicas that a host received: tag and frame.
fn given(world: &MembershipWorld, host: u32) -> Vec<(u64, Vec<u8>)> {
    let events = world.processes[&host].events.iter();
    let mut given: Vec<_> = events
        .filter_map(|event| match event {
            Event::Gossip { tag, frame, .. } => Some((*tag, frame.clone())),
            _ => None,
        })
        .collect();
    // Datagrams overtake each other.
    given.sort_unstable();
    given
}

#[test]
fn frames_arrive_whole_once_and_packed() {
    let mut world = settled(3);
    let (to, now) = (node(&mut world, 2), world.clock(1));
    let before = world.cluster(1).status(now).traffic.datagrams_out;
    for tag in 0..100 {
        world.cluster(1).send_gossip(to, tag, &[tag as u8; 40], now);
    }
    world.run_for(20 * MS);
    let frames = given(&world, 2);
    assert_eq!(frames.len(), 100);
    for (at, (tag, frame)) in frames.iter().enumerate() {
        assert_eq!((*tag, frame), (at as u64, &vec![at as u8; 40]));
    }
    let now = world.clock(1);
    let sent = world.cluster(1).status(now).traffic.datagrams_out - before;
    assert!(sent <= 7, "{sent} datagrams");
}

#[test]
fn a_datagram_that_comes_twice_to_its_own_receiver_is_taken_once() {
    let mut world = settled(3);
    let (to, now) = (node(&mut world, 2), world.clock(1));
    let start = world.captures.len();
    world.cluster(1).send_gossip(to, 7, b"once", now);
    world.run_for(20 * MS);
    let (boot, address) = (world.processes[&1].boot, world.processes[&2].address);
    let mut sent = start..world.captures.len();
    let carried = |at: &usize| {
        let capture = &world.captures[*at];
        (capture.boot, capture.to) == (boot, address) && capture.bytes.ends_with(b"once")
    };
    let at = sent.find(carried).unwrap();
    for _ in 0..3 {
        world.replay(2, at);
    }
    world.run_for(20 * MS);
    assert_eq!(given(&world, 2), [(7, b"once".to_vec())]);
    assert_eq!(world.processes[&2].refused[&Refused::Replayed], 3);
}

#[test]
fn a_frame_too_long_for_a_datagram_goes_by_stream() {
    let mut world = settled(3);
    let (to, now) = (node(&mut world, 2), world.clock(1));
    for length in [1300, 1400, 100_000] {
        world.cluster(1).send_gossip(to, 7, &vec![3; length], now);
    }
    world.run_for(20 * MS);
    let mut lengths: Vec<usize> = given(&world, 2)
        .iter()
        .map(|(_, frame)| frame.len())
        .collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1300, 1400, 100_000]);
    let now = world.clock(1);
    assert!(world.cluster(1).status(now).traffic.stream_bytes_out >= 101_400);
}

#[test]
fn messages_go_by_stream_and_a_full_one_says_so() {
    let mut world = settled(3);
    let (to, from, now) = (node(&mut world, 2), node(&mut world, 1), world.clock(1));
    let body = vec![9; 100_000];
    let mut sent = 0;
    while world
        .cluster(1)
        .send_message(to, FrameKind::Snapshot, &body, now)
        .is_ok()
    {
        sent += 1;
        assert!(sent < 1000);
    }
    assert!(sent >= 80, "{sent}");
    assert!(world.cluster(1).stream_room(to) < 100_100);
    world.cluster(1).hold_stream(to, true);
    world.run_for(20 * MS);
    let is_message = |event: &&Event| {
        matches!(
            event,
            Event::Message {
                kind: FrameKind::Snapshot,
                ..
            }
        )
    };
    assert_eq!(
        world.processes[&2].events.iter().filter(is_message).count(),
        0
    );
    world.cluster(1).hold_stream(to, false);
    world.run_for(20 * MS);
    let mut messages = world.processes[&2].events.iter().filter(is_message);
    assert_eq!(
        messages.next(),
        Some(&Event::Message {
            from,
            kind: FrameKind::Snapshot,
            body
        })
    );
    assert_eq!(messages.count(), sent - 1);
    let now = world.clock(1);
    assert!(
        world
            .cluster(1)
            .send_message(NodeId(to.0 ^ 1), FrameKind::Ask, b"", now)
            .is_err()
    );
    world
        .cluster(1)
        .send_gossip(NodeId(to.0 ^ 1), 1, b"to nobody", now);
}

#[test]
fn queues_drop_the_oldest_and_count() {
    let mut world = settled(2);
    let (to, now) = (node(&mut world, 2), world.clock(1));
    for tag in 0..2000 {
        world.cluster(1).send_gossip(to, tag, &[0; 1000], now);
    }
    let status = world.cluster(1).status(now);
    assert!(status.peers[0].queued_bytes <= 600 << 10);
    assert!(status.traffic.dropped > 1000);
    world.run_for(100 * MS);
    let frames = given(&world, 2);
    assert_eq!(frames.last().map(|(tag, _)| *tag), Some(1999));
    assert_eq!(frames.len() as u64 + status.traffic.dropped, 2000);
}

#[test]
fn a_cap_is_kept_and_starves_no_probe() {
    let mut world = MembershipWorld::new(2);
    for host in 1..=4 {
        let mut config = world.config(host, &[1]);
        config.bytes_per_second_max = Some(20_000);
        world.start_with(host, config);
    }
    world.run_until("everybody meets", 15, MembershipWorld::agrees);
    let to = node(&mut world, 2);
    let now = world.clock(1);
    let before = world.cluster(1).status(now).traffic.bytes_out;
    for _ in 0..300 {
        let now = world.clock(1);
        for _ in 0..10 {
            world.cluster(1).send_gossip(to, 1, &[5; 900], now);
        }
        world.run_for(100 * MS);
    }
    let now = world.clock(1);
    let sent = world.cluster(1).status(now).traffic.bytes_out - before;
    assert!(sent <= 31 * 20_000 + 3000, "{sent}");
    assert!(sent >= 29 * 20_000, "{sent}");
    assert!(world.agrees());
    assert!(
        world
            .processes
            .values()
            .all(|process| process.cluster.status(now).rejoins == 0)
    );
}

#[test]
fn frames_of_later_versions_are_skipped_and_counted() {
    let mut world = settled(2);
    let now = world.clock(2);
    let boot = world.processes[&1].boot;
    // A payload of host 1 with a ping for host 2 and frames of unknown kinds.
    let mut payload = head(&world, 2);
    payload.extend([200, 3, 1, 2, 3]);
    payload.extend([3, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    payload.extend([255, 0]);
    assert_eq!(
        world
            .cluster(2)
            .handle_payload(boot, 1 << 40, &payload, now),
        Ok(())
    );
    assert_eq!(world.cluster(2).status(now).unknown_frames, 2);
    let transmit = world.cluster(2).poll_transmit(now).unwrap();
    assert!(matches!(transmit.via, Via::Datagram { .. }));
    assert_eq!(transmit.bytes[10..], [4, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn strangers_and_liars_are_told_apart() {
    let mut world = settled(3);
    let now = world.clock(2);
    let mut gossip = head(&world, 2);
    gossip.extend([2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 42]);
    assert_eq!(
        world.cluster(2).handle_payload(4711, 1, &gossip, now),
        Err(Refused::Stranger)
    );
    // A bye of host 1, under another boot.
    let me = |world: &mut MembershipWorld, host: u32| {
        let first = node(world, host);
        let members = world.cluster(host).members();
        let member = members.iter().find(|member| member.node == first);
        member.map(|member| (member.id, member.boot)).unwrap()
    };
    let (id, boot) = me(&mut world, 1);
    let mut bye = vec![9, 26];
    bye.extend(id.to_le_bytes());
    bye.push(1);
    bye.extend(boot.to_le_bytes());
    bye.push(0);
    let mut lie = head(&world, 2);
    lie.extend(&bye);
    assert_eq!(
        world.cluster(2).handle_payload(4711, 2, &lie, now),
        Err(Refused::Liar)
    );
    // On a stream it claims to be host 1, which is a member.
    let first = node(&mut world, 1);
    let two = world.cluster(2);
    assert_eq!(two.greeted(id, boot), Ok(first));
    assert_eq!(two.greeted(id, boot ^ 1), Err(Refused::Liar));
    assert_eq!(two.greeted(id ^ 1, boot), Err(Refused::Stranger));
    let now = world.clock(1);
    world.start(9, &[]);
    let (id, boot) = me(&mut world, 9);
    let one = world.cluster(1);
    assert_eq!(one.greeted(id, boot), Err(Refused::Stranger));
    assert_eq!(
        world
            .cluster(1)
            .handle_message(NodeId(first.0 ^ 1), &[], now),
        Err(Refused::Stranger)
    );
}

#[test]
fn who_left_takes_and_says_nothing() {
    let mut world = settled(3);
    let now = world.clock(1);
    world.cluster(1).leave(now);
    world.run_for(20 * MS);
    let now = world.clock(1);
    assert_eq!(
        world.cluster(1).handle_payload(1, 1, &[0; 20], now),
        Err(Refused::Silent)
    );
    assert_eq!(world.cluster(1).poll_timeout(), None);
    world.run_for(SECOND);
    assert!(world.cluster(1).poll_transmit(now).is_none());
    assert!(world.cluster(1).status(now).is_silent);
}

/// The head of a payload for a host: the time, and the host's boot, folded.
fn head(world: &MembershipWorld, to: u32) -> Vec<u8> {
    let mut bytes = (world.now() / MS).to_le_bytes()[..6].to_vec();
    let boot = world.processes[&to].boot;
    bytes.extend(((boot ^ (boot >> 32)) as u32).to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A node refuses or accepts anything that a holder of the key sends, and continues.
    #[test]
    fn garbage_is_refused_and_breaks_nothing(
        garbage in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..60),
        kinds in proptest::collection::vec(0..24_u8, 60),
        from_member in any::<bool>(),
    ) {
        let mut world = settled(4);
        let boot = if from_member { world.processes[&1].boot } else { 99 };
        for (at, (body, kind)) in garbage.iter().zip(&kinds).enumerate() {
            let now = world.clock(2);
            let mut payload = head(&world, 2);
            payload.extend([*kind, body.len().min(127) as u8]);
            payload.extend(body);
            let _ = world.cluster(2).handle_payload(boot, (1 << 40) + at as u64, &payload, now);
            let _ = world.cluster(2).handle_payload(boot, (1 << 50) + at as u64, body, now);
            let from = world.cluster(1).me().0;
            let _ = world.cluster(2).handle_message(from, &payload[10..], now);
        }
        world.run_seconds(30);
        prop_assert!(world.agrees());
    }

    /// Captures with some bytes changed, as if the seal had a hole.
    #[test]
    fn changed_captures_break_nothing(changes in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..80)) {
        let mut world = settled(4);
        world.run_seconds(2);
        for (at, (which, place, byte)) in changes.into_iter().enumerate() {
            let now = world.clock(2);
            let Capture { boot, mut bytes, .. } = world.captures[which % world.captures.len()].clone();
            // The head stays intact, so that the changed part is parsed at all.
            let place = 10 + place % (bytes.len() - 10);
            bytes[place] = byte;
            let fresh = head(&world, 2);
            bytes[..10].copy_from_slice(&fresh);
            let _ = world.cluster(2).handle_payload(boot, (1 << 40) + at as u64, &bytes, now);
        }
        world.run_seconds(60);
        for host in 1..=4 {
            let members = world.cluster(host).members();
            let is_in_order = members.windows(2).all(|pair| pair[0].node < pair[1].node);
            prop_assert!(is_in_order);
        }
    }
}
