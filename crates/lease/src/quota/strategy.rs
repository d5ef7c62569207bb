//! A bucket as Envoy can be told it, never more than what it is made from.
//!
//! Envoy reads the interval in whole seconds, and takes two buckets that differ in nothing else for the same: so the
//! interval depends on the limit alone, and every change is seen in one of the other two. Not here: how much is due.

use tollgate_mode::planted;

use super::SECOND_NS;
use crate::amount::{Limits, TOKEN, tokens};

/// A bucket of a data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaBucket {
    /// What it holds when full.
    pub max_tokens: u32,
    /// What comes back in an interval.
    pub tokens_per_fill: u32,
    /// The interval in seconds.
    pub interval_s: u32,
}

impl QuotaBucket {
    /// The bucket of at most that depth and that rate, which a clock that is fast by `drift_ppm` does not exceed
    /// either; at least a token of each.
    pub(super) fn fit(limits: &Limits, depth: i128, rate: i128, drift_ppm: u32) -> Self {
        let interval_s = interval(limits);
        let slow = rate.saturating_mul(MILLION) / (MILLION + i128::from(drift_ppm));
        let filled = slow.saturating_mul(i128::from(interval_s) * i128::from(SECOND_NS));
        let fill = planted!("lease-20", tokens(filled), tokens(filled) + 1);
        Self {
            max_tokens: small(tokens(depth)).max(1),
            tokens_per_fill: small(fill).max(1),
            interval_s,
        }
    }

    /// The depth to keep for it.
    pub(super) fn depth(&self) -> i128 {
        i128::from(self.max_tokens) * TOKEN
    }

    /// The rate to keep for it.
    pub(super) fn rate(&self, drift_ppm: u32) -> i128 {
        let time = i128::from(self.interval_s.max(1)) * i128::from(SECOND_NS) * MILLION;
        let filled = i128::from(self.tokens_per_fill) * TOKEN * (MILLION + i128::from(drift_ppm));
        let rate = filled / time + i128::from(filled % time != 0);
        planted!("lease-20", rate, rate * 99 / 100)
    }

    /// Whether both figures of the other are within a quarter of these.
    pub(super) fn is_similar(&self, other: &Self) -> bool {
        let near = |one: u32, two: u32| {
            let (small, large) = (u64::from(one.min(two)), u64::from(one.max(two)));
            large * 4 <= small * 5
        };
        self.interval_s == other.interval_s
            && near(self.max_tokens, other.max_tokens)
            && near(self.tokens_per_fill, other.tokens_per_fill)
    }

    /// Whether Envoy would take the other for the same although it is not.
    pub(super) fn is_twin(&self, other: &Self) -> bool {
        let figures = |bucket: &Self| (bucket.max_tokens, bucket.tokens_per_fill);
        self.interval_s != other.interval_s && figures(self) == figures(other)
    }
}

/// The shortest of some intervals in which the limit is so large that parts of it can be told in whole tokens.
fn interval(limits: &Limits) -> u32 {
    let is_fine = |seconds: &&u32| limits.want().saturating_mul(u64::from(**seconds)) >= FINE;
    INTERVALS_S.iter().find(is_fine).copied().unwrap_or(DAY_S)
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

const MILLION: i128 = 1_000_000;
const DAY_S: u32 = 86_400;
const INTERVALS_S: [u32; 5] = [1, 10, 60, 600, 3_600];
/// Thousandths of a token of the limit in an interval from which on it is fine enough.
const FINE: u64 = 99_000;

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn what_is_told_is_never_more_than_what_it_is_made_from() {
        for (limit, period_ns) in [
            (1, 86_400 * SECOND_NS),
            (7, SECOND_NS),
            (100, SECOND_NS),
            (1_000_003, 3 * SECOND_NS),
            (u64::MAX, 1),
        ] {
            let limits = Limits::new(limit, period_ns, 1_000).unwrap();
            for share in [1, 3, 10, 16] {
                let rate = limits.rate() / share;
                let bucket = QuotaBucket::fit(&limits, limits.depth() / share, rate, 500);
                assert!(
                    bucket.tokens_per_fill == 1 || bucket.rate(500) <= rate,
                    "{limit} {share}"
                );
                assert!(bucket.depth() <= limits.depth() / share, "{limit} {share}");
                assert!(bucket.rate(500) >= bucket.rate(0));
            }
        }
    }

    #[test]
    fn intervals_are_whole_seconds_and_depend_on_the_limit() {
        let interval_of =
            |limit, period_s: u64| interval(&Limits::new(limit, period_s * SECOND_NS, 10).unwrap());
        assert_eq!(interval_of(100, 1), 1);
        assert_eq!(interval_of(98, 1), 10);
        assert_eq!(interval_of(100, 60), 60);
        assert_eq!(interval_of(1, 86_400), DAY_S);
    }

    #[test]
    fn a_quarter_either_way_is_similar() {
        let bucket = |max_tokens, tokens_per_fill| QuotaBucket {
            max_tokens,
            tokens_per_fill,
            interval_s: 1,
        };
        assert!(bucket(100, 100).is_similar(&bucket(125, 80)));
        assert!(!bucket(100, 100).is_similar(&bucket(126, 100)));
        assert!(!bucket(100, 100).is_similar(&bucket(100, 79)));
    }
}
