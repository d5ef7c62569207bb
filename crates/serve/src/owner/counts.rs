//! What is counted of owned keys.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate_contract::OnFailure;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What is counted of owned keys.
#[derive(Debug, Default)]
pub struct Counts {
    /// Questions sent to other nodes.
    pub forwarded: Count,
    /// Batches they went in.
    pub batches: Count,
    /// Denials given again here, without asking.
    pub denied_here: Count,
    /// Questions asked a second time, of another owner.
    pub retried: Count,
    /// Questions without an answer in time.
    pub late: Count,
    /// Questions whose owner could not be reached.
    pub unreachable: Count,
    /// Requests that `on_failure` decided, in the order of [`OnFailure::ALL`].
    pub fell_back: [Count; 3],
    /// Charges, refunds, resets and settlements that were answered with an error, as the owner was not there.
    pub writes_failed: Count,
    /// Questions answered for other nodes.
    pub answered: Count,
    /// Batches and answers that made no sense.
    pub malformed: Count,
    /// Keys handed over to their new owners.
    pub moved_out: Count,
    /// Keys taken over from former owners.
    pub moved_in: Count,
    /// Keys whose state no new owner would take.
    pub move_failed: Count,
}

impl Counts {
    pub(super) fn fell_back(&self, instead: OnFailure) {
        self.fell_back[instead as usize].add(1);
    }

    /// The counters as Prometheus reads them.
    pub(crate) fn render(&self, out: &mut String) {
        for (name, help, count) in self.each() {
            let name = format!("tollgate_owner_{name}_total");
            let count = count.get();
            // A string takes whatever is written.
            let _ = write!(
                out,
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}\n"
            );
        }
        let name = "tollgate_owner_fallback_total";
        let help = "Requests decided by on_failure, as the owner was not there.";
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n");
        for (instead, count) in OnFailure::ALL.iter().zip(&self.fell_back) {
            let (instead, count) = (instead.name(), count.get());
            let _ = writeln!(out, "{name}{{instead=\"{instead}\"}} {count}");
        }
    }

    /// Every plain counter with its name and what it is.
    const fn each(&self) -> [(&'static str, &'static str, &Count); 12] {
        [
            ("forwarded", "Questions sent to owners.", &self.forwarded),
            ("batches", "Batches of such questions.", &self.batches),
            ("denied_here", "Denials given again.", &self.denied_here),
            (
                "retried",
                "Questions asked of a second owner.",
                &self.retried,
            ),
            ("late", "Questions without an answer in time.", &self.late),
            ("unreachable", "Owners not reached.", &self.unreachable),
            (
                "writes_failed",
                "Charges, refunds, resets and settlements without an owner.",
                &self.writes_failed,
            ),
            ("answered", "Questions of others answered.", &self.answered),
            ("malformed", "What made no sense.", &self.malformed),
            ("moved_out", "Keys handed to new owners.", &self.moved_out),
            ("moved_in", "Keys had from former owners.", &self.moved_in),
            ("move_failed", "Keys nobody took.", &self.move_failed),
        ]
    }
}
