//! A tower layer that counts every request before it reaches the service.
//!
//! Not here: who a request is from (`request_key`), what becomes of it (`judge`), and what clients are told (`report`,
//! `headers`, `problem`).

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use tollgate_contract::Dialect;
use tower::{Layer, Service};

use crate::gate::Gate;
use crate::judge::RequestJudge;
use crate::limiter::Limiter;
use crate::request_key::RequestKey;
use crate::response_future::{Delayed, ResponseFuture};
use crate::ruling::Ruling;
use crate::turns::Turns;

/// How a layer answers; the default suits most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerConfig {
    /// How clients are told about their quota, where their contracts do not say.
    pub dialect: Dialect,
    /// The longest a request is held back that a policy delays; one that would wait longer is refused.
    pub delay_max: Duration,
    /// The most requests held back at once, those who wait by `until_ready` included, or that wait for nodes; one more
    /// is refused.
    pub delayed_max: usize,
    /// What becomes of a request without a key.
    pub no_key: NoKey,
}

impl Default for LayerConfig {
    /// IETF fields; up to 10 000 requests held back, each for up to 5 seconds; all requests without a key share the
    /// bare key `unknown`.
    fn default() -> Self {
        Self {
            dialect: Dialect::Ietf,
            delay_max: Duration::from_secs(5),
            delayed_max: 10_000,
            no_key: NoKey::CountAs(RequestKey::text("unknown")),
        }
    }
}

/// What becomes of a request without a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoKey {
    /// It is counted under this key, together with all others. Where no contract binds the key, it is refused.
    CountAs(RequestKey),
    /// It passes uncounted.
    Allow,
    /// It is refused with status 400.
    Refuse,
}

/// Makes services that count requests first: those over the limit are answered with status 429, and responses to the
/// others tell what is left. The request carries its [`Answer`](crate::Answer) as an extension, so that a handler can
/// settle it.
///
/// In the place of a limiter it takes a `Client` of nodes too: requests carry an `Outcome`, responses do not tell what
/// is left, and where nobody answers the status of a refusal is 503.
///
/// ```
/// use std::sync::Arc;
/// use http::header::HeaderName;
/// use tollgate_client::{Limiter, Period, PolicyConfig, RateLimitLayer, by_header};
///
/// let limiter = Arc::new(Limiter::new([PolicyConfig::token_bucket(100, Period::MINUTE)])?);
/// let by_user = by_header(HeaderName::from_static("x-authenticated-user"));
/// // Writing costs ten times as much as reading.
/// let layer = RateLimitLayer::new(limiter, move |parts| {
///     Some(by_user(parts)?.costing(if parts.method.is_safe() { 1 } else { 10 }))
/// });
/// # drop(layer);
/// # Ok::<(), tollgate_client::LimiterError>(())
/// ```
#[derive(Debug)]
pub struct RateLimitLayer<E, G = Limiter> {
    judge: Arc<RequestJudge<E, G>>,
}

impl<E, G> RateLimitLayer<E, G>
where
    E: Fn(&Parts) -> Option<RequestKey>,
    G: Gate,
{
    /// A layer that counts by the key that `extract` tells, with the default configuration.
    pub fn new(gate: Arc<G>, extract: E) -> Self {
        Self::with(gate, extract, LayerConfig::default())
    }

    /// A layer with everything chosen.
    pub fn with(gate: Arc<G>, extract: E, config: LayerConfig) -> Self {
        Self {
            judge: Arc::new(RequestJudge {
                gate,
                extract,
                config,
                waiting: Arc::new(Turns::new(0)),
            }),
        }
    }
}

impl<E, G> Clone for RateLimitLayer<E, G> {
    fn clone(&self) -> Self {
        Self {
            judge: Arc::clone(&self.judge),
        }
    }
}

impl<S, E, G> Layer<S> for RateLimitLayer<E, G> {
    type Service = RateLimit<S, E, G>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimit {
            inner,
            judge: Arc::clone(&self.judge),
        }
    }
}

/// A service that counts requests first; see [`RateLimitLayer`].
#[derive(Debug)]
pub struct RateLimit<S, E, G = Limiter> {
    inner: S,
    judge: Arc<RequestJudge<E, G>>,
}

impl<S: Clone, E, G> Clone for RateLimit<S, E, G> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            judge: Arc::clone(&self.judge),
        }
    }
}

impl<S, E, G, ReqBody, ResBody> Service<Request<ReqBody>> for RateLimit<S, E, G>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    E: Fn(&Parts) -> Option<RequestKey>,
    G: Gate,
    ResBody: From<String>,
{
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = ResponseFuture<S, ReqBody>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        match self.judge.judge(&parts) {
            Ruling::Refuse(refusal) => ResponseFuture::refused(refusal),
            Ruling::Pass(told, headers) => {
                told.put(&mut parts.extensions);
                let future = self.inner.call(Request::from_parts(parts, body));
                ResponseFuture::called(future, headers)
            }
            Ruling::Delay(delay, headers) => {
                let request = Request::from_parts(parts, body);
                ResponseFuture::delayed(delay, self.hold(request), headers)
            }
            Ruling::Later(later) => {
                let request = Request::from_parts(parts, body);
                ResponseFuture::later(later, self.hold(request))
            }
        }
    }
}

impl<S: Clone, E, G> RateLimit<S, E, G> {
    /// A request that waits, with the service that is ready for it; its clone is to be asked anew.
    fn hold<ReqBody>(&mut self, request: Request<ReqBody>) -> Delayed<S, ReqBody> {
        let clone = self.inner.clone();
        let service = std::mem::replace(&mut self.inner, clone);
        Delayed { service, request }
    }
}
