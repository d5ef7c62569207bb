//! What becomes of a request that nodes elsewhere decide about, by leases.
//!
//! Where a lease is at hand nobody waits. Not here: leases and nodes (`remote`), nor fields about quotas, which only
//! nodes know.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use tollgate_limit::Span;

use crate::gate::{Gate, GateRequest, GateRule};
use crate::remote::{Client, Outcome, Path};
use crate::ruling::{HandlerAnswer, RefusedResponse, Ruling};
use crate::turns::WaiterSlot;
use tollgate_http::problem;

impl Gate for Client {}

impl GateRule for Client {
    fn rule(self: &Arc<Self>, asked: GateRequest<'_>) -> Ruling {
        let cost = asked.key.cost();
        let at_once = match asked.key.with(|name| self.check_at_once(name, cost)) {
            Some(outcome) if outcome.wait == Span::ZERO => return ruling(outcome),
            at_once => at_once,
        };
        let Some(place) = WaiterSlot::take(asked.waiting, asked.config.delayed_max) else {
            if let Some(receipt) = at_once.and_then(|outcome| outcome.receipt) {
                self.settle(&receipt, 0);
            }
            return Ruling::Refuse(away());
        };
        let (client, key) = (Arc::clone(self), asked.key.clone());
        let delay_max = asked.config.delay_max;
        // A caller that goes away meanwhile may stay charged.
        Ruling::Later(Box::pin(async move {
            let _place = place;
            let outcome = match at_once {
                Some(outcome) => outcome,
                None => client.check_in_task(key.name(&key.pairs()), cost).await,
            };
            client.hold_back(outcome, delay_max).await
        }))
    }
}

impl Client {
    /// Holds a request back for as long as it has to be, or refuses it where that is too long.
    async fn hold_back(&self, outcome: Outcome, most: Duration) -> Ruling {
        let wait = Duration::from(outcome.wait);
        if wait > most {
            if let Some(receipt) = &outcome.receipt {
                self.settle(receipt, 0);
            }
            return ruling(Outcome {
                is_allowed: false,
                retry_after: Some(outcome.wait),
                ..outcome
            });
        }
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        ruling(outcome)
    }
}

fn ruling(outcome: Outcome) -> Ruling {
    if outcome.is_allowed {
        return Ruling::Pass(HandlerAnswer::Outcome(outcome), HeaderMap::new());
    }
    if outcome.path == Path::Failed {
        return Ruling::Refuse(away());
    }
    let mut headers = HeaderMap::new();
    let seconds = outcome.retry_after.map(Span::as_secs_ceil);
    if let Some(seconds) = seconds {
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ruling::Refuse(RefusedResponse {
        status: StatusCode::TOO_MANY_REQUESTS,
        headers,
        body: problem::elsewhere(seconds),
    })
}

/// The refusal where nobody can say.
fn away() -> RefusedResponse {
    RefusedResponse {
        status: StatusCode::SERVICE_UNAVAILABLE,
        headers: HeaderMap::new(),
        body: problem::away(),
    }
}
