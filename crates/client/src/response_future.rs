//! The future of a counted request: refused, held back, or passed on.
//!
//! Not here: the decision (`judge`).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::HeaderMap;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tollgate_node::Answer;
use tower::Service;

use crate::ruling::{HandlerAnswer, PendingRuling, RefusedResponse, Ruling};

/// Ends when a delayed request may pass. Dropped before, it gives the charge back.
pub(crate) type DelayFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A request that waits, and the service that is ready for it.
pub(crate) struct Delayed<S, ReqBody> {
    pub(crate) service: S,
    pub(crate) request: Request<ReqBody>,
}

pin_project! {
    /// The response of a [`RateLimit`](crate::RateLimit) service.
    pub struct ResponseFuture<S, ReqBody>
    where
        S: Service<Request<ReqBody>>,
    {
        #[pin]
        state: State<S, ReqBody>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S, ReqBody>
    where
        S: Service<Request<ReqBody>>,
    {
        Refused { refused: Option<RefusedResponse> },
        Delayed { delay: DelayFuture, delayed: Option<Delayed<S, ReqBody>>, headers: HeaderMap },
        Asked { later: PendingRuling, delayed: Option<Delayed<S, ReqBody>> },
        Called { #[pin] future: S::Future, headers: HeaderMap },
    }
}

impl<S, ReqBody> ResponseFuture<S, ReqBody>
where
    S: Service<Request<ReqBody>>,
{
    pub(crate) const fn refused(refused: RefusedResponse) -> Self {
        Self {
            state: State::Refused {
                refused: Some(refused),
            },
        }
    }

    pub(crate) const fn delayed(
        delay: DelayFuture,
        delayed: Delayed<S, ReqBody>,
        headers: HeaderMap,
    ) -> Self {
        Self {
            state: State::Delayed {
                delay,
                delayed: Some(delayed),
                headers,
            },
        }
    }

    pub(crate) const fn later(later: PendingRuling, delayed: Delayed<S, ReqBody>) -> Self {
        Self {
            state: State::Asked {
                later,
                delayed: Some(delayed),
            },
        }
    }

    pub(crate) const fn called(future: S::Future, headers: HeaderMap) -> Self {
        Self {
            state: State::Called { future, headers },
        }
    }
}

impl<S, ReqBody, ResBody> Future for ResponseFuture<S, ReqBody>
where
    S: Service<Request<ReqBody>, Response = Response<ResBody>>,
    ResBody: From<String>,
{
    type Output = Result<Response<ResBody>, S::Error>;

    #[allow(
        clippy::expect_used,
        reason = "a future polled after its end is a bug of the caller"
    )]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                StateProjection::Refused { refused } => {
                    let refused = refused.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(refused.into_response()));
                }
                StateProjection::Called { future, headers } => {
                    let mut response = ready!(future.poll(context))?;
                    tollgate_http::merge(headers, response.headers_mut());
                    return Poll::Ready(Ok(response));
                }
                StateProjection::Delayed {
                    delay,
                    delayed,
                    headers,
                } => {
                    let answer = ready!(delay.as_mut().poll(context));
                    let delayed = delayed.take().expect("the state changes when it is taken");
                    delayed.call(HandlerAnswer::Answer(answer), std::mem::take(headers))
                }
                StateProjection::Asked { later, delayed } => {
                    let ruling = ready!(later.as_mut().poll(context));
                    let delayed = delayed.take().expect("the state changes when it is taken");
                    delayed.follow(ruling)
                }
            };
            state.set(next);
        }
    }
}

impl<S, ReqBody> Delayed<S, ReqBody>
where
    S: Service<Request<ReqBody>>,
{
    fn call(mut self, told: HandlerAnswer, headers: HeaderMap) -> State<S, ReqBody> {
        told.put(self.request.extensions_mut());
        State::Called {
            future: self.service.call(self.request),
            headers,
        }
    }

    fn follow(self, ruling: Ruling) -> State<S, ReqBody> {
        match ruling {
            Ruling::Pass(told, headers) => self.call(told, headers),
            Ruling::Delay(delay, headers) => State::Delayed {
                delay,
                delayed: Some(self),
                headers,
            },
            Ruling::Later(later) => State::Asked {
                later,
                delayed: Some(self),
            },
            Ruling::Refuse(refused) => State::Refused {
                refused: Some(refused),
            },
        }
    }
}
