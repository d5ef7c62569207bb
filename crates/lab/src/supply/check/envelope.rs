//! Everything that was admitted, by whomever, replayed through one bucket.
//!
//! Shares no code with what it judges. Not here: the sums of supply.

use crate::nodes::OneBucket;

/// What one bucket says of a merged log of admissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    bucket: OneBucket,
    at: u64,
    found: Excess,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excess {
    /// Requests admitted while the bucket had no token for them.
    pub(crate) over: u64,
    /// The most the bucket was ever short of, in requests, rounded up.
    pub(crate) worst: u64,
}

/// One request in tokens of a millionth of a millionth of it.
const ONE: i128 = 1_000_000_000_000;

impl Envelope {
    /// A full bucket of a rate, in millionths of a request per second, and of what that brings in so many microseconds.
    pub(crate) fn new(rate: u64, depth_us: u64) -> Self {
        let depth = i128::from(rate) * i128::from(depth_us);
        Self {
            bucket: OneBucket::of(rate, ONE, depth),
            at: 0,
            found: Excess::default(),
        }
    }

    /// Takes note of one admission; times never fall.
    pub(crate) fn admit(&mut self, at: u64) {
        assert!(at >= self.at, "a log out of order");
        self.at = at;
        // What was taken too much is paid back before anything is gained.
        let has = self.bucket.has(1, at);
        self.bucket.take(1);
        self.found.over += u64::from(!has);
        self.found.worst = self.found.worst.max(self.bucket.short());
    }

    /// Whether one more would be within; takes it if so. This is a central limiter.
    pub(crate) fn try_admit(&mut self, at: u64) -> bool {
        let is_in = self.bucket.has(1, at);
        if is_in {
            self.bucket.take(1);
        }
        is_in
    }

    pub(crate) fn found(&self) -> Excess {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One request per second, and three at once.
    fn bucket() -> Envelope {
        Envelope::new(1_000_000, 3_000_000)
    }

    fn replay(log: &[u64]) -> Excess {
        let mut envelope = bucket();
        for &at in log {
            envelope.admit(at);
        }
        envelope.found()
    }

    #[test]
    fn what_one_bucket_admits_is_within() {
        assert_eq!(replay(&[0, 0, 0, 1_000_000, 2_000_000]), Excess::default());
        assert_eq!(
            replay(&[0, 0, 9_000_000, 9_000_000, 9_000_000]),
            Excess::default()
        );
    }

    #[test]
    fn one_too_many_or_too_early_is_seen() {
        assert_eq!(replay(&[0, 0, 0, 0]), Excess { over: 1, worst: 1 });
        assert_eq!(replay(&[0, 0, 0, 999_999]), Excess { over: 1, worst: 1 });
        // The debt is carried on: the third at a second's distance is still early.
        assert_eq!(replay(&[0, 0, 0, 0, 0, 1_000_000]).over, 3);
        assert_eq!(replay(&[0; 9]), Excess { over: 6, worst: 6 });
    }

    #[test]
    fn a_central_limiter_is_never_over_its_own_bucket() {
        let (mut central, mut judge) = (bucket(), bucket());
        let mut admitted = 0;
        for at in (0..60_000_000).step_by(333_333) {
            if central.try_admit(at) {
                judge.admit(at);
                admitted += 1;
            }
        }
        assert_eq!(judge.found(), Excess::default());
        assert_eq!(admitted, 62);
    }
}
