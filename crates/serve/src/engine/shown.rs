//! What those who watch are shown of decisions.
//!
//! Not here: who watches, and by which filter (`tail`).

use smallvec::SmallVec;
use tollgate_limit::{Decision, Span, Verdict};
use tollgate_node::{Answer, Key};

use super::{EngineRequest, Turn};
use crate::meter::Judgement;
use crate::tail::{DESCRIBED, TailLine, TailedDecision};

impl Turn<'_> {
    /// Shows a decision by contracts; no answer is a request that got none.
    #[cold]
    pub(super) fn show(
        &self,
        ask: &EngineRequest<'_>,
        judgement: Judgement,
        answer: Option<&Answer>,
    ) {
        let named = answer.and_then(|answer| self.named(answer));
        let mut contracts: SmallVec<[&str; 4]> = SmallVec::new();
        contracts.extend(named.map(|(contract, _)| &*contract.id));
        if let Some(answer) = answer {
            let booked = answer.receipt.bookings().iter();
            let booked = booked.filter_map(|booking| self.contract_of(answer, booking.contract));
            contracts.extend(booked.map(|contract| &*contract.id));
        }
        let line = || {
            let line = self.line(ask.key, ask.cost.tokens(), judgement);
            let Some(answer) = answer else { return line };
            TailLine {
                contract: named.map(|(contract, _)| contract.id.clone()),
                policy: named.map(|(_, policy)| policy.name.clone()),
                limit: answer.limit,
                capacity: self.capacity(answer),
                remaining: answer.remaining,
                debt: answer.debt,
                ..timed(line, answer.verdict)
            }
        };
        self.engine
            .tail()
            .show(&self.seen(ask.key, judgement, &contracts), line);
    }

    /// Shows a decision by a policy that the request itself describes.
    #[cold]
    pub(super) fn show_described(
        &self,
        key: Key<'_>,
        cost: u64,
        judgement: Judgement,
        decision: Option<&Decision>,
    ) {
        let line = || {
            let line = TailLine {
                contract: Some(DESCRIBED.to_owned()),
                ..self.line(key, cost, judgement)
            };
            let Some(decision) = decision else {
                return line;
            };
            TailLine {
                limit: decision.limit,
                capacity: decision.limit,
                remaining: decision.remaining,
                debt: decision.debt,
                ..timed(line, decision.verdict)
            }
        };
        let seen = self.seen(key, judgement, &[DESCRIBED]);
        self.engine.tail().show(&seen, line);
    }

    const fn seen<'s>(
        &self,
        key: Key<'s>,
        judgement: Judgement,
        contracts: &'s [&'s str],
    ) -> TailedDecision<'s> {
        TailedDecision {
            key,
            judgement,
            contracts,
            now: self.now,
        }
    }

    fn line(&self, key: Key<'_>, cost: u64, judgement: Judgement) -> TailLine {
        TailLine {
            at_ms: self.now.as_nanos() / 1_000_000,
            door: self.door.name(),
            verdict: judgement.name(),
            key: self.engine.meter().name_of(key),
            cost,
            ..TailLine::default()
        }
    }
}

fn timed(line: TailLine, verdict: Verdict) -> TailLine {
    let millis = |span: Span| u64::try_from(span.as_nanos().div_ceil(1_000_000)).ok();
    match verdict {
        Verdict::Delay { wait } => TailLine {
            wait_ms: millis(wait),
            ..line
        },
        Verdict::Deny { retry_after } => TailLine {
            retry_after_ms: millis(retry_after),
            ..line
        },
        Verdict::Allow | Verdict::Never => line,
    }
}
