//! What becomes of a request, whoever decided.
//!
//! Not here: deciding (`judge`, `remote_judge`), and the future of the response (`response_future`).

use std::pin::Pin;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Extensions, Response, StatusCode};
use tollgate_node::Answer;

#[cfg(feature = "remote")]
use crate::remote::Outcome;
use crate::response_future::DelayFuture;
use tollgate_http::problem;

/// What becomes of a request.
#[allow(unreachable_pub, reason = "a sealed trait names it")]
#[allow(
    clippy::large_enum_variant,
    reason = "it goes from hand to hand once, and nearly all pass"
)]
pub enum Ruling {
    /// It goes on, and these fields are added to its response.
    Pass(HandlerAnswer, HeaderMap),
    /// It goes on when the delay is over.
    Delay(DelayFuture, HeaderMap),
    /// Somebody has to be waited for.
    Later(PendingRuling),
    /// It is answered at once.
    Refuse(RefusedResponse),
}

/// Ends when it is known what becomes of a request.
pub(crate) type PendingRuling = Pin<Box<dyn Future<Output = Ruling> + Send>>;

/// What a request that goes on carries for its handler.
#[allow(unreachable_pub, reason = "a sealed trait names it")]
#[allow(
    clippy::large_enum_variant,
    reason = "it goes from hand to hand once, and nearly all are answers"
)]
pub enum HandlerAnswer {
    /// Nothing: it was not counted.
    Nothing,
    /// The answer of a limiter.
    Answer(Answer),
    /// The outcome at a client of nodes.
    #[cfg(feature = "remote")]
    Outcome(Outcome),
}

impl HandlerAnswer {
    pub(crate) fn put(self, extensions: &mut Extensions) {
        match self {
            Self::Nothing => {}
            Self::Answer(answer) => drop(extensions.insert(answer)),
            #[cfg(feature = "remote")]
            Self::Outcome(outcome) => drop(extensions.insert(outcome)),
        }
    }
}

/// A response that the service has no part in.
#[allow(unreachable_pub, reason = "a sealed trait names it")]
pub struct RefusedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl RefusedResponse {
    pub(crate) fn without_key() -> Self {
        let (status, headers) = (StatusCode::BAD_REQUEST, HeaderMap::new());
        Self {
            status,
            headers,
            body: problem::no_key(),
        }
    }

    pub(crate) fn into_response<B: From<String>>(self) -> Response<B> {
        let Self {
            status,
            headers,
            body,
        } = self;
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
        response
    }
}

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
