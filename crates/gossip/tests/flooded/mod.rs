//! Two machines after many keys came to one of them.

use tollgate_gossip::{
    Bucket, Key, Kind, Knobs, Machine, NodeId, Replica, Setup, Shape, Window, WindowReplica, Writer,
};
use tollgate_limit::{Instant, Span};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_700_000_000 * SECOND;
pub(crate) const KEYS: u64 = 40_000;

fn setup(node: u16) -> Setup {
    Setup {
        bucket: Bucket::new(10, 10, 3_600 * SECOND).unwrap(),
        me: NodeId(node),
        writer: Writer(node + 1),
        was: None,
        members: vec![NodeId(0), NodeId(1)],
        seed: u64::from(node),
        start: Instant::from_nanos(START),
        wait_max: Span::ZERO,
        knobs: Knobs::default(),
    }
}

fn machine(name: &str, node: u16) -> Box<dyn Machine> {
    let hour = Span::from_nanos(3_600 * u128::from(SECOND));
    match name {
        "segments" => Box::new(Replica::new(Kind::Segments, &setup(node))),
        "home" => Box::new(Replica::new(Kind::Home, &setup(node))),
        _ => {
            let shape = Shape::Fixed {
                period: hour,
                offset: Span::ZERO,
            };
            Box::new(WindowReplica::new(
                Window::new(10, shape).unwrap(),
                &setup(node),
            ))
        }
    }
}

pub(crate) fn key(number: u64) -> Key {
    let high = u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Key(high << 64 | u128::from(number))
}

/// What a pair of machines takes after some keys have taken `cost` at the first, and all was said for three seconds.
pub(crate) fn flooded(name: &str, cost: u64) -> (Box<dyn Machine>, Box<dyn Machine>, Instant) {
    let (mut one, mut other) = (machine(name, 0), machine(name, 1));
    let mut now = START;
    for number in 0..KEYS {
        now += 10_000;
        let at = Instant::from_nanos(now);
        one.take(key(number), cost, at);
        while let Some(send) = one.poll_send() {
            other.handle_frame(NodeId(0), &send.frame, at).unwrap();
            while other.poll_send().is_some() {}
        }
    }
    for _ in 0..30 {
        now += SECOND / 10;
        let at = Instant::from_nanos(now);
        one.handle_timeout(at);
        while let Some(send) = one.poll_send() {
            other.handle_frame(NodeId(0), &send.frame, at).unwrap();
        }
        other.handle_timeout(at);
        while other.poll_send().is_some() {}
    }
    (one, other, Instant::from_nanos(now))
}
