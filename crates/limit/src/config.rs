//! What a policy is asked to be, before it is checked.
//!
//! Not here: the file it was written in (`contract`), nor the compiled form (`policy`).

use core::fmt;

use crate::calendar::Calendar;

/// The largest limit or burst: every integer up to here survives JSON.
pub const LIMIT_MAX: u64 = 1 << 53;
/// The longest period: a hundred years of 365.25 days.
pub const PERIOD_NS_MAX: u64 = 36_525 * 86_400 * 1_000_000_000;
/// The most slices of a sliding-counters policy.
pub const SLICES_MAX: u32 = 4096;

/// How requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// A bucket refilled continuously (GCRA seen from the other side).
    TokenBucket,
    /// A queue that drains at a fixed rate; admitted requests wait for their turn.
    LeakyBucket,
    /// One counter per aligned window.
    FixedWindow,
    /// Every admitted request remembered for one period.
    SlidingLog,
    /// One counter per slice of the period.
    SlidingCounters,
    /// Two windows, the older one weighted by its overlap.
    SlidingWeighted,
}

impl Algorithm {
    /// Every algorithm, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::FixedWindow,
        Self::SlidingLog,
        Self::SlidingCounters,
        Self::SlidingWeighted,
    ];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token-bucket",
            Self::LeakyBucket => "leaky-bucket",
            Self::FixedWindow => "fixed-window",
            Self::SlidingLog => "sliding-log",
            Self::SlidingCounters => "sliding-counters",
            Self::SlidingWeighted => "sliding-weighted",
        }
    }

    /// Whether the algorithm is a bucket with a depth of its own.
    pub const fn is_bucket(self) -> bool {
        matches!(self, Self::TokenBucket | Self::LeakyBucket)
    }
}

/// "In what time": a length, or a calendar unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Period {
    /// A fixed length in nanoseconds.
    Fixed(u64),
    /// A calendar unit in a time zone. Only windows follow the calendar; elsewhere it is 1, 7, 30 or 365 days.
    Calendar(Calendar),
}

impl Period {
    /// One second.
    pub const SECOND: Self = Self::Fixed(1_000_000_000);
    /// One minute.
    pub const MINUTE: Self = Self::Fixed(60 * 1_000_000_000);
    /// One hour.
    pub const HOUR: Self = Self::Fixed(3_600 * 1_000_000_000);

    /// A period of a fixed length.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self::Fixed(nanos)
    }

    /// The length in nanoseconds; nominal for calendar units.
    pub const fn nanos(&self) -> u64 {
        match self {
            Self::Fixed(nanos) => *nanos,
            Self::Calendar(calendar) => calendar.nominal_nanos(),
        }
    }
}

/// What happens to a request that finds too little left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLimit {
    /// It is refused.
    #[default]
    Deny,
    /// It is admitted and told to wait, unless that would take longer than `max_wait_ns`.
    Delay {
        /// The longest wait; `None` is as long as it takes.
        max_wait_ns: Option<u64>,
    },
}

/// What becomes of spent tokens when a live policy changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// The same number of spent tokens.
    #[default]
    AsIs,
    /// The same spent fraction.
    Proportional,
    /// The same time until a bucket is full, as an arrival time stays where it is; elsewhere the same number.
    Time,
    /// Nothing: everybody starts fresh.
    Reset,
}

/// A policy as asked for. [`crate::Policy::new`] checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// How many.
    pub limit: u64,
    /// In what time.
    pub period: Period,
    /// Which algorithm counts.
    pub algorithm: Algorithm,
    /// Depth of a bucket; the limit where absent.
    pub burst: Option<u64>,
    /// Slices of a sliding-counters policy.
    pub slices: u32,
    /// Shift of fixed windows against the epoch, in nanoseconds.
    pub offset_ns: u64,
    /// Deny or delay.
    pub on_limit: OnLimit,
    /// The most a charge may take a key below zero; `None` is without bound.
    pub max_debt: Option<u64>,
    /// Whether refused requests count too.
    pub count_refused: bool,
    /// The share of keys the policy binds: 100 enforces, 0 is shadow mode.
    pub enforce_percent: u8,
    /// What becomes of spent tokens when the policy changes.
    pub inherit: Inherit,
}

