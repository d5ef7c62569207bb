//! Keys that have no need of others: at least half full, with nothing owed, held, hired or asked for.
//!
//! All that is to be known of such a key is its tokens. They come back as in a [`SubBucket`](crate::bucket::SubBucket)
//! that nothing but time changes. Not here: any other key.

use tollgate_gossip::{Probe, Verdict};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Weigh;

use crate::limits::Limits;
use crate::machine::Machine;

/// A key's tokens, in grains, and what it was asked for lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    pub(crate) tokens: u128,
    pub(crate) at: Instant,
    /// Messages since then.
    pub(crate) asked: u64,
    pub(crate) since: Instant,
}

impl Weigh for Calm {
    fn heap_bytes(&self) -> u64 {
        0
    }
}

/// A key that is full, and how calm ones fill.
#[derive(Debug)]
pub(super) struct Full {
    limits: Limits,
    cost_max: u64,
    depth: u128,
    refill: u128,
    /// Below that a key may need others.
    low: u128,
    /// A key that was never seen is full from then on; `None` where no key can do without a machine.
    from: Option<Instant>,
}

impl Full {
    /// As a machine that nothing happened to.
    pub(super) fn new(mut fresh: Machine, leaks: bool) -> Self {
        let quiet = fresh.at_rest();
        Self {
            limits: quiet.limits,
            cost_max: quiet.cost_max,
            depth: quiet.depth,
            refill: quiet.refill,
            low: quiet.low.max(quiet.depth / 2),
            from: quiet.full_at.filter(|_| !leaks && quiet.depth > 0),
        }
    }

    /// A key that was never seen, as far as it needs no machine.
    pub(super) fn new_at(&self, now: Instant) -> Option<Calm> {
        self.from.filter(|from| *from <= now).map(|_| Calm {
            tokens: self.depth,
            at: now,
            asked: 0,
            since: now,
        })
    }

    /// A key as it is at `now`.
    pub(super) fn at(&self, mut calm: Calm, now: Instant) -> Calm {
        let back = u128::from(now.nanos_since(calm.at)).saturating_mul(self.refill);
        calm.tokens = calm.tokens.saturating_add(back).min(self.depth);
        calm.at = calm.at.max(now);
        if calm.at.nanos_since(calm.since) >= WINDOW_NS {
            (calm.asked, calm.since) = (0, calm.at);
        }
        calm
    }

    /// What a message of that cost would be told; `None` where it takes a machine to say.
    pub(super) fn probe(&self, calm: &Calm, cost: u64) -> Option<Probe> {
        let message = self.limits.message().max(1);
        let asked = cost.max(1);
        if asked > self.cost_max || self.limits.messages(asked) > calm.tokens {
            return None;
        }
        let remaining = u64::try_from(calm.tokens / message).unwrap_or(u64::MAX);
        Some(Probe {
            verdict: Verdict::Allow {
                remaining: remaining.saturating_sub(cost),
                wait: Span::ZERO,
            },
            remaining,
            over: 0,
        })
    }

    /// Takes tokens that are there; says whether the key may need others now.
    pub(super) fn take(&self, calm: &mut Calm, cost: u64) -> bool {
        calm.tokens -= self.limits.messages(cost);
        calm.asked = calm.asked.saturating_add(cost);
        calm.tokens < self.low
    }

    pub(super) fn refund(&self, calm: &mut Calm, cost: u64) {
        let tokens = calm.tokens.saturating_add(self.limits.messages(cost));
        calm.tokens = tokens.min(self.depth);
    }

    /// Whether a key stands as if it had never been seen.
    pub(super) fn is_new(&self, calm: &Calm, now: Instant) -> bool {
        calm.tokens >= self.depth && calm.asked == 0 && self.new_at(now).is_some()
    }

    /// What there is to know of a machine that has no need of others.
    pub(super) fn calm(&self, machine: &mut Machine, now: Instant) -> Option<Calm> {
        let _ = self.new_at(now)?;
        let tokens = machine.rests(now).filter(|tokens| *tokens >= self.low)?;
        Some(Calm {
            tokens,
            at: now,
            asked: machine.asked_lately(WINDOW_NS),
            since: now,
        })
    }
}

/// For so long it is known what a calm key was asked for.
const WINDOW_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use tollgate_gossip::{Key, NodeId};
    use tollgate_kit::Dice;

    use super::super::{Topics, TopicsSetup};
    use super::*;
    use crate::config::SplitConfig;

    const SECOND: u64 = 1_000_000_000;

    fn topics(limits: Limits, has_machines: bool) -> Topics {
        let setup = TopicsSetup {
            limits,
            roster: vec![(NodeId(1), 1), (NodeId(2), 2)],
            me: NodeId(1),
            boot: 9,
            members: vec![NodeId(1), NodeId(2)],
            start: Instant::from_nanos(5 * SECOND),
            wait_max: Span::from_nanos(u128::from(SECOND)),
            leaks: false,
            config: SplitConfig::default(),
        };
        let mut topics = Topics::new(setup).unwrap();
        if has_machines {
            topics.full.from = None;
        }
        topics
    }

    /// Requests, refunds and charges at random times: a key is told the same with a machine and without.
    #[test]
    fn a_key_without_a_machine_is_told_what_its_machine_would_say() {
        let (mut rested, mut busy) = (0, 0);
        for seed in 0..300 {
            let mut dice = Dice::new(seed);
            let (limit, burst) = (1 + dice.below(400), 6 + dice.below(60));
            let per = Span::from_nanos(u128::from(SECOND));
            let limits = Limits::new(limit, per, burst).unwrap();
            let (mut with, mut without) = (topics(limits, true), topics(limits, false));
            let mut now = 5 * SECOND + dice.below(3 * SECOND);
            for step in 0..300 {
                now += dice.below(2 * SECOND / limit);
                let (at, key) = (Instant::from_nanos(now), Key(u128::from(dice.below(3))));
                let cost = dice.below(3);
                let told = without.probe(key, cost, at);
                assert_eq!(told, with.probe(key, cost, at), "seed {seed}, step {step}");
                match (dice.below(12), told.verdict) {
                    (0, _) => [&mut with, &mut without].map(|it| it.refund(key, cost, at)),
                    (1, _) => [&mut with, &mut without].map(|it| it.charge(key, cost, None, at)),
                    (_, Verdict::Allow { .. }) if cost > 0 => {
                        [&mut with, &mut without].map(|it| it.take(key, cost, at))
                    }
                    _ => [(), ()],
                };
                while with.poll_send().is_some() {}
                while without.poll_send().is_some() {}
                rested += without.calm.len();
                busy += without.busy.len();
            }
            assert_eq!(with.counts().arrived, without.counts().arrived);
        }
        assert!(rested > 10_000 && busy > 10_000, "{rested}, {busy}");
    }

    #[test]
    fn a_key_that_nobody_asks_for_is_forgotten_when_it_is_full() {
        let per = Span::from_nanos(u128::from(SECOND));
        let mut topics = topics(Limits::new(30, per, 30).unwrap(), false);
        for key in 0..1_000_u128 {
            let at = Instant::from_nanos(20 * SECOND);
            topics.take(Key(key), 1, at);
        }
        assert_eq!(topics.keys_count(), 1_000);
        let later = Instant::from_nanos(30 * SECOND);
        for _ in 0..9_000 {
            topics.take(Key(7), 1, later);
            topics.refund(Key(7), 1, later);
        }
        assert!(topics.keys_count() < 10, "{}", topics.keys_count());
    }
}
