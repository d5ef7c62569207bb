//! Decisions by policies that requests describe themselves.
//!
//! Not here: what protocols say of them (`throttle`, `rls`), nor the keys and their states (`tollgate_node::Adhoc`).

use tollgate_limit::{Decision, PolicyConfig, Span};
use tollgate_node::{Adhoc, AdhocAsk, AdhocError, Answer, Space};
use tollgate_table::Print;

use super::{EngineError, EngineRequest, Scope, Turn};
use crate::meter::{Decided, Judgement, Meter};

impl Turn<'_> {
    /// Decides one request by a policy that the request itself describes, for a key in a space of the protocol's own.
    ///
    /// A key keeps its state when it comes with another policy, as far as that policy's `inherit` says. A domain sets
    /// its keys apart from those of others. There are no receipts, and operation ids are not looked at; a refusal names
    /// no contract.
    pub fn check_described(
        &self,
        space: &str,
        ask: &EngineRequest<'_>,
        policy: &PolicyConfig,
    ) -> Result<Answer, EngineError> {
        match self.describe(Space::named(space), ask, policy) {
            Ok(decision) => Ok(answer(&decision)),
            Err(AdhocError::Full) => Ok(Answer::full()),
            Err(AdhocError::Policy(error)) => Err(EngineError::Policy(error)),
        }
    }

    /// What counts what happens.
    pub(crate) fn meter(&self) -> &Meter {
        self.engine.meter()
    }

    /// Keys of policies that requests describe.
    pub(crate) fn adhoc(&self) -> &Adhoc {
        &self.engine.adhoc
    }

    /// The decision alone, for protocols that say no more.
    #[inline]
    pub(crate) fn describe(
        &self,
        space: Space,
        ask: &EngineRequest<'_>,
        policy: &PolicyConfig,
    ) -> Result<Decision, AdhocError> {
        let within = match ask.scope {
            Scope::All | Scope::Contract(_) => None,
            Scope::Domain(domain) => Some(domain),
        };
        let print = self.engine.adhoc.print(space, within, ask.key);
        self.describe_print(print, ask, policy)
    }

    /// The same, for a key whose print is known.
    #[inline]
    pub(crate) fn describe_print(
        &self,
        print: Print,
        ask: &EngineRequest<'_>,
        policy: &PolicyConfig,
    ) -> Result<Decision, AdhocError> {
        let asked = AdhocAsk {
            print,
            cost: ask.cost,
            policy,
        };
        let decision = self.engine.adhoc.check(&asked, self.now);
        let cost = ask.cost.tokens();
        if let Ok(decision) = &decision {
            self.count_described(print.0, ask.key, cost, decision.verdict);
        }
        let judgement = match &decision {
            Ok(decision) => Judgement::of(decision.verdict, false),
            Err(AdhocError::Full) => Judgement::Denied,
            Err(AdhocError::Policy(_)) => Judgement::Failed,
        };
        self.engine.meter().decided(&Decided {
            door: self.door,
            key: ask.key,
            judgement,
            contract: None,
            now: self.now,
        });
        if self.engine.tail().is_watched() {
            self.show_described(ask.key, cost, judgement, decision.as_ref().ok());
        }
        decision
    }
}

fn answer(decision: &Decision) -> Answer {
    Answer {
        verdict: decision.verdict,
        limit: decision.limit,
        remaining: decision.remaining,
        debt: decision.debt,
        reset_after: decision.reset_after,
        ..Answer::unbound()
    }
}

/// Nobody knows when there will be room; as long as contracts say.
pub(crate) const RETRY_WHEN_FULL: Span = Span::from_nanos(1_000_000_000);
