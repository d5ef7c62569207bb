//! One number per key: the end of the backlog, as far as this node knows.
//!
//! It is the greatest of what was heard and what was counted here, never more than the truth, and never falls. So no
//! message can do damage by being old. Not here: who says it.

use tollgate_limit::Instant;

use crate::bucket::{Bucket, Mark};
use crate::home::rules::Rules;
use crate::planted;

/// The end of the backlog as this node sees it, and as it was published.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The end, what this node kept to itself included.
    pub(super) end: Mark,
    /// The greatest end that was heard or reported; zero when all that is forgotten.
    pub(super) public: Mark,
    /// Since when `end` has been in the future without interruption.
    pub(super) busy: Instant,
}

/// Tokens nobody was told of, falling slowly while nothing is published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    level: u128,
    at: Instant,
}

impl View {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            end: Mark(0),
            public: Mark(0),
            busy: now,
        }
    }

    /// Counts tokens admitted here.
    pub(super) fn admit(&mut self, bucket: Bucket, cost: u64, now: Instant) {
        let mark = bucket.mark(now);
        if self.end <= mark {
            self.busy = now;
        }
        self.end = self.end.max(mark).plus(bucket.grains(cost));
    }

    /// Learns of an end that is not published.
    pub(super) fn raise(&mut self, bucket: Bucket, end: Mark, now: Instant) {
        if end <= self.end {
            planted!("home-register", (), self.end = end);
            return;
        }
        if self.end <= bucket.mark(now) {
            self.busy = now;
        }
        self.end = end;
    }

    /// Learns of a published end; whether it is the first of this backlog.
    pub(super) fn hear(&mut self, bucket: Bucket, end: Mark, now: Instant) -> bool {
        let mark = bucket.mark(now);
        let is_first = self.public <= mark && end > mark;
        self.public = self.public.max(end);
        self.raise(bucket, end, now);
        is_first
    }
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self { level: 0, at: now }
    }

    pub(super) fn level(&self) -> u128 {
        self.level
    }

    pub(super) fn add(&mut self, grains: u128) {
        self.level = self.level.saturating_add(grains);
    }

    /// Falls by this node's part of a part of the refill, but not while anything published has yet to drain.
    pub(super) fn fade(&mut self, rules: &Rules, public: Mark, now: Instant) {
        let from = self.at.max(rules.bucket.instant(public));
        let refilled = rules.bucket.refilled(now.nanos_since(from));
        let fall = rules.fade.of(refilled) / u128::from(rules.nodes);
        self.level = self.level.saturating_sub(fall);
        self.at = self.at.max(now);
    }

    /// When it is gone, to within a second after; never, where nothing fades.
    pub(super) fn ends_at(&self, rules: &Rules, public: Mark) -> Instant {
        let second = rules.bucket.refilled(1_000_000_000);
        let fall = rules.fade.of(second) / u128::from(rules.nodes);
        let Some(seconds) = self.level.checked_div(fall) else {
            return Instant::LAST;
        };
        let from = self.at.max(rules.bucket.instant(public)).as_nanos();
        let nanos = u64::try_from(seconds.saturating_add(1).saturating_mul(1_000_000_000));
        Instant::from_nanos(
            from.saturating_add(nanos.unwrap_or(u64::MAX))
                .min(Instant::LAST.as_nanos()),
        )
    }
}
