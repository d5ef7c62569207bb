//! What becomes of a request: passed on, held back, or answered at once.
//!
//! Not here: the service behind the layer (`layer`) and the future of its response (`response_future`).

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Response, StatusCode};
use tollgate_limit::Verdict;
use tollgate_node::Answer;

use crate::clock::Clock;
use crate::layer::{LayerConfig, NoKey};
use crate::limiter::{Limiter, cost_of};
use crate::problem;
use crate::report::Report;
use crate::request_key::RequestKey;
use crate::response_future::Delay;
use crate::turns::{Admitted, Place};

/// Decides what becomes of requests.
#[derive(Debug)]
pub(crate) struct Judge<E, C> {
    pub(crate) limiter: Arc<Limiter<C>>,
    pub(crate) extract: E,
    pub(crate) config: LayerConfig,
}

/// What becomes of a request.
pub(crate) enum Ruling {
    /// It goes on, and these fields are added to its response.
    Pass {
        answer: Option<Answer>,
        headers: HeaderMap,
    },
    /// It goes on when `delay` is over.
    Delay { delay: Delay, headers: HeaderMap },
    /// It is answered at once.
    Refuse(Refused),
}

/// A response that the service has no part in.
pub(crate) struct Refused {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Refused {
    fn without_key() -> Self {
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

impl<E, C> Judge<E, C>
where
    E: Fn(&Parts) -> Option<RequestKey>,
    C: Clock + 'static,
{
    /// Decides about one request and charges it.
    pub(crate) fn judge(&self, parts: &Parts) -> Ruling {
        if let Some(key) = (self.extract)(parts) {
            let answer = self.check(&key);
            return self.rule(answer);
        }
        match &self.config.no_key {
            NoKey::Allow => Ruling::Pass {
                answer: None,
                headers: HeaderMap::new(),
            },
            NoKey::Refuse => Ruling::Refuse(Refused::without_key()),
            NoKey::CountAs(key) => {
                let answer = self.check(key);
                if answer.is_allowed() && answer.contract.is_none() {
                    return Ruling::Refuse(Refused::without_key());
                }
                self.rule(answer)
            }
        }
    }

    fn check(&self, key: &RequestKey) -> Answer {
        let now = self.limiter.clock().now();
        key.with(|name| self.limiter.node().check(name, cost_of(key.cost()), now))
    }

    fn rule(&self, answer: Answer) -> Ruling {
        match answer.verdict {
            Verdict::Allow => {
                let headers = self.report(&answer).headers(self.config.dialect);
                Ruling::Pass {
                    answer: Some(answer),
                    headers,
                }
            }
            Verdict::Deny { .. } | Verdict::Never => self.refuse(&answer),
            Verdict::Delay { wait } => {
                let headers = self.report(&answer).headers(self.config.dialect);
                match self.delay(answer, wait.into()) {
                    Ok(delay) => Ruling::Delay { delay, headers },
                    Err(answer) => self.refuse(&answer),
                }
            }
        }
    }

    /// The future that holds an admitted request back, or its refusal where that is not to be.
    fn delay(&self, answer: Answer, wait: Duration) -> Result<Delay, Box<Answer>> {
        let admitted = Admitted::new(Arc::clone(&self.limiter), answer);
        let LayerConfig {
            delay_max,
            delayed_max,
            ..
        } = self.config;
        let place = (wait <= delay_max).then(|| Place::take(self.limiter.turns(), delayed_max));
        let Some(place) = place.flatten() else {
            return Err(Box::new(admitted.give_back()));
        };
        // A future dropped before its first poll drops what it captured, and so gives the charge back too.
        Ok(Box::pin(async move {
            admitted.limiter().clock().sleep(wait).await;
            drop(place);
            admitted.keep()
        }))
    }

    fn refuse(&self, answer: &Answer) -> Ruling {
        let report = self.report(answer);
        Ruling::Refuse(Refused {
            status: report.status().unwrap_or(StatusCode::TOO_MANY_REQUESTS),
            headers: report.headers(self.config.dialect),
            body: report.problem().unwrap_or_default(),
        })
    }

    fn report<'a>(&'a self, answer: &'a Answer) -> Report<'a> {
        Report::new(&self.limiter, answer)
    }
}

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
