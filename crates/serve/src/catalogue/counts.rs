//! Counters of the catalogue, for Prometheus.

use std::time::Duration;

use crate::meter::{Count, Exposition};

#[derive(Debug, Default)]
pub struct CatalogueCounts {
    /// Answered look-ups.
    pub lookups: Count,
    /// Their total duration in nanoseconds.
    pub lookup_nanos: Count,
    /// Look-ups without an answer.
    pub failed: Count,
    /// Look-ups skipped because the previous query failed.
    pub unasked: Count,
    /// Look-ups skipped because too many were waiting.
    pub shed: Count,
    /// Look-ups that outlasted their request's deadline.
    pub late: Count,
    /// Assignments that were invalid when looked up.
    pub rulings_failed: Count,
    /// Failed polls for changes.
    pub missed: Count,
}

impl CatalogueCounts {
    pub(super) fn looked_up(&self, took: Duration) {
        self.lookups.add(1);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.lookup_nanos.add(nanos);
    }

    #[allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.
    pub(super) fn render(&self, text: &mut Exposition, revision: u64, staleness: Duration) {
        text.one("tollgate_catalogue_revision", revision);
        text.one(
            "tollgate_catalogue_staleness_seconds",
            staleness.as_secs_f64(),
        );
        let lookups = [
            ("ok", &self.lookups),
            ("failed", &self.failed),
            ("unasked", &self.unasked),
            ("shed", &self.shed),
        ];
        let lookups = lookups.map(|(result, count)| (result, count.get()));
        text.each("tollgate_catalogue_lookups_total", "result", lookups);
        text.one(
            "tollgate_catalogue_lookup_seconds_total",
            self.lookup_nanos.get() as f64 / 1e9,
        );
        text.one("tollgate_catalogue_late_lookups_total", self.late.get());
        text.one(
            "tollgate_catalogue_failed_rulings_total",
            self.rulings_failed.get(),
        );
        text.one("tollgate_catalogue_missed_looks_total", self.missed.get());
    }
}
