//! Reads counts from disk before deciding about keys that are not in memory.
//!
//! If memory is short, cells of durable policies leave it once written. A request for such a key waits until its row is
//! read, at most half a second and at most twice; keys requested meanwhile are read together. If the row cannot be
//! read, the request is denied with a time to retry: no request passes because a database is slow. One job of the
//! writer thread reads a row and puts it into memory, so that it is never older than what was written. Not here: which
//! cells may leave (`tollgate-node`), and which requests wait (`engine::later`).

use std::collections::BTreeMap;
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use tokio::sync::oneshot;
use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use super::counted::{CountedContract, KnownRows};
use super::rows::CellRow;
use super::{LoadSummary, Store, StoreError};
use crate::engine::{Learning, Registrar, Unknown};
use crate::logs::Rarely;
use crate::shared::Shared;

/// Keys of a contract whose rows are needed.
struct Wanted {
    node: Arc<Node>,
    place: usize,
    prints: Vec<u64>,
    /// Whether rows of unknown shapes are given up.
    is_last: bool,
}

impl Wanted {
    /// Puts rows into memory.
    fn put(&self, found: Vec<CellRow>, known: &KnownRows, now: Instant) -> Read {
        let mut read = Read::default();
        let mut rows: BTreeMap<u64, CellRow> =
            found.into_iter().map(|row| (row.print, row)).collect();
        for print in &self.prints {
            let row = rows.remove(print);
            let is_there = row.is_some_and(|row| {
                let Some(cell) = known.cell(&row) else {
                    if self.is_last {
                        read.loaded.changed += 1;
                    } else {
                        read.strange.push(*print);
                    }
                    return !self.is_last;
                };
                let broken = read.loaded.broken;
                let done = self.node.write_cell(self.place, Print(*print), cell, now);
                read.loaded.count(done);
                read.loaded.broken == broken
            });
            if !is_there {
                self.node.has_no_row(self.place, Print(*print));
            }
        }
        read
    }
}

/// Outcome of reading.
#[derive(Default)]
struct Read {
    loaded: LoadSummary,
    /// Rows whose shapes were unknown at the last look.
    strange: Vec<u64>,
}

impl Store {
    /// Puts the rows of these keys into memory, and records keys without one. Returns how many had one.
    pub(super) fn read(
        &self,
        node: &Arc<Node>,
        place: usize,
        prints: Vec<u64>,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let wanted = |prints, is_last| Wanted {
            node: Arc::clone(node),
            place,
            prints,
            is_last,
        };
        let first = self.read_known(wanted(prints, false), now)?;
        if first.strange.is_empty() {
            return Ok(first.loaded.cells);
        }
        self.known.lock().clear();
        let again = self.read_known(wanted(first.strange, true), now)?;
        Ok(first.loaded.cells + again.loaded.cells)
    }

    fn read_known(&self, wanted: Wanted, now: Instant) -> Result<Read, StoreError> {
        let known = self.known(&wanted.node, wanted.place, now)?;
        let (number, prints) = (known.numbers.contract, wanted.prints.clone());
        let put = move |found| wanted.put(found, &known, now);
        self.journal.cells_at(number, prints, now, put)
    }

    fn known(&self, node: &Node, place: usize, now: Instant) -> Result<Arc<KnownRows>, StoreError> {
        let of = CountedContract::of(node, place).ok_or(StoreError::Gone)?;
        let key = of.key();
        if let Some(known) = self.known.lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        let known = Arc::new(self.known_as(self.numbers(&of, now)?, &of)?);
        self.known.lock().insert(key, Arc::clone(&known));
        Ok(known)
    }
}

/// A handle to the reader thread, which ends when this is dropped.
pub(super) struct RowReader {
    asks: mpsc::SyncSender<Asked>,
    shared: Weak<Shared>,
}

/// Keys whose rows a request waits for.
struct Asked {
    unknown: Vec<Unknown>,
    /// Dropped without a message if nothing was read.
    done: oneshot::Sender<()>,
}

impl RowReader {
    pub(super) fn start(store: &Arc<Store>, shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let (asks, queue) = mpsc::sync_channel(ASKS_MAX);
        let mut desk = Desk {
            store: Arc::downgrade(store),
            shared: Arc::downgrade(shared),
            warnings: Rarely::new(WARN_EVERY),
        };
        let work = move || {
            while let Ok(first) = queue.recv() {
                let more = queue.try_iter().take(ASKS_AT_ONCE - 1);
                desk.answer(std::iter::once(first).chain(more).collect());
            }
        };
        let thread = std::thread::Builder::new().name("tollgate-read".into());
        thread.spawn(work).map_err(StoreError::Thread)?;
        Ok(Self {
            asks,
            shared: Arc::downgrade(shared),
        })
    }
}

impl Registrar for RowReader {
    fn learn<'a>(&'a self, _: &'a Arc<Node>, unknown: Vec<Unknown>, _: Instant) -> Learning<'a> {
        let keys = unknown.len() as u64;
        let (done, wait) = oneshot::channel();
        let sent = self.asks.try_send(Asked { unknown, done });
        Box::pin(async move {
            let is_late = match sent {
                Ok(()) => tokio::time::timeout(WITHIN, wait).await.is_err(),
                Err(_) => true,
            };
            if is_late && let Some(shared) = self.shared.upgrade() {
                shared.engine.meter().durable().read_late(keys);
            }
        })
    }
}

/// The state of the reader thread.
struct Desk {
    store: Weak<Store>,
    shared: Weak<Shared>,
    warnings: Rarely,
}

impl Desk {
    /// Reads the rows for all of these requests.
    fn answer(&mut self, asked: Vec<Asked>) {
        let (Some(store), Some(shared)) = (self.store.upgrade(), self.shared.upgrade()) else {
            return;
        };
        let _moves_not = store.moving.read();
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let mut keys: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for unknown in asked.iter().flat_map(|asked| &asked.unknown) {
            if let Some(place) = node.contracts().position(&unknown.contract) {
                keys.entry(place)
                    .or_default()
                    .push(unknown.stranger.print.0);
            }
        }
        let meter = shared.engine.meter().durable();
        let mut is_read = true;
        for (place, mut prints) in keys {
            prints.sort_unstable();
            prints.dedup();
            let count = prints.len() as u64;
            match store.read(&node, place, prints, now) {
                Ok(found) => meter.read(found, count.saturating_sub(found)),
                Err(error) => {
                    is_read = false;
                    meter.read_failed(count);
                    if let Some(unsaid) = self.warnings.now() {
                        tracing::warn!(%error, unsaid, "durable counts that left memory cannot be read; requests for their keys are denied until they can");
                    }
                }
            }
        }
        if is_read {
            for asked in asked {
                // A receiver that gave up has its answer already.
                let _ = asked.done.send(());
            }
        }
    }
}

/// How long a request waits for a row.
const WITHIN: Duration = Duration::from_millis(500);
/// Limit on waiting requests; those beyond are denied at once.
const ASKS_MAX: usize = 4_096;
/// Requests whose keys are read together.
const ASKS_AT_ONCE: usize = 512;
const WARN_EVERY: Duration = Duration::from_secs(10);
