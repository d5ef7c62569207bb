//! `limitador`: fixed windows in a `moka` cache, chosen by evaluating CEL expressions.

use std::collections::HashMap;
use std::sync::Arc;

use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Namespace};

use super::{SubjectEntry, USUAL};
use crate::subject::{Limit, Subject, boxed};

/// A shared limiter with one limit, counted per value of the variable `user`.
struct Limitador {
    limiter: Arc<RateLimiter>,
    namespace: Namespace,
}

impl Subject<String> for Limitador {
    #[expect(
        clippy::expect_used,
        reason = "the expression is a constant that parses"
    )]
    fn build(limit: Limit) -> Self {
        let (count, window_s) = match limit {
            Limit::Open => (Limit::OPEN_BURST, Limit::OPEN_BURST / Limit::OPEN_RATE),
            Limit::Shut => (1, Limit::SHUT_PERIOD_S),
        };
        let user = Expression::parse("user").expect("an expression");
        let limiter = RateLimiter::new(2 * KEYS_MAX as u64);
        let limit = limitador::limit::Limit::new(NAME, count.into(), window_s.into(), [], [user]);
        limiter.add_limit(limit);
        Self {
            limiter: Arc::new(limiter),
            namespace: NAME.into(),
        }
    }

    fn decide(&mut self, key: &String) -> bool {
        let context = Context::from(HashMap::from([("user".to_owned(), key.clone())]));
        let answer = self
            .limiter
            .check_rate_limited_and_update(&self.namespace, &context, 1);
        answer.is_ok_and(|answer| !answer.limited)
    }

    fn handle(&self) -> Option<Self> {
        Some(Self {
            limiter: Arc::clone(&self.limiter),
            namespace: self.namespace.clone(),
        })
    }
}

const NAME: &str = "limitador";
const KEYS_MAX: usize = 1_000_000;

/// The limiter on its in-memory storage.
pub(super) fn entry() -> SubjectEntry {
    SubjectEntry {
        name: NAME,
        decides: "fixed window; std SystemTime",
        note: "string keys only, also in the hot rows; the request context it wants is built for \
               every decision, as an application must; above 1 KB per key, so never above 1 M keys",
        keys_max: KEYS_MAX,
        instructions_about: 20_000,
        text: Some(boxed::<String, Limitador>),
        ..USUAL
    }
}
