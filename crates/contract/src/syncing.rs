//! How a policy under `coordination: sync` is synchronised.
//!
//! Not here: synchronising (`tollgate-lease`), and who does it.

use tollgate_limit::PolicyConfig;

/// How a policy is synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syncing {
    /// How often nodes tell what they spent, in nanoseconds.
    pub interval_ns: u64,
    /// Whether spending that there were no tokens for is forgotten instead of owed.
    pub forgets: bool,
}

impl Default for Syncing {
    fn default() -> Self {
        Self {
            interval_ns: INTERVAL_NS,
            forgets: false,
        }
    }
}

impl Syncing {
    /// The shortest interval, in nanoseconds.
    pub const INTERVAL_MIN: u64 = 50_000_000;
    /// The longest.
    pub const INTERVAL_MAX: u64 = 60_000_000_000;

    /// Whether more comes back in an interval than the bucket holds, so that the limit is not reached.
    pub fn is_shallow(&self, config: &PolicyConfig) -> bool {
        let burst = u128::from(config.burst.unwrap_or(config.limit));
        let refill = u128::from(config.limit) * u128::from(self.interval_ns);
        burst * u128::from(config.period.nanos()) < refill
    }
}

const INTERVAL_NS: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_limit::Period;

    #[test]
    fn a_burst_below_what_comes_back_in_an_interval_is_shallow() {
        let mut config = PolicyConfig::token_bucket(1_000, Period::SECOND);
        for (burst, interval_ms, is) in [(100, 100, false), (99, 100, true), (999, 1_000, true)] {
            config.burst = Some(burst);
            let syncing = Syncing {
                interval_ns: interval_ms * 1_000_000,
                forgets: false,
            };
            assert_eq!(syncing.is_shallow(&config), is, "{burst} {interval_ms}");
        }
    }
}
