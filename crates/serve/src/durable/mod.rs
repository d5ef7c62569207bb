//! Counts that survive a restart: cells of durable policies, written periodically to `SQLite` or `PostgreSQL`.
//!
//! Charges are first only in memory; twice per flush interval the changed cells are written together. A killed process
//! loses its charges since the last flush, and never finds more than it charged. Rows of contracts that are not loaded
//! are kept for thirty days. Not here: which cells changed (`tollgate-node`), nor their bytes (`tollgate-limit`).

mod counted;
mod error;
mod file;
mod flush;
mod folder;
mod journal;
mod recall;
mod rows;
mod schema;
mod seat;
mod settle;
mod thread;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tollgate_contract::{Contract, Terms};
use tollgate_limit::Instant;
use tollgate_node::{Node, RestoreError};
use tollgate_store::ContractShape;
use tollgate_table::{Print, Seed};

use crate::engine::Secrets;
use crate::meter::process::wall;
use counted::{CountedContract, KnownRows};
use journal::RowJournal;
use rows::RowTable;

pub use error::StoreError;
pub use flush::Flusher;
pub use folder::Folder;
pub use seat::{DatabaseLease, LeaseStanding, open_seat};

/// Storage of counts: the database of one locked data directory, or a lease in a shared one.
pub struct Store {
    journal: RowJournal,
    loaded: Mutex<LoadSummary>,
    /// Known rows of contracts, by id and shape.
    known: Mutex<BTreeMap<(String, String), Arc<KnownRows>>>,
    /// Write-locked while rows move with the clock, so that none is read by the old time.
    moving: RwLock<()>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Cells put into the table.
    pub cells: u64,
    /// Rows equal to a key never seen, dropped.
    pub fresh: u64,
    /// Rows of no use to the contracts as they are now.
    pub changed: u64,
    /// Rows of contracts that are not loaded, kept for a while.
    pub unknown: u64,
    /// Unreadable rows.
    pub broken: u64,
    /// Cells for which the table had no room.
    pub refused: u64,
}

impl LoadSummary {
    /// Logs the summary of one contract or of all.
    pub(crate) fn log(&self, what: &str, contract: Option<&str>) {
        let Self {
            cells,
            fresh,
            changed,
            unknown,
            broken,
            refused,
        } = *self;
        tracing::info!(
            contract, cells, fresh, changed, unknown, broken, refused, "{what}"
        );
    }
}

/// Opens the data directory, creating it if missing, and returns its secrets, which are drawn the first time.
pub fn open(dir: &Path) -> Result<(Store, Secrets), StoreError> {
    open_with(dir, None)
}

/// The same in a cluster, where the table's secret is `given`; a directory with counts under another is refused.
pub fn open_with(dir: &Path, given: Option<[u8; 16]>) -> Result<(Store, Secrets), StoreError> {
    open_in(Folder::take(dir)?, given)
}

/// The same in a directory that is locked already.
pub fn open_in(folder: Folder, given: Option<[u8; 16]>) -> Result<(Store, Secrets), StoreError> {
    let dir = folder.path().to_owned();
    let (journal, kept) = RowJournal::in_folder(folder, given)?;
    if given.is_some_and(|given| given != kept.table) {
        return Err(StoreError::OtherSecret(dir));
    }
    let secrets = Secrets {
        table: Seed::from_bytes(kept.table),
        receipts: kept.receipts,
    };
    Ok((Store::new(journal), secrets))
}

impl Store {
    fn new(journal: RowJournal) -> Self {
        Self {
            journal,
            loaded: Mutex::default(),
            known: Mutex::default(),
            moving: RwLock::new(()),
        }
    }

    /// The lease, if counts are in a shared database.
    pub const fn seat(&self) -> Option<&DatabaseLease> {
        self.journal.seat()
    }

