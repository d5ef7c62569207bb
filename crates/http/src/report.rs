//! The client's quota: how each policy stands, and whether the request was refused.
//!
//! Most requests are matched by one contract with one policy, and then the answer itself contains everything: no cell
//! is looked up again and nothing is allocated. Not here: the header fields (`headers`) and the body of a refusal
//! (`problem`).

use std::cmp::Reverse;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::{Dialect, NamedPolicy};
use tollgate_limit::{Instant, KeyStatus, Policy, Quota, Span, Verdict};
use tollgate_node::{Answer, Booking, Node, Receipt, RefusedBy, Violation};

use crate::label::Label;

/// A node with the time that it decides by.
pub trait Decider {
    fn node(&self) -> &Node;

    fn now(&self) -> Instant;
}

impl<D: Decider> Decider for Arc<D> {
    fn node(&self) -> &Node {
        (**self).node()
    }

    fn now(&self) -> Instant {
        (**self).now()
    }
}

/// How the policies of a request stand after its answer.
///
/// Shadow policies are left out: they refuse nothing. Of many policies the 16 with the least left are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReport<'c> {
    pub(crate) lines: SmallVec<[PolicyReport<'c>; 1]>,
    pub(crate) refusal: Option<RefusalReason>,
    pub(crate) now: Instant,
    /// Whether a contract matches the request.
    pub(crate) is_matched: bool,
    /// The contracts' own setting of header fields.
    pub(crate) dialect: Option<Dialect>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyReport<'c> {
    pub(crate) label: Label<'c>,
    /// As much as can ever be left, in the time in which that comes back.
    pub(crate) quota: u64,
    pub(crate) window_ns: u64,
    /// As in the contract.
    pub(crate) limit: u64,
    pub(crate) period_ns: u64,
    pub(crate) remaining: u64,
    /// Tokens below zero.
    pub(crate) debt: u64,
    /// Seconds until there is more.
    pub(crate) more_after: Option<u64>,
    pub(crate) refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// Too little is left; there will be enough in this many seconds.
    Later(u64),
    /// The request costs more than a policy can ever hold.
    Never,
    /// The limiter has no room for the key; there may be some in this many seconds.
    Full(u64),
    /// It is banned without an end.
    Banned,
    /// No contract matches it, and such requests are refused by configuration.
    Unmatched,
}

impl<'c> LimitReport<'c> {
    /// The report of an answer that `limiter` gave.
    pub fn new(limiter: &'c impl Decider, answer: &'c Answer) -> Self {
        Self::of(limiter.node(), answer, limiter.now())
    }

    /// The report at `now` of an answer that `node` gave.
    pub fn of(node: &'c Node, answer: &'c Answer, now: Instant) -> Self {
        let Some(node) = node.giver(answer) else {
            return Self::with(SmallVec::new(), answer, now, None);
        };
        let entry = lone_entry(node, answer);
        let entry = entry.map(|(entry, dialect)| Self::told(&entry, answer, now, dialect));
        let report = entry.or_else(|| Self::looked_up(node, answer, now));
        report.unwrap_or_else(|| Self::of_answer(node, answer, now))
    }

    /// The report at `now` of an answer by a policy from the request itself, reported under this name.
    pub fn described(name: &'c str, policy: &Policy, answer: &Answer, now: Instant) -> Self {
        let is_refused = !answer.verdict.is_allowed();
        let after = answer.verdict.retry_after();
        let after = after.or((!is_refused).then_some(answer.reset_after));
        let line = PolicyReport {
            more_after: after.and_then(seconds).filter(|after| *after > 0),
            refused: is_refused && answer.refused_by.is_none(),
            ..PolicyReport::of(Label::short(name), policy, answer.remaining, answer.debt)
        };
        Self::with(smallvec::smallvec![line], answer, now, None)
    }

