//! Latency histogram with four buckets per octave; other scales divide octaves further.
//!
//! Not here: clocks. Listeners measure, once for all requests that arrived together.

pub(super) const BUCKETS: usize = COARSE.buckets();

/// Everything up to here is one bucket: 2^10 ns.
const FIRST_BITS: u32 = 10;
/// The last octave ends at 2^34 ns, 17 s; beyond is one bucket.
const OCTAVES: usize = 24;
/// The scale of answers.
const COARSE: Scale = Scale { bits: 2 };
const PARTS: usize = COARSE.parts();

/// Octaves are divided into 2^`bits` parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) bits: u32,
}

impl Scale {
    pub(crate) const fn parts(self) -> usize {
        1 << self.bits
    }

    pub(crate) const fn buckets(self) -> usize {
        OCTAVES * self.parts() + 1
    }

    /// Bounds are inclusive.
    pub(crate) const fn bucket(self, nanos: u64) -> usize {
        let below = nanos.saturating_sub(1) >> (FIRST_BITS - self.bits);
        if below < self.parts() as u64 {
            return 0;
        }
        let octave = below.ilog2() - self.bits;
        #[allow(clippy::cast_possible_truncation)] // Below twice the parts.
        let part = (below >> octave) as usize - self.parts();
        let place = octave as usize * self.parts() + part + 1;
        let last = self.buckets() - 1;
        if place < last { place } else { last }
    }

    /// The longest duration in a bucket, in nanoseconds; the last one has none.
    pub(crate) const fn bound(self, bucket: usize) -> u64 {
        if bucket == 0 {
            return 1 << FIRST_BITS;
        }
        let (octave, part) = ((bucket - 1) / self.parts(), (bucket - 1) % self.parts());
        let bits = octave + (FIRST_BITS - self.bits) as usize;
        ((self.parts() + part + 1) as u64) << bits
    }
}

pub(super) const fn bucket(nanos: u64) -> usize {
    COARSE.bucket(nanos)
}

/// The longest duration in a bucket, in nanoseconds; the last one has none.
pub(super) const fn bound(bucket: usize) -> u64 {
    COARSE.bound(bucket)
}

/// Buckets in the metrics: ends of octaves.
pub(super) fn reported() -> impl Iterator<Item = usize> {
    (0..BUCKETS - 1).step_by(PARTS)
}

/// The bound below which that share of all durations lies, in nanoseconds; zero without data.
pub(super) fn percentile(counts: &[u64], per_mille: u64) -> u64 {
    let all: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    let wanted = (all * u128::from(per_mille)).div_ceil(1_000);
    let mut seen = 0_u128;
    for (bucket, count) in counts.iter().enumerate() {
        seen += u128::from(*count);
        if seen >= wanted && *count > 0 {
            return bound(bucket);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_in_the_bucket_whose_bounds_hold_it() {
        let mut nanos = 1_u64;
        while nanos < 1 << 40 {
            for length in [nanos - 1, nanos, nanos + 1] {
                let bucket = bucket(length);
                if bucket < BUCKETS - 1 {
                    assert!(length <= bound(bucket), "{length} in {bucket}");
                }
                if bucket > 0 {
                    assert!(length > bound(bucket - 1), "{length} in {bucket}");
                }
            }
            nanos += nanos / 7 + 1;
        }
    }

    #[test]
    fn bounds_are_a_quarter_apart_at_most() {
        for bucket in 1..BUCKETS {
            assert!(bound(bucket) * 4 <= bound(bucket - 1) * 5);
        }
        assert_eq!(
            (bound(0), bound(4), bound(BUCKETS - 1)),
            (1024, 2048, 1 << 34)
        );
        assert!(reported().all(|bucket| bound(bucket).is_power_of_two()));
    }

    #[test]
    fn percentiles_are_the_bounds_that_hold_them() {
        let mut counts = [0; BUCKETS];
        counts[bucket(5_000)] = 989;
        counts[bucket(1_000_000)] = 11;
        assert_eq!(percentile(&counts, 500), bound(bucket(5_000)));
        assert_eq!(percentile(&counts, 990), bound(bucket(1_000_000)));
        assert_eq!(percentile(&[0; BUCKETS], 990), 0);
    }
}
