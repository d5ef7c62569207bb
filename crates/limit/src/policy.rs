//! A checked policy, and the one place that picks the algorithm.
//!
//! Not here: several policies together (`set`), nor what a change of policy does to a state (`change`).

use crate::bucket::Bucket;
use crate::config::{
    Algorithm, LIMIT_MAX, OnLimit, PERIOD_NS_MAX, Period, PolicyConfig, PolicyError, SLICES_MAX,
};
use crate::decision::Charge;
use crate::log::LogRule;
use crate::slices::{SliceRule, Slices};
use crate::state::{Probe, State};
use crate::time::Instant;
use crate::weighted::{Weighted, WindowCounts};
use crate::window::FixedWindow;

/// A policy that has been checked, so that deciding cannot fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    config: PolicyConfig,
    pub(crate) rule: Rule,
}

/// The compiled algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Bucket(Bucket),
    Window(FixedWindow),
    Weighted(Weighted),
    Log(LogRule),
    Slices(SliceRule),
}

/// So many tokens in so many nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most tokens that are ever left.
    pub tokens: u64,
    /// The time in which as many come back, rounded up.
    pub window_ns: u64,
}

impl Policy {
    /// Checks a configuration.
    pub fn new(config: PolicyConfig) -> Result<Self, PolicyError> {
        check_numbers(&config)?;
        check_fields(&config)?;
        let (limit, period_ns) = (config.limit, config.period.nanos());
        let rule = match config.algorithm {
            Algorithm::TokenBucket => Rule::Bucket(Bucket::token(&config)),
            Algorithm::LeakyBucket => Rule::Bucket(Bucket::leaky(&config)),
            Algorithm::FixedWindow => Rule::Window(FixedWindow::of(&config)),
            Algorithm::SlidingLog => Rule::Log(LogRule { limit, period_ns }),
            Algorithm::SlidingWeighted => Rule::Weighted(Weighted { limit, period_ns }),
            Algorithm::SlidingCounters => {
                let slices = u64::from(config.slices);
                Rule::Slices(SliceRule {
                    limit,
                    slices,
                    width_ns: period_ns / slices,
                })
            }
        };
        Ok(Self { config, rule })
    }

    /// What the policy was asked to be.
    pub const fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// The most tokens the policy can hold at once: the burst of a bucket, the limit elsewhere.
    pub const fn capacity(&self) -> u64 {
        match &self.rule {
            Rule::Bucket(bucket) => bucket.burst(),
            Rule::Window(_) | Rule::Weighted(_) | Rule::Log(_) | Rule::Slices(_) => {
                self.config.limit
            }
        }
    }

    /// How much may be taken in which time, so that no more can be left than that: the limit in a period. A bucket that
    /// is larger than its limit has what it holds, in the time in which that comes back.
    pub fn quota(&self) -> Quota {
        let (limit, period_ns) = (self.config.limit, self.config.period.nanos());
        let tokens = self.capacity().max(limit);
        let window_ns = if tokens == limit {
            period_ns
        } else {
            let grains = u128::from(tokens) * u128::from(period_ns);
            u64::try_from(grains.div_ceil(u128::from(limit.max(1)))).unwrap_or(u64::MAX)
        };
        Quota { tokens, window_ns }
    }

    /// When everything that was counted until `now` is forgotten at once: the end of a fixed window. `None` where
    /// counts fade.
    pub fn window_end(&self, now: Instant) -> Option<Instant> {
        match &self.rule {
            Rule::Window(rule) => {
                let (_, end) = rule.window(now);
                Some(Instant::from_nanos(u64::try_from(end).unwrap_or(u64::MAX)))
            }
            Rule::Bucket(_) | Rule::Weighted(_) | Rule::Log(_) | Rule::Slices(_) => None,
        }
    }

    /// Whether a state of this policy normally fits in one word.
    pub(crate) const fn is_compact(&self) -> bool {
        match &self.rule {
            Rule::Bucket(_) | Rule::Window(_) | Rule::Weighted(_) => true,
            Rule::Log(_) | Rule::Slices(_) => false,
        }
    }

    /// The state of a key never seen.
    pub(crate) fn fresh(&self) -> State {
        match &self.rule {
            Rule::Bucket(_) => State::Spent(0),
            Rule::Window(_) => State::Count(0),
            Rule::Weighted(_) => State::Pair {
                current: 0,
                previous: 0,
            },
            Rule::Log(_) => State::Log(Box::default()),
            Rule::Slices(_) => State::Slices(Box::new(Slices::empty())),
        }
    }

    /// The state that [`State::pack`] made a word of.
    #[inline]
    pub(crate) fn unpack(&self, word: u64) -> State {
        match &self.rule {
            Rule::Bucket(_) => State::Spent(u128::from(word)),
            Rule::Window(_) => State::Count(word),
            Rule::Weighted(_) => State::Pair {
                current: word >> 32,
                previous: word & 0xFFFF_FFFF,
            },
            Rule::Log(_) | Rule::Slices(_) => self.fresh(),
        }
    }

