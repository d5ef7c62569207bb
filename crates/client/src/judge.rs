//! What becomes of a request: passed on, held back, or answered at once; by a limiter of this process.
//!
//! Not here: nodes elsewhere (`remote_judge`), the service behind the layer (`layer`) and the future of its response
//! (`response_future`).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::HeaderMap;
use http::request::Parts;
use tollgate_limit::Verdict;
use tollgate_node::Answer;

use crate::gate::{Gate, GateRequest, GateRule};
use crate::layer::{LayerConfig, NoKey};
use crate::limiter::{Limiter, cost_of};
use crate::request_key::RequestKey;
use crate::response_future::DelayFuture;
use crate::ruling::{HandlerAnswer, RefusedResponse, Ruling};
use crate::turns::{Turns, WaiterSlot, WaitingRequest};
use tollgate_clock::Clock;
use tollgate_http::LimitReport;

/// Decides what becomes of requests.
#[derive(Debug)]
pub(crate) struct RequestJudge<E, G> {
    pub(crate) gate: Arc<G>,
    pub(crate) extract: E,
    pub(crate) config: LayerConfig,
    /// Those who wait for nodes; who waits for a limiter is counted there.
    pub(crate) waiting: Arc<Turns>,
}

impl<E, G> RequestJudge<E, G>
where
    E: Fn(&Parts) -> Option<RequestKey>,
    G: Gate,
{
    /// Decides about one request and charges it.
    pub(crate) fn judge(&self, parts: &Parts) -> Ruling {
        if let Some(key) = (self.extract)(parts) {
            return self.ask(&key, false);
        }
        match &self.config.no_key {
            NoKey::Allow => Ruling::Pass(HandlerAnswer::Nothing, HeaderMap::new()),
            NoKey::Refuse => Ruling::Refuse(RefusedResponse::without_key()),
            NoKey::CountAs(key) => self.ask(key, true),
        }
    }

    fn ask(&self, key: &RequestKey, must_be_bound: bool) -> Ruling {
        self.gate.rule(GateRequest {
            key,
            config: &self.config,
            waiting: &self.waiting,
            must_be_bound,
        })
    }
}

impl<C: Clock + 'static> GateRule for Limiter<C> {
    fn rule(self: &Arc<Self>, asked: GateRequest<'_>) -> Ruling {
        let now = self.clock().now();
        let cost = cost_of(asked.key.cost());
        let answer = asked.key.with(|name| self.node().check(name, cost, now));
        if asked.must_be_bound && answer.is_allowed() && answer.contract.is_none() {
            return Ruling::Refuse(RefusedResponse::without_key());
        }
        ruling(self, asked.config, answer)
    }
}

fn ruling<C: Clock + 'static>(
    limiter: &Arc<Limiter<C>>,
    config: &LayerConfig,
    answer: Answer,
) -> Ruling {
    match answer.verdict {
        Verdict::Allow => {
            let headers = LimitReport::new(limiter, &answer).headers(config.dialect);
            Ruling::Pass(HandlerAnswer::Answer(answer), headers)
        }
        Verdict::Deny { .. } | Verdict::Never => refuse(limiter, config, &answer),
        Verdict::Delay { wait } => {
            let headers = LimitReport::new(limiter, &answer).headers(config.dialect);
            match delay(limiter, config, answer, wait.into()) {
                Ok(delay) => Ruling::Delay(delay, headers),
                Err(answer) => refuse(limiter, config, &answer),
            }
        }
    }
}

/// The future that holds an admitted request back, or its refusal where that is not to be.
fn delay<C: Clock + 'static>(
    limiter: &Arc<Limiter<C>>,
    config: &LayerConfig,
    answer: Answer,
    wait: Duration,
) -> Result<DelayFuture, Box<Answer>> {
    let admitted = WaitingRequest::new(Arc::clone(limiter), answer);
    let is_short = wait <= config.delay_max;
    let place = is_short.then(|| WaiterSlot::take(limiter.turns(), config.delayed_max));
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

fn refuse<C: Clock>(limiter: &Limiter<C>, config: &LayerConfig, answer: &Answer) -> Ruling {
    let report = LimitReport::new(limiter, answer);
    Ruling::Refuse(RefusedResponse {
        status: report.status().unwrap_or(StatusCode::TOO_MANY_REQUESTS),
        headers: report.headers(config.dialect),
        body: report.problem().unwrap_or_default(),
    })
}
