//! Everything that left, wherever, replayed through the one bucket that was cut.
//!
//! Shares no code with what it judges. Not here: percentiles.

/// The bucket: so many messages per period, and a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undivided {
    pub(super) messages: u64,
    pub(super) period_ns: u64,
    pub(super) burst: u64,
}

impl Undivided {
    /// How many left while the bucket had no token for them, of departures in order of time. Their tokens are taken all
    /// the same.
    pub(super) fn violations(self, departures: impl IntoIterator<Item = u64>) -> u64 {
        let message = u128::from(self.period_ns);
        let depth = u128::from(self.burst) * message;
        let (mut spent, mut last, mut found) = (0_u128, 0, 0);
        for at in departures {
            assert!(at >= last, "departures out of order");
            let back = u128::from(at - last) * u128::from(self.messages);
            spent = spent.saturating_sub(back) + message;
            last = at;
            found += u64::from(spent > depth);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_or_a_nanosecond_too_early_is_seen() {
        let bucket = Undivided {
            messages: 10,
            period_ns: 1_000,
            burst: 2,
        };
        assert_eq!(bucket.violations([0, 0, 100, 200]), 0);
        assert_eq!(bucket.violations([0, 0, 99]), 1);
        assert_eq!(bucket.violations([0, 0, 0, 0]), 2);
        assert_eq!(bucket.violations([0, 50, 99]), 1);
        assert_eq!(bucket.violations([5_000, 5_000, 5_100]), 0);
    }
}
