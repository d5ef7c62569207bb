//! The answers of a rate limit service, as Envoy asks it.
//!
//! Every descriptor is judged and charged by itself, as the reference server does it: one that is refused takes nothing
//! back from the others. Inside one descriptor the policies that bind it stay all or nothing. The descriptor's entries are
//! the key; contracts of the contract file bind it in every domain, imported rules in theirs. A descriptor that brings a
//! limit of its own is judged by that alone. A key that is longer than keys may be is shortened and counted all the same.
//!
//! Not here: the reference server's statistics, and `quota`, which Envoy ignores.

mod header;
mod judge;
mod status;

use std::fmt;

use smallvec::SmallVec;
use tollgate_client::Dialect;
use tollgate_wire::rls::{Code, DescriptorStatus, RateLimitRequest, RateLimitResponse};

use crate::engine::{EngineError, Turn};

use judge::{Count, Judged, Request};

/// The most descriptors of one request, and the most entries of one descriptor.
pub const LIST_MAX: usize = tollgate_wire::rls::LIST_MAX;

/// Why a request as a whole has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RlsError {
    /// The domain is empty.
    NoDomain,
    /// There is no descriptor.
    NoDescriptors,
    /// There are more descriptors, or more entries in one, than [`LIST_MAX`].
    TooMany,
    /// A limit that a request brought along is per nothing known.
    UnknownUnit,
    /// A cost is beyond 2^63 - 1.
    CostTooLarge,
    /// The engine could not answer.
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

/// Whether a request gives back what was taken.
pub fn gives_back(request: &RateLimitRequest) -> bool {
    let mut descriptors = request.descriptors.iter();
    descriptors.any(|descriptor| descriptor.is_negative_hits)
}

/// Judges a request, and says no more than the statuses.
pub fn should_rate_limit(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    key_bytes_max: usize,
) -> Result<RateLimitResponse, RlsError> {
    decide(turn, request, Dialect::None, key_bytes_max)
}

/// Judges a request, with header fields and a body for the client unless the dialect is none and contracts name none.
pub fn decide(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    dialect: Dialect,
    key_bytes_max: usize,
) -> Result<RateLimitResponse, RlsError> {
    answer(turn, request, Count::Judged, dialect, key_bytes_max)
}

/// Judges a request without counting it: Kuadrant's `CheckRateLimit`.
pub fn check_only(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    dialect: Dialect,
    key_bytes_max: usize,
) -> Result<RateLimitResponse, RlsError> {
    answer(turn, request, Count::Not, dialect, key_bytes_max)
}

/// Counts a request without judging it: Kuadrant's `Report`.
pub fn report(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    key_bytes_max: usize,
) -> Result<RateLimitResponse, RlsError> {
    answer(turn, request, Count::Unjudged, Dialect::None, key_bytes_max)
}

fn answer(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    count: Count,
    dialect: Dialect,
    key_bytes_max: usize,
) -> Result<RateLimitResponse, RlsError> {
    check(request)?;
    let texts = request.descriptors.iter();
    let texts: SmallVec<[_; 2]> = texts.map(|one| judge::texts(one, key_bytes_max)).collect();
    let entries: SmallVec<[_; 2]> = texts.iter().map(judge::entries).collect();
    let entries: SmallVec<[_; 2]> = entries.iter().map(|entries| &**entries).collect();
    let request = Request::new(turn, request, &entries, count);
    let judged = request.judge()?;
    let is_over = is_over(&judged);
    let mut response = RateLimitResponse {
        overall_code: if is_over { Code::OverLimit } else { Code::Ok }.into(),
        ..RateLimitResponse::default()
    };
    header::put(turn, &judged, dialect, &mut response);
    let statuses = judged.into_iter().map(|judged| judged.status);
    response.statuses = statuses.collect::<Vec<DescriptorStatus>>();
    Ok(response)
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
