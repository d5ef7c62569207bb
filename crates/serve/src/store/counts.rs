//! What is counted of the store.

use std::fmt::Write as _;

use tollgate_contract::OnFailure;
use tollgate_store::Failure;

use super::ledger::LedgerCounts;
use crate::owner::Count;

/// What is counted of the store.
#[derive(Debug, Default)]
pub struct Counts {
    /// Asks sent.
    pub asked: Count,
    /// Batches they went in.
    pub batches: Count,
    /// Requests that were not asked, as too much waited.
    pub busy: Count,
    /// Failures, in the order of [`Failure::KINDS`].
    pub failures: [Count; Failure::KINDS.len()],
    /// Requests that `on_failure` decided, in the order of [`OnFailure::ALL`].
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

impl Counts {
    pub(super) fn failed(&self, failure: &Failure) {
        let place = Failure::KINDS
            .iter()
            .position(|kind| *kind == failure.kind());
        if let Some(count) = place.and_then(|place| self.failures.get(place)) {
            count.add(1);
        }
    }

    pub(crate) fn fell_back(&self, instead: OnFailure) {
        self.fell_back[instead as usize].add(1);
    }

    /// The counters as Prometheus reads them.
    pub(super) fn render(&self, out: &mut String, is_closed: bool, opened: u64, owing: usize) {
        for (name, help, count) in self.each() {
            let name = format!("tollgate_store_{name}_total");
            put(out, &name, help, "counter", &[(String::new(), count)]);
        }
        let labelled = |label: &str, name: &str| format!("{{{label}=\"{name}\"}}");
        let failures = Failure::KINDS.iter().zip(&self.failures);
        let failures: Vec<_> = failures
            .map(|(kind, count)| (labelled("kind", kind), count.get()))
            .collect();
        let name = "tollgate_store_failures_total";
        put(out, name, "Asks without an answer.", "counter", &failures);
        let instead = OnFailure::ALL.iter().zip(&self.fell_back);
        let instead: Vec<_> = instead
            .map(|(wish, count)| (labelled("instead", wish.name()), count.get()))
            .collect();
        let name = "tollgate_store_fallback_total";
        let help = "Requests decided by on_failure, as the store did not answer.";
        put(out, name, help, "counter", &instead);
        let gauge = |out: &mut String, name: &str, help: &str, value: u64| {
            put(out, name, help, "gauge", &[(String::new(), value)]);
        };
        let help = "1 while the store is not asked, as it did not answer before.";
        gauge(out, "tollgate_store_open", help, u64::from(!is_closed));
        let help = "Keys whose admissions the store has not been told of.";
        gauge(out, "tollgate_store_owing", help, owing as u64);
        let help = "Times the store was given up for a while.";
        let opened = [(String::new(), opened)];
        put(out, "tollgate_store_opened_total", help, "counter", &opened);
    }

    fn each(&self) -> [(&'static str, &'static str, u64); 7] {
        [
            ("asked", "Asks sent to the store.", self.asked.get()),
            ("batches", "Batches of such asks.", self.batches.get()),
            (
                "busy",
                "Requests not asked, as too much waited.",
                self.busy.get(),
            ),
            (
                "writes_failed",
                "Charges, refunds, resets and settlements without the store.",
                self.writes_failed.get(),
            ),
            (
                "no_room",
                "Requests that could not be remembered.",
                self.no_room.get(),
            ),
            (
                "paid",
                "Keys charged when the store was back.",
                self.paid.get(),
            ),
            ("unpaid", "Keys that were never charged.", self.unpaid.get()),
        ]
    }
}

/// The counters of ledgers, where there are any.
pub(super) fn render_ledgers(counts: &LedgerCounts, out: &mut String) {
    if counts.asked.get() == 0 {
        return;
    }
    for (name, help, count) in counts.each() {
        let name = format!("tollgate_lease_ledger_{name}_total");
        put(out, &name, help, "counter", &[(String::new(), count.get())]);
    }
}

fn put(out: &mut String, name: &str, help: &str, kind: &str, rows: &[(String, u64)]) {
    // A string takes whatever is written.
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    for (labels, value) in rows {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}
