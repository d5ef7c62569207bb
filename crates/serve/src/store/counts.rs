//! What is counted of the store.

use tollgate_owner::AskTally;
use tollgate_store::Failure;

use super::ledger::LedgerCounts;
use crate::meter::{Count, Exposition};
use crate::owner::{add_all, fell_back};

/// What is counted of the store.
#[derive(Debug, Default)]
pub struct StoreCounts {
    /// Asks sent.
    pub asked: Count,
    /// Batches they went in.
    pub batches: Count,
    /// Requests that were not asked, as too much waited.
    pub busy: Count,
    /// Failures, in the order of [`Failure::KINDS`].
    pub failures: [Count; Failure::KINDS.len()],
    /// Requests that `on_failure` decided, in the order of `OnFailure::ALL`.
    pub fell_back: [Count; 3],
    /// Charges, refunds, resets and settlements that were answered with an error.
    pub writes_failed: Count,
    /// Requests that `on_failure: local` could not take, as there was no room to remember them.
    pub no_room: Count,
    /// Debts charged when the store was back.
    pub paid: Count,
    /// Debts that were lost.
    pub unpaid: Count,
}

impl StoreCounts {
    pub(super) fn failed(&self, failure: &Failure) {
        let place = Failure::KINDS
            .iter()
            .position(|kind| *kind == failure.kind());
        if let Some(count) = place.and_then(|place| self.failures.get(place)) {
            count.add(1);
        }
    }

    /// Adds what came of questions.
    pub(crate) fn add(&self, tally: &AskTally) {
        let each = [
            (&self.writes_failed, tally.store.writes_failed),
            (&self.no_room, tally.no_room),
        ];
        add_all(
            each.into_iter()
                .chain(self.fell_back.iter().zip(tally.store.fell_back)),
        );
    }

    /// Adds the counters, for Prometheus.
    pub(super) fn render(&self, text: &mut Exposition, standing: &BreakerStanding) {
        for (name, count) in self.each() {
            text.one(&format!("tollgate_store_{name}_total"), count.get());
        }
        let failures = Failure::KINDS.iter().copied();
        let failures = failures.zip(self.failures.iter().map(Count::get));
        text.each("tollgate_store_failures_total", "kind", failures);
        fell_back(text, "tollgate_store_fallback_total", &self.fell_back);
        text.one("tollgate_store_open", u8::from(!standing.is_closed));
        text.one("tollgate_store_owing", standing.owing);
        text.one("tollgate_store_opened_total", standing.opened);
    }

    const fn each(&self) -> [(&'static str, &Count); 7] {
        [
            ("asked", &self.asked),
            ("batches", &self.batches),
            ("busy", &self.busy),
            ("writes_failed", &self.writes_failed),
            ("no_room", &self.no_room),
            ("paid", &self.paid),
            ("unpaid", &self.unpaid),
        ]
    }
}

/// How the breaker before the store stands.
pub(super) struct BreakerStanding {
    /// Whether the store is asked.
    pub(super) is_closed: bool,
    /// How often it was given up for a while.
    pub(super) opened: u64,
    /// Keys whose admissions it has not been told of.
    pub(super) owing: usize,
}

/// The counters of ledgers, where there are any.
pub(super) fn render_ledgers(counts: &LedgerCounts, text: &mut Exposition) {
    if counts.asked.get() > 0 {
        for (name, count) in counts.each() {
            text.one(&format!("tollgate_lease_ledger_{name}_total"), count.get());
        }
    }
}
