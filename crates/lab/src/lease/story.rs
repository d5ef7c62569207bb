//! A run beside one of real processes: the same bucket, clients and failures, phase by phase.
//!
//! Not here: processes, and which phases there are.

use tollgate_sim::Conditions;

use super::design::Design;
use super::world::{LeaseChange, LeaseSetting, MILLI, Plot, Recovery, SECOND};
use crate::supply::stage::Phase;

/// Something that happens when a phase begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseEvent {
    /// Nothing.
    Nothing,
    /// A client is gone with all that it holds.
    Crash(u16),
    /// It is there again.
    Restart(u16),
    /// The grantor is gone; its successor hears from clients what they hold, after so many milliseconds.
    Fall(u64),
    /// A client stands still: it is not asked, and says nothing.
    Pause(u16),
    /// It goes on.
    Resume(u16),
}

/// What is run.
#[derive(Clone, Debug)]
pub struct LeaseStory {
    /// Tokens per second.
    pub per_second: u64,
    /// Tokens at once.
    pub burst: u64,
    /// Clients, all of which are asked alike, for twice the limit together.
    pub clients: u16,
    /// The term, in milliseconds.
    pub term_ms: u64,
    /// One way, in microseconds.
    pub one_way_us: u64,
    /// What happens, and for how many nanoseconds it goes on like that.
    pub phases: Vec<(LeaseEvent, u64)>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaseTold {
    /// What was used of the limit in each phase.
    pub used: Vec<f64>,
    /// Messages for each decision of all phases together.
    pub messages: f64,
}

impl LeaseStory {
    /// Runs it, with one seed.
    #[allow(clippy::cast_precision_loss, reason = "figures of three digits")]
    pub fn run(&self, seed: u64) -> LeaseTold {
        let setting = LeaseSetting {
            burst: self.burst,
            clients: self.clients,
            term_ns: self.term_ms * MILLI,
            weather: Conditions::between(self.one_way_us * 1_000, self.one_way_us * 1_200),
            until: self.phases.iter().map(|(_, nanos)| nanos).sum(),
            slot_ns: SLOT_NS,
            ..LeaseSetting::usual(self.per_second, 1_000)
        };
        let (changes, phases) = self.script(&setting);
        let outcome = Design::Lease.run(&Plot {
            setting,
            phases,
            changes,
            seed,
        });
        let mut begin = 0;
        let used = self.phases.iter().map(|(_, nanos)| {
            let end = begin + nanos;
            let slots = place(begin)..place(end).min(outcome.slots.len());
            let slots = outcome.slots.get(slots).unwrap_or_default();
            let own: u64 = slots.iter().map(|(own, _)| u64::from(*own)).sum();
            begin = end;
            let time = slots.len() as f64 * SLOT_NS as f64 / SECOND as f64;
            own as f64 / (self.per_second as f64 * time).max(1.0)
        });
        LeaseTold {
            used: used.collect(),
            messages: outcome.per_decision(outcome.tally.messages),
        }
    }

    /// What happens when, and who is asked how much from when on.
    fn script(&self, setting: &LeaseSetting) -> (Vec<(u64, LeaseChange)>, Vec<Phase>) {
        let each = setting.demand(200) / u64::from(self.clients.max(1));
        let mut rates = vec![each; usize::from(self.clients)];
        let (mut changes, mut phases, mut at) = (Vec::new(), Vec::new(), 0);
        for (event, nanos) in &self.phases {
            let mut asked = |client: u16, rate| {
                if let Some(of) = rates.get_mut(usize::from(client)) {
                    *of = rate;
                }
            };
            match *event {
                LeaseEvent::Nothing => {}
                LeaseEvent::Crash(client) => {
                    asked(client, 0);
                    changes.push((at, LeaseChange::Crash(client)));
                }
                LeaseEvent::Restart(client) => {
                    asked(client, each);
                    changes.push((at, LeaseChange::Restart(client)));
                }
                LeaseEvent::Fall(millis) => {
                    changes.push((at, LeaseChange::Fall));
                    changes.push((at + millis * MILLI, LeaseChange::Rise(Recovery::Restate)));
                }
                LeaseEvent::Pause(client) => {
                    asked(client, 0);
                    changes.push((at, LeaseChange::Cut(vec![client])));
                }
                LeaseEvent::Resume(client) => {
                    asked(client, each);
                    changes.push((at, LeaseChange::Heal));
                }
            }
            phases.push(Phase {
                at: at / 1_000,
                rates: rates.clone(),
            });
            at += nanos;
        }
        (changes, phases)
    }
}

fn place(nanos: u64) -> usize {
    usize::try_from(nanos / SLOT_NS).unwrap_or(usize::MAX)
}

/// How finely admissions are counted.
const SLOT_NS: u64 = 20 * MILLI;