    /// Would `tokens` pass at `now`, with a state written at `at`? Writes nothing.
    pub(crate) fn probe(&self, state: &State, at: Instant, now: Instant, tokens: u64) -> Probe {
        match (&self.rule, state) {
            (Rule::Bucket(rule), State::Spent(spent)) => {
                rule.probe(rule.refilled(*spent, now.nanos_since(at)), tokens)
            }
            (Rule::Window(rule), State::Count(count)) => {
                rule.probe(rule.counted(*count, at, now), tokens, now)
            }
            (Rule::Weighted(rule), State::Pair { current, previous }) => {
                let counts = WindowCounts {
                    current: *current,
                    previous: *previous,
                };
                rule.probe(rule.moved(counts, at, now), tokens, now)
            }
            (Rule::Log(rule), State::Log(log)) => rule.probe(log, tokens, now),
            (Rule::Slices(rule), State::Slices(slices)) => rule.probe(slices, tokens, now),
            // A state this policy did not write reads as fresh.
            _ => self.probe(&self.fresh(), now, now, tokens),
        }
    }

    /// Brings a state written at `at` to `now`.
    pub(crate) fn advance(&self, state: &mut State, at: Instant, now: Instant) {
        match (&self.rule, &mut *state) {
            (Rule::Bucket(rule), State::Spent(spent)) => {
                *spent = rule.refilled(*spent, now.nanos_since(at));
            }
            (Rule::Window(rule), State::Count(count)) => *count = rule.counted(*count, at, now),
            (Rule::Weighted(rule), State::Pair { current, previous }) => {
                let moved = rule.moved(
                    WindowCounts {
                        current: *current,
                        previous: *previous,
                    },
                    at,
                    now,
                );
                (*current, *previous) = (moved.current, moved.previous);
            }
            (Rule::Log(rule), State::Log(log)) => rule.expire(log, now),
            (Rule::Slices(rule), State::Slices(slices)) => rule.expire(slices, now),
            _ => *state = self.fresh(),
        }
    }

    /// Takes admitted tokens from a state brought to `now`.
    pub(crate) fn take(&self, state: &mut State, now: Instant, tokens: u64) {
        match (&self.rule, state) {
            (Rule::Bucket(rule), State::Spent(spent)) => *spent = rule.take(*spent, tokens),
            (_, State::Count(count) | State::Pair { current: count, .. }) => {
                *count = count.saturating_add(tokens);
            }
            (Rule::Log(rule), State::Log(log)) => {
                log.add(now, tokens);
                rule.prune(log);
            }
            (Rule::Slices(rule), State::Slices(slices)) => rule.add(slices, now, tokens),
            _ => {}
        }
    }

    /// Takes tokens without asking, from a state brought to `now`; debt beyond the bound is forgiven.
    pub(crate) fn charge(&self, state: &mut State, now: Instant, tokens: u64) {
        if let (Rule::Bucket(rule), State::Spent(spent)) = (&self.rule, &mut *state) {
            *spent = rule.charge(*spent, tokens, self.config.max_debt);
            return;
        }
        let tokens = tokens.min(self.chargeable(state, now));
        self.take(state, now, tokens);
    }

    /// What charges without asking may bring a state to: grains of a bucket, tokens of anything else; `None` without a
    /// bound.
    pub fn owed_max(&self) -> Option<u128> {
        let debt = self.config.max_debt?;
        Some(match &self.rule {
            Rule::Bucket(rule) => rule.depth_with(debt),
            _ => u128::from(self.config.limit) + u128::from(debt),
        })
    }

    /// The most a charge may add to a window before `max_debt` is reached.
    fn chargeable(&self, state: &State, now: Instant) -> u64 {
        let Some(bound) = self.owed_max() else {
            return u64::MAX;
        };
        let used = match (&self.rule, state) {
            (Rule::Weighted(rule), State::Pair { current, previous }) => {
                u128::from(rule.used_tokens(
                    WindowCounts {
                        current: *current,
                        previous: *previous,
                    },
                    now,
                ))
            }
            (_, State::Count(count)) => u128::from(*count),
            (_, State::Log(log)) => log.sum(),
            (_, State::Slices(slices)) => slices.sum(),
            _ => 0,
        };
        u64::try_from(bound.saturating_sub(used)).unwrap_or(u64::MAX)
    }

    /// Charges more for a receipt, on a state brought to `now`.
    pub(crate) fn surcharge(&self, state: &mut State, receipt: &Charge, now: Instant, tokens: u64) {
        let time = match &self.rule {
            Rule::Log(rule) if rule.counts(receipt.at, now) => receipt.at,
            Rule::Slices(rule) if rule.counts(receipt.at, now) => receipt.at,
            _ => return self.charge(state, now, tokens),
        };
        let tokens = tokens.min(self.chargeable(state, now));
        self.take(state, time, tokens);
    }

