//! How long something takes, as a distribution in constant memory.
//!
//! Durations fall into buckets that are a sixteenth of their power of two wide, so a quantile is right within 6 %;
//! the longest one is exact.

/// A distribution of durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct Waits {
    buckets: Vec<u64>,
    count: u64,
    max_ns: u128,
}

const PARTS: usize = 16;
const PARTS_LOG: u32 = PARTS.ilog2();
const BUCKETS: usize = PARTS * (64 - PARTS_LOG as usize + 1);

impl Default for Waits {
    fn default() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
            max_ns: 0,
        }
    }
}

impl Waits {
    pub(super) fn add(&mut self, ns: u128) {
        self.buckets[bucket(u64::try_from(ns).unwrap_or(u64::MAX))] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest one.
    pub fn max_ns(&self) -> Option<u128> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The duration that so many percent are not longer than.
    pub fn percentile_ns(&self, percent: u64) -> Option<u128> {
        let rank = u128::from(self.count) * u128::from(percent.min(100));
        let rank = u64::try_from(rank.div_ceil(100))
            .unwrap_or(self.count)
            .max(1);
        let mut seen = 0;
        let index = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(u128::from(upper(index)).min(self.max_ns))
    }
}

fn bucket(ns: u64) -> usize {
    if ns < PARTS as u64 {
        return usize::try_from(ns).unwrap_or(0);
    }
    let shift = ns.ilog2() - PARTS_LOG;
    let part = usize::try_from(ns >> shift & (PARTS as u64 - 1)).unwrap_or(0);
    (shift as usize + 1) * PARTS + part
}

/// The longest duration of a bucket.
fn upper(index: usize) -> u64 {
    let (row, part) = (index / PARTS, index % PARTS);
    match row.checked_sub(1) {
        None => part as u64,
        Some(shift) => {
            u64::try_from(((PARTS as u128 + part as u128 + 1) << shift) - 1).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_in_a_bucket_that_ends_just_above_it() {
        let mut ns = 1u64;
        while ns < u64::MAX / 3 {
            let top = upper(bucket(ns));
            assert!(
                top >= ns && top - ns <= ns / 16,
                "{ns} in a bucket up to {top}"
            );
            assert_eq!(bucket(top), bucket(ns));
            ns += ns / 16 + 1;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upper(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn percentiles_are_close_and_the_longest_is_exact() {
        let mut waits = Waits::default();
        assert_eq!((waits.percentile_ns(50), waits.max_ns()), (None, None));
        (1..=1000u128).for_each(|ms| waits.add(ms * 1_000_000));
        let p50 = waits.percentile_ns(50).unwrap_or(0);
        assert!((500_000_000..532_000_000).contains(&p50), "{p50}");
        assert_eq!(waits.percentile_ns(100), Some(1_000_000_000));
        waits.add(u128::MAX);
        assert_eq!(waits.max_ns(), Some(u128::MAX));
    }
}
