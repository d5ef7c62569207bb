//! Counts data planes and their streams.
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

/// Counters of all data planes.
#[derive(Debug)]
pub struct Quotas {
    streams: AtomicUsize,
    /// Subscriptions so far, which numbers them.
    planes: AtomicU64,
    /// Distinguishes them from those of other nodes and of earlier starts.
    boot: OnceLock<u64>,
    /// Missing answers of key owners.
    missed: AtomicU64,
    /// Reports of buckets that cannot be served.
    unserved: AtomicU64,
    /// Limits the log lines about them.
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
    /// Takes a stream slot; false if none is free.
    pub(super) fn enter(&self) -> bool {
        if self.streams.fetch_add(1, Relaxed) < STREAMS_MAX {
            return true;
        }
        self.leave();
        false
    }

    /// Frees a stream slot.
    pub(super) fn leave(&self) {
        self.streams.fetch_sub(1, Relaxed);
    }

    pub(super) fn number(&self) -> PlaneId {
        let boot = || getrandom::u64().unwrap_or_else(|_| supply::boot());
        let boot = *self.boot.get_or_init(boot);
        u128::from(boot) << 64 | u128::from(self.planes.fetch_add(1, Relaxed))
    }

    /// Counts a missing answer of a key's owner.
    pub(super) fn miss(&self) {
        self.missed.fetch_add(1, Relaxed);
    }

    /// Counts and logs a bucket that cannot be served.
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

    /// Adds quota metrics; none if no quota was ever requested.
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

/// A bucket as in log lines.
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

/// Bytes of a value in the log; also the length of a name after which the rest is cut.
const SHOWN_BYTES_MAX: usize = 64;
/// Interval between log lines about buckets that cannot be served.
const SAID_EVERY: Duration = Duration::from_secs(1);
/// Limit on data plane streams over all connections.
const STREAMS_MAX: usize = 4_096;
