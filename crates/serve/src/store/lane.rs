//! The way to the engine: batches, the breaker, and debts that are paid when it is back.
//!
//! While as many batches as are allowed are under way, the next one collects; so asks for one key meet in one batch,
//! and the engine makes one call of them. Bounded: past the bound nothing is asked. When the breaker opens, whoever
//! waits is told at once. Not here: what is answered instead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tollgate_store::{Breaker, EngineAnswer, Failure, Go, Memory, StoreRequest, Verb};

use super::Decides;
use super::counts::StoreCounts;
use super::ledger::Ledgers;
use crate::logs::Rarely;
use crate::supply::steady_now;
use crate::troubles::Lasting;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nothing was asked, as the engine did not answer before.
    Open,
    /// Nothing was asked, as too much waits already.
    Busy,
    /// It was asked.
    Failed(Failure),
}

/// The way to the engine.
pub(super) struct EngineLane {
    pub(super) engine: Arc<dyn Decides>,
    pub(super) handle: tokio::runtime::Handle,
    pub(super) queue: Mutex<LaneQueue>,
    pub(super) breaker: Mutex<Breaker>,
    pub(super) memory: Mutex<Memory>,
    pub(super) counts: StoreCounts,
    /// Keys whose books are in the store.
    pub(super) ledgers: Ledgers,
    /// Told when the breaker opens.
    pub(super) given_up: Notify,
    /// Says in the log that it did.
    pub(super) said: Rarely,
    /// Why the engine does not decide, whether that is for want of writes, and whether a task looks whether it is over.
    pub(super) trouble: Arc<Lasting>,
    pub(super) is_of_writes: AtomicBool,
    pub(super) is_watched: AtomicBool,
    /// The most batches under way.
    pub(super) batches_max: usize,
}

#[derive(Default)]
pub(super) struct LaneQueue {
    waiting: VecDeque<Waiting>,
    /// Asks that wait.
    asks: usize,
    /// Batches under way.
    batches: usize,
    /// Whether somebody pays debts.
    is_paying: bool,
}

struct Waiting {
    asks: Vec<StoreRequest>,
    until: tokio::time::Instant,
    answer: oneshot::Sender<Answers>,
}

type Answers = Vec<Result<EngineAnswer, Failure>>;

