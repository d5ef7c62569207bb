//! The methods answered without tonic: their paths, handlers, and message frames (a byte for compression, four for the
//! length, the message).
//!
//! Not here: how long a message may take to arrive.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::StatusCode;
use http_body::Body;
use prost::Message;
use tollgate_contract::{Dialect, OnFailure};
use tollgate_wire::gubernator::{GetRateLimitsReq, HealthCheckReq, LiveCheckReq, LiveCheckResp};
use tollgate_wire::rls::{Code as Verdict, RateLimitResponse};

use super::status::{GrpcCode, GrpcStatus};
use super::{authz, native, throttlecrab};
use crate::access::Operation;
use crate::auth::Unfit;
use crate::engine::{EngineError, Started, Turn};
use crate::gubernator::{self, TooMany};
use crate::rls::{self, Counting, JudgeOptions, RlsError};
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

/// A framed answer, and how long it is held back: usually zero.
pub(super) struct GrpcAnswer {
    pub(super) framed: Bytes,
    pub(super) hold: Duration,
    /// The applied `on_failure` if the node that decides about the key was unreachable.
    pub(super) fell_back: Option<OnFailure>,
}

impl Method {
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

    /// The operation a caller must be authorized for; further demands of a message are checked with it.
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
        shared: &Shared,
        scopes: Scopes,
    ) -> Begun<GrpcAnswer> {
        let limits = &shared.settings.limits;
        let manner = JudgeOptions::from(&shared.settings);
        match self {
            Self::ShouldRateLimit => call(turn, message, |request| {
                if rls::gives_back(&request) {
                    within(Operation::Refund, scopes)?;
                }
                Ok(rls::answer(turn, request, Counting::Judged, manner))
            }),
            Self::CheckRateLimit => call(turn, message, |request| {
                Ok(rls::answer(turn, request, Counting::Not, manner))
            }),
            Self::Report => call(turn, message, |request| {
                let dialect = Dialect::None;
                let manner = JudgeOptions { dialect, ..manner };
                Ok(rls::answer(turn, request, Counting::Unjudged, manner))
            }),
            Self::Authorize => authorize(message, turn, shared),
            Self::Check => call(turn, message, |request| {
                native::check(turn, &request, limits)
            }),
            Self::CheckMany => call(turn, message, |request| {
                native::check_many(turn, &request, limits)
            }),
            Self::GetRateLimits => call(turn, message, |request: GetRateLimitsReq| {
                if gubernator::writes(&request) {
                    within(Operation::Reset, scopes)?;
                }
                let most = limits.key_bytes_max;
                Ok(now(gubernator::get_rate_limits(turn, &request, most)?))
            }),
            Self::HealthCheck => call(turn, message, |_: HealthCheckReq| {
                Ok(now(gubernator::health_check(shared)))
            }),
            Self::LiveCheck => call(turn, message, |_: LiveCheckReq| Ok(now(LiveCheckResp {}))),
            Self::Throttle => call(turn, message, |request| {
                Ok(now(throttlecrab::throttle(turn, request, limits)?))
            }),
        }
    }

    /// The denial for an unreadable question about a client's request: proxies may pass requests when they get an
    /// error.
    pub(super) fn denial(self) -> Option<GrpcAnswer> {
        let framed = match self {
            Self::ShouldRateLimit | Self::CheckRateLimit => encode(&RateLimitResponse {
                overall_code: Verdict::OverLimit.into(),
                ..RateLimitResponse::default()
            }),
            Self::Authorize => encode(&authz::denial(&Unfit {
                what: "the request cannot be read".to_owned(),
                status: StatusCode::FORBIDDEN,
            })),
            _ => return None,
        };
        Some(GrpcAnswer::at_once(framed))
    }
}

impl GrpcAnswer {
    fn at_once(framed: Bytes) -> Self {
        Self {
            framed,
            hold: Duration::ZERO,
            fell_back: None,
        }
    }

    fn of(turn: &Turn<'_>, framed: Bytes) -> Self {
        Self {
            fell_back: turn.fell_back(),
            ..Self::at_once(framed)
        }
    }
}

/// The outcome of a call, now or later.
pub(super) type Begun<A> = Result<Started<Result<A, GrpcStatus>>, GrpcStatus>;

const fn now<A>(answer: A) -> Started<Result<A, GrpcStatus>> {
    Started::Now(Ok(answer))
}