    /// The state of the lease, if there is one.
    pub fn standing(&self) -> Option<Arc<LeaseStanding>> {
        self.seat().map(|seat| Arc::clone(seat.standing()))
    }

    /// Loads stored counts into a node that serves no requests yet.
    pub fn load_into(&self, node: &Node) -> Result<LoadSummary, StoreError> {
        let now = wall();
        let mut loaded = LoadSummary::default();
        node.keep_cells();
        let since = millis(now) - UNSEEN_MS_MAX;
        let mut numbers = Vec::new();
        for place in node.durable_contracts() {
            if let Some(of) = CountedContract::of(node, place) {
                let number = self.load_contract(&of, now, &mut loaded)?;
                node.all_read(place);
                numbers.push(number);
            }
        }
        for tag in node.durable_tags() {
            self.load_tag(node, tag, now, &mut loaded)?;
        }
        loaded.fresh =
            self.drop_fresh(RowTable::Cells, now)? + self.drop_fresh(RowTable::Gossip, now)?;
        self.journal.drop_unseen(since)?;
        loaded.unknown = self.journal.cells_of_others(numbers)?;
        loaded.log("durable counts were read", None);
        *self.loaded.lock() = loaded;
        Ok(loaded)
    }

    /// Loads stored counts of one contract; keys that have a cell keep it. Returns the contract's number.
    fn load_contract(
        &self,
        of: &CountedContract<'_>,
        now: Instant,
        loaded: &mut LoadSummary,
    ) -> Result<i64, StoreError> {
        let known = self.known_as(self.numbers(of, now)?, of)?;
        let number = known.numbers.contract;
        let mut after = None;
        loop {
            let found = self.journal.cells_after(number, after, now)?;
            let Some(last) = found.last() else {
                return Ok(number);
            };
            after = Some(last.print);
            for row in &found {
                match known.cell(row) {
                    Some(cell) => {
                        let print = Print(row.print);
                        loaded.count(of.node.write_cell(of.place, print, cell, now));
                    }
                    None => loaded.changed += 1,
                }
            }
        }
    }

    /// Loads stored state of a gossiped policy.
    fn load_tag(
        &self,
        node: &Node,
        tag: u64,
        now: Instant,
        loaded: &mut LoadSummary,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let found = self.journal.saved_after(tag, after, now)?;
            let Some((last, _)) = found.last() else {
                return Ok(());
            };
            after = Some(*last);
            for (print, state) in &found {
                loaded.count(node.restore(tag, Print(*print), state, now));
            }
        }
    }

    /// The number of the shape of keys' own terms in a contract.
    fn number_of_terms(
        &self,
        contract: &Contract,
        terms: &Terms,
        now: Instant,
    ) -> Result<i64, StoreError> {
        let shape = ContractShape::of_terms(contract, terms).text();
        let numbers = self.journal.number(contract.id.clone(), shape, millis(now));
        numbers.map(|(_, shape)| shape)
    }

    /// Drops rows equal to a key never seen, in batches.
    fn drop_fresh(&self, from: RowTable, now: Instant) -> Result<u64, StoreError> {
        let (mut after, mut all) = (None, 0);
        loop {
            let (until, dropped) = self.journal.drop_fresh(from, after, now)?;
            all += dropped;
            if until.is_none() {
                return Ok(all);
            }
            after = until;
        }
    }
}

impl LoadSummary {
    fn count(&mut self, done: Result<(), RestoreError>) {
        let counter = match done {
            Ok(()) => &mut self.cells,
            Err(RestoreError::Full) => &mut self.refused,
            Err(RestoreError::Cell(_) | RestoreError::Gossip(_) | RestoreError::NoContract) => {
                &mut self.broken
            }
        };
        *counter += 1;
    }
}

fn millis(now: Instant) -> i64 {
    i64::try_from(now.as_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// Rows of contracts that no server loaded for thirty days are dropped.
const UNSEEN_MS_MAX: i64 = 30 * 86_400_000;
