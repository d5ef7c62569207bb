//! What becomes of a request that nodes elsewhere decide about, by leases.
//!
//! Where a lease is at hand nobody waits. Otherwise the question goes to a thread that may block, so that the tasks beside it
//! go on. Not here: leases and nodes (`remote`), nor fields about quotas, which only nodes know.

use std::sync::Arc;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use tollgate_limit::Span;

use crate::gate::{Asked, Gate, Rule};
use crate::problem;
use crate::remote::{Client, Outcome, Path};
use crate::ruling::{Refused, Ruling, Told};
use crate::turns::Place;

impl Gate for Client {}

impl Rule for Client {
    fn rule(self: &Arc<Self>, asked: Asked<'_>) -> Ruling {
        let cost = asked.key.cost();
        if let Some(at_once) = asked.key.with(|name| self.check_at_once(name, cost)) {
            return ruling(at_once);
        }
        let Some(place) = Place::take(asked.waiting, asked.config.delayed_max) else {
            return Ruling::Refuse(away());
        };
        let key = asked.key.clone();
        // A caller that goes away meanwhile stays charged: the thread cannot be called back.
        let waiting = self.on_a_thread(move |client| {
            let _place = place;
            key.with(|name| client.check(name, cost))
        });
        Ruling::Later(Box::pin(async move {
            let outcome = waiting.await;
            outcome.map_or_else(|_| Ruling::Refuse(away()), ruling)
        }))
    }
}

fn ruling(outcome: Outcome) -> Ruling {
    if outcome.is_allowed {
        return Ruling::Pass(Told::Outcome(outcome), HeaderMap::new());
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
    Ruling::Refuse(Refused {
        status: StatusCode::TOO_MANY_REQUESTS,
        headers,
        body: problem::elsewhere(seconds),
    })
}

/// The refusal where nobody can say.
fn away() -> Refused {
    Refused {
        status: StatusCode::SERVICE_UNAVAILABLE,
        headers: HeaderMap::new(),
        body: problem::away(),
    }
}
