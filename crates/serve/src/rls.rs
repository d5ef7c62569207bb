//! The answers of a rate limit service, as Envoy asks it.
//!
//! Every descriptor is judged and charged by itself, as the reference server does it: one that is refused takes nothing
//! back from the others. Inside one descriptor the policies that bind it stay all or nothing. The descriptor's entries are
//! the key; contracts of the contract file bind it in every domain, imported rules in theirs. A descriptor that brings a
//! limit of its own is judged by that alone. A key that is longer than keys may be is shortened and counted all the same.
//!
//! Not here: `quota`, which Envoy ignores.

mod header;
mod judge;
mod metadata;
mod status;

use std::fmt;

use smallvec::SmallVec;
use tollgate_client::Dialect;
use tollgate_wire::rls::{Code, DescriptorStatus, RateLimitRequest, RateLimitResponse};

use crate::engine::{EngineError, Turn};
use crate::meter::Event;
use crate::settings::{RlsSettings, Settings};

pub use judge::Count;
use judge::{Judged, Request};

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

/// How requests are answered, as the settings say.
#[derive(Clone, Copy, Debug)]
pub struct Manner<'s> {
    /// Header fields for the client, where a contract names none.
    pub dialect: Dialect,
    /// Bytes of one key.
    pub key_bytes_max: usize,
    /// What else is said.
    pub rls: &'s RlsSettings,
}

impl<'s> From<&'s Settings> for Manner<'s> {
    fn from(settings: &'s Settings) -> Self {
        Self {
            dialect: settings.dialect,
            key_bytes_max: settings.limits.key_bytes_max,
            rls: &settings.keeping.rls,
        }
    }
}

/// Answers a request, with header fields and a body for the client unless the dialect is none and contracts name none.
pub fn answer(
    turn: &Turn<'_>,
    request: &RateLimitRequest,
    count: Count,
    manner: &Manner<'_>,
) -> Result<RateLimitResponse, RlsError> {
    check(request)?;
    let texts = request.descriptors.iter();
    let texts: SmallVec<[_; 2]> = texts
        .map(|one| judge::texts(one, manner.key_bytes_max))
        .collect();
    let entries: SmallVec<[_; 2]> = texts.iter().map(judge::entries).collect();
    let entries: SmallVec<[_; 2]> = entries.iter().map(|entries| &**entries).collect();
    let request = Request::new(turn, (request, &entries), count, manner.rls);
    let judged = request.judge()?;
    let is_over = is_over(&judged);
    let is_shadowed = is_over && manner.rls.shadow;
    let code = if is_over && !is_shadowed {
        Code::OverLimit
    } else {
        Code::Ok
    };
    let mut response = RateLimitResponse {
        overall_code: code.into(),
        dynamic_metadata: manner.rls.metadata.then(|| request.metadata(&judged)),
        ..RateLimitResponse::default()
    };
    if is_shadowed {
        // Clients hear nothing of limits that are not in force yet.
        turn.meter().count(Event::Shadowed);
    } else {
        header::put(turn, &judged, manner.dialect, &mut response);
    }
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
