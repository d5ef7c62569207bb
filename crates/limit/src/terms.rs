//! What a policy asks of its state for one request, in plain numbers, for engines that decide outside this process.
//!
//! An engine keeps states in its own way and compares them with these numbers; whatever is derived from the answer
//! (what is left, how long to wait) is computed here, from the state that the engine found. Not here: any state.

use crate::policy::{Policy, Rule};
use crate::time::Instant;

/// The terms of one policy for a request of so many tokens at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestTerms {
    /// `max(0, spent - elapsed * refill) + need <= top`.
    Bucket {
        /// Grains that the request takes.
        need: u128,
        /// Grains that come back each nanosecond.
        refill: u64,
        /// The most grains that may be spent; `None` where any number of requests may wait.
        top: Option<u128>,
        /// Whether the request is larger than the bucket, and never passes.
        is_never: bool,
    },
    /// `count + tokens <= limit`, with what was counted since `start`.
    Window {
        /// The policy's limit.
        limit: u64,
        /// First nanosecond of the window.
        start: u64,
        /// First nanosecond after it.
        end: u128,
    },
    /// `previous * (end - now) + (current + tokens) * period <= limit * period`, where `end` is `start + period`.
    Weighted {
        /// The policy's limit.
        limit: u64,
        /// First nanosecond of the window.
        start: u64,
        /// Nanoseconds in a window.
        period_ns: u64,
    },
    /// The sum of entries younger than the period, and the tokens, are within the limit.
    Log {
        /// The policy's limit.
        limit: u64,
        /// For how many nanoseconds an entry counts.
        period_ns: u64,
    },
    /// As the log, with every entry at the first nanosecond of its slice and `now` at that of its own.
    Slices {
        /// The policy's limit.
        limit: u64,
        /// First nanosecond of the slice.
        start: u64,
        /// Nanoseconds in a slice.
        width_ns: u64,
        /// Slices in a period.
        slices: u64,
    },
}

impl Policy {
    /// The terms for a request of `tokens` at `now`.
    pub fn terms(&self, tokens: u64, now: Instant) -> RequestTerms {
        let limit = self.config().limit;
        match &self.rule {
            Rule::Bucket(bucket) => RequestTerms::Bucket {
                need: bucket.take(0, tokens),
                refill: bucket.rate().1,
                top: bucket.top(),
                is_never: tokens > bucket.burst(),
            },
            Rule::Window(window) => {
                let (start, end) = window.window(now);
                RequestTerms::Window { limit, start, end }
            }
            Rule::Weighted(weighted) => RequestTerms::Weighted {
                limit,
                start: now.as_nanos() - now.as_nanos() % weighted.period_ns,
                period_ns: weighted.period_ns,
            },
            Rule::Log(log) => RequestTerms::Log {
                limit,
                period_ns: log.period_ns,
            },
            Rule::Slices(rule) => RequestTerms::Slices {
                limit,
                start: now.as_nanos() - now.as_nanos() % rule.width_ns,
                width_ns: rule.width_ns,
                slices: rule.slices,
            },
        }
    }
}