/// Decodes the question, decides, and encodes the answer.
fn call<Q: Message + Default, A: Message + 'static, E: Into<GrpcStatus> + 'static>(
    turn: &Turn<'_>,
    message: Bytes,
    ask: impl FnOnce(Q) -> Result<Started<Result<A, E>>, GrpcStatus>,
) -> Begun<GrpcAnswer> {
    Ok(ask(decode(message)?)?.map(turn, |turn, answer| {
        let framed = encode(&answer.map_err(Into::into)?);
        Ok(GrpcAnswer::of(turn, framed))
    }))
}

fn authorize(message: Bytes, turn: &Turn<'_>, shared: &Shared) -> Begun<GrpcAnswer> {
    let started = authz::check(turn, &decode(message)?, shared)?;
    Ok(started.map(turn, |turn, held| {
        let (response, hold) = held?;
        Ok(GrpcAnswer {
            hold,
            ..GrpcAnswer::of(turn, encode(&response))
        })
    }))
}

fn within(operation: Operation, scopes: Scopes) -> Result<(), GrpcStatus> {
    operation.is_within(scopes).map_err(GrpcStatus::denied)
}

impl From<RlsError> for GrpcStatus {
    fn from(error: RlsError) -> Self {
        let code = match &error {
            RlsError::Full => GrpcCode::Unavailable,
            RlsError::Engine(error) => return error.clone().into(),
            RlsError::NoDomain
            | RlsError::NoDescriptors
            | RlsError::TooMany
            | RlsError::UnknownUnit
            | RlsError::CostTooLarge => GrpcCode::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<TooMany> for GrpcStatus {
    fn from(error: TooMany) -> Self {
        Self::new(GrpcCode::OutOfRange, error.to_string())
    }
}

impl From<EngineError> for GrpcStatus {
    fn from(error: EngineError) -> Self {
        let code = match error {
            EngineError::TooManyPolicies | EngineError::Unreachable => GrpcCode::Unavailable,
            _ => GrpcCode::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

/// The one message of a unary call, unframed.
pub(super) async fn read<B>(mut body: Pin<&mut B>, bytes_max: usize) -> Result<Bytes, GrpcStatus>
where
    B: Body<Data = Bytes>,
{
    let mut whole = Bytes::new();
    let mut parts: Vec<u8> = Vec::new();
    while let Some(data) = next(body.as_mut()).await? {
        let length = whole.len().max(parts.len()).saturating_add(data.len());
        if length > bytes_max.saturating_add(HEAD) {
            return Err(too_large(bytes_max));
        }
        if length == data.len() {
            whole = data;
        } else {
            if parts.is_empty() {
                parts.extend_from_slice(&std::mem::take(&mut whole));
            }
            parts.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    let whole = if parts.is_empty() {
        whole
    } else {
        parts.into()
    };
    unframed(whole)
}

async fn next<B>(mut body: Pin<&mut B>) -> Result<Option<Bytes>, GrpcStatus>
where
    B: Body<Data = Bytes>,
{
    loop {
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(GrpcStatus::new(GrpcCode::Internal, "the call broke off")),
            // Other frames are trailers, which are ignored.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn unframed(mut framed: Bytes) -> Result<Bytes, GrpcStatus> {
    let Some((head, message)) = framed.split_first_chunk::<HEAD>() else {
        return Err(malformed("a message needs a frame of five bytes"));
    };
    let [compressed, length @ ..] = *head;
    match compressed {
        0 => {}
        1 => {
            let what = "compressed messages are not read here";
            return Err(GrpcStatus::new(GrpcCode::Unimplemented, what));
        }
        _ => return Err(malformed("a frame begins with 0 or 1")),
    }
    if usize::try_from(u32::from_be_bytes(length)) != Ok(message.len()) {
        return Err(malformed("the length of the frame is not that of the call"));
    }
    framed.advance(HEAD);
    Ok(framed)
}

fn decode<M: Message + Default>(message: Bytes) -> Result<M, GrpcStatus> {
    M::decode(message)
        .map_err(|error| GrpcStatus::unfit(GrpcCode::InvalidArgument, error.to_string()))
}

fn encode(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut out = Vec::with_capacity(HEAD + length);
    out.push(0);
    // Never truncated: questions are bounded, and answers by them.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    message.encode_raw(&mut out);
    out.into()
}

fn malformed(what: impl Into<std::borrow::Cow<'static, str>>) -> GrpcStatus {
    GrpcStatus::new(GrpcCode::InvalidArgument, what)
}

fn too_large(bytes_max: usize) -> GrpcStatus {
    let what = format!("a message may have at most {bytes_max} bytes");
    GrpcStatus::unfit(GrpcCode::ResourceExhausted, what)
}

/// Bytes of a frame before its message.
const HEAD: usize = 5;
