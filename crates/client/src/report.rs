//! What a client is told about its quota: how each policy stands, and whether the request was refused.
//!
//! Not here: the header fields (`headers`) and the body of a refusal (`problem`).

use tollgate_limit::{Instant, Policy, Span, Status, Verdict};
use tollgate_node::{Answer, Key, RefusedBy};

use crate::clock::Clock;
use crate::limiter::Limiter;

/// How the policies that bind a request stand after its answer.
///
/// Policies in shadow mode are left out: they refuse nobody. Of many policies the 16 with the least left are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub(crate) lines: Vec<Line>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) now: Instant,
}

/// How one policy stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The policy's name in printable ASCII, with the contract's where two share it.
    pub(crate) label: String,
    pub(crate) quota: u64,
    /// Whole seconds; `None` for periods that are not whole seconds.
    pub(crate) window: Option<u64>,
    pub(crate) remaining: u64,
    /// Seconds until there is more.
    pub(crate) more_after: Option<u64>,
    /// Whether this policy refused the request.
    pub(crate) refused: bool,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too little is left; there will be enough in that many seconds.
    Later(u64),
    /// The request costs more than a policy can ever hold.
    Never,
    /// The limiter has no room for the key; there may be some in that many seconds.
    Full(u64),
}

impl Report {
    /// The report of an answer that `limiter` gave to `key`.
    pub fn new<'k, C: Clock>(
        limiter: &Limiter<C>,
        key: impl Into<Key<'k>>,
        answer: &Answer,
    ) -> Self {
        let now = limiter.clock().now();
        let mut entries = entries(limiter, key.into(), now);
        if entries.len() > LINES_MAX {
            // The sort is stable, so that of equals the first in the file stay.
            entries.sort_by_key(|entry| (!entry.refused(answer), entry.status.remaining));
            entries.truncate(LINES_MAX);
        }
        let lines: Vec<Line> = entries
            .iter()
            .map(|entry| entry.line(&entries, answer))
            .collect();
        let refusal = refusal(answer, &lines);
        Self {
            lines,
            refusal,
            now,
        }
    }

    /// Whether the request was refused.
    pub const fn is_refusal(&self) -> bool {
        self.refusal.is_some()
    }

    /// The line with the least left, and first of all the one that refused.
    pub(crate) fn tightest(&self) -> Option<&Line> {
        self.lines
            .iter()
            .min_by_key(|line| (!line.refused, line.remaining))
    }
}

/// A policy that binds the request, by name.
struct Entry<'a> {
    place: (usize, usize),
    contract: &'a str,
    name: &'a str,
    policy: &'a Policy,
    status: Status,
}

fn entries<'a, C: Clock>(limiter: &'a Limiter<C>, key: Key<'_>, now: Instant) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for (place, statuses) in limiter.node().status(key, now) {
        let Some(contract) = limiter.node().contracts().get(place) else {
            continue;
        };
        for (nth, (policy, status)) in contract.policies.iter().zip(statuses).enumerate() {
            if policy.policy.config().enforce_percent > 0 {
                let (contract, name, policy) = (&contract.id, &policy.name, &policy.policy);
                entries.push(Entry {
                    place: (place, nth),
                    contract,
                    name,
                    policy,
                    status,
                });
            }
        }
    }
    entries
}

impl Entry<'_> {
    fn refused(&self, answer: &Answer) -> bool {
        let (contract, policy) = self.place;
        answer.refused_by == Some(RefusedBy::Policy { contract, policy })
    }

    fn line(&self, all: &[Self], answer: &Answer) -> Line {
        let namesakes = all.iter().filter(|other| other.name == self.name).count();
        let label = match namesakes {
            1 => printable(self.name),
            _ => printable(&format!("{}/{}", self.contract, self.name)),
        };
        let config = self.policy.config();
        let period = config.period.nanos();
        Line {
            label,
            quota: config.limit.min(INTEGER_MAX),
            window: period.is_multiple_of(SECOND).then_some(period / SECOND),
            remaining: self.status.remaining.min(INTEGER_MAX),
            more_after: self.more_after(answer),
            refused: self.refused(answer),
        }
    }

    /// Until there is more: a token where nothing is left, enough for a request that this policy refused, and
    /// otherwise the whole quota.
    fn more_after(&self, answer: &Answer) -> Option<u64> {
        let Status {
            remaining,
            reset_after,
            next_token_after,
            ..
        } = self.status;
        let after = match answer.verdict {
            Verdict::Deny { retry_after } if self.refused(answer) => retry_after,
            Verdict::Never if self.refused(answer) => return None,
            _ if remaining == 0 => next_token_after,
            // A refused request should not hear of a later time than that of its retry.
            Verdict::Deny { .. } | Verdict::Never => return None,
            Verdict::Allow | Verdict::Delay { .. } => reset_after,
        };
        seconds(after).filter(|after| *after > 0)
    }
}

/// The refusal, which points no earlier than any line does.
fn refusal(answer: &Answer, lines: &[Line]) -> Option<Refusal> {
    let retry_after = match answer.verdict {
        Verdict::Allow | Verdict::Delay { .. } => return None,
        Verdict::Never => return Some(Refusal::Never),
        Verdict::Deny { retry_after } => seconds(retry_after).unwrap_or(INTEGER_MAX),
    };
    if answer.refused_by == Some(RefusedBy::FullTable) {
        return Some(Refusal::Full(retry_after));
    }
    let latest = lines.iter().filter_map(|line| line.more_after).max();
    Some(Refusal::Later(
        latest
            .map_or(retry_after, |latest| latest.max(retry_after))
            .max(1),
    ))
}

/// Whole seconds, rounded up; `None` where that is beyond what a structured field can say.
fn seconds(span: Span) -> Option<u64> {
    u64::try_from(span.as_secs_ceil())
        .ok()
        .filter(|seconds| *seconds <= INTEGER_MAX)
}

/// A name in printable ASCII; every other byte becomes `%` and two digits.
fn printable(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if matches!(byte, b' '..=b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
        }
    }
    out
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";
const SECOND: u64 = 1_000_000_000;
/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;
/// The most policies that are told of.
const LINES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_printable() {
        assert_eq!(printable("per minute"), "per minute");
        assert_eq!(printable("čas\n\u{7f}"), "%C4%8Das%0A%7F");
        assert_eq!(printable("a\"b\\c"), "a\"b\\c");
    }

    #[test]
    fn seconds_round_up_and_have_an_end() {
        assert_eq!(seconds(Span::from_nanos(1)), Some(1));
        assert_eq!(seconds(Span::from_nanos(2_000_000_000)), Some(2));
        assert_eq!(seconds(Span::from_nanos(u128::MAX)), None);
    }
}
