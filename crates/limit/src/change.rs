//! What becomes of a state when its policy changes.
//!
//! Rounding is always up: a change never creates tokens. Not here: when to carry a state over (`node` does it as
//! keys are next seen).

use crate::config::Inherit;
use crate::policy::{Policy, Rule};
use crate::slices::{SliceRule, Slices};
use crate::state::State;
use crate::time::Instant;
use crate::weighted::{Counts, Weighted};

impl Policy {
    /// The state this policy starts with, from the state an older version of it left at `now`.
    pub(crate) fn inherit(&self, old: &Self, state: &State, now: Instant) -> State {
        if self.config().inherit == Inherit::Reset || self.config().algorithm != old.config().algorithm {
            return self.fresh();
        }
        let (numerator, denominator) = match self.config().inherit {
            Inherit::Proportional => (self.capacity(), old.capacity()),
            Inherit::AsIs | Inherit::Reset => (1, 1),
        };
        let scale = |count: u64| scaled(count, numerator, denominator);
        match (&self.rule, &old.rule, state) {
            (Rule::Bucket(new), Rule::Bucket(old), State::Spent(spent)) => {
                State::Spent(match self.config().inherit {
                    Inherit::Proportional => new.carry_proportional(*spent, old),
                    Inherit::AsIs | Inherit::Reset => new.carry_as_is(*spent, old),
                })
            }
            (Rule::Window(_), Rule::Window(_), State::Count(count)) => State::Count(scale(*count)),
            (Rule::Weighted(new), Rule::Weighted(old), State::Pair { current, previous }) => {
                let counts = Counts { current: *current, previous: *previous };
                let Counts { current, previous } = carry_pair(new, old, counts, now);
                State::Pair { current: scale(current), previous: scale(previous) }
            }
            (Rule::Log(_), Rule::Log(_), State::Log(log)) => {
                let mut log = log.clone();
                log.scale(numerator, denominator);
                State::Log(log)
            }
            (Rule::Slices(new), Rule::Slices(old), State::Slices(slices)) => {
                let entries = old.entries(slices).map(|(time, count)| (time, scale(count)));
                State::Slices(Box::new(carry_slices(new, entries, now)))
            }
            _ => self.fresh(),
        }
    }
}

/// The same windows keep both counts; other windows take over what is in use.
fn carry_pair(new: &Weighted, old: &Weighted, counts: Counts, now: Instant) -> Counts {
    if new.period_ns == old.period_ns {
        return counts;
    }
    Counts { current: old.used_tokens(counts, now), previous: 0 }
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

/// `count * numerator / denominator`, rounded up.
pub(crate) fn scaled(count: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(count) * u128::from(numerator);
    u64::try_from(product.div_ceil(u128::from(denominator.max(1)))).unwrap_or(u64::MAX)
}
