//! Keys that have no need of others: nothing owed, held, hired or asked for, and tokens for whoever comes next.
//!
//! All that is to be known of such a key is its tokens. They come back as in a [`SubBucket`](crate::bucket::SubBucket)
//! that nothing but time changes, so that it is enough to know when it is full. Not here: any other key.

use tollgate_gossip::{ModeProbe, ModeVerdict, Standing};
use tollgate_limit::{Instant, Span};
use tollgate_mode::Weigh;

use crate::limits::TopicLimits;
use crate::machine::SplitMachine;

/// When a key is full if nothing comes, and what it was asked for lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Calm {
    full_at: Instant,
    /// Grains that are missing at that time.
    rest: u64,
    /// Messages since then.
    asked: u32,
    since: Tick,
}

/// About a millisecond; it begins anew after fifty days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tick(u32);

/// What a machine begins with that takes a calm key over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumed {
    pub(crate) tokens: u128,
    /// Messages since then.
    pub(crate) asked: u64,
    pub(crate) since: Instant,
}

impl Weigh for Calm {
    fn heap_bytes(&self) -> u64 {
        0
    }
}

impl Tick {
    #[allow(clippy::cast_possible_truncation, reason = "it begins anew")]
    const fn of(now: Instant) -> Self {
        Self((now.as_nanos() >> TICK_BITS) as u32)
    }

    const fn since(self, before: Self) -> u32 {
        self.0.wrapping_sub(before.0)
    }
}

/// A key that is full, and how calm ones fill.
#[derive(Debug)]
pub(super) struct Full {
    limits: TopicLimits,
    cost_max: u64,
    depth: u128,
    refill: u128,
    /// Below that a key may need others.
    low: u128,
    /// When a key that was never seen is full, which fills from `from` on.
    new: Calm,
    /// `None` where no key can do without a machine.
    from: Option<Instant>,
}

impl Full {
    /// As a machine that nothing happened to.
    pub(super) fn new(mut fresh: SplitMachine, leaks: bool) -> Self {
        let quiet = fresh.at_rest();
        let mut full = Self {
            limits: quiet.limits,
            cost_max: quiet.cost_max,
            depth: quiet.depth,
            refill: quiet.refill,
            low: quiet.low,
            new: Calm {
                full_at: quiet.from,
                rest: 0,
                asked: 0,
                since: Tick::of(quiet.from),
            },
            from: None,
        };
        let fits = (1..=u128::from(u64::MAX)).contains(&full.refill);
        if !leaks && full.depth > 0 && fits && full.depth / full.refill < FILLS_NS_MAX {
            full.from = Some(quiet.from);
            full.new = full.missing(full.depth, full.new, quiet.from);
        }
        full
    }

    /// A key that was never seen, as far as it needs no machine.
    pub(super) fn new_at(&self, now: Instant) -> Option<Calm> {
        self.from.filter(|from| *from <= now).map(|_| Calm {
            since: Tick::of(now),
            ..self.new
        })
    }

    /// A key of which so much is missing at `now`.
    #[allow(clippy::cast_possible_truncation, reason = "below the refill")]
    fn missing(&self, grains: u128, calm: Calm, now: Instant) -> Calm {
        let refill = self.refill.max(1);
        let (nanos, rest) = match (u64::try_from(grains), u64::try_from(refill)) {
            (Ok(grains), Ok(refill)) => (u128::from(grains / refill), grains % refill),
            _ => (grains / refill, (grains % refill) as u64),
        };
        Calm {
            full_at: now.saturating_add(Span::from_nanos(nanos)),
            rest,
            ..calm
        }
    }

    /// The tokens of a key.
    pub(super) fn tokens(&self, calm: &Calm, now: Instant) -> u128 {
        let later = u128::from(calm.full_at.nanos_since(now)).saturating_mul(self.refill);
        let since = u128::from(now.nanos_since(calm.full_at)).saturating_mul(self.refill);
        let rest = u128::from(calm.rest).saturating_sub(since);
        self.depth.saturating_sub(later.saturating_add(rest))
    }

    /// What a message of that cost would be told; `None` where it takes a machine to say.
    pub(super) fn probe(&self, calm: &Calm, cost: u64, now: Instant) -> Option<ModeProbe> {
        let asked = cost.max(1);
        let tokens = self.tokens(calm, now);
        if asked > self.cost_max || self.limits.messages(asked) > tokens {
            return None;
        }
        let remaining = self.messages(tokens);
        Some(ModeProbe {
            verdict: ModeVerdict::Allow {
                remaining: remaining.saturating_sub(cost),
                wait: Span::ZERO,
            },
            remaining,
            over: 0,
        })
    }

    /// How a key stands.
    pub(super) fn standing(&self, calm: &Calm, now: Instant) -> Standing {
        let missing = self.depth - self.tokens(calm, now);
        let nanos = u128::from(calm.full_at.nanos_since(now));
        // The last of it is there a nanosecond later, unless it is there by then.
        let last = u128::from(missing > nanos.saturating_mul(self.refill));
        Standing {
            remaining: self.messages(self.tokens(calm, now)),
            reset_after: Span::from_nanos(nanos + last),
        }
    }

    fn messages(&self, tokens: u128) -> u64 {
        let message = self.limits.message().max(1);
        match (u64::try_from(tokens), u64::try_from(message)) {
            (Ok(tokens), Ok(message)) => tokens / message,
            _ => u64::try_from(tokens / message).unwrap_or(u64::MAX),
        }
    }