    /// By the answer alone, if contracts changed since or another node decided: the policies that refused, or the one
    /// with the least left. A ban is no policy.
    fn of_answer(node: &'c Node, answer: &'c Answer, now: Instant) -> Self {
        let told = match answer.refused_by {
            Some(RefusedBy::Policy { .. }) | None => {
                answer.contract.map(|contract| (contract, answer.policy))
            }
            Some(_) => None,
        };
        let Some((told, dialect)) = told.and_then(|place| told_entry(node, answer, place)) else {
            return Self::with(SmallVec::new(), answer, now, None);
        };
        let others = answer.violated.iter().flatten();
        let entries = others.filter_map(|violation| {
            let place = (violation.contract, violation.said.policy);
            let (entry, _) = told_entry(node, answer, place)?;
            let standing = if place == told.place {
                told.standing
            } else {
                Standing::of(violation)
            };
            Some(Entry { standing, ..entry })
        });
        let mut entries: Vec<_> = entries.take(LINES_MAX).collect();
        if entries.is_empty() {
            entries.push(told);
        }
        let line = |entry: &Entry<'c>| entry.line(entry.label(&entries), answer);
        Self::with(entries.iter().map(line).collect(), answer, now, dialect)
    }

    fn told(entry: &Entry<'c>, answer: &Answer, now: Instant, dialect: Option<Dialect>) -> Self {
        let mut lines = SmallVec::new();
        lines.push(entry.line(Label::short(&entry.named.name), answer));
        Self::with(lines, answer, now, dialect)
    }

    /// The same, by looking every policy up; `None` if contracts changed since.
    pub(crate) fn looked_up(node: &'c Node, answer: &'c Answer, now: Instant) -> Option<Self> {
        let mut entries = entries(node, answer, now)?;
        if entries.len() > LINES_MAX {
            // The sort is stable, so that of equals the first in the file stay.
            entries.sort_by_key(|entry| (!entry.refused(answer), entry.standing.remaining));
            entries.truncate(LINES_MAX);
        }
        let line = |entry: &Entry<'c>| entry.line(entry.label(&entries), answer);
        let lines = entries.iter().map(line).collect();
        let contracts = answer.receipt.bookings().iter();
        let mut contracts = contracts.filter_map(|b| node.contracts().get(b.contract));
        let dialect = contracts.find_map(|contract| contract.headers);
        Some(Self::with(lines, answer, now, dialect))
    }

    fn with(
        lines: SmallVec<[PolicyReport<'c>; 1]>,
        answer: &Answer,
        now: Instant,
        dialect: Option<Dialect>,
    ) -> Self {
        let refusal = refusal(answer, &lines);
        Self {
            lines,
            refusal,
            now,
            is_matched: !answer.is_unmatched(),
            dialect,
        }
    }

    pub const fn is_refusal(&self) -> bool {
        self.refusal.is_some()
    }

    /// The line of the policy that refuses longest, or has the least left.
    pub(crate) fn tightest(&self) -> Option<&PolicyReport<'c>> {
        let never = |line: &PolicyReport<'_>| (line.refused, line.more_after.unwrap_or(u64::MAX));
        self.lines.iter().min_by_key(|line| {
            let lasts = line.refused.then(|| never(line));
            (Reverse(lasts), line.remaining)
        })
    }
}

impl<'c> PolicyReport<'c> {
    /// A policy with this much left, and this much debt.
    fn of(label: Label<'c>, policy: &Policy, remaining: u64, debt: u64) -> Self {
        let config = policy.config();
        let Quota { tokens, window_ns } = policy.quota();
        Self {
            label,
            quota: tokens.min(INTEGER_MAX),
            window_ns,
            limit: config.limit.min(INTEGER_MAX),
            period_ns: config.period.nanos(),
            remaining: remaining.min(INTEGER_MAX),
            debt,
            more_after: None,
            refused: false,
        }
    }

    /// Whole seconds; `None` for periods that are not whole seconds.
    pub(crate) const fn window(&self) -> Option<u64> {
        whole_seconds(self.window_ns)
    }

