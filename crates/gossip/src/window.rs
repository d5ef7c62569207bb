//! Windows: how slices of time lie, and which of them count.
//!
//! A slice is over for everybody at the same instant. Not here: what is counted in them (`slices`), and civil time,
//! which comes as a [`Calendar`].

use std::fmt;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};

/// A limit on what is admitted in a window.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    limit: u64,
    shape: Shape,
}

/// How windows lie in time, and how what they count is summed.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// One count per window; windows follow each other from `offset` after the epoch.
    Fixed {
        /// Their length.
        period: Span,
        /// Where the first begins.
        offset: Span,
    },
    /// One count per window; somebody else knows where windows begin.
    Calendar(Arc<dyn Calendar>),
    /// The period is cut into slices; the current one and all but one of the others before it are summed.
    Counters {
        /// Their length together.
        period: Span,
        /// How many; they must divide the period.
        slices: u32,
    },
    /// Two windows, the earlier one weighted by how much of it is within a period of now.
    Weighted {
        /// Their length.
        period: Span,
    },
}

/// Knows where windows begin and end, for days and months of some place. All nodes must agree.
pub(crate) trait Calendar: fmt::Debug + Send + Sync {
    /// The window that holds an instant.
    fn window(&self, now: Instant) -> Bounds;
}

/// Where a window begins and where the next one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Its first instant.
    pub(crate) start: Instant,
    /// The first instant after it.
    pub(crate) end: Instant,
}

/// Why there is no such window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadWindow {
    /// A limit of no token, or more than 2^40 of them.
    Limit(u64),
    /// A period of no time or more than 2^60 nanoseconds.
    Period(Span),
    /// No slices, more than 4096, or a number that does not divide the period.
    Slices(u32),
}

impl Window {
    /// The most tokens a window may admit.
    pub(crate) const LIMIT_MAX: u64 = 1 << 40;
    /// The longest period, about 36 years.
    pub(crate) const PERIOD_NS_MAX: u128 = 1 << 60;
    /// The most slices.
    pub(crate) const SLICES_MAX: u32 = 4096;

    /// A window that admits `limit` tokens.
    pub(crate) fn new(limit: u64, shape: Shape) -> Result<Self, BadWindow> {
        if limit == 0 || limit > Self::LIMIT_MAX {
            return Err(BadWindow::Limit(limit));
        }
        let (period, slices) = match &shape {
            Shape::Fixed { period, .. } | Shape::Weighted { period } => (*period, 1),
            Shape::Counters { period, slices } => (*period, *slices),
            Shape::Calendar(_) => return Ok(Self { limit, shape }),
        };
        if period == Span::ZERO || period.as_nanos() > Self::PERIOD_NS_MAX {
            return Err(BadWindow::Period(period));
        }
        let divides = slices > 0 && period.as_nanos() % u128::from(slices) == 0;
        if slices > Self::SLICES_MAX || !divides {
            return Err(BadWindow::Slices(slices));
        }
        Ok(Self { limit, shape })
    }

    /// Tokens that a window admits.
    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    /// How windows lie in time.
    pub(crate) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The slice that holds an instant.
    pub(crate) fn slice(&self, now: Instant) -> Bounds {
        match &self.shape {
            Shape::Calendar(calendar) => calendar.window(now),
            Shape::Fixed { period, offset } => grid(now, *period, *offset),
            Shape::Weighted { period } => grid(now, *period, Span::ZERO),
            Shape::Counters { .. } => grid(now, self.width(), Span::ZERO),
        }
    }

    /// The length of a slice; unknown, and zero, for calendars.
    fn width(&self) -> Span {
        match &self.shape {
            Shape::Calendar(_) => Span::ZERO,
            Shape::Fixed { period, .. } | Shape::Weighted { period } => *period,
            Shape::Counters { period, slices } => {
                Span::from_nanos(period.as_nanos() / u128::from((*slices).max(1)))
            }
        }
    }

    /// How many slices before the current one still count.
    pub(crate) fn past(&self) -> u32 {
        match &self.shape {
            Shape::Fixed { .. } | Shape::Calendar(_) => 0,
            Shape::Counters { slices, .. } => slices.saturating_sub(1),
            Shape::Weighted { .. } => 1,
        }
    }

    /// The time of the slices before the current one that still count.
    pub(crate) fn reach(&self) -> Span {
        let past = u128::from(self.past());
        Span::from_nanos(self.width().as_nanos().saturating_mul(past))
    }
}

/// The slice of a regular grid that holds an instant. What is before the offset is one slice of its own.
fn grid(now: Instant, width: Span, offset: Span) -> Bounds {
    let now = u128::from(now.as_nanos());
    let width = width.as_nanos().max(1);
    let offset = offset.as_nanos() % width;
    let instant = |nanos: u128| Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
    let start = match now.checked_sub(offset) {
        Some(since) => offset + since / width * width,
        None => {
            return Bounds {
                start: instant(0),
                end: instant(offset),
            };
        }
    };
    Bounds {
        start: instant(start),
        end: instant(start + width),
    }
}

impl fmt::Display for BadWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => write!(
                f,
                "a window admits 1 to {} tokens, not {limit}",
                Window::LIMIT_MAX
            ),
            Self::Period(period) => write!(
                f,
                "a window lasts 1 to {} ns, not {}",
                Window::PERIOD_NS_MAX,
                period.as_nanos()
            ),
            Self::Slices(slices) => write!(
                f,
                "a period has 1 to {} slices that divide it, not {slices}",
                Window::SLICES_MAX
            ),
        }
    }
}

impl std::error::Error for BadWindow {}
