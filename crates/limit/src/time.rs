//! Points in time and lengths of time, in whole nanoseconds.
//!
//! Not here: any way to read a clock. Whoever asks brings the time along.

use core::num::NonZeroU64;

/// A point in time: nanoseconds since the UNIX epoch (enough until the year 2554).
///
/// The last one is a nanosecond short of `u64::MAX`, so that a cell can store it plus one, and every window and
/// slice that holds an instant ends after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The last instant there is.
    pub const LAST: Self = Self(u64::MAX - 1);

    /// The instant that many nanoseconds after the epoch, or the last one there is.
    pub const fn from_nanos(nanos: u64) -> Self {
        if nanos > Self::LAST.0 {
            return Self::LAST;
        }
        Self(nanos)
    }

    /// The instant that many milliseconds after the epoch, or `None` past the year 2554.
    pub const fn from_millis(millis: u64) -> Option<Self> {
        match millis.checked_mul(1_000_000) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`; zero when `earlier` is in fact later.
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `span` later, or the last one there is.
    #[must_use]
    pub fn saturating_add(self, span: Span) -> Self {
        let nanos = u64::try_from(span.0).unwrap_or(u64::MAX);
        Self::from_nanos(self.0.saturating_add(nanos))
    }

    /// The instant that is to `to` as this one is to `from`, or the first or last one there is.
    #[must_use]
    pub const fn shifted(self, from: Self, to: Self) -> Self {
        match to.0.checked_sub(from.0) {
            Some(later) => Self::from_nanos(self.0.saturating_add(later)),
            None => Self(self.0.saturating_sub(from.0 - to.0)),
        }
    }

    /// The form cells keep: plus one, so that zero is free. It never saturates, by the choice of the last instant.
    #[inline]
    pub(crate) const fn to_stored(self) -> NonZeroU64 {
        NonZeroU64::MIN.saturating_add(self.0)
    }

    /// The instant that [`Self::to_stored`] made a number of.
    #[inline]
    pub(crate) const fn from_stored(stored: NonZeroU64) -> Self {
        Self(stored.get() - 1)
    }
}

/// A length of time in nanoseconds; wide enough for the longest wait a policy can express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u128);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of that many nanoseconds.
    pub const fn from_nanos(nanos: u128) -> Self {
        Self(nanos)
    }

    /// From `now` until that many nanoseconds after the epoch, which may be beyond the last instant.
    pub(crate) fn between(now: Instant, then_ns: u128) -> Self {
        Self(then_ns.saturating_sub(u128::from(now.0)))
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u128 {
        self.0
    }

    /// The span in whole seconds, rounded up, as headers want it.
    pub const fn as_secs_ceil(self) -> u128 {
        self.0.div_ceil(1_000_000_000)
    }
}

impl From<Span> for core::time::Duration {
    /// The same length; the longest `Duration` where it does not fit.
    fn from(span: Span) -> Self {
        let nanos = u32::try_from(span.0 % 1_000_000_000).unwrap_or(0);
        u64::try_from(span.0 / 1_000_000_000).map_or(Self::MAX, |secs| Self::new(secs, nanos))
    }
}

impl From<core::time::Duration> for Span {
    fn from(duration: core::time::Duration) -> Self {
        Self(duration.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_beyond_every_duration_becomes_the_longest_one() {
        let duration: core::time::Duration = Span::from_nanos(u128::MAX).into();
        assert_eq!(duration, core::time::Duration::MAX);
    }

    #[test]
    fn adding_a_huge_span_stops_at_the_last_instant() {
        let late = Instant::from_nanos(5).saturating_add(Span::from_nanos(u128::MAX));
        assert_eq!(late, Instant::LAST);
    }

    #[test]
    fn every_instant_survives_storing() {
        for nanos in [0, 1, u64::MAX - 2, u64::MAX - 1, u64::MAX] {
            let instant = Instant::from_nanos(nanos);
            assert_eq!(Instant::from_stored(instant.to_stored()), instant);
            assert_eq!(instant.as_nanos(), nanos.min(u64::MAX - 1));
        }
    }
}
