//! Refunds, charges and settling on one node, against a bucket that keeps its level as a fraction.

#![allow(clippy::unwrap_used, reason = "the bucket is a constant")]

use proptest::prelude::*;
use tollgate_gossip::{Bucket, Key, Kind, Knobs, Machine, NodeId, Replica, Setup, Writer};
use tollgate_limit::{Instant, Span};

const BURST: u64 = 20;
/// Three tokens in seven milliseconds.
const TOKENS: u64 = 3;
const PER_NS: u64 = 7_000_000;
const KEY: Key = Key(9);

#[derive(Clone, Copy, Debug)]
enum Step {
    Request(u64),
    Charge(u64),
    Refund(u64),
    Settle(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..8_u64).prop_map(Step::Request),
        1 => (0..30_u64).prop_map(Step::Charge),
        2 => (0..10_u64).prop_map(Step::Refund),
        1 => (0..6_u64, 0..6_u64).prop_map(|(charged, actual)| Step::Settle(charged, actual)),
    ]
}

/// The obvious bucket: a level in units of 1 / `PER_NS` tokens, which nothing but time, costs and refunds change.
struct Obvious {
    level: i128,
    at: u64,
}

impl Obvious {
    const TOKEN: i128 = PER_NS as i128;

    fn drain(&mut self, now: u64) {
        self.level = (self.level - i128::from(now - self.at) * i128::from(TOKENS)).max(0);
        self.at = now;
    }

    fn request(&mut self, cost: u64) -> bool {
        let wanted = self.level + i128::from(cost) * Self::TOKEN;
        let passes = wanted <= i128::from(BURST) * Self::TOKEN;
        if passes {
            self.level = wanted;
        }
        passes
    }

    fn add(&mut self, tokens: i128) {
        self.level = (self.level + tokens * Self::TOKEN).max(0);
    }
}

fn replica(kind: Kind) -> Replica {
    let setup = Setup {
        bucket: Bucket::new(BURST, TOKENS, PER_NS).unwrap(),
        me: NodeId(0),
        writer: Writer(1),
        was: None,
        members: vec![NodeId(0)],
        seed: 1,
        start: Instant::from_nanos(0),
        wait_max: Span::ZERO,
        knobs: Knobs::default(),
    };
    Replica::new(kind, &setup)
}

proptest! {
    #[test]
    fn one_node_with_refunds_is_the_obvious_bucket(
        steps in prop::collection::vec((0..9_000_000_u64, step()), 1..80),
    ) {
        for kind in Kind::ALL {
            let mut replica = replica(kind);
            let mut obvious = Obvious { level: 0, at: 0 };
            let mut now = 1_000_000_000;
            for &(gap, step) in &steps {
                now += gap;
                let instant = Instant::from_nanos(now);
                replica.handle_timeout(instant);
                obvious.drain(now);
                match step {
                    Step::Request(cost) => {
                        let allowed = replica.handle_request(KEY, cost, instant).is_allowed();
                        prop_assert_eq!(allowed, obvious.request(cost), "{} at {}", kind, now);
                    }
                    Step::Charge(cost) => {
                        replica.charge(KEY, cost, None, instant);
                        obvious.add(i128::from(cost));
                    }
                    Step::Refund(cost) => {
                        replica.refund(KEY, cost, instant);
                        obvious.add(-i128::from(cost));
                    }
                    Step::Settle(charged, actual) => {
                        let more = actual.saturating_sub(charged);
                        replica.charge(KEY, more, None, instant);
                        replica.refund(KEY, charged.saturating_sub(actual), instant);
                        obvious.add(i128::from(actual) - i128::from(charged));
                    }
                }
                while replica.poll_send().is_some() {}
            }
        }
    }
}
