//! Outcomes of hits of imported rules, counted as envoyproxy/ratelimit does, under its names in Prometheus.
//!
//! As for contracts, the first sixty-four rules ever loaded have series of their own. Not here: a limit that came with
//! a request.

use tollgate_node::Answer;

use super::labels::NAMED_MAX;
use super::text::Exposition;
use super::{Event, Meter};
use crate::engine::Engine;

/// Hits of one descriptor, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    pub total: u64,
    pub over: u64,
    /// Those within the limit, but beyond a share of it.
    pub near: u64,
    /// All of a request that was within the limit.
    pub within: u64,
    /// Those beyond the limit of a rule in shadow mode.
    pub shadow: u64,
}

impl Hits {
    /// `near_percent`: the share of the limit from which hits count as near it.
    pub(crate) fn of(hits: u64, answer: &Answer, near_percent: u64) -> Self {
        let limit = answer.limit;
        let near_from = u128::from(limit) * u128::from(near_percent) / 100;
        let near_from = u64::try_from(near_from).unwrap_or(limit);
        let is_over = !answer.is_allowed() || answer.shadowed;
        // If the answer does not say how far it is beyond the limit, all hits are.
        let over = match answer.debt {
            _ if !is_over => 0,
            0 => hits,
            debt => debt.min(hits),
        };
        let used = limit.saturating_sub(answer.remaining);
        let before = used.saturating_sub(hits - over);
        let is_near = over < hits && used > near_from;
        Self {
            total: hits,
            over,
            near: if is_near {
                used - before.max(near_from).min(used)
            } else {
                0
            },
            within: if is_over { 0 } else { hits },
            shadow: if answer.shadowed { over } else { 0 },
        }
    }

    pub(super) const fn each(&self) -> [u64; STATS] {
        [self.total, self.over, self.near, self.within, self.shadow]
    }
}

impl Meter {
    pub(super) fn rules(&self, text: &mut Exposition, engine: &Engine) {
        let node = engine.node();
        let Some(domains) = node.contracts().envoy() else {
            return;
        };
        for (stat, name) in FAMILIES.into_iter().enumerate() {
            text.family(name);
            let of = |column: usize| self.sum(|counts| &counts.rules[column][stat]);
            for domain in domains {
                for (contract, path) in domain.limits() {
                    let column = self.labels.column(Some(contract));
                    if column >= NAMED_MAX {
                        continue;
                    }
                    let domain = [("domain", domain.name())];
                    let keys = KEYS.into_iter().zip(path.iter().map(String::as_str));
                    let labels: Vec<_> = domain.into_iter().chain(keys).collect();
                    text.sample(&labels, of(column));
                }
            }
            let rest = of(NAMED_MAX);
            if rest > 0 {
                text.sample(&[("domain", "other")], rest);
            }
        }
        text.one(
            "ratelimit_service_global_shadow_mode",
            self.events(Event::Shadowed),
        );
    }
}

/// The key of each level; those below are left out.
const KEYS: [&str; 8] = [
    "key1", "key2", "key3", "key4", "key5", "key6", "key7", "key8",
];
/// Counters per rule.
pub(super) const STATS: usize = 5;
const FAMILIES: [&str; STATS] = [
    "ratelimit_service_rate_limit_total_hits",
    "ratelimit_service_rate_limit_over_limit",
    "ratelimit_service_rate_limit_near_limit",
    "ratelimit_service_rate_limit_within_limit",
    "ratelimit_service_rate_limit_shadow_mode",
];

#[cfg(test)]
mod tests {
    use tollgate_limit::{Span, Verdict};

    use super::*;

    fn hits(count: u64, remaining: u64, debt: u64, is_allowed: bool) -> [u64; STATS] {
        let verdict = if is_allowed {
            Verdict::Allow
        } else {
            Verdict::Deny {
                retry_after: Span::ZERO,
            }
        };
        let answer = Answer {
            verdict,
            limit: 10,
            remaining,
            debt,
            ..Answer::unbound()
        };
        Hits::of(count, &answer, 80).each()
    }

    #[test]
    fn hits_are_near_from_four_fifths_of_the_limit_and_over_beyond_it() {
        assert_eq!(hits(1, 3, 0, true), [1, 0, 0, 1, 0]);
        assert_eq!(hits(1, 2, 0, true), [1, 0, 0, 1, 0]);
        assert_eq!(hits(1, 1, 0, true), [1, 0, 1, 1, 0]);
        assert_eq!(hits(5, 1, 0, true), [5, 0, 1, 5, 0]);
        assert_eq!(hits(10, 0, 0, true), [10, 0, 2, 10, 0]);
        // Seven were taken, five more were requested: three filled the window, two of them near its end.
        assert_eq!(hits(5, 0, 2, false), [5, 2, 2, 0, 0]);
        assert_eq!(hits(5, 0, 7, false), [5, 5, 0, 0, 0]);
        assert_eq!(hits(1, 0, 0, false), [1, 1, 0, 0, 0]);
    }
}
