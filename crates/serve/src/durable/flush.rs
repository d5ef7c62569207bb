//! Writes charges twice per flush interval.
//!
//! A flush that fails loses nothing: its keys are remembered, or all keys of their contract if they are too many, and
//! written with the next. Not here: SQL (`rows.rs`).

mod estate;
mod set_clock;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Moment};

use tollgate_contract::{Contract, Terms};
use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use super::counted::{CountedContract, RowNumbers};
use super::recall::RowReader;
use super::rows::{CellWrite, RowTable};
use super::{LoadSummary, Store, StoreError};
use estate::Estate;
use together::Together;

use crate::logs::Rarely;
use crate::shared::Shared;

/// Writes charges every flush interval.
pub struct Flusher {
    orders: mpsc::SyncSender<Order>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Flush(mpsc::SyncSender<Result<(), StoreError>>),
    /// Writes everything, then stops writing for good.
    Leave(mpsc::SyncSender<Result<(), StoreError>>),
    /// The clock is set ahead.
    Move(set_clock::Move),
    Stop,
}

impl Flusher {
    pub fn start(store: Store, shared: Arc<Shared>) -> Result<Self, StoreError> {
        let (orders, queue) = mpsc::sync_channel(ORDERS_MAX);
        // Twice per interval, so that no charge is older than an interval when it is written, as long as a write takes
        // at most half of it.
        let every = (shared.settings.keeping.flush_every / 2).max(EVERY_MIN);
        let now = shared.engine.now();
        let loaded = *store.loaded.lock();
        let meter = shared.engine.meter().durable();
        meter.opened(loaded.cells, loaded.broken, now);
        if let Some(file) = store.journal.file()? {
            shared.state.databases.add(file);
        }
        if let Some(unsynced) = store.journal.unsynced()? {
            // Set once: there is one file.
            let _ = shared.state.databases.synced.set(unsynced);
        }
        if let Some(standing) = store.standing() {
            // Set once, here only.
            let _ = shared.standing.set(standing);
        }
        let store = Arc::new(store);
        let reader = RowReader::start(&store, &shared)?;
        shared.engine.set_reader(Arc::new(reader));
        shared.engine.set_rows(set_clock::mover(&orders));
        let mut work = Work {
            store,
            node: shared.engine.node(),
            shared,
            numbers: BTreeMap::new(),
            of_terms: BTreeMap::new(),
            numbered: now,
            returned: BTreeSet::new(),
            waiting: BTreeMap::new(),
            together: Together::default(),
            estate: Estate::default(),
            swept: (RowTable::Cells, None, now),
            warnings: Rarely::new(WARN_EVERY),
        };
        let thread = std::thread::Builder::new()
            .name("tollgate-flush".into())
            .spawn(move || work.run(&queue, every));
        Ok(Self {
            orders,
            thread: Some(thread.map_err(|error| StoreError::File("flush".into(), error))?),
        })
    }

    /// Writes everything charged so far; returns when it is written.
    pub fn flush_now(&self) -> Result<(), StoreError> {
        self.order(Order::Flush)
    }

    fn order(
        &self,
        order: impl FnOnce(mpsc::SyncSender<Result<(), StoreError>>) -> Order,
    ) -> Result<(), StoreError> {
        let (done, wait) = mpsc::sync_channel(1);
        let sent = self.orders.send(order(done));
        sent.map_err(|_| StoreError::Gone)?;
        wait.recv().map_err(|_| StoreError::Gone)?
    }