    /// Gives back part of a receipt, on a state brought to `now`.
    pub(crate) fn refund_receipt(
        &self,
        state: &mut State,
        receipt: &Charge,
        now: Instant,
        tokens: u64,
    ) {
        match (&self.rule, state) {
            (Rule::Bucket(rule), State::Spent(spent)) => *spent = rule.refund(*spent, tokens),
            (Rule::Window(rule), State::Count(count)) if rule.is_current(receipt.at, now) => {
                *count = count.saturating_sub(tokens);
            }
            (Rule::Weighted(rule), State::Pair { current, previous }) => {
                match rule.windows_since(receipt.at, now) {
                    0 => *current = current.saturating_sub(tokens),
                    1 => *previous = previous.saturating_sub(tokens),
                    _ => {}
                }
            }
            (Rule::Log(rule), State::Log(log)) if rule.counts(receipt.at, now) => {
                log.remove_at(receipt.at, tokens);
            }
            (Rule::Slices(rule), State::Slices(slices)) if rule.counts(receipt.at, now) => {
                rule.remove_at(slices, receipt.at, tokens);
            }
            _ => {}
        }
    }

    /// Gives tokens back without a receipt, on a state brought to `now`: what was taken last comes back first.
    pub(crate) fn refund(&self, state: &mut State, tokens: u64) {
        match (&self.rule, state) {
            (Rule::Bucket(rule), State::Spent(spent)) => *spent = rule.refund(*spent, tokens),
            (_, State::Count(count)) => *count = count.saturating_sub(tokens),
            (_, State::Pair { current, previous }) => {
                let from_current = tokens.min(*current);
                *current -= from_current;
                *previous = previous.saturating_sub(tokens - from_current);
            }
            (_, State::Log(log)) => log.remove_newest(tokens),
            (Rule::Slices(rule), State::Slices(slices)) => rule.remove_newest(slices, tokens),
            _ => {}
        }
    }

    /// The nanosecond from which a state written at `at` is indistinguishable from fresh, perhaps beyond the last
    /// instant.
    pub(crate) fn fresh_at_ns(&self, state: &State, at: Instant) -> u128 {
        match (&self.rule, state) {
            (Rule::Bucket(rule), State::Spent(spent)) => rule.fresh_at_ns(*spent, at),
            (Rule::Window(rule), State::Count(count)) => rule.fresh_at_ns(*count, at),
            (Rule::Weighted(rule), State::Pair { current, previous }) => rule.fresh_at_ns(
                WindowCounts {
                    current: *current,
                    previous: *previous,
                },
                at,
            ),
            (Rule::Log(rule), State::Log(log)) => rule.fresh_at_ns(log, at),
            (Rule::Slices(rule), State::Slices(slices)) => rule.fresh_at_ns(slices, at),
            _ => u128::from(at.as_nanos()),
        }
    }
}

fn check_numbers(config: &PolicyConfig) -> Result<(), PolicyError> {
    let period_ns = config.period.nanos();
    match (config.limit, config.burst) {
        (0, _) if config.algorithm != Algorithm::FixedWindow => return Err(PolicyError::LimitZero),
        (_, Some(0)) => return Err(PolicyError::BurstZero),
        (limit, _) if limit > LIMIT_MAX => return Err(PolicyError::LimitTooLarge(limit)),
        (_, Some(burst)) if burst > LIMIT_MAX => return Err(PolicyError::LimitTooLarge(burst)),
        _ => {}
    }
    if period_ns == 0 {
        return Err(PolicyError::PeriodZero);
    }
    if period_ns > PERIOD_NS_MAX {
        return Err(PolicyError::PeriodTooLong(period_ns));
    }
    if config.enforce_percent > 100 {
        return Err(PolicyError::PercentTooLarge(config.enforce_percent));
    }
    Ok(())
}

fn check_fields(config: &PolicyConfig) -> Result<(), PolicyError> {
    let algorithm = config.algorithm;
    let period_ns = config.period.nanos();
    if algorithm == Algorithm::SlidingCounters {
        let slices = config.slices;
        if slices == 0 || slices > SLICES_MAX {
            return Err(PolicyError::SlicesOutOfRange(slices));
        }
        if !period_ns.is_multiple_of(u64::from(slices)) {
            return Err(PolicyError::SlicesDoNotDivide { period_ns, slices });
        }
    }
    if config.burst.is_some() && !algorithm.is_bucket() {
        return Err(PolicyError::BurstUnused);
    }
    if config.on_limit != OnLimit::Deny && algorithm != Algorithm::TokenBucket {
        return Err(PolicyError::DelayUnused);
    }
    let calendar = match &config.period {
        Period::Fixed(_) => false,
        Period::Calendar(calendar) if algorithm != Algorithm::FixedWindow && !calendar.is_utc() => {
            return Err(PolicyError::CalendarUnused);
        }
        Period::Calendar(_) => true,
    };
    if config.offset_ns != 0 && (calendar || algorithm != Algorithm::FixedWindow) {
        return Err(PolicyError::OffsetUnused);
    }
    Ok(())
}
