//! Envoy's rate limit service.
//!
//! Every descriptor is judged and charged alone, as the reference server does: a refused one refunds nothing of the
//! others. Inside one descriptor its policies stay all or nothing. The descriptor's entries are the key; contracts of
//! the contract file apply in every domain, imported rules in their own. A descriptor with a limit of its own is judged
//! by that alone. A key longer than permitted is shortened and still counted.
//!
//! Not here: `quota`, which Envoy ignores.

mod judge;
mod metadata;
mod status;

use std::fmt;

use tollgate_contract::Dialect;
use tollgate_wire::rls::{Code, DescriptorStatus, RateLimitRequest, RateLimitResponse};

use crate::engine::{EngineError, Started, Steps, Turn};
use crate::meter::Event;
use crate::settings::Settings;

pub use judge::Counting;
use judge::{Judged, RlsRequest};

/// Limit on descriptors per request, and on entries per descriptor.
pub const LIST_MAX: usize = tollgate_wire::rls::LIST_MAX;

/// Why a request as a whole has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RlsError {
    NoDomain,
    NoDescriptors,
    /// There are more descriptors, or more entries in one, than [`LIST_MAX`].
    TooMany,
    /// A limit in the request has an unknown unit.
    UnknownUnit,
    CostTooLarge,
    Engine(EngineError),
    /// There is no room for the key.
    Full,
}

impl fmt::Display for RlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDomain => f.write_str("a request needs a domain"),
            Self::NoDescriptors => f.write_str("a request needs a descriptor"),
            Self::TooMany => write!(f, "more than {LIST_MAX} descriptors or entries"),
            Self::UnknownUnit => f.write_str("a limit needs a unit from second to year"),
            Self::CostTooLarge => f.write_str("`hits_addend` is beyond 2^63 - 1"),
            Self::Engine(error) => error.fmt(f),
            Self::Full => f.write_str("no room for another key"),
        }
    }
}

impl std::error::Error for RlsError {}

/// Whether a request refunds tokens.
pub fn gives_back(request: &RateLimitRequest) -> bool {
    let mut descriptors = request.descriptors.iter();
    descriptors.any(|descriptor| descriptor.is_negative_hits)
}

/// The settings that affect answers.
#[derive(Clone, Copy, Debug)]
pub struct JudgeOptions {
    /// Header fields for the client, unless a contract names others.
    pub dialect: Dialect,
    /// Limit on the bytes of one key.
    pub key_bytes_max: usize,
    /// Whether no request is refused as a whole.
    pub shadow: bool,
    /// Whether every rule is in quota mode.
    pub quota: bool,
    /// Whether answers have dynamic metadata.
    pub metadata: bool,
    /// The share of a limit from which hits count as near it, in percent.
    pub near_limit: u64,
}

impl From<&Settings> for JudgeOptions {
    fn from(settings: &Settings) -> Self {
        let rls = &settings.keeping.rls;
        Self {
            dialect: settings.dialect,
            key_bytes_max: settings.limits.key_bytes_max,
            shadow: rls.shadow,
            quota: rls.quota,
            metadata: rls.metadata,
            near_limit: rls.near_limit,
        }
    }
}

/// Answers a request, with header fields and a body for the client unless the dialect is none and contracts name none.
pub fn answer(
    turn: &Turn<'_>,
    request: RateLimitRequest,
    count: Counting,
    manner: JudgeOptions,
) -> Started<Result<RateLimitResponse, RlsError>> {
    if let Err(error) = check(&request) {
        return Started::Now(Err(error));
    }
    if !turn.waits() {
        let response = judge::lend(turn, &request, count, manner, |request| {
            request.respond(None)
        });
        return Started::Now(response);
    }
    match judge::lend(turn, &request, count, manner, judge::start) {
        Err(error) => Started::Now(Err(error)),
        Ok(steps) => Started::several(turn, steps, move |turn, steps| {
            judge::lend(turn, &request, count, manner, |request| {
                request.respond(Some(steps))
            })
        }),
    }
}

impl RlsRequest<'_> {
    /// The response by the started steps, or else by deciding now.
    fn respond(&self, started: Option<Steps>) -> Result<RateLimitResponse, RlsError> {
        let judged = self.judge(started)?;
        let is_over = is_over(&judged);
        let is_shadowed = is_over && self.manner.shadow;
        let code = if is_over && !is_shadowed {
            Code::OverLimit
        } else {
            Code::Ok
        };
        let mut response = RateLimitResponse {
            overall_code: code.into(),
            dynamic_metadata: self.manner.metadata.then(|| self.metadata(&judged)),
            ..RateLimitResponse::default()
        };
        if is_shadowed {
            // Shadowed limits must not show in header fields.
            self.turn.meter().count(Event::Shadowed);
        } else {
            status::put_fields(self.turn, &judged, self.manner.dialect, &mut response);
        }
        let statuses = judged.into_iter().map(|judged| judged.status);
        response.statuses = statuses.collect::<Vec<DescriptorStatus>>();
        Ok(response)
    }
}

fn check(request: &RateLimitRequest) -> Result<(), RlsError> {
    if request.domain.is_empty() {
        return Err(RlsError::NoDomain);
    }
    if request.descriptors.is_empty() {
        return Err(RlsError::NoDescriptors);
    }
    let long =
        |descriptor: &tollgate_wire::rls::RateLimitDescriptor| descriptor.entries.len() > LIST_MAX;
    if request.descriptors.len() > LIST_MAX || request.descriptors.iter().any(long) {
        return Err(RlsError::TooMany);
    }
    Ok(())
}

/// Whether a request is refused: a descriptor is, or all of those whose rules are in quota mode are.
fn is_over(judged: &[Judged]) -> bool {
    let mut quota = judged.iter().filter(|judged| judged.is_quota).peekable();
    let spent = quota.peek().is_some() && quota.all(Judged::is_over);
    spent
        || judged
            .iter()
            .any(|judged| !judged.is_quota && judged.is_over())
}
