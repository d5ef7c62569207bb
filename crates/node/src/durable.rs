//! Cells for whoever keeps them longer than the process lives: which changed, what they hold, and how to put them back.
//!
//! Contracts are named by their place in this node. Not here: files, and when to write.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tollgate_contract::{NamedPolicy, Terms};
use tollgate_gossip::Malformed;
use tollgate_limit::{CellBytes, CellError, Instant, PolicySet};
use tollgate_table::{Full, Print};

use crate::cells::Cells;
use crate::dirty::Dirty;
use crate::node::Node;

/// The policies by which bytes were written, where they are not those of the contract today.
#[derive(Clone, Copy, Debug)]
pub struct WrittenBy<'a> {
    /// The policies then.
    pub set: &'a PolicySet,
    /// For each policy in the contract's cells today, its place then.
    pub origins: &'a [Option<usize>],
    /// The terms that these policies are, where they are the key's own: they count it until newer ones are known.
    pub terms: Option<&'a Arc<Terms>>,
}

/// A cell as it was written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenCell<'a> {
    /// What its policies remember.
    pub bytes: &'a [u8],
    /// The policies by which it was written, where they are not those of the contract today.
    pub by: Option<WrittenBy<'a>>,
}

impl<'a> WrittenCell<'a> {
    /// These bytes, as they were written by these policies.
    pub const fn new(bytes: &'a [u8], by: Option<WrittenBy<'a>>) -> Self {
        Self { bytes, by }
    }
}

/// What the durable policies of a key remember of it, and its terms where they are its own.
pub type DurableRow = (CellBytes, Option<Arc<Terms>>);

/// Why a cell was not put back. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreError {
    /// The bytes are no cell of their policies.
    Cell(CellError),
    /// The bytes are nothing that a node saved of a policy that is counted together.
    Gossip(Malformed),
    /// The table is full, and told to refuse keys it does not know.
    Full,
    /// There is no contract at that place.
    NoContract,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cell(error) => error.fmt(f),
            Self::Gossip(error) => error.fmt(f),
            Self::Full => Full.fmt(f),
            Self::NoContract => f.write_str("there is no contract at that place"),
        }
    }
}

impl core::error::Error for RestoreError {}

impl Node {
    /// From here on somebody writes what changes, and has rows that were not read yet: cells go only once they are
    /// written, and a key without a cell is not decided about before its row was looked for ([`Self::is_away`]).
    pub fn keep_cells(&self) {
        self.lasting().is_kept.store(true, Relaxed);
        for cells in self.all_cells() {
            if let Some(dirty) = &cells.dirty {
                dirty.keep();
            }
        }
    }

    /// Forgets every cell of a durable contract, and what changed: its rows are to be read again.
    pub fn forget_cells(&self, contract: usize) {
        let Some((cells, dirty)) = self.cells_of(contract).zip(self.dirty(contract)) else {
            return;
        };
        dirty.keep();
        let mut prints = Vec::new();
        for shard in 0..cells.shards_count() {
            cells.prints_in(shard, &mut prints);
        }
        for print in prints {
            cells.forget(print);
        }
        dirty.forget();
    }

    /// All rows of a contract were read.
    pub fn all_read(&self, contract: usize) {
        if let Some(dirty) = self.dirty(contract) {
            dirty.all_read();
        }
    }

    /// How many contracts have keys whose counts may be on disk only.
    pub fn away(&self) -> &Arc<AtomicUsize> {
        &self.lasting().away
    }

    /// Whether the counts of a key of a contract may be on disk only.
    pub fn is_away(&self, contract: usize, print: Print) -> bool {
        let cells = self.cells_of(contract);
        cells.is_some_and(|cells| cells.is_away(print))
    }

    /// Notes that there is no row of a key: without a cell it is as if never seen.
    pub fn has_no_row(&self, contract: usize, print: Print) {
        if let Some(dirty) = self.dirty(contract) {
            dirty.has_no_row(print);
        }
    }

    /// Places of the contracts with a durable policy.
    pub fn durable_contracts(&self) -> impl Iterator<Item = usize> + '_ {
        let places = 0..self.contracts().len();
        places.filter(|place| self.durable_policies(*place) != 0)
    }

    /// Bit `i` is set where policy `i` of those in the contract's cells is durable.
    pub fn durable_policies(&self, contract: usize) -> u64 {
        self.cells_of(contract).map_or(0, |cells| cells.durable)
    }

    /// The policies whose counts are in the contract's cells, in order: all but those counted together with other
    /// nodes.
    pub fn policies_in_cells(&self, contract: usize) -> Vec<&NamedPolicy> {
        let (Some(cells), Some(of)) = (self.cells_of(contract), self.contracts().get(contract))
        else {
            return Vec::new();
        };
        let here = (0..cells.set.policies().len()).map(|policy| cells.place(policy));
        here.filter_map(|place| of.policies.get(place)).collect()
    }

    /// Adds the keys of a durable contract that changed since the last call to `prints`.
    ///
    /// Says whether more changed than could be kept in mind: then every key may have ([`Self::prints_in`]).
    pub fn take_dirty(&self, contract: usize, prints: &mut Vec<Print>) -> bool {
        self.dirty(contract).is_some_and(|dirty| dirty.take(prints))
    }

    /// Everything that [`Self::take_dirty`] told of was written: such cells may go where room is short.
    pub fn cells_written(&self, contract: usize) {
        if let Some(dirty) = self.dirty(contract) {
            dirty.written();
        }
    }

    fn dirty(&self, contract: usize) -> Option<&Dirty> {
        self.cells_of(contract)?.dirty.as_deref()
    }

    /// How many shards a contract's table has, for [`Self::prints_in`].
    pub fn shards_count(&self, contract: usize) -> usize {
        let cells = self.cells_of(contract);
        let counts = cells.into_iter().flat_map(Cells::with_own);
        counts.map(Cells::shards_count).sum()
    }

    /// Adds the keys of one shard of a contract to `prints`.
    pub fn prints_in(&self, contract: usize, shard: usize, prints: &mut Vec<Print>) {
        let mut shard = shard;
        for cells in self
            .cells_of(contract)
            .into_iter()
            .flat_map(Cells::with_own)
        {
            match shard.checked_sub(cells.shards_count()) {
                Some(rest) => shard = rest,
                None => return cells.prints_in(shard, prints),
            }
        }
    }

    /// What the durable policies of a key remember of it, and its terms where they are its own; `None` where it has no
    /// cell, or no such policy.
    pub fn read_cell(&self, contract: usize, print: Print) -> Option<DurableRow> {
        self.cells_of(contract)?.store(print)
    }

    /// A row of a durable contract as it stands once the clock was set ahead from one time to another, as what is in
    /// memory is moved; `None` where it says no more than none would.
    pub fn row_ahead(
        &self,
        contract: usize,
        cell: WrittenCell<'_>,
        from: Instant,
        to: Instant,
    ) -> Result<Option<DurableRow>, RestoreError> {
        let cells = self.cells_of(contract).ok_or(RestoreError::NoContract)?;
        let row = cells.row_ahead(cell, from, to);
        row.map_err(RestoreError::Cell)
    }

    /// Puts the cell of a key back, unless it has one by now or was removed.
    pub fn write_cell(
        &self,
        contract: usize,
        print: Print,
        cell: WrittenCell<'_>,
        now: Instant,
    ) -> Result<(), RestoreError> {
        let cells = self.cells_of(contract).ok_or(RestoreError::NoContract)?;
        cells.restore(print, cell, now)
    }
}
