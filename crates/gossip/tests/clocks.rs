//! A peer whose clock runs ahead: an hour is borne, days are refused, lest a key stay blocked for so long.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;

use tollgate_gossip::{
    Bucket, Key, Kind, Knobs, Machine, Malformed, NodeId, Replica, Setup, Shape, Verdict, Window,
    WindowReplica, Writer,
};
use tollgate_limit::{Instant, Span};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// The beginning of a day, in whatever window.
const NOW: u64 = 16_800 * DAY;
const KEY: Key = Key(7);
const BURST: u64 = 20;
fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn setup(me: u16, start: u64) -> Setup {
    Setup {
        bucket: Bucket::new(BURST, 1, 10 * DAY).unwrap(),
        me: NodeId(me),
        writer: Writer(100 + me),
        was: None,
        members: vec![NodeId(0), NodeId(1)],
        seed: 1,
        start: at(start),
        wait_max: Span::ZERO,
        knobs: Knobs::default(),
    }
}

/// The first frame about a bucket that was used up at that time.
fn bucket_frame(kind: Kind, now: u64) -> Arc<[u8]> {
    let mut node = Replica::new(kind, &setup(1, now));
    let _ = node.handle_request(KEY, BURST, at(now));
    if let Some(next) = node.poll_timeout() {
        node.handle_timeout(next);
    }
    node.poll_send().unwrap().frame
}

fn window() -> Window {
    let shape = Shape::Fixed {
        period: Span::from_nanos(u128::from(DAY)),
        offset: Span::ZERO,
    };
    Window::new(BURST, shape).unwrap()
}

fn window_frame(now: u64) -> Arc<[u8]> {
    let mut node = WindowReplica::new(window(), &setup(1, now));
    let _ = node.handle_request(KEY, BURST, at(now));
    node.poll_send().unwrap().frame
}

fn full() -> Verdict {
    Verdict::Allow {
        remaining: BURST,
        wait: Span::ZERO,
    }
}

#[test]
fn buckets_bear_an_hour_and_refuse_days() {
    let kind = Kind::Segments;
    let mut node = Replica::new(kind, &setup(0, NOW));
    for ahead in [DAY + HOUR, 400 * DAY] {
        let frame = bucket_frame(kind, NOW + ahead);
        let told = node.handle_frame(NodeId(1), &frame, at(NOW));
        assert_eq!(told, Err(Malformed::Value));
        assert_eq!(node.handle_request(KEY, 0, at(NOW)), full());
    }
    let frame = bucket_frame(kind, NOW + HOUR);
    assert_eq!(node.handle_frame(NodeId(1), &frame, at(NOW)), Ok(()));
    let verdict = node.handle_request(KEY, 1, at(NOW + HOUR));
    assert!(!verdict.is_allowed());
}

#[test]
fn windows_bear_an_hour_and_refuse_days() {
    let mut node = WindowReplica::new(window(), &setup(0, NOW));
    for ahead in [DAY + HOUR, 400 * DAY] {
        // The day before begins within a day from here.
        let frame = window_frame(NOW + DAY + ahead);
        let told = node.handle_frame(NodeId(1), &frame, at(NOW));
        assert_eq!(told, Err(Malformed::Value));
        assert_eq!(node.handle_request(KEY, 0, at(NOW)), full());
    }
    let frame = window_frame(NOW + HOUR);
    assert_eq!(node.handle_frame(NodeId(1), &frame, at(NOW)), Ok(()));
    assert!(!node.handle_request(KEY, 1, at(NOW)).is_allowed());
}