    /// Takes tokens that are there; says whether the key may need others now.
    pub(super) fn take(&self, calm: &mut Calm, cost: u64, now: Instant) -> bool {
        let left = self
            .tokens(calm, now)
            .saturating_sub(self.limits.messages(cost));
        *calm = self.missing(self.depth - left, *calm, now);
        if Tick::of(now).since(calm.since) >= WINDOW_TICKS {
            (calm.asked, calm.since) = (0, Tick::of(now));
        }
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        calm.asked = calm.asked.saturating_add(cost);
        left < self.low
    }

    pub(super) fn refund(&self, calm: &mut Calm, cost: u64, now: Instant) {
        let missing = self.depth - self.tokens(calm, now);
        let left = missing.saturating_sub(self.limits.messages(cost));
        *calm = self.missing(left, *calm, now);
    }

    /// Whether a key stands as if it had never been seen.
    pub(super) fn is_new(&self, calm: &Calm, now: Instant) -> bool {
        let is_over = Tick::of(now).since(calm.since) >= WINDOW_TICKS;
        let new = self.new_at(now);
        let is_new = new.is_some_and(|new| self.tokens(&new, now) == self.tokens(calm, now));
        is_new && (calm.asked == 0 || is_over)
    }

    /// What there is to know of a machine that has no need of others: at least half full, or it would soon be back.
    pub(super) fn calm(&self, machine: &mut SplitMachine, now: Instant) -> Option<Calm> {
        let new = self.new_at(now)?;
        let enough = self.low.max(self.depth / 2);
        let tokens = machine.rests(now).filter(|tokens| *tokens >= enough)?;
        let asked = u32::try_from(machine.asked_lately(WINDOW_NS)).unwrap_or(u32::MAX);
        let calm = Calm { asked, ..new };
        Some(self.missing(self.depth.saturating_sub(tokens), calm, now))
    }

    /// What a machine begins with that takes a key over.
    pub(super) fn resumed(&self, calm: &Calm, now: Instant) -> Resumed {
        let ago = Tick::of(now).since(calm.since);
        let is_over = ago >= WINDOW_TICKS;
        let ago = u64::from(ago) << TICK_BITS;
        Resumed {
            tokens: self.tokens(calm, now),
            asked: if is_over { 0 } else { u64::from(calm.asked) },
            since: Instant::from_nanos(now.as_nanos().saturating_sub(ago)),
        }
    }
}

/// For so long it is known what a calm key was asked for.
const WINDOW_NS: u64 = 1_000_000_000;
/// A tick has so many nanoseconds, as a power of two,
const TICK_BITS: u32 = 20;
/// and a window so many ticks.
const WINDOW_TICKS: u32 = 954;
/// Keys that take longer to fill than three hundred years have machines.
const FILLS_NS_MAX: u128 = 1 << 63;

#[cfg(test)]
mod tests {
    use tollgate_gossip::{ModeKey, NodeId};
    use tollgate_kit::Dice;

    use super::super::{Topics, TopicsSetup};
    use super::*;
    use crate::config::SplitConfig;

    const SECOND: u64 = 1_000_000_000;

    fn topics(limits: TopicLimits, has_machines: bool) -> Topics {
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
            let limits = TopicLimits::new(limit, per, burst).unwrap();
            let (mut with, mut without) = (topics(limits, true), topics(limits, false));
            let mut now = 5 * SECOND + dice.below(3 * SECOND);
            for step in 0..300 {
                now += dice.below(2 * SECOND / limit);
                let (at, key) = (Instant::from_nanos(now), ModeKey(u128::from(dice.below(3))));
                let cost = dice.below(3);
                let told = without.probe(key, cost, at);
                assert_eq!(told, with.probe(key, cost, at), "seed {seed}, step {step}");
                match (dice.below(12), told.verdict) {
                    (0, _) => [&mut with, &mut without].map(|it| it.refund(key, cost, at)),
                    (1, _) => [&mut with, &mut without].map(|it| it.charge(key, cost, None, at)),
                    (_, ModeVerdict::Allow { .. }) if cost > 0 => {
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
    fn a_calm_key_takes_24_bytes() {
        assert_eq!(size_of::<Calm>(), 24);
    }

    #[test]
    fn a_key_far_from_its_limit_is_looked_at_without_a_machine() {
        let per = Span::from_nanos(u128::from(SECOND));
        let mut topics = topics(TopicLimits::new(300, per, 300).unwrap(), false);
        let at = Instant::from_nanos(20 * SECOND);
        for key in 0..100_u128 {
            topics.take(ModeKey(key), 1, at);
            let standing = topics.standing(ModeKey(key), at);
            // A hundred messages a second, and a clock may be a thousandth fast.
            assert!((10_010_000..10_011_000).contains(&standing.reset_after.as_nanos()));
            assert!(topics.inspect(ModeKey(key), at).is_some());
        }
        assert_eq!((topics.calm.len(), topics.busy.len()), (100, 0));
    }

    #[test]
    fn a_key_that_nobody_asks_for_is_forgotten_when_it_is_full() {
        let per = Span::from_nanos(u128::from(SECOND));
        let mut topics = topics(TopicLimits::new(30, per, 30).unwrap(), false);
        for key in 0..1_000_u128 {
            let at = Instant::from_nanos(20 * SECOND);
            topics.take(ModeKey(key), 1, at);
        }
        assert_eq!(topics.keys_count(), 1_000);
        let later = Instant::from_nanos(30 * SECOND);
        for _ in 0..9_000 {
            topics.take(ModeKey(7), 1, later);
            topics.refund(ModeKey(7), 1, later);
        }
        assert!(topics.keys_count() < 10, "{}", topics.keys_count());
    }
}
