//! How many data planes there are, and what is told of them.
//!
//! Not here: the pools that quotas are assigned from (`tollgate-node`), and streams.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tollgate_node::PlaneId;

use crate::engine::Engine;
use crate::meter::text::{Kind, Text};
use crate::supply;

/// How many data planes there are.
#[derive(Debug, Default)]
pub struct Quotas {
    streams: AtomicUsize,
    /// Subscriptions so far: each has a number.
    planes: AtomicU64,
    /// What tells them from those of other nodes, and of this one before it started.
    boot: OnceLock<u64>,
    /// Times that the owner of a key did not answer.
    missed: AtomicU64,
}

impl Quotas {
    /// A place among the streams; whether there was one.
    pub(super) fn enter(&self) -> bool {
        if self.streams.fetch_add(1, Relaxed) < STREAMS_MAX {
            return true;
        }
        self.leave();
        false
    }

    /// Gives the place among the streams back.
    pub(super) fn leave(&self) {
        self.streams.fetch_sub(1, Relaxed);
    }

    /// The number of a new subscription.
    pub(super) fn number(&self) -> PlaneId {
        let boot = || getrandom::u64().unwrap_or_else(|_| supply::boot());
        let boot = *self.boot.get_or_init(boot);
        u128::from(boot) << 64 | u128::from(self.planes.fetch_add(1, Relaxed))
    }

    /// Counts that the owner of a key did not answer.
    pub(super) fn miss(&self) {
        self.missed.fetch_add(1, Relaxed);
    }

    /// Adds how quotas stand, for Prometheus; nothing where nobody ever asked for one.
    pub(crate) fn render(&self, engine: &Engine, body: &mut String) {
        let stand = engine.node().quota_stand();
        if self.planes.load(Relaxed) == 0 && stand.figures.reports == 0 {
            return;
        }
        let streams = self.streams.load(Relaxed) as u64;
        let sum = stand.figures;
        let mut text = Text::new();
        for (name, kind, help, value) in [
            (
                "tollgate_quota_streams",
                Kind::Gauge,
                "Streams of data planes.",
                streams,
            ),
            (
                "tollgate_quota_planes",
                Kind::Gauge,
                "Subscriptions of data planes to keys.",
                stand.planes,
            ),
            (
                "tollgate_quota_keys",
                Kind::Gauge,
                "Keys that data planes are subscribed to.",
                stand.keys,
            ),
            (
                "tollgate_quota_reports_total",
                Kind::Counter,
                "Reports of usage.",
                sum.reports,
            ),
            (
                "tollgate_quota_changed_total",
                Kind::Counter,
                "Buckets assigned that were new to a data plane.",
                sum.changed,
            ),
            (
                "tollgate_quota_extended_total",
                Kind::Counter,
                "Buckets assigned again as they were.",
                sum.extended,
            ),
            (
                "tollgate_quota_denied_total",
                Kind::Counter,
                "Times that there was nothing to assign.",
                sum.denied,
            ),
            (
                "tollgate_quota_abandoned_total",
                Kind::Counter,
                "Buckets that nobody used any more.",
                sum.abandoned,
            ),
            (
                "tollgate_quota_unanswered_total",
                Kind::Counter,
                "Times that the owner of a key did not answer.",
                self.missed.load(Relaxed),
            ),
        ] {
            text.one(name, kind, help, value);
        }
        body.push_str(&text.finish());
    }
}

/// Streams of data planes, all connections together.
const STREAMS_MAX: usize = 4_096;