impl PolicyConfig {
    /// `limit` per `period` by the given algorithm; everything else at its default.
    pub const fn new(algorithm: Algorithm, limit: u64, period: Period) -> Self {
        Self {
            limit,
            period,
            algorithm,
            burst: None,
            slices: 60,
            offset_ns: 0,
            on_limit: OnLimit::Deny,
            max_debt: None,
            count_refused: false,
            enforce_percent: 100,
            inherit: Inherit::AsIs,
        }
    }

    /// A token bucket of `limit` per `period`.
    pub const fn token_bucket(limit: u64, period: Period) -> Self {
        Self::new(Algorithm::TokenBucket, limit, period)
    }
}

/// Why a policy cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// The limit is zero, which only a fixed window may have: it refuses everything.
    LimitZero,
    /// The limit or burst is above [`LIMIT_MAX`].
    LimitTooLarge(u64),
    /// The burst is zero.
    BurstZero,
    /// A burst on an algorithm that has no depth of its own.
    BurstUnused,
    /// The period is zero.
    PeriodZero,
    /// The period is above [`PERIOD_NS_MAX`].
    PeriodTooLong(u64),
    /// The number of slices is zero or above [`SLICES_MAX`].
    SlicesOutOfRange(u32),
    /// The period does not divide into that many slices of whole nanoseconds.
    SlicesDoNotDivide {
        /// The period in nanoseconds.
        period_ns: u64,
        /// The slices asked for.
        slices: u32,
    },
    /// A delay on an algorithm other than the token bucket.
    DelayUnused,
    /// An offset on anything but an epoch-aligned fixed window.
    OffsetUnused,
    /// A time zone on anything but a calendar window.
    CalendarUnused,
    /// An enforced share above 100 percent.
    PercentTooLarge(u8),
    /// A contract without a policy.
    NoPolicy,
    /// More policies in one contract than [`crate::POLICIES_MAX`].
    TooManyPolicies(usize),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LimitZero => f.write_str("the limit must be at least 1"),
            Self::LimitTooLarge(n) => {
                write!(f, "{n} is above the largest limit, {LIMIT_MAX} (2^53)")
            }
            Self::BurstZero => f.write_str("the burst must be at least 1"),
            Self::BurstUnused => f.write_str("only token-bucket and leaky-bucket have a burst"),
            Self::PeriodZero => f.write_str("the period must be longer than zero"),
            Self::PeriodTooLong(ns) => {
                write!(
                    f,
                    "a period of {ns} ns is above the longest, {PERIOD_NS_MAX} ns (100 years)"
                )
            }
            Self::SlicesOutOfRange(n) => write!(f, "{n} slices are not between 1 and {SLICES_MAX}"),
            Self::SlicesDoNotDivide { period_ns, slices } => {
                write!(
                    f,
                    "{period_ns} ns do not divide into {slices} slices of whole nanoseconds"
                )
            }
            Self::DelayUnused => f.write_str(
                "only token-bucket delays on the limit; leaky-bucket always makes requests wait",
            ),
            Self::OffsetUnused => {
                f.write_str("only a fixed-window with a fixed period has an offset")
            }
            Self::CalendarUnused => {
                f.write_str("only a fixed-window of a day, week, month or year has a time zone")
            }
            Self::PercentTooLarge(n) => write!(f, "{n} percent are more than 100"),
            Self::NoPolicy => f.write_str("a contract needs at least one policy"),
            Self::TooManyPolicies(n) => {
                write!(
                    f,
                    "{n} policies are more than the {} a contract may have",
                    crate::POLICIES_MAX
                )
            }
        }
    }
}

impl core::error::Error for PolicyError {}
