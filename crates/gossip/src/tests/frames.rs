//! What strangers send: broken frames change nothing, and claims that cannot be true are refused.

use super::*;
use crate::law::{LinkEntry, Seg, What};
use crate::wire::{Ack, FrameHead, LinkReport, bodies, decode};
use tollgate_mode::Malformed;

const NUMBERS: JudgedLimit = JudgedLimit {
    burst: 30,
    tokens: 1,
    per_ns: SECOND,
};

fn traffic() -> LinkWorld<Buckets> {
    let make = Make {
        keeps: true,
        weather: Conditions {
            loss: 100_000,
            ..Conditions::between(MS, 30 * MS)
        },
        ..Make::calm(4)
    };
    let mut world = LinkWorld::new(NUMBERS.law(), make);
    world.sent = Some(Vec::new());
    for step in 0..400_u64 {
        world.run_for(30);
        let node = u16::try_from(step % 4).unwrap();
        let _ = world.request(node, ModeKey(u128::from(step % 7)), 1);
        if step == 200 {
            let now = world.now();
            world.sim.plan(now + 1, PlannedStep::Crash(2));
            world.sim.plan(now + 300 * MS, PlannedStep::Restart(2));
        }
    }
    world
}

fn broken(frame: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    match dice.below(4) {
        0 => bytes.truncate(dice.place(bytes.len() + 1)),
        1 => bytes.push(dice.roll().to_le_bytes()[0]),
        2 => {
            let length = dice.below(80);
            bytes = (0..length).map(|_| dice.roll().to_le_bytes()[0]).collect();
            if let Some(first) = bytes.first_mut() {
                *first = 0x10 | (*first & 0x07);
            }
        }
        _ => {
            for _ in 0..=dice.below(3) {
                let at = dice.place(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
        }
    }
    bytes
}

#[test]
fn broken_frames_are_refused_whole_or_taken_without_harm() {
    let (mut world, mut dice, mut refused) = (traffic(), Dice::new(5), 0);
    let sent = world.sent.take().unwrap();
    let now = world.instant();
    for _ in 0..20_000 {
        let SentFrame { from, to, frame } = &sent[dice.place(sent.len())];
        let bytes = broken(frame, &mut dice);
        let is_readable = decode(&bytes, now).is_ok();
        let machine = world.node(*to);
        let keys = machine.keys().keys();
        let taken = machine.handle_frame(NodeId(*from), &bytes, now);
        if !is_readable {
            assert!(taken.is_err());
            assert_eq!(machine.keys().keys(), keys);
            refused += 1;
        }
        while machine.poll_send().is_some() {}
        machine.handle_timeout(now);
    }
    assert!(refused > 4_000, "{refused}");
}

#[test]
fn every_frame_that_is_sent_can_be_read() {
    let mut world = traffic();
    let now = world.instant();
    let mut kinds = std::collections::BTreeSet::new();
    for SentFrame { frame, .. } in world.sent.take().unwrap() {
        assert!(decode(&frame, now).is_ok());
        assert!(frame.len() <= 1_300, "{}", frame.len());
        kinds.insert(frame[0] & 0x0f);
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
}

fn head(ack: Option<Ack>) -> FrameHead {
    FrameHead {
        writer: Writer(77),
        ack,
        is_resent: false,
    }
}

#[test]
fn a_peer_that_acknowledges_what_it_never_got_is_refused() {
    let mut world = LinkWorld::new(NUMBERS.law(), Make::calm(2));
    let now = world.instant();
    let writer = world.node(0).post.writer;
    let ack = |cum, window| Ack {
        writer,
        cum,
        window,
    };
    for (cum, window) in [(1, 0), (u64::from(u32::MAX), 0), (0, 2)] {
        let frame = head(Some(ack(cum, window))).ack();
        let taken = world.node(0).handle_frame(NodeId(1), &frame, now);
        assert_eq!(taken, Err(Malformed::Value), "{cum} {window}");
    }
    // What another boot of this node sent may well have come.
    let other = Ack {
        writer: Writer(1),
        cum: 900,
        window: 0,
    };
    let frame = head(Some(other)).ack();
    assert_eq!(world.node(0).handle_frame(NodeId(1), &frame, now), Ok(()));
}

#[test]
fn other_versions_kinds_and_batches_that_are_too_long_have_names() {
    let mut world = LinkWorld::new(NUMBERS.law(), Make::calm(2));
    let now = world.instant();
    let frame = head(None).ack().to_vec();
    let mut refused = |bytes: &[u8]| world.node(0).handle_frame(NodeId(1), bytes, now).err();
    let mut version = frame.clone();
    version[0] = 0x21;
    assert_eq!(refused(&version), Some(Malformed::Version(2)));
    let mut kind = frame.clone();
    kind[0] = 0x1f;
    assert_eq!(refused(&kind), Some(Malformed::Kind(15)));
    let mut trailing = frame;
    trailing.push(0);
    assert_eq!(refused(&trailing), Some(Malformed::Trailing));
    assert_eq!(refused(&[]), Some(Malformed::Truncated));
    // A million keys in one batch.
    let entry = |key| LinkEntry {
        key: ModeKey(key),
        what: What::Report(vec![Seg::new(now, 1)]),
    };
    let entries: Vec<_> = (0..1_000_000).map(entry).collect();
    let body = bodies(&entries, now, usize::MAX).remove(0);
    let report = LinkReport {
        number: 1,
        lo: None,
        time: now,
        entries: body,
    };
    assert_eq!(
        refused(&head(None).report(&report)),
        Some(Malformed::TooLong)
    );
    assert_eq!(world.node(0).keys().len(), 0);
}

#[test]
fn clocks_may_be_an_hour_ahead_and_not_two_days() {
    let hour = 3_600 * SECOND;
    for (ahead, is_taken) in [(hour, true), (48 * hour, false)] {
        let mut world = LinkWorld::new(NUMBERS.law(), Make::calm(2));
        let now = world.instant();
        let at = Instant::from_nanos(world.now() + ahead);
        let what = What::Report(vec![Seg::new(at, 30)]);
        let entries = [LinkEntry {
            key: ModeKey(1),
            what,
        }];
        let report = LinkReport {
            number: 1,
            lo: None,
            time: at,
            entries: bodies(&entries, at, 1_000).remove(0),
        };
        let frame = head(None).report(&report);
        let taken = world.node(0).handle_frame(NodeId(1), &frame, now);
        assert_eq!(taken.is_ok(), is_taken);
        // It blocks the key for no longer than one bucket.
        let left = world.node(0).standing(ModeKey(1), now).remaining;
        assert_eq!(left, if is_taken { 0 } else { 30 });
        let later = Instant::from_nanos(world.now() + 60 * SECOND);
        assert_eq!(world.node(0).standing(ModeKey(1), later).remaining, 30);
    }
}

#[test]
fn nodes_that_nobody_heard_of_are_bounded() {
    let mut world = LinkWorld::new(NUMBERS.law(), Make::calm(2));
    let now = world.instant();
    let frame = head(None).ack();
    for node in 2..20_000 {
        let _ = world.node(0).handle_frame(NodeId(node), &frame, now);
    }
    assert!(world.node(0).post.links().count() <= 4_096);
}

#[test]
fn copies_are_kept_only_as_of_the_last_report_that_came() {
    let mut world = LinkWorld::new(NUMBERS.law(), Make::calm(2));
    let now = world.instant();
    let what = What::Report(vec![Seg::new(now, 2)]);
    let body = bodies(
        &[LinkEntry {
            key: ModeKey(1),
            what,
        }],
        now,
        1_000,
    )
    .remove(0);
    for (number, kept) in [(3, 0), (0, 1)] {
        let copies = LinkReport {
            number,
            lo: None,
            time: now,
            entries: Arc::clone(&body),
        };
        let frame = head(None).keep(&copies);
        world.node(0).handle_frame(NodeId(1), &frame, now).unwrap();
        assert_eq!(world.node(0).keep.len(), kept, "{number}");
    }
}
