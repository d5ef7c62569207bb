//! `POST /v1/explain`: why would this request pass or not?

use std::borrow::Cow;

use tollgate_wire::v1::{self, ExplainRequest, ExplainResponse, PolicyExplained};

use super::reply::{JSON, encoded};
use super::request::{self, BodyRefusal};
use super::{ReceivedRequest, Reply};
use crate::engine::{Act, EngineError, EngineRequest, Explained, Op, RemoteAnswer, Scope, Turn};
use crate::value::millis;

pub(super) fn explain(turn: &Turn<'_>, asked: &ReceivedRequest<'_>, reply: &mut Reply) {
    if let Some(request) = request::read(asked, reply) {
        let done = explained(turn, asked, &request, reply);
        done.unwrap_or_else(|refusal| refusal.answer(reply));
    }
}

fn explained(
    turn: &Turn<'_>,
    asked: &ReceivedRequest<'_>,
    request: &ExplainRequest<'_>,
    reply: &mut Reply,
) -> Result<(), BodyRefusal> {
    let entries = request::entries(&request.key);
    let contract = request.contract.as_deref();
    let ask = EngineRequest {
        scope: contract.map_or(Scope::All, Scope::Contract),
        ..EngineRequest::new(
            request::key(&request.key, &entries, asked)?,
            request::cost(request.cost)?,
        )
    };
    let op = Op::Key(Act::Foresee, ask);
    let started = turn.ask(&op, |turn, op, outcome| {
        told(turn, op.ask()?, outcome?.read())
    });
    reply.put(turn, started, |_, body, reply| reply.own(JSON, body));
    Ok(())
}

/// The explanation as a body, from state read on another node or else on this one.
pub fn told(
    turn: &Turn<'_>,
    ask: &EngineRequest<'_>,
    said: Option<RemoteAnswer>,
) -> Result<Vec<u8>, EngineError> {
    let explanation = turn.explain(ask, said)?;
    let misses = explanation.misses.iter().map(|miss| v1::ExplainedMiss {
        contract: Cow::Borrowed(&miss.contract.id),
        lacks: miss.lacks.clone(),
        did_you_mean: miss
            .slips
            .iter()
            .map(|(is, meant)| (is.clone(), meant.clone()))
            .collect(),
    });
    let bans = explanation.bans.iter().map(|ban| v1::BanExplained {
        identity: ban.identity.to_string(),
        contract: ban.contract.as_deref().map(Cow::Borrowed),
        until_ms: ban.until.map(|until| until.as_nanos() / 1_000_000),
        reason: ban.reason.as_deref().map(Cow::Borrowed),
    });
    Ok(encoded(&ExplainResponse {
        summary: Cow::Borrowed(&explanation.sentence),
        verdict: verdict(explanation.verdict),
        matched: !explanation.policies.is_empty(),
        bans: bans.collect(),
        policies: explanation.policies.iter().map(policy).collect(),
        misses: misses.collect(),
    }))
}

fn policy<'a>(explained: &'a Explained<'_>) -> PolicyExplained<'a> {
    let forecast = &explained.forecast;
    PolicyExplained {
        contract: Cow::Borrowed(&explained.contract.id),
        policy: Cow::Borrowed(&explained.policy.name),
        summary: Cow::Borrowed(&explained.sentence),
        verdict: verdict(forecast.verdict),
        assigned: explained.is_assigned,
        enforced: forecast.is_enforced,
        limit: forecast.limit,
        capacity: forecast.capacity,
        remaining: forecast.remaining,
        debt: forecast.debt,
        reset_after_ms: millis(forecast.reset_after),
    }
}

fn verdict(verdict: tollgate_limit::Verdict) -> v1::ExplainVerdict {
    v1::ExplainVerdict {
        allowed: verdict.is_allowed(),
        retry_after_ms: verdict.retry_after().map(millis),
        wait_ms: millis(verdict.wait()),
    }
}
