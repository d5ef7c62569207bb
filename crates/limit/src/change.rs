//! What becomes of a state when its policy changes.
//!
//! Rounding is always up, and once: a change never creates tokens, and loses less than one. Not here: when to carry
//! a state over (`node` does it as keys are next seen).

use crate::config::Inherit;
use crate::policy::{Policy, Rule};
use crate::ratio::Ratio;
use crate::slices::{SliceRule, Slices};
use crate::state::State;
use crate::time::Instant;
use crate::weighted::{Weighted, WindowCounts};

impl Policy {
    /// The state this policy starts with, from the state an older version of it left at `now`.
    pub(crate) fn inherit(&self, old: &Self, state: &State, now: Instant) -> State {
        if self == old {
            return state.clone();
        }
        if self.config().inherit == Inherit::Reset
            || self.config().algorithm != old.config().algorithm
        {
            return self.fresh();
        }
        let ratio = self.ratio(old);
        match (&self.rule, &old.rule, state) {
            (Rule::Bucket(new), Rule::Bucket(old), State::Spent(spent)) => {
                State::Spent(match self.config().inherit {
                    Inherit::Proportional => new.fraction_ratio(old).of(*spent),
                    Inherit::Time => new.time_ratio(old).of(*spent),
                    Inherit::AsIs | Inherit::Reset => new.tokens_ratio(old).of(*spent),
                })
            }
            (Rule::Window(_), Rule::Window(_), State::Count(count)) => {
                State::Count(ratio.of_count(*count))
            }
            (Rule::Weighted(new), Rule::Weighted(old), State::Pair { current, previous }) => {
                let counts = WindowCounts {
                    current: *current,
                    previous: *previous,
                };
                let WindowCounts { current, previous } = if new.period_ns == old.period_ns {
                    scale_pair(ratio, counts)
                } else {
                    gather_pair(ratio, old, counts, now)
                };
                State::Pair { current, previous }
            }
            (Rule::Log(_), Rule::Log(_), State::Log(log)) => {
                let mut log = log.clone();
                log.scale(ratio);
                State::Log(log)
            }
            (Rule::Slices(new), Rule::Slices(old), State::Slices(slices)) => {
                let mut share = ratio.of_newest_first();
                let newest_first = old.entries(slices).rev();
                let entries = newest_first.map(|(time, count)| (time, share(count)));
                State::Slices(Box::new(carry_slices(new, entries, now)))
            }
            _ => self.fresh(),
        }
    }

    /// The state at `to` that says of it what this one says of `at`, the time it is brought to: as much is taken,
    /// whatever lies between, and windows go on in the one that holds `to`.
    pub(crate) fn shift(&self, state: &mut State, at: Instant, to: Instant) {
        match (&self.rule, &mut *state) {
            (Rule::Weighted(rule), State::Pair { current, previous }) => {
                let counts = WindowCounts {
                    current: *current,
                    previous: *previous,
                };
                let WindowCounts { current, previous } = gather_pair(Ratio::ONE, rule, counts, at);
                *state = State::Pair { current, previous };
            }
            (Rule::Log(_), State::Log(log)) => log.shift(at, to),
            (Rule::Slices(rule), State::Slices(slices)) => {
                let entries: Vec<_> = rule.entries(slices).rev().collect();
                let entries = entries
                    .iter()
                    .map(|(time, count)| (time.shifted(at, to), *count));
                **slices = carry_slices(rule, entries, to);
            }
            _ => {}
        }
    }

    /// How counts scale when this policy follows on an older version of it.
    fn ratio(&self, old: &Self) -> Ratio {
        match self.config().inherit {
            Inherit::Proportional => Ratio {
                numerator: u128::from(self.capacity()),
                denominator: u128::from(old.capacity()),
            },
            Inherit::AsIs | Inherit::Time | Inherit::Reset => Ratio::ONE,
        }
    }
}

/// The same windows keep both counts.
fn scale_pair(ratio: Ratio, counts: WindowCounts) -> WindowCounts {
    let mut share = ratio.of_newest_first();
    WindowCounts {
        current: share(counts.current),
        previous: share(counts.previous),
    }
}

/// Other windows take over what is in use.
fn gather_pair(ratio: Ratio, old: &Weighted, counts: WindowCounts, now: Instant) -> WindowCounts {
    let denominator = ratio.denominator * u128::from(old.period_ns);
    let used = Ratio {
        denominator,
        ..ratio
    }
    .of(old.used(counts, now));
    WindowCounts {
        current: u64::try_from(used).unwrap_or(u64::MAX),
        previous: 0,
    }
}

/// Each old slice counts as if everything in it had come at its last instant.
fn carry_slices(
    rule: &SliceRule,
    entries: impl Iterator<Item = (Instant, u64)>,
    now: Instant,
) -> Slices {
    let mut slices = Slices::empty();
    rule.expire(&mut slices, now);
    for (time, count) in entries {
        let time = time.min(now);
        if rule.counts(time, now) {
            rule.add(&mut slices, time, count);
        }
    }
    slices
}
