//! What a layer can ask: a limiter of its own, or nodes elsewhere.
//!
//! Not here: who a request is from (`request_key`), and the layer itself.

use std::sync::Arc;

use crate::layer::LayerConfig;
use crate::limiter::Limiter;
use crate::request_key::RequestKey;
use crate::ruling::Ruling;
use crate::turns::Turns;
use tollgate_clock::Clock;

/// What a [`RateLimitLayer`](crate::RateLimitLayer) can ask: a [`Limiter`], or a `Client` of nodes.
pub trait Gate: GateRule + Send + Sync + 'static {}

impl<C: Clock + 'static> Gate for Limiter<C> {}

/// Decides what becomes of requests; nobody outside can.
#[allow(unreachable_pub, reason = "it seals a public trait")]
pub trait GateRule {
    /// Decides about one request and charges it. One that nothing binds is refused where it must be bound.
    fn rule(self: &Arc<Self>, asked: GateRequest<'_>) -> Ruling;
}

/// A request, as a gate sees it.
#[derive(Clone, Copy)]
#[allow(unreachable_pub, reason = "it seals a public trait")]
pub struct GateRequest<'a> {
    pub(crate) key: &'a RequestKey,
    pub(crate) config: &'a LayerConfig,
    /// Those who wait for nodes.
    #[cfg_attr(
        not(feature = "remote"),
        allow(dead_code, reason = "there are no nodes")
    )]
    pub(crate) waiting: &'a Arc<Turns>,
    /// Whether a request that no contract binds is refused for want of a key.
    pub(crate) must_be_bound: bool,
}
