//! What is told of request statistics themselves: whether they are written, and what they miss.

#![allow(clippy::cast_precision_loss)] // Seconds as Prometheus wants them.

use tollgate_limit::Instant;

use super::text::{Kind, Text};
use crate::statistics::StatisticsFigures;

/// The families about statistics.
pub(crate) fn statistics(figures: &StatisticsFigures, now: Instant) -> String {
    let mut text = Text::new();
    text.family(
        "tollgate_statistics_writes_total",
        Kind::Counter,
        "Batches of request statistics; what failed is written with the next.",
    );
    text.sample(&[("result", "ok")], figures.writes);
    text.sample(&[("result", "failed")], figures.failures);
    text.one(
        "tollgate_statistics_lag_seconds",
        Kind::Gauge,
        "Age of the last request that is surely kept: what a crash would lose; 0 where nothing is kept.",
        figures.lag_ns(now) as f64 / 1e9,
    );
    text.one(
        "tollgate_statistics_write_seconds",
        Kind::Gauge,
        "How long the last batch took.",
        figures.took_ns as f64 / 1e9,
    );
    text.one(
        "tollgate_statistics_waiting_rows",
        Kind::Gauge,
        "Rows that wait to be written.",
        figures.waiting,
    );
    text.family(
        "tollgate_statistics_missed_total",
        Kind::Counter,
        "Decisions that are in the sums of contracts but in no identity's row of a minute, and rows of batches that are nowhere.",
    );
    text.sample(&[("what", "identity")], figures.losses.unnamed);
    text.sample(&[("what", "minute")], figures.losses.lost);
    text.sample(&[("what", "row")], figures.refused);
    text.finish()
}
