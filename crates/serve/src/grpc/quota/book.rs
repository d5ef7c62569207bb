//! How many data planes there are, and what is told of them.
//!
//! Not here: the pools that quotas are assigned from (`tollgate-node`), and streams.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tollgate_node::PlaneId;
use tollgate_wire::rlqs::BucketId;

use super::bind::Unserved;
use crate::engine::Engine;
use crate::logs::Rarely;
use crate::meter::Exposition;
use crate::supply;

/// How many data planes there are.
#[derive(Debug)]
pub struct Quotas {
    streams: AtomicUsize,
    /// Subscriptions so far: each has a number.
    planes: AtomicU64,
    /// What tells them from those of other nodes, and of this one before it started.
    boot: OnceLock<u64>,
    /// Times that the owner of a key did not answer.
    missed: AtomicU64,
    /// Reports of buckets that cannot be served.
    unserved: AtomicU64,
    /// When that is said.
    rarely: Rarely,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            streams: AtomicUsize::new(0),
            planes: AtomicU64::new(0),
            boot: OnceLock::new(),
            missed: AtomicU64::new(0),
            unserved: AtomicU64::new(0),
            rarely: Rarely::new(SAID_EVERY),
        }
    }
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

    /// Counts a report of a bucket that cannot be served, and says so.
    pub(super) fn unserved(&self, bucket: &BucketId, why: &Unserved, answer: &str) {
        self.unserved.fetch_add(1, Relaxed);
        if let Some(unsaid) = self.rarely.now() {
            let bucket = name(bucket);
            let Unserved(why) = why;
            tracing::warn!(
                bucket,
                why,
                answer,
                unsaid,
                "a bucket of a data plane cannot be served"
            );
        }
    }

    /// Adds how quotas stand, for Prometheus; nothing where nobody ever asked for one.
    pub(crate) fn render(&self, engine: &Engine, text: &mut Exposition) {
        let stand = engine.node().quota_stand();
        let streams = self.streams.load(Relaxed) as u64;
        let (missed, unserved) = (self.missed.load(Relaxed), self.unserved.load(Relaxed));
        let sum = &stand.figures;
        if self.planes.load(Relaxed) + unserved + sum.reports + streams == 0 {
            return;
        }
        text.one("tollgate_quota_streams", streams);
        text.one("tollgate_quota_planes", stand.planes);
        text.one("tollgate_quota_keys", stand.keys);
        text.one("tollgate_quota_reports_total", sum.reports);
        text.one("tollgate_quota_changed_total", sum.changed);
        text.one("tollgate_quota_extended_total", sum.extended);
        text.one("tollgate_quota_denied_total", sum.denied);
        text.one("tollgate_quota_abandoned_total", sum.abandoned);
        text.one("tollgate_quota_restated_total", sum.restated);
        text.one("tollgate_quota_unanswered_total", missed);
        text.one("tollgate_quota_unserved_total", unserved);
    }
}

/// A bucket as the log names it.
fn name(bucket: &BucketId) -> String {
    let mut out = String::new();
    for (name, value) in &bucket.bucket {
        let comma = if out.is_empty() { "" } else { "," };
        let shown = value.get(..SHOWN_BYTES_MAX).unwrap_or(value);
        // Writing to a string cannot fail.
        let _ = write!(out, "{comma}{name}={}", shown.escape_ascii());
        if out.len() > SHOWN_BYTES_MAX {
            break;
        }
    }
    out
}

/// The most bytes of a value that are said, and of a name after which no more is.
const SHOWN_BYTES_MAX: usize = 64;
/// How often buckets that cannot be served are said at most.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// Streams of data planes, all connections together.
const STREAMS_MAX: usize = 4_096;
