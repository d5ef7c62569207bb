//! One number per key: the end of the backlog, as far as this node knows.
//!
//! It is the greatest of what was heard and what was counted here, never more than the truth, and never falls. So no
//! message can do damage by being old. Not here: who says it.

use tollgate_limit::Instant;
use tollgate_mode::planted;

use crate::bucket::{Bucket, Mark};
use crate::home::rules::Rules;

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
        if planted!("home-register", end <= self.end, end == self.end) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::home::own::Own;
    use crate::list::backlog;

    /// What happens next: after so many nanoseconds a writer admits something, or hears some part of the truth.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Admit { writer: usize, cost: u64 },
        Hear { writer: usize, percent: u128 },
        Report { writer: usize },
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let step = prop_oneof![
            5 => (0..4_usize, 1..4_u64).prop_map(|(writer, cost)| Step::Admit { writer, cost }),
            2 => (0..4_usize, 0..=100_u128).prop_map(|(writer, percent)| Step::Hear { writer, percent }),
            1 => (0..4_usize).prop_map(|writer| Step::Report { writer }),
        ];
        let gap = prop_oneof![4 => 0..800_u64, 1 => 0..20_000_u64];
        prop::collection::vec((gap, step), 1..150)
    }

    proptest! {
        /// Whatever each writer knew when it admitted something, all lists together give the end of one bucket that saw
        /// everything, and no writer ever sees a later one.
        #[test]
        fn all_lists_together_are_exact(steps in steps()) {
            let bucket = Bucket::new(10, 3, 7_000).unwrap();
            let mut now = Instant::from_nanos(1_000_000);
            let mut truth = Mark(0);
            let mut writers = vec![(View::new(now), Own::default()); 4];
            for (gap, step) in steps {
                now = Instant::from_nanos(now.as_nanos() + gap);
                match step {
                    Step::Admit { writer, cost } => {
                        let (view, own) = &mut writers[writer];
                        view.admit(bucket, cost, now);
                        own.add(cost, now, view.busy);
                        truth = truth.max(bucket.mark(now)).plus(bucket.grains(cost));
                    }
                    Step::Hear { writer, percent } => {
                        let heard = Mark(truth.0 * percent / 100);
                        writers[writer].0.hear(bucket, heard, now);
                    }
                    Step::Report { writer } => {
                        let (view, own) = &mut writers[writer];
                        own.fold(view.busy);
                        own.publish();
                    }
                }
                let mut all: Vec<_> = writers.iter().flat_map(|(_, own)| own.list()).collect();
                let end = backlog(bucket, &mut all).map_or(Mark(0), |backlog| backlog.end);
                let level = |end: Mark| end.since(bucket.mark(now));
                prop_assert_eq!(level(end), level(truth));
                prop_assert!(writers.iter().all(|(view, _)| view.end <= truth));
            }
        }
    }
}
