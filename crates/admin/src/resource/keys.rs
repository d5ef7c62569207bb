//! Keys: why one is refused and until when, and the actions for it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_limit::Cost;
use tollgate_node::{Key, Scope};
use tollgate_serve::engine::{Act, EngineError, EngineRequest, Op, OpOutcome, Turn};
use tollgate_serve::http::explained as explanation;
use tollgate_wire::v1;

use super::explained::{self, ExplainedEntries};
use crate::answer::Reply;
use crate::call::{Call, checked};
use crate::fault::Fault;

/// `GET /keys/explain`: each `key` is an entry and its value; one without `=` is a bare key.
pub(crate) async fn explain(call: &Call) -> Result<Reply, Fault> {
    let texts: Vec<&str> = call.query.all("key").collect();
    let key = match *texts {
        [] => return Err(Fault::malformed("say whose, as `key=user=42`")),
        [bare] if !bare.contains('=') => v1::WireKey::Bare(bare.into()),
        _ => v1::WireKey::Entries(
            texts
                .iter()
                .map(|text| entry(text))
                .collect::<Result<_, _>>()?,
        ),
    };
    let asked = Asked {
        key,
        cost: call.query.number("cost")?.unwrap_or(1),
        contract: call.query.text("contract")?.map(Cow::from),
        id: None,
        reason: None,
    };
    let read =
        |turn: &Turn<'_>, ask: &EngineRequest<'_>, of: OpOutcome| explanation(turn, ask, of.read());
    let told = asked.run(call, Act::Foresee, read).await?;
    let mut told: Value = serde_json::from_slice(&told).unwrap_or_default();
    let entries = match &asked.key {
        v1::WireKey::Bare(value) => ExplainedEntries::Bare(value),
        v1::WireKey::Entries(entries) => ExplainedEntries::Named(entries),
    };
    explained::add(call, &entries, &mut told).await?;
    Ok(Reply::json(&told))
}

fn entry(text: &str) -> Result<(Cow<'_, str>, Cow<'_, str>), Fault> {
    let pair = text
        .split_once('=')
        .map(|(name, value)| (name.into(), value.into()));
    pair.ok_or_else(|| {
        Fault::malformed("of several entries each is a name and a value, as `key=user=42`")
    })
}

/// `POST /keys/reset`: as if the key were unknown.
pub(crate) async fn reset(call: &Call) -> Result<Reply, Fault> {
    act(call, "reset key", Act::Reset).await
}

/// `POST /keys/charge`: takes tokens without a check.
pub(crate) async fn charge(call: &Call) -> Result<Reply, Fault> {
    act(call, "charge key", Act::Charge).await
}

/// `POST /keys/refund`: gives tokens back.
pub(crate) async fn refund(call: &Call) -> Result<Reply, Fault> {
    act(call, "refund key", Act::Refund).await
}

async fn act(call: &Call, what: &str, act: Act) -> Result<Reply, Fault> {
    let asked: Asked<'_> = call.json()?;
    let reason = match &asked.reason {
        Some(reason) => checked(reason.to_string())?,
        None => call.reason()?,
    };
    let applied = asked
        .run(call, act, |turn, ask, outcome| {
            Ok(outcome.is_done() && turn.is_bound(ask.key))
        })
        .await?;
    let outcome = format!(
        "{}{reason}",
        if applied { "done: " } else { "nothing to do: " }
    );
    call.audit(what, &asked.shown(), outcome.trim_end_matches([':', ' ']))
        .await;
    Ok(Reply::json(&json!({ "applied": applied })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    #[serde(borrow)]
    key: v1::WireKey<'a>,
    #[serde(default = "one")]
    cost: u64,
    #[serde(borrow, default)]
    contract: Option<Cow<'a, str>>,
    /// Idempotency id.
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    reason: Option<Cow<'a, str>>,
}

impl Asked<'_> {
    /// Runs on the engine, waiting for the node that decides about the key.
    async fn run<T>(
        &self,
        call: &Call,
        act: Act,
        read: impl FnOnce(&Turn<'_>, &EngineRequest<'_>, OpOutcome) -> Result<T, EngineError> + Send,
    ) -> Result<T, Fault> {
        let entries: Vec<(&str, &str)> = match &self.key {
            v1::WireKey::Bare(_) => Vec::new(),
            v1::WireKey::Entries(entries) => entries
                .iter()
                .map(|(name, value)| (&**name, &**value))
                .collect(),
        };
        let key = match &self.key {
            v1::WireKey::Bare(text) => Key::Text(text.as_bytes()),
            v1::WireKey::Entries(_) => Key::Entries(&entries),
        };
        let max = call.shared.settings.limits.key_bytes_max;
        if self.shown().len() > max {
            return Err(Fault::invalid(format!(
                "a key may have at most {max} bytes in all"
            )));
        }
        let most = Cost::MAX.tokens();
        let wrong = |_| Fault::invalid(format!("a cost is a whole number from 0 to {most}"));
        let cost = Cost::new(self.cost).map_err(wrong)?;
        let ask = EngineRequest {
            scope: self.contract.as_deref().map_or(Scope::All, Scope::Contract),
            id: self.id.as_deref(),
            ..EngineRequest::new(key, cost)
        };
        let turn = call.shared.engine.turn();
        let (turn, outcome) = turn.decide(&Op::Key(act, ask)).await;
        let read = outcome.and_then(|outcome| read(&turn, &ask, outcome));
        read.map_err(|error| refused(&error))
    }

    /// The key as text.
    fn shown(&self) -> String {
        match &self.key {
            v1::WireKey::Bare(text) => text.to_string(),
            v1::WireKey::Entries(entries) => {
                let entries = entries
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"));
                entries.collect::<Vec<_>>().join(",")
            }
        }
    }
}

fn refused(error: &EngineError) -> Fault {
    match error {
        EngineError::UnknownContract(_) => Fault::not_found(error.to_string()),
        EngineError::Unreachable | EngineError::TooManyPolicies => {
            Fault::unavailable(error.to_string())
        }
        EngineError::BadId
        | EngineError::Id(_)
        | EngineError::Receipt(_)
        | EngineError::Policy(_)
        | EngineError::Malformed => Fault::invalid(error.to_string()),
    }
}

const fn one() -> u64 {
    1
}
