//! Keys whose books are in the store: loaded, decided over at the store's time, swapped, and only then is anybody
//! answered.
//!
//! While one swap of a key is under way, whoever asks for it waits and is decided with the next; so a hot key costs as
//! many ways there and back as there are, however many ask. A swap that was lost to another node is decided again from
//! the start, some times. Not here: deciding (`tollgate-owner`), what is answered where there is no answer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant as Time, timeout_at};
use tollgate_limit::Instant;
use tollgate_node::LEDGER_BYTES_MAX;
use tollgate_owner::{LedgerAsk, decide_ledger};
use tollgate_store::{Failure, Go, LedgerId, Swapped};

use super::Store;
use super::lane::{EngineLane, NoAnswer, SLACK};
use crate::engine::RemoteAnswer;
use crate::meter::process::wall;
use crate::owner::Count;
use crate::supply::steady_now;

/// Who waits for which key.
#[derive(Default)]
pub(super) struct Ledgers {
    keys: Mutex<Keys>,
    pub(super) counts: LedgerCounts,
}

#[derive(Default)]
struct Keys {
    /// Keys that somebody looks after.
    each: BTreeMap<LedgerId, VecDeque<Waiting>>,
    /// All that wait.
    waiting: usize,
}

struct Waiting {
    ask: LedgerAsk,
    until: Time,
    answer: oneshot::Sender<Result<RemoteAnswer, Failure>>,
}

/// What is counted of ledgers.
#[derive(Debug, Default)]
pub struct LedgerCounts {
    /// Ledgers that were loaded.
    pub loads: Count,
    /// Ledgers that were written.
    pub swaps: Count,
    /// Swaps that another node was faster with.
    pub swaps_lost: Count,
    /// Questions that those carried.
    pub asked: Count,
    /// Questions that lost too many swaps.
    pub gave_up: Count,
    /// Ledgers that made no sense, or had become too long.
    pub refused: Count,
}

impl LedgerCounts {
    pub(super) const fn each(&self) -> [(&'static str, &Count); 6] {
        [
            ("loads", &self.loads),
            ("swaps", &self.swaps),
            ("swaps_lost", &self.swaps_lost),
            ("asked", &self.asked),
            ("gave_up", &self.gave_up),
            ("refused", &self.refused),
        ]
    }
}

impl Store {
    /// What is counted of ledgers.
    pub fn ledger_counts(&self) -> &LedgerCounts {
        &self.lane.ledgers.counts
    }

    /// Asks questions about keys whose books are in the store, and waits no longer than `within`.
    pub(crate) async fn ask_ledgers(
        &self,
        asks: Vec<LedgerAsk>,
        within: Duration,
    ) -> Vec<Result<RemoteAnswer, NoAnswer>> {
        let within = within.saturating_sub(SLACK.min(within / 10));
        let until = Time::now() + within;
        let answers: Vec<_> = asks
            .into_iter()
            .map(|ask| self.lane.enter(ask, until))
            .collect();
        let mut said = Vec::with_capacity(answers.len());
        for answer in answers {
            said.push(match answer {
                Err(missing) => Err(missing),
                Ok(answer) => match timeout_at(until, answer).await {
                    Ok(Ok(answer)) => answer.map_err(NoAnswer::Failed),
                    Ok(Err(_)) | Err(_) => Err(NoAnswer::Failed(Failure::Late)),
                },
            });
        }
        for missing in said.iter().filter_map(|said| said.as_ref().err()) {
            match missing {
                NoAnswer::Failed(failure) => self.lane.counts.failed(failure),
                NoAnswer::Busy => self.lane.counts.busy.add(1),
                NoAnswer::Open => {}
            }
        }
        said
    }
}

type Answer = oneshot::Receiver<Result<RemoteAnswer, Failure>>;

impl EngineLane {
    /// Takes a question in; the first of its key sets out at once.
    fn enter(self: &Arc<Self>, ask: LedgerAsk, until: Time) -> Result<Answer, NoAnswer> {
        // Whoever finds out whether the store is back waits for it as others did.
        if self.breaker.lock().go(steady_now()) == Go::Not {
            return Err(NoAnswer::Open);
        }
        let (sender, answer) = oneshot::channel();
        let id = ask.id;
        let waiting = Waiting {
            ask,
            until,
            answer: sender,
        };
        let mut keys = self.ledgers.keys.lock();
        if keys.waiting >= WAITING_MAX {
            return Err(NoAnswer::Busy);
        }
        keys.waiting += 1;
        let known = keys.each.get_mut(&id);
        let is_first = known.is_none();
        match known {
            Some(queue) => queue.push_back(waiting),
            None => drop(keys.each.insert(id, VecDeque::from([waiting]))),
        }
        drop(keys);
        if is_first {
            self.handle.spawn(look_after(Arc::clone(self), id));
        }
        Ok(answer)
    }

