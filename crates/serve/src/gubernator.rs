//! The answers that clients of gubernator expect.
//!
//! A node acts as a whole cluster: flags for batching, other nodes and regions are honoured by answering here at once.
//! Not here: how it counts (`tollgate_node::Gubernator`).

use std::borrow::Cow;
use std::fmt;

use tollgate_node::{GubernatorAlgorithm, GubernatorAsk};
use tollgate_wire::gubernator::{
    Algorithm, Behavior, GetRateLimitsReq, GetRateLimitsResp, HealthCheckResp, RateLimitReq,
    RateLimitResp, Status,
};

use crate::engine::Turn;
use crate::shared::Shared;
use crate::value::shorten;

/// A call with more requests is refused as a whole.
pub const REQUESTS_MAX: usize = tollgate_wire::gubernator::REQUESTS_MAX;

/// Why a call as a whole has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a call has at most {REQUESTS_MAX} requests")
    }
}

impl std::error::Error for TooMany {}

/// Whether a call returns tokens or resets a key.
pub fn writes(request: &GetRateLimitsReq) -> bool {
    let resets = |asked: &RateLimitReq| Behavior::ResetRemaining.is_in(asked.behavior);
    let mut requests = request.requests.iter();
    requests.any(|asked| asked.hits < 0 || resets(asked))
}

/// Decides each request, in order. An invalid one has an error of its own, and a long key is shortened.
pub fn get_rate_limits(
    turn: &Turn<'_>,
    request: &GetRateLimitsReq,
    key_bytes_max: usize,
) -> Result<GetRateLimitsResp, TooMany> {
    if request.requests.len() > REQUESTS_MAX {
        return Err(TooMany);
    }
    let decided = request.requests.iter().map(|request| {
        decide(turn, request, key_bytes_max).unwrap_or_else(|error| RateLimitResp {
            error,
            ..RateLimitResp::default()
        })
    });
    Ok(GetRateLimitsResp {
        responses: decided.collect(),
    })
}

fn decide(
    turn: &Turn<'_>,
    request: &RateLimitReq,
    key_bytes_max: usize,
) -> Result<RateLimitResp, String> {
    let mut key = [(&request.name, Cow::Borrowed(&*request.unique_key))];
    shorten(&mut key, key_bytes_max);
    let [(_, key)] = &key;
    let answer = turn.gubernate(&ask(request, key)?);
    let answer = answer.map_err(|error| error.to_string())?;
    let status = if answer.is_over {
        Status::OverLimit
    } else {
        Status::UnderLimit
    };
    Ok(RateLimitResp {
        status: status.into(),
        limit: answer.limit,
        remaining: answer.remaining,
        reset_time: answer.reset_at,
        ..RateLimitResp::default()
    })
}

fn ask<'a>(request: &'a RateLimitReq, key: &'a str) -> Result<GubernatorAsk<'a>, String> {
    let RateLimitReq { name, behavior, .. } = request;
    for (field, value) in [("unique_key", key), ("name", name)] {
        if value.is_empty() {
            return Err(format!("`{field}` must not be empty"));
        }
    }
    let algorithm = match Algorithm::try_from(request.algorithm) {
        Ok(Algorithm::TokenBucket) => GubernatorAlgorithm::TokenBucket,
        Ok(Algorithm::LeakyBucket) => GubernatorAlgorithm::LeakyBucket,
        Err(_) => return Err(format!("there is no algorithm {}", request.algorithm)),
    };
    Ok(GubernatorAsk {
        name,
        key,
        cost: request.hits,
        limit: request.limit,
        duration: request.duration,
        burst: request.burst,
        algorithm,
        is_gregorian: Behavior::DurationIsGregorian.is_in(*behavior),
        resets: Behavior::ResetRemaining.is_in(*behavior),
        drains: Behavior::DrainOverLimit.is_in(*behavior),
        created_at: request.created_at.filter(|at| *at != 0),
    })
}

/// The health of this node, which gubernator's clients see as a whole cluster.
pub fn health_check(shared: &Shared) -> HealthCheckResp {
    let (status, message) = if shared.state.is_ready() {
        ("healthy", "")
    } else {
        ("unhealthy", "the server is starting or stopping")
    };
    HealthCheckResp {
        status: status.to_owned(),
        message: message.to_owned(),
        peer_count: 1,
        advertise_address: String::new(),
    }
}
