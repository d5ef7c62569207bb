//! Points in time and lengths of time, in whole nanoseconds.
//!
//! Not here: any way to read a clock. Whoever asks brings the time along.

/// A point in time: nanoseconds since the UNIX epoch (enough until the year 2554).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The instant that many nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
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
    pub fn saturating_add(self, span: Span) -> Self {
        Self(u64::try_from(span.0).map_or(u64::MAX, |nanos| self.0.saturating_add(nanos)))
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
        assert_eq!(late.as_nanos(), u64::MAX);
    }
}
