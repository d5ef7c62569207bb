//! What is counted of owned keys.

use tollgate_contract::OnFailure;
use tollgate_owner::AskTally;

use crate::meter::{Count, Exposition};

/// What is counted of owned keys.
#[derive(Debug, Default)]
pub struct OwnerCounts {
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

impl OwnerCounts {
    /// Adds what came of questions.
    pub(super) fn add(&self, tally: &AskTally) {
        let each = [
            (&self.denied_here, tally.denied_here),
            (&self.retried, tally.retried),
            (&self.late, tally.late),
            (&self.unreachable, tally.unreachable),
            (&self.malformed, tally.malformed),
            (&self.writes_failed, tally.owners.writes_failed),
        ];
        add_all(
            each.into_iter()
                .chain(self.fell_back.iter().zip(tally.owners.fell_back)),
        );
    }

    /// Adds the counters, for Prometheus.
    pub(crate) fn render(&self, text: &mut Exposition) {
        for (name, count) in self.each() {
            text.one(&format!("tollgate_owner_{name}_total"), count.get());
        }
        fell_back(text, "tollgate_owner_fallback_total", &self.fell_back);
    }

    /// Every plain counter with its name.
    const fn each(&self) -> [(&'static str, &Count); 12] {
        [
            ("forwarded", &self.forwarded),
            ("batches", &self.batches),
            ("denied_here", &self.denied_here),
            ("retried", &self.retried),
            ("late", &self.late),
            ("unreachable", &self.unreachable),
            ("writes_failed", &self.writes_failed),
            ("answered", &self.answered),
            ("malformed", &self.malformed),
            ("moved_out", &self.moved_out),
            ("moved_in", &self.moved_in),
            ("move_failed", &self.move_failed),
        ]
    }
}

/// Adds to counters what there is to be added.
pub(crate) fn add_all<'a>(each: impl Iterator<Item = (&'a Count, u64)>) {
    for (count, more) in each.filter(|(_, more)| *more > 0) {
        count.add(more);
    }
}

/// Adds requests that `on_failure` decided, by what it says.
pub(crate) fn fell_back(text: &mut Exposition, name: &str, counts: &[Count; 3]) {
    let instead = OnFailure::ALL.iter().map(|instead| instead.name());
    text.each(name, "instead", instead.zip(counts.iter().map(Count::get)));
}
