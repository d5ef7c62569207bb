//! `coordination: store`: an engine that many nodes share decides.
//!
//! Questions are asked in batches by a thread of their own, so that no door waits for a socket. What has no answer by
//! the deadline is answered by `on_failure`; after some failures nothing is asked at all for a while
//! (`tollgate_store::Breaker`). What was admitted meanwhile by `on_failure: local` is owed, and charged when the engine
//! is back. Not here: engines, which spots are asked of whom (`owner`).

mod clock;
mod connect;
mod counts;
mod lane;
mod ledger;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tollgate_store::{
    Breaker, BreakerConfig, ClockComparison, Engine, EngineAnswer, Failure, LedgerId, LoadedLedger,
    Memory, StoreRequest, Swap, Swapped,
};
use tollgate_table::Budget;

use crate::logs::Rarely;
use crate::meter::Exposition;
use crate::settings::StoreSettings;
use crate::troubles::Lasting;

pub(crate) use connect::seed;
pub use connect::{ConnectError, Connected, connect};
pub use counts::StoreCounts;
pub use lane::NoAnswer;
pub use ledger::LedgerCounts;

use lane::EngineLane;
use ledger::Ledgers;

/// Answers of an engine, once they are there.
pub type PendingAnswers<'a> =
    Pin<Box<dyn Future<Output = Vec<Result<EngineAnswer, Failure>>> + Send + 'a>>;

/// What an engine says of a ledger, once it is there.
pub type PendingLedger<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// An engine of any kind.
pub trait Decides: Send + Sync + 'static {
    /// Asks a batch, as [`Engine::ask`].
    fn decide(&self, batch: Vec<StoreRequest>, time: Duration) -> PendingAnswers<'_>;

    /// The ledger of a key, as [`Engine::load`].
    fn load(&self, id: LedgerId, time: Duration) -> PendingLedger<'_, LoadedLedger>;

    /// Writes a ledger, as [`Engine::swap`].
    fn swap(&self, id: LedgerId, swap: Swap, time: Duration) -> PendingLedger<'_, Swapped>;

    /// The engine in a word.
    fn kind(&self) -> &'static str;

    /// Whether a probe that is answered proves that it takes writes, as [`Engine::proves_writes`].
    fn proves_writes(&self) -> bool;

    /// Its clock against ours, as [`Engine::clock`].
    fn clock(&self) -> Option<ClockComparison>;
}

impl<E: Engine> Decides for E {
    fn decide(&self, batch: Vec<StoreRequest>, time: Duration) -> PendingAnswers<'_> {
        Box::pin(self.ask(batch, time))
    }

    fn load(&self, id: LedgerId, time: Duration) -> PendingLedger<'_, LoadedLedger> {
        Box::pin(Engine::load(self, id, time))
    }

    fn swap(&self, id: LedgerId, swap: Swap, time: Duration) -> PendingLedger<'_, Swapped> {
        Box::pin(Engine::swap(self, id, swap, time))
    }

    fn kind(&self) -> &'static str {
        self.name()
    }

    fn proves_writes(&self) -> bool {
        Engine::proves_writes(self)
    }

    fn clock(&self) -> Option<ClockComparison> {
        Engine::clock(self)
    }
}

/// The way to the store.
pub struct Store {
    lane: Arc<EngineLane>,
    deadline: Duration,
}

impl Store {
    /// A store that this engine is, asked from the runtime of `handle`.
    pub fn new(
        engine: Arc<dyn Decides>,
        handle: tokio::runtime::Handle,
        settings: &StoreSettings,
    ) -> Self {
        let lane = EngineLane {
            engine,
            handle,
            queue: Mutex::default(),
            breaker: Mutex::new(Breaker::new(BreakerConfig::default())),
            memory: Mutex::new(Memory::new(&Arc::new(Budget::new(BYTES_MAX)))),
            counts: StoreCounts::default(),
            ledgers: Ledgers::default(),
            given_up: Notify::new(),
            said: Rarely::new(SAY_EVERY),
            trouble: Arc::default(),
            is_of_writes: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            batches_max: settings.batches,
        };
        Self {
            lane: Arc::new(lane),
            deadline: settings.deadline,
        }
    }

    /// Remembers keys within these bytes from now on.
    pub(crate) fn remember_within(&self, budget: &Arc<Budget>) {
        *self.lane.memory.lock() = Memory::new(budget);
    }

    /// Since when and why it does not decide, where it does not.
    pub(crate) fn trouble(&self) -> Arc<Lasting> {
        Arc::clone(&self.lane.trouble)
    }

    /// What was counted so far.
    pub fn counts(&self) -> &StoreCounts {
        &self.lane.counts
    }

    /// Adds the counters, for Prometheus.
    pub(crate) fn render(&self, text: &mut Exposition) {
        let lane = &self.lane;
        let (is_closed, opened) = {
            let breaker = lane.breaker.lock();
            (breaker.is_closed(), breaker.opened())
        };
        let standing = counts::BreakerStanding {
            is_closed,
            opened,
            owing: lane.memory.lock().owing(),
        };
        lane.counts.render(text, &standing);
        counts::render_ledgers(&lane.ledgers.counts, text);
        clock::render(lane.engine.clock(), text);
    }

    /// How long an answer is waited for.
    pub(crate) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Contracts changed: what is remembered may be of others.
    pub(crate) fn reloaded(&self) {
        self.lane.memory.lock().forget_known();
    }

    /// Asks questions of one spot each, and waits no longer than `within`.
    pub(crate) async fn ask(
        &self,
        asks: Vec<StoreRequest>,
        within: Duration,
    ) -> Vec<Result<EngineAnswer, NoAnswer>> {
        self.lane.ask(asks, within).await
    }

    /// Decides a check by what is remembered; `None` where there is no room to owe it.
    pub(crate) fn remembered(&self, ask: &StoreRequest) -> Option<EngineAnswer> {
        self.lane.memory.lock().decide(ask)
    }
}

/// What a store remembers that no server has yet.
const BYTES_MAX: u64 = 16 << 20;
/// How often it is said at most that the store is done without.
const SAY_EVERY: Duration = Duration::from_secs(10);