    /// The next that are decided together, all by one set of contracts; `None` where nobody waits, and nobody looks
    /// after the key any more.
    fn next_group(&self, id: LedgerId) -> Option<Vec<Waiting>> {
        let mut keys = self.ledgers.keys.lock();
        let keys = &mut *keys;
        let queue = keys.each.get_mut(&id)?;
        let now = Time::now();
        let mut group: Vec<Waiting> = Vec::new();
        while let Some(next) = queue.pop_front_if(|next| {
            let is_over = next.until <= now || next.answer.is_closed();
            let fits = |first: &Waiting| Arc::ptr_eq(&first.ask.node, &next.ask.node);
            is_over || (group.len() < GROUP_MAX && group.first().is_none_or(fits))
        }) {
            keys.waiting -= 1;
            // Nobody wants the others' answers any more.
            if next.until > now && !next.answer.is_closed() {
                group.push(next);
            }
        }
        if group.is_empty() {
            keys.each.remove(&id);
            return None;
        }
        Some(group)
    }

    /// Loads, decides and swaps until that is written.
    async fn settle(&self, id: LedgerId, group: &[Waiting]) -> Result<Vec<RemoteAnswer>, Failure> {
        let counts = &self.ledgers.counts;
        counts.asked.add(group.len() as u64);
        let asks: Vec<&LedgerAsk> = group.iter().map(|waiting| &waiting.ask).collect();
        let until = group.iter().map(|waiting| waiting.until).max();
        let until = until.unwrap_or_else(Time::now);
        let left = || until.saturating_duration_since(Time::now());
        for _ in 0..TRIES_MAX {
            let began = steady_now();
            let loaded = timeout_at(until, self.engine.load(id, left())).await;
            let loaded = loaded.unwrap_or(Err(Failure::Late))?;
            counts.loads.add(1);
            let decided = decide_ledger(&asks, &loaded);
            let (said, mut closed) = decided.inspect_err(|_| counts.refused.add(1))?;
            let Some(bytes) = closed.bytes.take() else {
                return Ok(said);
            };
            if bytes.len() > LEDGER_BYTES_MAX {
                counts.refused.add(1);
                return Err(Failure::Full);
            }
            let swap = loaded.replaced_by(bytes, closed.keep);
            let swapped = timeout_at(until, self.engine.swap(id, swap, left())).await;
            match swapped.unwrap_or(Err(Failure::Late))? {
                Swapped::Done => {
                    counts.swaps.add(1);
                    if let Some(waiting) = group.first() {
                        waiting.ask.node.written(&closed, here(loaded.at, began));
                    }
                    return Ok(said);
                }
                Swapped::Lost => counts.swaps_lost.add(1),
            }
        }
        counts.gave_up.add(group.len() as u64);
        Err(Failure::Busy)
    }
}

/// Answers all who wait for a key, and goes when nobody does.
async fn look_after(lane: Arc<EngineLane>, id: LedgerId) {
    while let Some(group) = lane.next_group(id) {
        let said = lane.settle(id, &group).await;
        lane.learn(said.as_ref().err());
        match said {
            Ok(said) => {
                for (waiting, said) in group.into_iter().zip(said) {
                    // Whoever stopped waiting need not be told.
                    let _ = waiting.answer.send(Ok(said));
                }
            }
            Err(failure) => {
                for waiting in group {
                    let _ = waiting.answer.send(Err(failure.clone()));
                }
            }
        }
    }
}

/// A time of the store's on the clock of this machine: it was told since `began`.
fn here(at: Instant, began: Instant) -> Instant {
    let now = steady_now();
    let ago = wall().nanos_since(at);
    Instant::from_nanos(now.as_nanos().saturating_sub(ago)).clamp(began, now)
}

/// The most questions that wait for ledgers.
const WAITING_MAX: usize = 1 << 16;
/// The most that are decided together.
const GROUP_MAX: usize = 256;
/// How often a group is decided before it gives up.
const TRIES_MAX: usize = 16;
