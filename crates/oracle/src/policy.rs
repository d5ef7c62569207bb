//! Policies as plain data. Nothing is validated here: a test that builds an invalid policy gets an
//! invalid answer.

use crate::calendar;

/// The counting rule of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelAlgorithm {
    /// A bucket refilled continuously; optionally a shaper, see [`Policy::delay`].
    TokenBucket,
    /// A queue that drains at a fixed rate.
    LeakyBucket,
    /// One counter per window.
    FixedWindow,
    /// Every admitted request counts for exactly one period.
    SlidingLog,
    /// The current slice of the period and the ones before it.
    SlidingCounters {
        /// How many slices the period is cut into; must divide it in nanoseconds.
        slices: u64,
    },
    /// Two adjacent windows, the older one fading out.
    SlidingWeighted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// A fixed number of nanoseconds.
    Nanos(u64),
    /// A calendar day for the fixed window, 24 hours elsewhere.
    Day,
    /// A calendar week from Monday for the fixed window, 7 days elsewhere.
    Week,
    /// A calendar month for the fixed window, 30 days elsewhere.
    Month,
    /// A calendar year for the fixed window, 365 days elsewhere.
    Year,
}

impl Period {
    /// The length without a calendar.
    pub fn nominal_ns(self) -> u64 {
        match self {
            Period::Nanos(nanos) => nanos,
            Period::Day => DAY_NS,
            Period::Week => 7 * DAY_NS,
            Period::Month => 30 * DAY_NS,
            Period::Year => 365 * DAY_NS,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub algorithm: ModelAlgorithm,
    /// How much cost fits into a period.
    pub limit: u64,
    pub period: Period,
    /// Depth of a bucket; `None` is the limit. Windows ignore it.
    pub burst: Option<u64>,
    /// Token bucket only: `Some` delays a request that finds too few tokens, by at most the inner number of
    /// nanoseconds, if set.
    pub delay: Option<Option<u64>>,
    /// Fixed windows of [`Period::Nanos`] only: offset of windows from the epoch.
    pub offset_ns: u64,
    /// Calendar windows only: an IANA name; `None` is UTC.
    pub time_zone: Option<String>,
    /// How far charges may go beyond the capacity; `None` is without bound.
    pub max_debt: Option<u64>,
    /// Whether refused requests are charged as well.
    pub count_refused: bool,
}

impl Policy {
    /// A policy with every option at its default.
    pub fn new(algorithm: ModelAlgorithm, limit: u64, period: Period) -> Self {
        Policy {
            algorithm,
            limit,
            period,
            burst: None,
            delay: None,
            offset_ns: 0,
            time_zone: None,
            max_debt: None,
            count_refused: false,
        }
    }

    /// The most that a single request can ever cost: the depth of a bucket, the limit of a window.
    pub fn capacity(&self) -> u64 {
        match self.algorithm {
            ModelAlgorithm::TokenBucket | ModelAlgorithm::LeakyBucket => {
                self.burst.unwrap_or(self.limit)
            }
            ModelAlgorithm::FixedWindow
            | ModelAlgorithm::SlidingLog
            | ModelAlgorithm::SlidingCounters { .. }
            | ModelAlgorithm::SlidingWeighted => self.limit,
        }
    }

    /// The period in nanoseconds, ignoring the calendar.
    pub(crate) fn period_ns(&self) -> i128 {
        i128::from(self.period.nominal_ns())
    }

    /// When the fixed window that holds `time` began.
    pub(crate) fn window_start(&self, time: i128) -> i128 {
        let zone = self.time_zone.as_deref().unwrap_or("UTC");
        match self.period {
            Period::Nanos(nanos) => {
                let (period, offset) = (i128::from(nanos), i128::from(self.offset_ns));
                (time - offset).div_euclid(period) * period + offset
            }
            Period::Day | Period::Week | Period::Month | Period::Year => {
                calendar::window_start(self.period, zone, time)
            }
        }
    }
}

const DAY_NS: u64 = 24 * 60 * 60 * 1_000_000_000;
