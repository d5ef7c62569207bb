//! What one policy remembers about one key, and what a probe of it says.
//!
//! A state is as of the cell's newest charge (`Cell::at`); the policy that wrote it must also read it.

use crate::log::Log;
use crate::slices::Slices;
use crate::time::Span;

/// One policy's memory of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Buckets: grains spent and not yet refilled.
    Spent(u128),
    /// Fixed window: what was counted in the window of the cell's time.
    Count(u64),
    /// Weighted windows: what was counted in the window of the cell's time and in the one before.
    Pair {
        /// In the window of the cell's time.
        current: u64,
        /// In the window before.
        previous: u64,
    },
    /// Sliding log.
    Log(Box<Log>),
    /// Sliding counters.
    Slices(Box<Slices>),
}

impl State {
    /// The state as one word, where it fits in one.
    pub(crate) fn pack(&self) -> Option<u64> {
        match self {
            Self::Spent(grains) => u64::try_from(*grains).ok(),
            Self::Count(count) => Some(*count),
            Self::Pair { current, previous } => {
                let high = u32::try_from(*current).ok()?;
                let low = u32::try_from(*previous).ok()?;
                Some(u64::from(high) << 32 | u64::from(low))
            }
            Self::Log(_) | Self::Slices(_) => None,
        }
    }

    /// Bytes on the heap behind the state.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Spent(_) | Self::Count(_) | Self::Pair { .. } => 0,
            Self::Log(log) => size_of::<Log>() + log.heap_bytes(),
            Self::Slices(slices) => size_of::<Slices>() + slices.heap_bytes(),
        }
    }
}

/// Whether a request fits one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// At once.
    Now,
    /// After a wait, but it is admitted.
    After(Span),
    /// Not yet.
    Retry(Span),
    /// Not ever.
    Never,
}

impl Fit {
    /// Admitted after so many nanoseconds.
    #[inline]
    pub(crate) const fn after(nanos: u128) -> Self {
        if nanos == 0 {
            Self::Now
        } else {
            Self::After(Span::from_nanos(nanos))
        }
    }

    /// Whether the policy admits the request.
    #[inline]
    pub(crate) const fn admits(self) -> bool {
        matches!(self, Self::Now | Self::After(_))
    }
}

/// What a policy says to a request, without writing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Does it fit?
    pub(crate) fit: Fit,
    /// Whole tokens left before the request.
    pub(crate) remaining: u64,
    /// Tokens that it is below zero before the request.
    pub(crate) debt: u64,
}

impl Probe {
    /// The answer of a window of `limit` tokens with `used` of them taken; `retry_after` is asked only where waiting
    /// helps.
    pub(crate) fn of_window(
        limit: u64,
        used: u128,
        tokens: u64,
        retry_after: impl FnOnce() -> Span,
    ) -> Self {
        let free = u128::from(limit).saturating_sub(used);
        let remaining = u64::try_from(free).unwrap_or(limit);
        let fit = if tokens > limit {
            Fit::Never
        } else if tokens <= remaining {
            Fit::Now
        } else {
            Fit::Retry(retry_after())
        };
        let debt = used.saturating_sub(u128::from(limit));
        Self {
            fit,
            remaining,
            debt: u64::try_from(debt).unwrap_or(u64::MAX),
        }
    }
}
