//! The engine: the node that decides, the time, and everything that happens around a decision.
//!
//! A listener takes a [`Turn`] for one request, or for all requests that came in together, and asks it. A turn reaches
//! the contracts it began with and those loaded since, so that names in an answer are those of the contracts that gave
//! it. Nothing here waits. Not here: protocols.

mod bans;
mod counted;
mod described;
mod error;
mod explain;
mod gubernated;
mod hold;
mod later;
mod lend;
mod op;
mod quota;
mod seal;
mod sender;
mod shown;
mod turn;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tollgate_clock::{Clock, ClockStanding, SystemClock};
use tollgate_contract::Contracts;
use tollgate_limit::Instant;
use tollgate_node::{Adhoc, Gubernator, Membership, Node, NodeConfig};
use tollgate_table::{Counters, Seed};

use crate::lend::HeldWaits;
use crate::logs::Rarely;
use crate::meter::Meter;
use crate::statistics::Statistics;
use crate::tail::Tail;
use bans::Barred;
pub(crate) use bans::ban_terms;
use later::Apart;

pub(crate) use described::RETRY_WHEN_FULL;
pub use error::EngineError;
pub use explain::{ContractMiss, Explained, Explanation};
pub use later::{
    Elsewhere, Hearing, Learning, Question, QuestionReply, QuotaAsk, Registrar, RemoteAnswer,
    Started, Steps, Ticket, Unknown, UnknownPart, Verb, WaitingOps, WaitingSteps,
};
pub use op::{Act, Op, OpOutcome, Settle, StartedOp};
pub(crate) use quota::{QuotaHeard, QuotaQuestion};
pub use seal::{OpenedReceipt, Seal, SealError};
pub use sender::RequestSender;
pub(crate) use sender::operation_id;
pub use tollgate_node::Scope;
pub use turn::{EngineRequest, PolicyStanding, Turn};

/// What every listener asks.
pub struct Engine {
    node: ArcSwap<Node>,
    /// Keys of policies that requests describe; contracts come and go without them.
    adhoc: Arc<Adhoc>,
    /// Keys that are counted as gubernator counts them; likewise.
    gubernator: Arc<Gubernator>,
    clock: Arc<SystemClock>,
    seal: Seal,
    meter: Meter,
    /// Those who watch decisions.
    tail: Arc<Tail>,
    /// Held while contracts are loaded.
    loading: Mutex<()>,
    apart: Apart,
    /// Requests that wait for leases.
    held: HeldWaits,
    barred: Barred,
    /// Says of keys that no contract binds.
    unmatched: Rarely,
    /// Where requests are counted one identity at a time, where they are.
    statistics: OnceLock<Arc<Statistics>>,
    /// The numbers of all callers, where they have tokens.
    callers: Mutex<Vec<u64>>,
    /// Moves counts that are not in memory, where there are some.
    rows: OnceLock<Arc<dyn Rows>>,
}

/// Counts that are not in memory: they go where the clock goes.
pub(crate) trait Rows: Send + Sync {
    /// Moves every row ahead, then calls `follow`, and only then lets rows be read and written again. Where that fails,
    /// `follow` was not called.
    fn move_ahead(&self, from: Instant, to: Instant, follow: &dyn Fn()) -> Result<(), String>;
}

impl Engine {
    /// An engine that decides by these contracts.
    pub fn new(contracts: Contracts, config: NodeConfig, secrets: &Secrets) -> Self {
        let node = Node::new(contracts, config, secrets.table.clone());
        Self::of(node, config, secrets, Arc::default())
    }

    /// An engine that counts what is under `coordination: gossip` together with other nodes, which have the same table
    /// secret. The membership's start is set to the time, and where it lends its days are those of the engine.
    pub fn with_company(
        contracts: Contracts,
        config: NodeConfig,
        secrets: &Secrets,
        mut membership: Membership,
    ) -> Self {
        let clock = Arc::<SystemClock>::default();
        membership.start = clock.now();
        if let Some(lend) = &mut membership.lend {
            let day = Arc::clone(&clock);
            lend.day = Some(Arc::new(move || day.now()));
        }
        let node = Node::with_company(contracts, config, secrets.table.clone(), membership);
        Self::of(node, config, secrets, clock)
    }

    fn of(node: Node, config: NodeConfig, secrets: &Secrets, clock: Arc<SystemClock>) -> Self {
        let meter = Meter::new();
        meter.load(node.contracts());
        let budget = Arc::clone(node.budget());
        let apart = Apart::new(node.away());
        Self {
            node: ArcSwap::from_pointee(node),
            adhoc: Adhoc::new(config, secrets.table.clone(), &budget),
            gubernator: Gubernator::new(config, secrets.table.clone(), &budget),
            clock,
            seal: Seal::new(&secrets.receipts),
            meter,
            tail: Arc::default(),
            loading: Mutex::new(()),
            apart,
            held: HeldWaits::default(),
            barred: Barred::default(),
            unmatched: Rarely::new(SAY_UNMATCHED_EVERY),
            statistics: OnceLock::new(),
            callers: Mutex::default(),
            rows: OnceLock::new(),
        }
    }

