//! One bucket, and everything that all nodes admitted, replayed through it in the order of time.
//!
//! The bucket is full before the first admission. Integers only: a token is `per_ns` parts, and a nanosecond refills
//! `limit` parts. Requests beyond the bucket are counted, and leave it empty. Not here: who admitted
//! it, and why.

use std::collections::BTreeMap;

/// A bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedBucket {
    /// Tokens per period.
    pub(crate) limit: u64,
    pub(crate) per_ns: u64,
    pub(crate) burst: u64,
}

/// Everything that was admitted.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdmissionLog {
    /// By key: time and cost of each request.
    pub(crate) keys: BTreeMap<String, Vec<(u64, u64)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JudgeSummary {
    pub(crate) admissions: u64,
    pub(crate) tokens: u64,
    pub(crate) keys: u64,
    /// Requests beyond the bucket.
    pub(crate) violations: u64,
    /// The most tokens by which one request exceeded it, rounded up.
    pub(crate) worst: u64,
    /// Times of the first and the last request.
    pub(crate) span: (u64, u64),
}

impl AdmissionLog {
    /// Adds the lines of one process: `steady-ns key cost wait-ns`. A last line without an end was not written whole,
    /// by a process that was killed before it answered.
    pub(crate) fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let Some(line) = line.strip_suffix('\n') else {
                break;
            };
            let wrong = || format!("{name}:{}: not `steady-ns key cost wait-ns`", number + 1);
            let words: Vec<&str> = line.split(' ').collect();
            let [at, key, cost, wait] = words[..] else {
                return Err(wrong());
            };
            let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
            let passes = number(at)?.checked_add(number(wait)?).ok_or_else(wrong)?;
            let admitted = (passes, number(cost)?);
            self.keys.entry(key.to_owned()).or_default().push(admitted);
        }
        Ok(())
    }

    /// Tokens that passed from `begin` on and before `end`.
    #[allow(dead_code, reason = "only some who judge ask")]
    pub(crate) fn tokens(&self, begin: u64, end: u64) -> u64 {
        let all = self.keys.values().flatten();
        let within = all.filter(|(at, _)| (begin..end).contains(at));
        within.map(|(_, cost)| cost).sum()
    }
}

/// Replays everything, each key through a bucket of its own.
pub(crate) fn judge(bucket: JudgedBucket, log: &AdmissionLog) -> JudgeSummary {
    let mut found = JudgeSummary {
        span: (u64::MAX, 0),
        keys: log.keys.len() as u64,
        ..JudgeSummary::default()
    };
    for admitted in log.keys.values() {
        let mut admitted = admitted.clone();
        admitted.sort_unstable();
        replay(bucket, &admitted, &mut found);
    }
    found
}

fn replay(bucket: JudgedBucket, admitted: &[(u64, u64)], found: &mut JudgeSummary) {
    let token = u128::from(bucket.per_ns);
    let full = u128::from(bucket.burst) * token;
    let (mut level, mut last) = (full, 0);
    for &(at, cost) in admitted {
        let refill = u128::from(at - last) * u128::from(bucket.limit);
        level = full.min(level + refill);
        last = at;
        let cost_parts = u128::from(cost) * token;
        if cost_parts > level {
            found.violations += 1;
            let beyond = (cost_parts - level).div_ceil(token);
            found.worst = found.worst.max(u64::try_from(beyond).unwrap_or(u64::MAX));
        }
        level = level.saturating_sub(cost_parts);
        found.admissions += 1;
        found.tokens += cost;
        found.span = (found.span.0.min(at), found.span.1.max(at));
    }
}

#[allow(clippy::cast_precision_loss, reason = "shown, not decided by")]
impl JudgeSummary {
    /// Seconds from the first to the last.
    pub(crate) fn seconds(&self) -> f64 {
        self.span.1.saturating_sub(self.span.0) as f64 / 1e9
    }

    /// Used share of the limit of one key in that time.
    #[allow(dead_code, reason = "only some who judge ask")]
    pub(crate) fn used(&self, bucket: JudgedBucket) -> f64 {
        let per_second = bucket.limit as f64 * 1e9 / bucket.per_ns as f64;
        self.tokens as f64 / (per_second * self.seconds()).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKET: JudgedBucket = JudgedBucket {
        limit: 10,
        per_ns: 1_000_000_000,
        burst: 5,
    };

    fn log(lines: &str) -> AdmissionLog {
        let mut log = AdmissionLog::default();
        log.read("a", lines).unwrap();
        log
    }

    #[test]
    fn a_burst_and_what_comes_back_pass_and_one_more_is_seen() {
        let within = log("5 k 5 0\n100000005 k 1 0\n");
        assert_eq!(judge(BUCKET, &within).violations, 0);
        let beyond = log("5 k 5 0\n100000004 k 1 0\n");
        let found = judge(BUCKET, &beyond);
        assert_eq!((found.violations, found.worst), (1, 1));
    }

    #[test]
    fn files_are_merged_by_time_and_waits_count() {
        let mut both = log("900000000 k 3 0\n");
        both.read("b", "0 k 5 0\n0 k 4 400000000\n").unwrap();
        assert_eq!(judge(BUCKET, &both).violations, 0);
        let mut early = log("900000000 k 3 0\n");
        early.read("b", "0 k 5 0\n0 k 4 399999999\n").unwrap();
        assert_eq!(judge(BUCKET, &early).violations, 1);
    }

    #[test]
    fn keys_have_buckets_of_their_own_and_half_a_line_was_never_answered() {
        let found = judge(BUCKET, &log("0 a 5 0\n0 b 5 0\n0 a 5"));
        assert_eq!((found.violations, found.keys, found.tokens), (0, 2, 10));
        assert!(AdmissionLog::default().read("a", "0 a 5\n").is_err());
        assert!(AdmissionLog::default().read("a", "0 a x 0\n").is_err());
    }
}