    /// The same of the period that the contract names.
    pub(crate) const fn period(&self) -> Option<u64> {
        whole_seconds(self.period_ns)
    }
}

/// A policy of the request, by name.
struct Entry<'c> {
    place: (usize, usize),
    contract: &'c str,
    named: &'c NamedPolicy,
    standing: Standing,
}

/// How a policy stands for the key.
#[derive(Clone, Copy)]
struct Standing {
    remaining: u64,
    debt: u64,
    /// Until all of the quota is back.
    reset_after: Span,
    /// Until there is a token, if there is none.
    next_token_after: Span,
}

impl From<KeyStatus> for Standing {
    fn from(status: KeyStatus) -> Self {
        let KeyStatus {
            remaining,
            debt,
            reset_after,
            next_token_after,
            ..
        } = status;
        Self {
            remaining,
            debt,
            reset_after,
            next_token_after,
        }
    }
}

impl Standing {
    /// By the refusal alone.
    fn of(violation: &Violation) -> Self {
        Self {
            remaining: violation.said.remaining,
            debt: violation.said.debt,
            reset_after: Span::ZERO,
            next_token_after: Span::ZERO,
        }
    }
}

/// The only policy of the request, if the answer says how it stands.
fn lone_entry<'c>(node: &'c Node, answer: &'c Answer) -> Option<(Entry<'c>, Option<Dialect>)> {
    let Receipt::One(booking) = &answer.receipt else {
        return None;
    };
    let place = answer.contract?;
    let contract = node.contracts().get(place)?;
    let [named] = answer.policies_of(place, contract) else {
        return None;
    };
    // The answer lacks the time of the next token, and the standing of a policy that exempts some keys.
    let said = match answer.verdict {
        Verdict::Allow | Verdict::Delay { .. } => answer.remaining > 0,
        Verdict::Deny { .. } | Verdict::Never => answer.refused_by.is_some(),
    };
    if !said || named.policy.config().enforce_percent < 100 {
        return None;
    }
    told_entry(node, answer, (booking.contract, 0))
}

/// A policy as the answer reports it.
fn told_entry<'c>(
    node: &'c Node,
    answer: &'c Answer,
    place: (usize, usize),
) -> Option<(Entry<'c>, Option<Dialect>)> {
    let contract = node.contracts().get(place.0)?;
    let entry = Entry {
        place,
        contract: &contract.id,
        named: answer.policies_of(place.0, contract).get(place.1)?,
        standing: Standing {
            remaining: answer.remaining,
            debt: answer.debt,
            reset_after: answer.reset_after,
            next_token_after: Span::ZERO,
        },
    };
    Some((entry, contract.headers))
}

fn entries<'c>(node: &'c Node, answer: &'c Answer, now: Instant) -> Option<Vec<Entry<'c>>> {
    let mut entries = Vec::new();
    // What no contract answered was not charged by one either.
    let bookings = answer
        .contract
        .map_or(&[][..], |_| answer.receipt.bookings());
    for booking in bookings {
        let Booking {
            contract: place, ..
        } = *booking;
        let Some(contract) = node.contracts().get(place) else {
            continue;
        };
        let statuses = node.standing(booking, now)?;
        let policies = answer.policies_of(place, contract).iter();
        for (nth, (named, status)) in policies.zip(statuses).enumerate() {
            let config = named.policy.config();
            if config.enforce_percent > 0 {
                entries.push(Entry {
                    place: (place, nth),
                    contract: &contract.id,
                    named,
                    standing: status.into(),
                });
            }
        }
    }
    Some(entries)
}

impl<'c> Entry<'c> {
    fn refused(&self, answer: &Answer) -> bool {
        self.violation(answer).is_some()
    }

