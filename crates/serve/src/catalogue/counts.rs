//! What is counted of the catalogue, for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::meter::text::{Kind, Text};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// How often it happened.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What was counted so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Look-ups that were answered.
    pub lookups: Count,
    /// Nanoseconds that they took together.
    pub lookup_nanos: Count,
    /// Look-ups that were not answered.
    pub failed: Count,
    /// Look-ups that were not tried, as the database had just not answered.
    pub unasked: Count,
    /// Look-ups that were not tried, as too many waited.
    pub shed: Count,
    /// Look-ups that a request did not wait for any longer.
    pub late: Count,
    /// Assignments that did not make sense when they were looked up.
    pub rulings_failed: Count,
    /// Times that changes were asked for in vain.
    pub missed: Count,
}

impl Counts {
    pub(super) fn looked_up(&self, took: Duration) {
        self.lookups.add(1);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.lookup_nanos.add(nanos);
    }

    #[allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.
    pub(super) fn render(&self, revision: u64, staleness: Duration) -> String {
        let mut text = Text::new();
        text.one(
            "tollgate_catalogue_revision",
            Kind::Gauge,
            "The number of the last change of the catalogue that is in force here.",
            revision,
        );
        text.one(
            "tollgate_catalogue_staleness_seconds",
            Kind::Gauge,
            "How long ago the database last said that nothing newer is there.",
            staleness.as_secs_f64(),
        );
        text.family(
            "tollgate_catalogue_lookups_total",
            Kind::Counter,
            "Look-ups of terms: answered, not answered, not tried as the database had just not answered, not tried as too \
             many waited. Keys that could not be looked up keep the terms they had, or have those of their contract.",
        );
        for (result, count) in [
            ("ok", &self.lookups),
            ("failed", &self.failed),
            ("unasked", &self.unasked),
            ("shed", &self.shed),
        ] {
            text.sample(&[("result", result)], count.get());
        }
        text.one(
            "tollgate_catalogue_lookup_seconds_total",
            Kind::Counter,
            "What look-ups that were answered took together.",
            self.lookup_nanos.get() as f64 / 1e9,
        );
        text.one(
            "tollgate_catalogue_late_lookups_total",
            Kind::Counter,
            "Look-ups that were not waited for any longer: what they find counts for the next request.",
            self.late.get(),
        );
        text.one(
            "tollgate_catalogue_failed_rulings_total",
            Kind::Counter,
            "Assignments that made no sense when they were looked up: their keys go by their contract.",
            self.rulings_failed.get(),
        );
        text.one(
            "tollgate_catalogue_missed_looks_total",
            Kind::Counter,
            "Times that the database did not say what changed.",
            self.missed.get(),
        );
        text.finish()
    }
}
