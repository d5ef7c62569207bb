//! The requests of every protocol, as templates, and how their replies are judged.
//!
//! Not here: splitting a stream of bytes into replies.

mod grpc;
mod http;
mod resp;

use std::fmt;

use crate::plan::LoadPlan;
use crate::template::{Template, marker_text, width_for};

pub use resp::LUA_TOKEN_BUCKET;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// RESP: `CL.THROTTLE key burst count period`.
    ClThrottle(CallLimit),
    /// RESP: `THROTTLE key burst count period`, whose reply has 1 for allowed.
    Throttle(CallLimit),
    TollgateCheck,
    Set,
    Ping,
    /// RESP: a token bucket in Lua by `EVALSHA`, for Redis itself.
    Lua(CallLimit),
    /// HTTP/1.1: `POST /v1/check`, with `batch` checks in a body.
    Check {
        batch: usize,
    },
    /// HTTP/1.1: throttlecrab's `POST /throttle`.
    HttpThrottle(CallLimit),
    /// HTTP/1.1: `GET` of a path; a `{}` in it is the key. 429 and 503 are denials.
    Get {
        path: String,
    },
    /// gRPC: Envoy's `ShouldRateLimit`, with `batch` descriptors in a call.
    Rls {
        domain: String,
        batch: usize,
    },
    /// gRPC: gubernator's `GetRateLimits`.
    Gubernator {
        /// The limit each request names.
        limit: CallLimit,
        /// Requests in one call.
        batch: usize,
    },
    GrpcThrottle(CallLimit),
}

/// A limit in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimit {
    /// The most that may be taken at once.
    pub burst: u32,
    /// How many are refilled in a period.
    pub count: u32,
    /// The period in seconds.
    pub period_secs: u32,
}

/// Why a call cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The request does not fit what one HTTP/2 stream may carry at once.
    TooLarge(usize),
    /// The server rejected the Lua script.
    Script(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(bytes) => {
                write!(
                    f,
                    "a request of {bytes} bytes is too large; make the batch smaller"
                )
            }
            Self::Script(text) => write!(f, "the server does not take the Lua script: {text}"),
        }
    }
}

impl std::error::Error for CallError {}

#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) protocol: Protocol,
    /// The whole request; over HTTP/2 its body.
    pub(crate) template: Template,
    pub(crate) judge: Judge,
}

/// The transport of a call.
#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    /// What to send on a new connection, and how many replies that has.
    Resp {
        greeting: Vec<u8>,
        replies: usize,
    },
    Http1,
    /// Header fields of every request.
    Http2 {
        fields: Vec<(&'static str, String)>,
    },
}

/// How to read the verdict of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Any reply that is no error.
    Any,
    /// The first integer is zero.
    Zero,
    /// The first integer is not zero.
    NotZero,
    /// JSON with `"allowed":true`, once or in a list.
    Json,
    Rls,
    Gubernator,
    Throttle,
}

/// Makes the requests of a plan. `sha` names the Lua script on the server.
pub(crate) fn prepare(plan: &LoadPlan, sha: Option<&str>) -> Result<Prepared, CallError> {
    let width = width_for(plan.keys.count);
    let key = plan.keys.template.with(&marker_text(width));
    let parts = plan.keys.template.parts_with(&marker_text(width));
    let template = |bytes| Template::new(bytes, width);
    let token = plan.token.as_deref();
    Ok(match &plan.call {
        Call::ClThrottle(limit) => resp::prepare(
            template(resp::throttle("CL.THROTTLE", &key, *limit)),
            Judge::Zero,
            token,
        ),
        Call::Throttle(limit) => resp::prepare(
            template(resp::throttle("THROTTLE", &key, *limit)),
            Judge::NotZero,
            token,
        ),
        Call::TollgateCheck => resp::prepare(template(resp::check(&parts)), Judge::NotZero, token),
        Call::Set => resp::prepare(
            template(resp::command(&["SET", &key, "xxx"])),
            Judge::Any,
            token,
        ),
        Call::Ping => resp::prepare(template(resp::command(&["PING"])), Judge::Any, token),
        Call::Lua(limit) => {
            let script = resp::lua(sha.unwrap_or_default(), &key, *limit);
            resp::prepare(template(script), Judge::NotZero, token)
        }
        Call::Check { batch } => {
            let body = http::checks(&parts, *batch);
            http::prepare(template(http::post(plan, "/v1/check", &body)), Judge::Json)
        }
        Call::HttpThrottle(limit) => {
            let body = http::throttle(&key, *limit);
            http::prepare(template(http::post(plan, "/throttle", &body)), Judge::Json)
        }
        Call::Get { path } => {
            let path = path.replace("{}", &marker_text(width));
            http::prepare(template(http::get(plan, &path)), Judge::Any)
        }
        Call::Rls { domain, batch } => {
            grpc::prepare(plan, grpc::RLS, template(grpc::rls(domain, &parts, *batch)))?
        }
        Call::Gubernator { limit, batch } => {
            let body = grpc::gubernator(&key, *limit, *batch);
            grpc::prepare(plan, grpc::GUBERNATOR, template(body))?
        }
        Call::GrpcThrottle(limit) => {
            grpc::prepare(plan, grpc::THROTTLE, template(grpc::throttle(&key, *limit)))?
        }
    })
}

pub(crate) use resp::load_script;