impl EngineLane {
    /// Asks with the next batch, and waits for the answers.
    pub(super) async fn ask(
        self: &Arc<Self>,
        asks: Vec<StoreRequest>,
        within: Duration,
    ) -> Vec<Result<EngineAnswer, NoAnswer>> {
        let count = asks.len();
        let missing = |why: NoAnswer| (0..count).map(|_| Err(why.clone())).collect();
        match self.breaker.lock().go(steady_now()) {
            Go::Ask => {}
            Go::Not => return missing(NoAnswer::Open),
            Go::Probe => {
                self.probe(&asks);
                return missing(NoAnswer::Open);
            }
        }
        let within = within.saturating_sub(SLACK.min(within / 10));
        let Some(answer) = self.enqueue(asks, within) else {
            self.counts.busy.add(1);
            return missing(NoAnswer::Busy);
        };
        let answers = match tokio::time::timeout(within, answer).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(_)) => vec![Err(Failure::Unreachable("it ends".to_owned())); count],
            Err(_) => vec![Err(Failure::Late); count],
        };
        let answers = answers.into_iter();
        answers
            .map(|answer| {
                answer.map_err(|failure| {
                    self.counts.failed(&failure);
                    NoAnswer::Failed(failure)
                })
            })
            .collect()
    }

    fn enqueue(
        self: &Arc<Self>,
        asks: Vec<StoreRequest>,
        within: Duration,
    ) -> Option<oneshot::Receiver<Answers>> {
        let (sender, answer) = oneshot::channel();
        let mut queue = self.queue.lock();
        if queue.asks + asks.len() > ASKS_MAX {
            return None;
        }
        queue.asks += asks.len();
        queue.waiting.push_back(Waiting {
            asks,
            until: tokio::time::Instant::now() + within,
            answer: sender,
        });
        if queue.batches < self.batches_max {
            queue.batches += 1;
            drop(queue);
            self.handle.spawn(Arc::clone(self).drive());
        }
        Some(answer)
    }

    /// Carries batches as long as there are some.
    async fn drive(self: Arc<Self>) {
        loop {
            // From now on, so that none is missed between this and the wait.
            let given_up = self.given_up.notified();
            let Some((asks, senders, until)) = self.next() else {
                break;
            };
            let time = until.saturating_duration_since(tokio::time::Instant::now());
            self.counts.batches.add(1);
            self.counts.asked.add(asks.len() as u64);
            let answers = tokio::select! {
                biased;
                answers = self.decide(asks.clone(), time) => answers,
                () = given_up => vec![Err(Failure::Late); asks.len()],
            };
            self.take_note(&asks, &answers);
            let mut answers = answers.into_iter();
            for (sender, count) in senders {
                // Whoever stopped waiting need not be told.
                let _ = sender.send(answers.by_ref().take(count).collect());
            }
        }
        self.pay().await;
    }

    /// The next batch, whom to tell, and until when somebody waits; `None` where nobody does.
    #[allow(clippy::type_complexity)] // Three things that are taken apart at once.
    fn next(
        &self,
    ) -> Option<(
        Vec<StoreRequest>,
        Vec<(oneshot::Sender<Answers>, usize)>,
        tokio::time::Instant,
    )> {
        let mut queue = self.queue.lock();
        let (mut asks, mut senders) = (Vec::new(), Vec::new());
        let mut until = None;
        while let Some(waiting) = queue.waiting.pop_front() {
            queue.asks -= waiting.asks.len();
            // Whoever has stopped waiting has done without.
            if waiting.answer.is_closed() {
                continue;
            }
            until = until.max(Some(waiting.until));
            senders.push((waiting.answer, waiting.asks.len()));
            asks.extend(waiting.asks);
            if asks.len() >= BATCH {
                break;
            }
        }
        if until.is_none() {
            queue.batches -= 1;
        }
        Some((asks, senders, until?))
    }

    /// Asks the engine, and never waits longer than it was told to.
    async fn decide(&self, asks: Vec<StoreRequest>, time: Duration) -> Answers {
        let count = asks.len();
        let answers = tokio::time::timeout(time + GRACE, self.engine.decide(asks, time)).await;
        let mut answers = answers.unwrap_or_default();
        answers.resize(count, Err(Failure::Late));
        answers
    }

    /// Learns from answers: whether the engine is there, and how keys stand.
    fn take_note(self: &Arc<Self>, asks: &[StoreRequest], answers: &Answers) {
        let mut memory = self.memory.lock();
        let (mut is_there, mut has_written, mut failures) = (false, false, Vec::new());
        for (ask, answer) in asks.iter().zip(answers) {
            match answer {
                Ok(said) => {
                    is_there = true;
                    has_written |= ask.verb != Verb::Show;
                    memory.note(ask, said);
                }
                Err(failure) => failures.extend(failure.is_of_the_engine().then_some(failure)),
            }
        }
        drop(memory);
        // An engine that answers some of a batch is there: a part of a Cluster may be missing.
        if is_there {
            self.is_there(has_written);
        } else {
            self.failed(&failures);
            self.watch(asks);
        }
    }

    /// Learns from an answer of another kind whether the engine is there.
    pub(super) fn learn(&self, failure: Option<&Failure>) {
        match failure {
            None => self.is_there(true),
            // Others being faster says nothing.
            Some(Failure::Busy) => {}
            Some(failure) if failure.is_of_the_engine() => self.failed(&[failure]),
            Some(_) => {}
        }
    }

    /// Ends the trouble, unless it was that nothing can be written, and nothing was.
    fn is_there(&self, has_written: bool) {
        self.breaker.lock().succeeded();
        let is_over = has_written || !self.is_of_writes.load(Relaxed);
        if is_over && self.trouble.set(None) {
            tracing::info!("the store answers again");
        }
    }

    /// Takes note of failures; whoever waits need not any longer, where they are too many.
    fn failed(&self, failures: &[&Failure]) {
        let chance = getrandom::u32().unwrap_or(0);
        let mut breaker = self.breaker.lock();
        let was_closed = breaker.is_closed();
        for _ in failures {
            breaker.failed(steady_now(), chance);
        }
        let is_open = !breaker.is_closed();
        drop(breaker);
        if let (true, Some(failure)) = (is_open, failures.last()) {
            let is_of_writes = matches!(failure, Failure::Full | Failure::ReadOnly);
            let is_open_question = is_of_writes && !self.engine.proves_writes();
            self.is_of_writes.store(is_open_question, Relaxed);
            self.trouble.set(Some(failure.to_string()));
        }
        if !(was_closed && is_open) {
            return;
        }
        if let (Some(unsaid), Some(failure)) = (self.said.now(), failures.last()) {
            tracing::warn!(unsaid, "the store is done without for now: {failure}");
        }
        let waiting = {
            let mut queue = self.queue.lock();
            queue.asks = 0;
            std::mem::take(&mut queue.waiting)
        };
        for one in waiting {
            // Whoever stopped waiting need not be told.
            let _ = one.answer.send(vec![Err(Failure::Late); one.asks.len()]);
        }
        self.given_up.notify_waiters();
    }

    /// Looks whether the engine is back until it is, also where no request comes.
    fn watch(self: &Arc<Self>, asks: &[StoreRequest]) {
        let is_open = !self.breaker.lock().is_closed();
        if !is_open || asks.is_empty() || self.is_watched.swap(true, Relaxed) {
            return;
        }
        let (lane, asks) = (Arc::clone(self), asks[..1].to_vec());
        self.handle.spawn(async move {
            while !lane.breaker.lock().is_closed() {
                tokio::time::sleep(WATCH_EVERY).await;
                let go = lane.breaker.lock().go(steady_now());
                if go == Go::Probe {
                    lane.probe(&asks);
                }
            }
            lane.is_watched.store(false, Relaxed);
        });
    }

    /// Looks whether the engine is back, with nobody waiting for it.
    fn probe(self: &Arc<Self>, asks: &[StoreRequest]) {
        let Some(ask) = asks.first() else {
            return;
        };
        let ask = StoreRequest {
            verb: Verb::Show,
            ..ask.clone()
        };
        let lane = Arc::clone(self);
        self.handle.spawn(async move {
            let asks = vec![ask];
            let answers = lane.decide(asks.clone(), PROBE).await;
            lane.take_note(&asks, &answers);
            let failures = answers.iter().filter_map(|answer| answer.as_ref().err());
            failures.for_each(|failure| lane.counts.failed(failure));
            lane.pay().await;
        });
    }

    /// Charges what was admitted without the engine, as long as it answers.
    async fn pay(&self) {
        if !self.breaker.lock().is_closed()
            || self.memory.lock().owing() == 0
            || std::mem::replace(&mut self.queue.lock().is_paying, true)
        {
            return;
        }
        loop {
            let debts = self.memory.lock().take_owed(BATCH);
            if debts.is_empty() {
                break;
            }
            let answers = self.decide(debts.clone(), PROBE).await;
            let mut memory = self.memory.lock();
            let mut is_unpaid = false;
            for (debt, answer) in debts.iter().zip(&answers) {
                if answer.is_ok() {
                    self.counts.paid.add(1);
                    continue;
                }
                // It may have been charged; to charge it twice is the safe mistake.
                is_unpaid = true;
                let is_kept = memory.put_back(debt);
                self.counts.unpaid.add(u64::from(!is_kept));
            }
            drop(memory);
            if is_unpaid {
                break;
            }
        }
        self.queue.lock().is_paying = false;
    }
}

/// The most asks that wait.
const ASKS_MAX: usize = 1 << 16;
/// About as many asks as a batch has.
const BATCH: usize = 256;
/// How often the task looks whether it is time for a probe.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// How long debts and probes are waited for.
const PROBE: Duration = Duration::from_secs(1);
/// Timers ring up to this much later than they are set; answers are to be there by the deadline all the same.
pub(super) const SLACK: Duration = Duration::from_millis(2);
/// How much longer than told an engine may take to say that it is late.
const GRACE: Duration = Duration::from_millis(1);
