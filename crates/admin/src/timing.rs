//! How long answers took, minute by minute of the last hour, for later reads.
//!
//! The meter only has the last minute, so a task records it every ten seconds. Not here: measuring.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_serve::meter::{Percentiles, Top};

use crate::admin::Office;

/// Times of answers by minute since the epoch.
#[derive(Default)]
pub(crate) struct Timing(Mutex<BTreeMap<u64, Percentiles>>);

impl Timing {
    pub(crate) fn note(&self, top: &Top) {
        // No requests, so there is nothing to record.
        if top.latency.p99_us <= 0.0 {
            return;
        }
        let minute = top.at_ms / MINUTE_MS;
        let mut noted = self.0.lock();
        noted.insert(minute, top.latency);
        while noted.len() > MINUTES_MAX {
            noted.pop_first();
        }
    }

    pub(crate) fn at(&self, minute: u64) -> Option<Percentiles> {
        self.0.lock().get(&minute).copied()
    }
}

/// Records times while `office` lives.
pub(crate) async fn keep(office: Weak<Office>) {
    let mut tick = tokio::time::interval(EVERY);
    loop {
        tick.tick().await;
        let Some(office): Option<Arc<Office>> = office.upgrade() else {
            return;
        };
        let Some(shared) = office.server.upgrade() else {
            return;
        };
        office
            .timing
            .note(&shared.engine.meter().top(&shared.engine));
    }
}

const EVERY: Duration = Duration::from_secs(10);
const MINUTE_MS: u64 = 60_000;
const MINUTES_MAX: usize = 61;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_remembered_and_no_more() {
        let timing = Timing::default();
        let top = |minute: u64, p99_us| Top {
            at_ms: minute * MINUTE_MS + 7,
            latency: Percentiles {
                p99_us,
                ..Percentiles::default()
            },
            ..Top::default()
        };
        for minute in 0..100 {
            timing.note(&top(minute, 5.0));
        }
        timing.note(&top(99, 9.0));
        timing.note(&top(100, 0.0));
        let p99 = |minute| timing.at(minute).map(|times| times.p99_us);
        assert_eq!(
            [p99(38), p99(39), p99(99), p99(100)],
            [None, Some(5.0), Some(9.0), None]
        );
    }
}
