//! Metrics about request statistics themselves: whether they are written, and what they miss.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use tollgate_limit::Instant;

use super::text::Exposition;
use crate::statistics::StatisticsFigures;

pub(crate) fn statistics(text: &mut Exposition, figures: &StatisticsFigures, now: Instant) {
    let writes = [("ok", figures.writes), ("failed", figures.failures)];
    text.each("tollgate_statistics_writes_total", "result", writes);
    text.one(
        "tollgate_statistics_lag_seconds",
        figures.lag_ns(now) as f64 / 1e9,
    );
    text.one(
        "tollgate_statistics_write_seconds",
        figures.took_ns as f64 / 1e9,
    );
    text.one("tollgate_statistics_waiting_rows", figures.waiting);
    let missed = [
        ("identity", figures.losses.unnamed),
        ("minute", figures.losses.lost),
        ("row", figures.refused),
    ];
    text.each("tollgate_statistics_missed_total", "what", missed);
}
