//! A data plane as Envoy's: a bucket that starts full whenever it is another one, and lives for so long from its
//! receipt.
//!
//! Levels are in 2^-40 of a token, times are true ones. Not here: what the server makes of it.

use crate::quota::{Action, QuotaBucket, QuotaReport};

const TOKEN: i128 = 1 << 40;
const SECOND: u64 = 1_000_000_000;

/// What is in use.
#[derive(Clone, Copy, Debug)]
struct Used {
    bucket: QuotaBucket,
    level: i128,
    at: u64,
    until: u64,
}

/// One data plane with one bucket.
#[derive(Clone, Debug)]
pub(super) struct Envoy {
    used: Option<Used>,
    /// Its clock is fast by so many millionths, or slow.
    pub(super) fast_ppm: i64,
    allowed: u64,
    denied: u64,
    reported: u64,
    /// Whether it says parts of seconds.
    pub(super) is_exact: bool,
}

impl Envoy {
    pub(super) const fn new(fast_ppm: i64, is_exact: bool) -> Self {
        Self {
            used: None,
            fast_ppm,
            allowed: 0,
            denied: 0,
            reported: 0,
            is_exact,
        }
    }

    fn advance(&mut self, now: u64) {
        self.used = self.used.filter(|used| now < used.until);
        let Some(used) = self.used.as_mut() else {
            return;
        };
        let elapsed = i128::from(now - used.at) * i128::from(1_000_000 + self.fast_ppm);
        let filled = elapsed * TOKEN * i128::from(used.bucket.tokens_per_fill);
        let filled = filled / (i128::from(used.bucket.interval_s) * i128::from(SECOND) * 1_000_000);
        let full = i128::from(used.bucket.max_tokens) * TOKEN;
        used.level = (used.level + filled).min(full);
        used.at = now;
    }

    /// Takes what the server says.
    pub(super) fn handle(&mut self, action: &Action, now: u64) {
        self.advance(now);
        match action {
            Action::Assign(bucket, seconds) => {
                let same = self.used.filter(|used| used.bucket == *bucket);
                let full = i128::from(bucket.max_tokens) * TOKEN;
                let ttl = i128::from(*seconds) * i128::from(SECOND) * 1_000_000;
                let ttl = ttl / i128::from(1_000_000 + self.fast_ppm);
                self.used = Some(Used {
                    bucket: *bucket,
                    level: same.map_or(full, |used| used.level),
                    at: now,
                    until: now + u64::try_from(ttl).unwrap(),
                });
            }
            Action::Deny(_) | Action::Abandon => self.used = None,
        }
    }

    /// Whether a request passes.
    pub(super) fn check(&mut self, now: u64) -> bool {
        self.advance(now);
        let used = self.used.as_mut().filter(|used| used.level >= TOKEN);
        if let Some(used) = used {
            used.level -= TOKEN;
            self.allowed += 1;
            true
        } else {
            self.denied += 1;
            false
        }
    }

    /// The bucket in use.
    pub(super) fn bucket(&mut self, now: u64) -> Option<QuotaBucket> {
        self.advance(now);
        self.used.map(|used| used.bucket)
    }

    /// What it reports now.
    pub(super) fn report(&mut self, now: u64) -> QuotaReport {
        let elapsed = now - self.reported;
        self.reported = now;
        QuotaReport {
            elapsed_ns: if self.is_exact {
                elapsed
            } else {
                elapsed / SECOND * SECOND
            },
            allowed: std::mem::take(&mut self.allowed),
            denied: std::mem::take(&mut self.denied),
        }
    }
}