    /// Reservations of these callers are found by a sender that may settle those of all.
    pub(crate) fn set_callers(&self, callers: Vec<u64>) {
        *self.callers.lock() = callers;
    }

    /// Decides by these contracts from here on. A request that is overtaken is decided whole by the new ones.
    ///
    /// It may take a while, as what is known of every key of a changed contract is carried over; requests are decided
    /// meanwhile. Not for a thread that serves connections.
    pub fn load(&self, contracts: Contracts) {
        let _alone = self.loading.lock();
        let next = self.node.load().succeed(contracts, self.now());
        self.meter.load(next.contracts());
        self.node.store(Arc::clone(&next));
        self.apart.look_at(next.contracts());
        while next.carry_over(self.now(), PAGES_AT_ONCE) {}
    }

    /// Begins to answer: takes the contracts as they are now, and the time.
    pub fn turn(&self) -> Turn<'_> {
        Turn::new(self, self.node.load(), self.clock.now())
    }

    /// Begins to answer what came a little earlier and is decided as of then. Whatever was charged since counts all the
    /// same.
    pub fn turn_as_of(&self, came: Instant) -> Turn<'_> {
        Turn::new(self, self.node.load(), came.min(self.clock.now()))
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// How the time stands to the system's clock.
    pub fn clock(&self) -> ClockStanding {
        self.clock.standing()
    }

    /// Sets the time to what the system's clock stepped to, and every key with it, so that nothing is regained.
    ///
    /// It may take a while. Not for a thread that serves connections. Where rows on disk cannot be moved ahead now, it
    /// says why and follows nothing: they would count as full.
    pub(crate) fn follow_clock(&self) -> Result<(), String> {
        let _alone = self.loading.lock();
        let Some(step) = self.clock.standing().step else {
            return Ok(());
        };
        let from = self.now();
        let to = from.as_nanos().saturating_add_signed(step.by_ns);
        let to = Instant::from_nanos(to);
        if from < to {
            let follow = || {
                self.move_time(from, to);
                self.clock.follow();
            };
            if let Some(rows) = self.rows.get() {
                return rows.move_ahead(from, to, &follow);
            }
            follow();
            return Ok(());
        }
        self.clock.follow();
        // What requests charge that began before is moved as well. Nothing is regained until then.
        std::thread::sleep(TURN_MAX);
        self.move_time(from, to);
        Ok(())
    }

    /// From here on counts that are not in memory move with the clock; for once.
    pub(crate) fn set_rows(&self, rows: Arc<dyn Rows>) {
        let _ = self.rows.set(rows);
    }

    fn move_time(&self, from: Instant, to: Instant) {
        self.node.load().move_time(from, to);
        self.adhoc.move_time(from, to);
        self.gubernator.move_time(from, to);
    }

    /// The node as it is now, for whoever needs it longer than for a turn.
    pub fn node(&self) -> Arc<Node> {
        self.node.load_full()
    }

    /// Keys of policies that requests describe.
    pub fn adhoc(&self) -> &Adhoc {
        &self.adhoc
    }

    /// Keys that are counted as gubernator counts them.
    pub fn gubernator(&self) -> &Gubernator {
        &self.gubernator
    }

    /// How many keys are counted now, by contracts and by what requests bring along.
    pub fn cells_count(&self) -> usize {
        self.node.load().cells_count() + self.adhoc.keys_count() + self.gubernator.keys_count()
    }

    /// What happened at the limits of all tables so far.
    pub fn counters(&self) -> Counters {
        let counters = self.node.load().counters();
        counters
            .plus(self.adhoc.counters())
            .plus(self.gubernator.counters())
    }

    /// What happened so far.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Those who watch decisions.
    pub fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// From here on requests are counted here; for once.
    pub fn set_statistics(&self, statistics: Arc<Statistics>) {
        // A second one would have no reader.
        let _ = self.statistics.set(statistics);
    }

    /// Where requests are counted one identity at a time, where they are.
    #[inline]
    pub fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.statistics.get()
    }

    pub(crate) const fn seal(&self) -> &Seal {
        &self.seal
    }
}

/// What must not be guessed: drawn at the first start and, where counts are durable, kept with them.
#[derive(Clone)]
pub struct Secrets {
    /// Gives keys their places in tables.
    pub table: Seed,
    /// Seals receipts.
    pub receipts: [u8; 32],
}

impl Secrets {
    /// Fresh secrets from the system's randomness.
    pub fn draw() -> Result<Self, getrandom::Error> {
        let mut receipts = [0; 32];
        getrandom::fill(&mut receipts)?;
        Ok(Self {
            table: Seed::new([getrandom::u64()?, getrandom::u64()?]),
            receipts,
        })
    }
}

/// Longer than a request is decided as of the time at which it began.
const TURN_MAX: Duration = Duration::from_millis(250);
/// How often it is said that no contract binds a key.
const SAY_UNMATCHED_EVERY: Duration = Duration::from_mins(1);
/// Pages of former contracts carried over between two looks at the time.
const PAGES_AT_ONCE: usize = 64;