    /// Writes everything charged so far and closes the database.
    pub fn stop(self) -> Result<(), StoreError> {
        self.order(Order::Leave)
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        // A thread that has ended needs no order.
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    store: Arc<Store>,
    shared: Arc<Shared>,
    /// The node of the last flush; loading contracts replaces it.
    node: Arc<Node>,
    /// Numbers of contracts and their shapes, by id and text.
    numbers: BTreeMap<(String, String), RowNumbers>,
    /// Numbers of the shapes of keys' own terms, by the contract's number and the terms' version.
    of_terms: BTreeMap<(i64, u64), i64>,
    /// When the cached numbers were last dropped.
    numbered: Instant,
    /// Newly loaded contracts, whose rows may exist from before.
    returned: BTreeSet<String>,
    /// Keys whose flush failed, by contract id.
    waiting: BTreeMap<String, Waiting>,
    /// The same for gossiped policies.
    together: Together,
    /// Rows left by dead nodes.
    estate: Estate,
    /// Where and how far fresh rows were dropped, and when.
    swept: (RowTable, Option<(i64, i64)>, Instant),
    warnings: Rarely,
}

#[derive(Default)]
struct Waiting {
    prints: BTreeSet<u64>,
    /// There were too many to list: every key may have changed.
    all: bool,
}

impl Waiting {
    fn add(&mut self, prints: &[Print], overflowed: bool) {
        self.prints.extend(prints.iter().map(|print| print.0));
        if overflowed || self.prints.len() > WAITING_MAX {
            self.all = true;
            self.prints.clear();
        }
    }
}

impl Work {
    fn run(&mut self, queue: &mpsc::Receiver<Order>, every: Duration) {
        let mut due = Moment::now() + every;
        loop {
            let left = due.saturating_duration_since(Moment::now());
            match queue.recv_timeout(left.min(BEAT_EVERY)) {
                Err(RecvTimeoutError::Timeout) if left > BEAT_EVERY => self.beat(),
                Err(RecvTimeoutError::Timeout) => {
                    // On a disk slower than the interval, flushes do not pile up.
                    due = (due + every).max(Moment::now());
                    let _ = self.flush();
                }
                Ok(Order::Flush(done)) => drop(done.send(self.flush())),
                Ok(Order::Leave(done)) => drop(done.send(self.leave())),
                Ok(Order::Move(order)) => self.move_ahead(&order),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let (begun, clock) = (self.shared.engine.now(), Moment::now());
        let done = self.write_all(begun);
        let meter = self.shared.engine.meter().durable();
        let took = u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
        match &done {
            Ok(rows) => {
                meter.flushed(*rows, begun, took);
            }
            Err(error) => {
                if matches!(error, StoreError::TakenOver | StoreError::Fenced) {
                    meter.refused();
                }
                let waiting = self.waiting.values().chain(self.together.waiting());
                let waiting = waiting.map(|waiting| waiting.prints.len());
                meter.failed(waiting.sum::<usize>() as u64);
                if let Some(unsaid) = self.warnings.now() {
                    tracing::warn!(%error, unsaid, "durable counts could not be written; they are kept in memory");
                }
            }
        }
        let error = done.as_ref().err().map(ToString::to_string);
        self.shared.state.set_store_error(error);
        done.map(drop)
    }

    /// Writes every changed key; returns how many.
    fn write_all(&mut self, now: Instant) -> Result<u64, StoreError> {
        self.gather();
        self.forget_numbers(now);
        let node = Arc::clone(&self.node);
        self.hold(&node, now)?;
        if self.store.journal.look()? {
            self.write_everything(&node);
        }
        self.recall(&node, now)?;
        self.inherit(&node, now)?;
        let mut rows = 0;
        for place in node.durable_contracts() {
            rows += self.write_contract(&node, place, now)?;
        }
        rows += self.write_together(&node, now)?;
        // The rest belongs to contracts that were removed; their last rows stay as they are.
        self.waiting.clear();
        self.sweep(now)?;
        Ok(rows)
    }

    /// The database or its last writes were lost: its numbers are void, and every key is written.
    fn write_everything(&mut self, node: &Node) {
        self.numbers.clear();
        self.of_terms.clear();
        for id in durable_ids(node) {
            self.waiting.entry(id).or_default().all = true;
        }
        self.together.write_everything(node);
    }

    /// Collects what changed since the last flush, including in a node that was replaced meanwhile.
    fn gather(&mut self) {
        let node = self.shared.engine.node();
        let replaced = !Arc::ptr_eq(&node, &self.node);
        let old = std::mem::replace(&mut self.node, Arc::clone(&node));
        if replaced {
            self.of_terms.clear();
            let known = durable_ids(&old);
            self.returned
                .extend(durable_ids(&node).difference(&known).cloned());
            self.together.replaced(&old, &node);
        }
        let nodes = [Some(node), replaced.then_some(old)];
        for node in nodes.into_iter().flatten() {
            self.together.gather(&node);
            for place in node.durable_contracts() {
                let Some(contract) = node.contracts().get(place) else {
                    continue;
                };
                let mut prints = Vec::new();
                let overflowed = node.take_dirty(place, &mut prints);
                if overflowed || !prints.is_empty() {
                    let waiting = self.waiting.entry(contract.id.clone()).or_default();
                    waiting.add(&prints, overflowed);
                }
            }
        }
    }

    /// Reads rows of newly loaded contracts for keys without a request since.
    fn recall(&mut self, node: &Node, now: Instant) -> Result<(), StoreError> {
        while let Some(id) = self.returned.first() {
            let place = node.contracts().position(id);
            if let Some(of) = place.and_then(|place| CountedContract::of(node, place)) {
                let mut loaded = LoadSummary::default();
                self.store.load_contract(&of, now, &mut loaded)?;
                node.all_read(of.place);
                loaded.log("durable counts of a contract were read", Some(id));
            }
            self.returned.pop_first();
        }
        Ok(())
    }

    /// Writes the changed keys of one contract; those written are removed from `waiting`.
    fn write_contract(
        &mut self,
        node: &Node,
        place: usize,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let Some(of) = CountedContract::of(node, place) else {
            return Ok(0);
        };
        let id = &of.contract.id;
        if !self.waiting.contains_key(id) {
            return Ok(0);
        }
        let numbers = self.numbers(&of, now)?;
        let mut rows = 0;
        if self.waiting.get(id).is_some_and(|waiting| waiting.all) {
            let mut prints = Vec::new();
            for shard in 0..node.shards_count(place) {
                node.prints_in(place, shard, &mut prints);
                if prints.len() >= CHUNK {
                    rows += self.write(&of, numbers, &prints, now)?;
                    prints.clear();
                }
            }
            rows += self.write(&of, numbers, &prints, now)?;
        }
        while let Some(waiting) = self.waiting.get(id) {
            let chunk: Vec<_> = waiting
                .prints
                .iter()
                .take(CHUNK)
                .copied()
                .map(Print)
                .collect();
            if chunk.is_empty() {
                break;
            }
            rows += self.write(&of, numbers, &chunk, now)?;
            if let Some(waiting) = self.waiting.get_mut(id) {
                for print in chunk {
                    waiting.prints.remove(&print.0);
                }
            }
        }
        self.waiting.remove(id);
        node.cells_written(place);
        Ok(rows)
    }

    fn numbers(
        &mut self,
        of: &CountedContract<'_>,
        now: Instant,
    ) -> Result<RowNumbers, StoreError> {
        let key = of.key();
        if let Some(numbers) = self.numbers.get(&key) {
            return Ok(*numbers);
        }
        let numbers = self.store.numbers(of, now)?;
        Ok(*self.numbers.entry(key).or_insert(numbers))
    }

    fn write(
        &mut self,
        of: &CountedContract<'_>,
        numbers: RowNumbers,
        prints: &[Print],
        now: Instant,
    ) -> Result<u64, StoreError> {
        if prints.is_empty() {
            return Ok(0);
        }
        let each = prints.iter();
        let cells = each.map(|print| self.written(of, numbers, *print, now));
        let cells = cells.collect::<Result<_, _>>()?;
        self.store.journal.write(cells)?;
        Ok(prints.len() as u64)
    }

    fn written(
        &mut self,
        of: &CountedContract<'_>,
        numbers: RowNumbers,
        print: Print,
        now: Instant,
    ) -> Result<CellWrite, StoreError> {
        let (state, own) = of.node.read_cell(of.place, print).unzip();
        let contract = numbers.contract;
        let shape = match own.flatten() {
            Some(terms) => self.shape_of(&terms, contract, of.contract, now)?,
            None => numbers.shape,
        };
        Ok(CellWrite {
            contract,
            shape,
            print: print.0,
            state: state.map(|stored| (stored.bytes, stored.fresh_at.as_nanos())),
        })
    }

    /// The number of the shape of a key's own terms.
    fn shape_of(
        &mut self,
        terms: &Terms,
        number: i64,
        contract: &Contract,
        now: Instant,
    ) -> Result<i64, StoreError> {
        let key = (number, terms.version);
        if let Some(shape) = self.of_terms.get(&key) {
            return Ok(*shape);
        }
        let shape = self.store.number_of_terms(contract, terms, now)?;
        if self.of_terms.len() >= TERMS_MAX {
            self.of_terms.clear();
        }
        self.of_terms.insert(key, shape);
        Ok(shape)
    }

    /// Queries numbers again once a day, which marks their contracts as still in use.
    fn forget_numbers(&mut self, now: Instant) {
        if now.nanos_since(self.numbered) > DAY_NS {
            self.numbers.clear();
            self.of_terms.clear();
            self.numbered = now;
        }
    }

    /// Drops some fresh rows per call.
    fn sweep(&mut self, now: Instant) -> Result<(), StoreError> {
        let (from, after, last) = self.swept;
        if now.nanos_since(last) < SWEEP_EVERY_NS {
            return Ok(());
        }
        let (until, _) = self.store.journal.drop_fresh(from, after, now)?;
        let next = match (from, until) {
            (_, Some(_)) => from,
            (RowTable::Cells, None) => RowTable::Gossip,
            (RowTable::Gossip, None) => RowTable::Cells,
        };
        self.swept = (next, until, now);
        Ok(())
    }
}

fn durable_ids(node: &Node) -> BTreeSet<String> {
    let contracts = node.durable_contracts();
    let ids = contracts.filter_map(|place| Some(node.contracts().get(place)?.id.clone()));
    ids.collect()
}

/// Heartbeat interval of the lease.
const BEAT_EVERY: Duration = Duration::from_secs(1);
const ORDERS_MAX: usize = 4;
const EVERY_MIN: Duration = Duration::from_millis(10);
/// Cells per transaction.
const CHUNK: usize = 50_000;
/// Keys per contract that are remembered after a failed write.
const WAITING_MAX: usize = 1 << 20;
/// Cached numbers of terms.
const TERMS_MAX: usize = 1 << 16;
const DAY_NS: u64 = 86_400_000_000_000;
/// Interval between batches of dropped fresh rows.
const SWEEP_EVERY_NS: u64 = 10_000_000_000;
/// Interval between warnings about a failing disk.
const WARN_EVERY: Duration = Duration::from_mins(1);
