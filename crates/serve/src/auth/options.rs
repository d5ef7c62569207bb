//! What the proxy's configuration adds to the request: options, and entries of its own.

use std::borrow::Cow;

use http::StatusCode;
use smallvec::SmallVec;
use tollgate_limit::Cost;

use super::{AuthError, MalformedQuestion, Unfit};

/// Options and entries of a question.
///
/// `contract`, `cost`, `deny`, `delay` and `entries` are options; every other name is an entry.
#[derive(Debug)]
pub(super) struct QuestionOptions<'a> {
    pub(super) contract: Option<Cow<'a, str>>,
    pub(super) cost: Cost,
    /// The status of a refusal, if not the default.
    pub(super) deny: Option<StatusCode>,
    pub(super) delay: DelayHandling,
    /// Names of the entries to count by, in order, separated by commas; all if absent.
    pub(super) picked: Option<Cow<'a, str>>,
    pub(super) entries: SmallVec<[(Cow<'a, str>, Cow<'a, str>); 2]>,
}

/// How a request that has to wait is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelayHandling {
    /// It passes, and the answer says how long the proxy should hold it back.
    Tell,
    /// It passes when its time has come: the answer is held back.
    Hold,
    Deny,
}

impl<'a> QuestionOptions<'a> {
    pub(super) fn read(
        given: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
    ) -> Result<Self, MalformedQuestion> {
        let mut options = Self {
            contract: None,
            cost: Cost::ONE,
            deny: None,
            delay: DelayHandling::Tell,
            picked: None,
            entries: SmallVec::new(),
        };
        for (name, value) in given {
            match &*name {
                "contract" => options.contract = Some(value),
                "cost" => options.cost = cost(&value)?,
                "deny" => options.deny = Some(deny(&value)?),
                "delay" => options.delay = delay(&value)?,
                "entries" => options.picked = Some(value),
                _ if options.entries.len() == ENTRIES_MAX => {
                    return Err(MalformedQuestion(format!(
                        "more than {ENTRIES_MAX} entries are given"
                    )));
                }
                _ => options.entries.push((name, value)),
            }
        }
        Ok(options)
    }

    /// The error for a client's request that is denied for this reason.
    pub(super) fn unfit(&self, what: String) -> AuthError {
        let status = self.deny.unwrap_or(StatusCode::FORBIDDEN);
        AuthError::Unfit(Unfit { what, status })
    }
}

fn cost(value: &str) -> Result<Cost, MalformedQuestion> {
    let tokens = value.parse().ok().filter(|_| !value.starts_with('+'));
    let cost = tokens.and_then(|tokens| Cost::new(tokens).ok());
    let most = Cost::MAX.tokens();
    let wrong = || format!("`{value}` is no cost; it is a whole number from 0 to {most}");
    cost.ok_or_else(|| MalformedQuestion(wrong()))
}

fn deny(value: &str) -> Result<StatusCode, MalformedQuestion> {
    let status = value.parse().ok().filter(StatusCode::is_client_error);
    status
        .ok_or_else(|| MalformedQuestion(format!("`{value}` is no status of a refusal, as 403 is")))
}

fn delay(value: &str) -> Result<DelayHandling, MalformedQuestion> {
    match value {
        "tell" => Ok(DelayHandling::Tell),
        "hold" => Ok(DelayHandling::Hold),
        "deny" => Ok(DelayHandling::Deny),
        _ => Err(MalformedQuestion(format!(
            "`{value}` is nothing to do with a delay; there are `tell`, `hold` and `deny`"
        ))),
    }
}

/// Limit on entries given by the proxy's configuration.
const ENTRIES_MAX: usize = 32;
