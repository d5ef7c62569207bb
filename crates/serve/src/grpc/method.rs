//! The methods that are answered by hand: their paths, and who answers them.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tollgate_contract::OnFailure;
use tollgate_wire::gubernator::{GetRateLimitsReq, HealthCheckReq, LiveCheckReq, LiveCheckResp};
use tollgate_wire::rls::RateLimitRequest;

use super::frame::{decode, encode};
use super::status::{Code, Status};
use super::{authz, native, throttlecrab};
use crate::access::Operation;
use crate::engine::{EngineError, Turn};
use crate::gubernator::{self, TooMany};
use crate::rls::{self, RlsError};
use crate::settings::Scopes;
use crate::shared::Shared;

/// A method with one message each way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    ShouldRateLimit,
    CheckRateLimit,
    Report,
    Authorize,
    Check,
    CheckMany,
    GetRateLimits,
    HealthCheck,
    LiveCheck,
    Throttle,
}

/// An answer in its frame, and how long it is held back: mostly not at all.
pub(super) struct Answered {
    pub(super) framed: Bytes,
    pub(super) hold: Duration,
    /// What policies said to do as nobody was there who decides about the key.
    pub(super) fell_back: Option<OnFailure>,
}

impl Method {
    /// The method with this path.
    pub(super) fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => Self::ShouldRateLimit,
            "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit" => {
                Self::CheckRateLimit
            }
            "/kuadrant.service.ratelimit.v1.RateLimitService/Report" => Self::Report,
            "/envoy.service.auth.v3.Authorization/Check" => Self::Authorize,
            "/tollgate.v1.Tollgate/Check" => Self::Check,
            "/tollgate.v1.Tollgate/CheckMany" => Self::CheckMany,
            "/pb.gubernator.V1/GetRateLimits" => Self::GetRateLimits,
            "/pb.gubernator.V1/HealthCheck" => Self::HealthCheck,
            "/pb.gubernator.V1/LiveCheck" => Self::LiveCheck,
            "/throttlecrab.RateLimiter/Throttle" => Self::Throttle,
            _ => return None,
        })
    }

    /// What a caller must be let do; what a message asks beyond that is looked at with it.
    pub(super) const fn operation(self) -> Operation {
        match self {
            Self::ShouldRateLimit
            | Self::CheckRateLimit
            | Self::Authorize
            | Self::Check
            | Self::CheckMany
            | Self::GetRateLimits
            | Self::Throttle => Operation::Check,
            Self::Report => Operation::Charge,
            Self::HealthCheck | Self::LiveCheck => Operation::Greet,
        }
    }

    /// Answers a message of a caller with these scopes.
    pub(super) fn answer(
        self,
        message: Bytes,
        turn: &Turn<'_>,
        (shared, scopes): (&Shared, Scopes),
    ) -> Result<Answered, Status> {
        let (limits, dialect) = (&shared.settings.limits, shared.settings.dialect);
        let framed = match self {
            Self::ShouldRateLimit => call(message, |request| {
                bounded(&request, limits.key_bytes_max)?;
                if rls::gives_back(&request) {
                    within(Operation::Refund, scopes)?;
                }
                Ok(rls::decide(turn, &request, dialect)?)
            }),
            Self::CheckRateLimit => call(message, |request| {
                bounded(&request, limits.key_bytes_max)?;
                Ok(rls::check_only(turn, &request, dialect)?)
            }),
            Self::Report => call(message, |request| {
                bounded(&request, limits.key_bytes_max)?;
                Ok(rls::report(turn, &request)?)
            }),
            Self::Authorize => return authorize(message, turn, shared),
            Self::Check => call(message, |request| native::check(turn, &request, limits)),
            Self::CheckMany => call(message, |request| {
                native::check_many(turn, &request, limits)
            }),
            Self::GetRateLimits => call(message, |request: GetRateLimitsReq| {
                let asked = request.requests.iter();
                let mut lengths = asked.map(|asked| asked.name.len() + asked.unique_key.len());
                if lengths.any(|length| length > limits.key_bytes_max) {
                    return Err(native::too_long(limits.key_bytes_max));
                }
                if gubernator::writes(&request) {
                    within(Operation::Reset, scopes)?;
                }
                Ok(gubernator::get_rate_limits(turn, &request)?)
            }),
            Self::HealthCheck => call(message, |_: HealthCheckReq| {
                Ok(gubernator::health_check(shared))
            }),
            Self::LiveCheck => call(message, |_: LiveCheckReq| Ok(LiveCheckResp {})),
            Self::Throttle => call(message, |request| {
                throttlecrab::throttle(turn, &request, limits)
            }),
        };
        framed.map(|framed| Answered {
            framed,
            hold: Duration::ZERO,
            fell_back: turn.fell_back(),
        })
    }
}

/// Reads the question, asks, and writes the answer.
fn call<Q: Message + Default, A: Message>(
    message: Bytes,
    ask: impl FnOnce(Q) -> Result<A, Status>,
) -> Result<Bytes, Status> {
    ask(decode(message)?).map(|answer| encode(&answer))
}

fn authorize(message: Bytes, turn: &Turn<'_>, shared: &Shared) -> Result<Answered, Status> {
    let (response, hold) = authz::check(turn, &decode(message)?, shared)?;
    Ok(Answered {
        framed: encode(&response),
        hold,
        fell_back: turn.fell_back(),
    })
}

fn within(operation: Operation, scopes: Scopes) -> Result<(), Status> {
    operation.is_within(scopes).map_err(Status::denied)
}

/// Whether no key of a request is too long.
fn bounded(request: &RateLimitRequest, key_bytes_max: usize) -> Result<(), Status> {
    let mut lengths = request.descriptors.iter().map(|descriptor| {
        let entries = descriptor.entries.iter();
        let lengths = entries.map(|entry| entry.key.len() + entry.value.len());
        lengths.sum::<usize>()
    });
    if lengths.any(|length| length > key_bytes_max) {
        return Err(native::too_long(key_bytes_max));
    }
    Ok(())
}

impl From<RlsError> for Status {
    fn from(error: RlsError) -> Self {
        let code = match &error {
            RlsError::Full => Code::Unavailable,
            RlsError::Engine(error) => return error.clone().into(),
            RlsError::NoDomain
            | RlsError::NoDescriptors
            | RlsError::TooMany
            | RlsError::UnknownUnit
            | RlsError::CostTooLarge => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<TooMany> for Status {
    fn from(error: TooMany) -> Self {
        Self::new(Code::OutOfRange, error.to_string())
    }
}

impl From<EngineError> for Status {
    fn from(error: EngineError) -> Self {
        let code = match error {
            EngineError::TooManyPolicies | EngineError::Unreachable => Code::Unavailable,
            _ => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}