    /// This policy's refusal, if it refused.
    fn violation(&self, answer: &Answer) -> Option<Violation> {
        let mut violations = answer.violations().into_iter();
        violations.find(|one| (one.contract, one.said.policy) == self.place)
    }

    /// The policy's name, with the contract's if two share it.
    fn label(&self, all: &[Self]) -> Label<'c> {
        let name = &self.named.name;
        let namesakes = all.iter().filter(|other| other.named.name == *name);
        match namesakes.count() {
            1 => Label::short(name),
            _ => Label::full(self.contract, name),
        }
    }

    fn line(&self, label: Label<'c>, answer: &Answer) -> PolicyReport<'c> {
        let Standing {
            remaining, debt, ..
        } = self.standing;
        PolicyReport {
            more_after: self.more_after(answer),
            refused: self.refused(answer),
            ..PolicyReport::of(label, &self.named.policy, remaining, debt)
        }
    }

    /// Until there is more: a token if nothing is left, enough for a request that this policy refused, and otherwise
    /// the whole quota.
    fn more_after(&self, answer: &Answer) -> Option<u64> {
        let Standing {
            remaining,
            reset_after,
            next_token_after,
            ..
        } = self.standing;
        if let Some(violation) = self.violation(answer) {
            return violation.said.retry_after.and_then(seconds);
        }
        let after = match answer.verdict {
            _ if remaining == 0 => next_token_after,
            // A refused request should not get a later time than that of its retry.
            Verdict::Deny { .. } | Verdict::Never => return None,
            Verdict::Allow | Verdict::Delay { .. } => reset_after,
        };
        seconds(after).filter(|after| *after > 0)
    }
}

/// The refusal, whose time is no earlier than that of any line.
fn refusal(answer: &Answer, lines: &[PolicyReport<'_>]) -> Option<RefusalReason> {
    let retry_after = match answer.verdict {
        Verdict::Allow | Verdict::Delay { .. } => return None,
        Verdict::Never => {
            return Some(match answer.refused_by {
                Some(RefusedBy::Ban { .. }) => RefusalReason::Banned,
                Some(RefusedBy::Unmatched) => RefusalReason::Unmatched,
                _ => RefusalReason::Never,
            });
        }
        Verdict::Deny { retry_after } => seconds(retry_after).unwrap_or(INTEGER_MAX),
    };
    if let Some(RefusedBy::FullTable | RefusedBy::Unread) = answer.refused_by {
        return Some(RefusalReason::Full(retry_after));
    }
    let latest = lines.iter().filter_map(|line| line.more_after).max();
    let latest = latest.map_or(retry_after, |latest| latest.max(retry_after));
    Some(RefusalReason::Later(latest.max(1)))
}

/// `None` if not whole seconds.
const fn whole_seconds(nanos: u64) -> Option<u64> {
    if nanos.is_multiple_of(SECOND) {
        Some(nanos / SECOND)
    } else {
        None
    }
}

/// Whole seconds, rounded up; `None` if a structured field cannot hold it.
fn seconds(span: Span) -> Option<u64> {
    // Most spans fit in 64 bits, whose division is many times quicker.
    let seconds = match u64::try_from(span.as_nanos()) {
        Ok(nanos) => nanos.div_ceil(SECOND),
        Err(_) => u64::try_from(span.as_secs_ceil()).ok()?,
    };
    (seconds <= INTEGER_MAX).then_some(seconds)
}

const SECOND: u64 = 1_000_000_000;
/// The largest integer of a structured field.
const INTEGER_MAX: u64 = 999_999_999_999_999;
/// Limit on the policies reported.
const LINES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_up_and_have_an_end() {
        assert_eq!(seconds(Span::from_nanos(1)), Some(1));
        assert_eq!(seconds(Span::from_nanos(2_000_000_000)), Some(2));
        assert_eq!(seconds(Span::from_nanos(1 << 64)), Some(18_446_744_074));
        assert_eq!(seconds(Span::from_nanos(u128::MAX)), None);
    }
}
