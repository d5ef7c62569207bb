//! Durations as a distribution in constant memory.
//!
//! A quantile is right within a hundredth; the longest one is exact.

use hdrhistogram::Histogram;

#[derive(Clone, Debug)]
pub(crate) struct Waits {
    spread: Histogram<u64>,
    max_ns: u128,
}

impl Default for Waits {
    fn default() -> Self {
        let spread = Histogram::new_with_max(u64::MAX, 2);
        Self {
            // The histogram accepts two digits.
            spread: spread.unwrap_or_else(|_| unreachable!()),
            max_ns: 0,
        }
    }
}

impl Waits {
    pub(super) fn add(&mut self, ns: u128) {
        let short = u64::try_from(ns).unwrap_or(u64::MAX);
        self.spread.saturating_record(short);
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn count(&self) -> u64 {
        self.spread.len()
    }

    pub(crate) fn max_ns(&self) -> Option<u128> {
        (!self.spread.is_empty()).then_some(self.max_ns)
    }

    /// The duration that this percentage does not exceed.
    pub(crate) fn percentile_ns(&self, percent: u8) -> Option<u128> {
        let found = self.spread.value_at_percentile(percent.into());
        Some(u128::from(found).min(self.max_ns)).filter(|_| !self.spread.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close_and_the_longest_is_exact() {
        let mut waits = Waits::default();
        assert_eq!((waits.percentile_ns(50), waits.max_ns()), (None, None));
        (1..=1000u128).for_each(|ms| waits.add(ms * 1_000_000));
        let p50 = waits.percentile_ns(50).unwrap_or(0);
        assert!((500_000_000..505_000_000).contains(&p50), "{p50}");
        assert_eq!(waits.percentile_ns(100), Some(1_000_000_000));
        waits.add(u128::MAX);
        assert_eq!(waits.max_ns(), Some(u128::MAX));
    }
}
