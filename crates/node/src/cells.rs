//! The cells of one contract, in a table of cells as wide as its policies need.
//!
//! Not here: which contract a request is for, and changes that nobody asks about (`edits`).

use std::sync::{Arc, OnceLock};

use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_limit::{
    Cell, CellError, Cost, Forecast, Instant, KeyStatus, Lot, Outcome, Plain, PolicySet,
};
use tollgate_table::{CellRules, Counters, Full, Holder, MemoryShare, Print, Table, TableConfig};

use crate::beside::Beside;
use crate::company::{CoordinatedPolicies, Foreseen};
use crate::decide::DecideRequest;
use crate::dirty::Dirty;
use crate::durable::{DurableRow, RestoreError, WrittenBy, WrittenCell};
use crate::heirs::{Heir, Origin};
use crate::set_clock::back_from_the_future;
use crate::terms::{Assigned, CellSlot, TermsCell, Wanted};
use crate::worth::Worth;

/// The cells of one contract.
#[derive(Debug)]
pub(crate) struct Cells {
    /// A number that no other cells of this node have, nor of nodes before and after it.
    pub(crate) id: u64,
    /// Cells of several contracts are locked in this order.
    pub(crate) order: u64,
    /// Who has the cells next, where the contract changed.
    pub(crate) heir: OnceLock<Heir>,
    /// Who had them before.
    pub(crate) origin: Option<Origin>,
    /// The policies whose counts are in the cells: all of the contract's, or those that are not counted with other
    /// nodes.
    pub(crate) set: Arc<PolicySet>,
    /// The others, where there are some.
    parts: Option<Box<CoordinatedPolicies>>,
    pub(crate) width: Width,
    /// Bit `i` is set where policy `i` of those in the cells is durable.
    pub(crate) durable: u64,
    /// Keys that changed, where a policy is durable.
    pub(crate) dirty: Option<Arc<Dirty>>,
    /// Where keys may have terms of their own.
    pub(crate) assigned: Option<Box<Assigned>>,
    /// Who counts the contract's other keys, where some are counted with other nodes and some are not.
    pub(crate) beside: Option<Beside>,
    /// The memory that the contract can count on, whatever others hold.
    pub(crate) share: Arc<MemoryShare>,
}

/// Where cells come from.
pub(crate) struct Lineage {
    pub(crate) id: u64,
    pub(crate) order: u64,
    pub(crate) origin: Option<Origin>,
    /// Policies that are counted with other nodes, and those that are not.
    pub(crate) parts: Option<(CoordinatedPolicies, PolicySet)>,
    /// Whether keys may have terms of their own.
    pub(crate) is_assigned: bool,
    /// What is known of changes, in case a policy is durable.
    pub(crate) dirty: Arc<Dirty>,
    pub(crate) beside: Option<Beside>,
}

/// What to fetch ahead.
#[derive(Clone, Copy)]
pub(crate) enum PrefetchStep {
    Page,
    Slots,
}

/// Why cells have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// An heir has them.
    Left,
    /// The table is full, and told to refuse keys it does not know.
    Full,
    /// What was counted for the key is on disk, or cannot be kept.
    Unread,
}

/// A table by the number of policies its cells hold without a box.
#[derive(Debug)]
pub(crate) enum Width {
    /// One policy for which there is a short way, and which is not durable.
    Plain(Table<Cell<1>, Worth>, Plain),
    One(Table<Cell<1>, Worth>),
    Two(Table<Cell<2>, Worth>),
    Three(Table<Cell<3>, Worth>),
    /// Cells behind a box.
    Any(Table<Cell<0>, Worth>),
    /// Cells that say which terms counted them.
    Own(Table<TermsCell, Worth>),
}

/// Runs the same expression on the table, whatever its width.
macro_rules! on_table {
    ($cells:expr, $table:ident => $run:expr) => {
        match &$cells.width {
            $crate::cells::Width::Plain($table, _) => $run,
            $crate::cells::Width::One($table) => $run,
            $crate::cells::Width::Two($table) => $run,
            $crate::cells::Width::Three($table) => $run,
            $crate::cells::Width::Any($table) => $run,
            $crate::cells::Width::Own($table) => $run,
        }
    };
}
pub(crate) use on_table;

impl Cells {
    pub(crate) fn new(
        contract: &Contract,
        config: TableConfig,
        share: Arc<MemoryShare>,
        lineage: Lineage,
    ) -> Self {
        let Lineage {
            id,
            order,
            origin,
            parts,
            is_assigned,
            dirty,
            beside,
        } = lineage;
        let (parts, set) = match parts {
            None => (None, contract.policy_set().clone()),
            Some((parts, set)) => (Some(Box::new(parts)), set),
        };
        let set = Arc::new(set);
        let durable = match (&parts, &beside) {
            (None, None) => durable(&contract.policies),
            (Some(parts), _) => parts.narrow(durable(&contract.policies)),
            // Terms of keys of contracts that are counted with other nodes are not durable.
            (None, Some(_)) => 0,
        };
        let assigned =
            is_assigned.then(|| Box::new(Assigned::new(contract, config, Arc::clone(&share))));
        let dirty = (durable != 0).then_some(dirty);
        let worth = Worth {
            set: Arc::clone(&set),
            dirty: dirty.clone(),
        };
        let width = match set.policies().len() {
            _ if is_assigned => Width::Own(Table::new(worth, config, Arc::clone(&share))),
            _ if durable == 0
                && parts.is_none()
                && let Some(plain) = set.plain() =>
            {
                Width::Plain(Table::new(worth, config, Arc::clone(&share)), plain.clone())
            }
            1 if set.is_compact() => Width::One(Table::new(worth, config, Arc::clone(&share))),
            2 if set.is_compact() => Width::Two(Table::new(worth, config, Arc::clone(&share))),
            3 if set.is_compact() => Width::Three(Table::new(worth, config, Arc::clone(&share))),
            _ => Width::Any(Table::new(worth, config, Arc::clone(&share))),
        };
        Self {
            id,
            order,
            heir: OnceLock::new(),
            origin,
            set,
            parts,
            width,
            durable,
            dirty,
            assigned,
            beside,
            share,
        }
    }

    /// Decides one request for one cell and charges it.
    pub(crate) fn check(
        &self,
        print: Print,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Result<(Outcome, Option<Arc<Terms>>), Miss> {
        self.adopt(print, now);
        let done = on_table!(self, table => table.update(print, now.as_nanos(), |slot| {
            if let Some(miss) = self.misses(slot.is_none(), print) {
                return (Err(miss), None);
            }
            let wanted = self.wanted_by(slot.as_deref(), print, now);
            let (checked, made) = check_slot(self, slot, wanted.as_ref(), DecideRequest { cost, now }, lot);
            self.decided(print, checked.0.receipt.charged);
            (Ok(checked), made)
        }));
        done.unwrap_or_else(|Full| Err(self.miss()))
    }

    /// Why there is no room.
    pub(crate) fn miss(&self) -> Miss {
        if self.is_left() {
            Miss::Left
        } else if self.dirty.as_ref().is_some_and(|dirty| dirty.is_kept()) {
            Miss::Unread
        } else {
            Miss::Full
        }
    }

    /// Why nothing is decided about a key, for who has the lock of its page.
    #[inline]
    pub(crate) fn misses(&self, is_absent: bool, print: Print) -> Option<Miss> {
        if self.is_left() {
            return Some(Miss::Left);
        }
        (is_absent && self.may_have_row(print)).then_some(Miss::Unread)
    }

    /// Whether a key without a cell may have a row on disk.
    #[inline]
    pub(crate) fn may_have_row(&self, print: Print) -> bool {
        self.dirty
            .as_ref()
            .is_some_and(|dirty| dirty.is_away(print))
    }

    /// Whether a key may have a row and has no cell.
    #[inline]
    pub(crate) fn is_away(&self, print: Print) -> bool {
        self.may_have_row(print) && on_table!(self, table => table.get(print, |_| ())).is_none()
    }

    /// Whether something is counted of a key.
    pub(crate) fn has(&self, print: Print) -> bool {
        on_table!(self, table => table.get(print, |_| ())).is_some()
    }

    /// Notes that a key changed, where somebody wants to know; for who has the lock of its page.
    #[inline]
    pub(crate) fn changed(&self, print: Print) {
        if let Some(dirty) = &self.dirty {
            dirty.mark(print);
        }
    }

    /// Notes that a key was decided about. One that was not charged may have changed all the same, to follow newer
    /// terms.
    #[inline]
    pub(crate) fn decided(&self, print: Print, charged: u64) {
        if charged != 0 || self.assigned.is_some() {
            self.changed(print);
        }
    }

    /// The short way, where there is one.
    pub(crate) const fn plain(&self) -> Option<&Plain> {
        match &self.width {
            Width::Plain(_, plain) => Some(plain),
            Width::One(_) | Width::Two(_) | Width::Three(_) | Width::Any(_) | Width::Own(_) => None,
        }
    }

    /// Policies that are counted with other nodes.
    #[inline]
    pub(crate) fn parts(&self) -> Option<&CoordinatedPolicies> {
        self.parts.as_deref()
    }

    /// Whether no policy is counted here alone, so that there are no cells.
    pub(crate) fn is_hollow(&self) -> bool {
        self.set.policies().is_empty()
    }

    /// Whether some policy binds only part of the keys.
    #[inline]
    pub(crate) fn is_staged(&self) -> bool {
        self.set.is_staged()
            || self.parts().is_some_and(CoordinatedPolicies::is_staged)
            || self.assigned.is_some()
            || self.beside.is_some()
    }

    /// The place in the contract of a policy in the cells.
    pub(crate) fn place(&self, policy: usize) -> usize {
        self.parts().map_or(policy, |parts| parts.place(policy))
    }

    /// Bits of policies in the cells as bits of the contract's.
    pub(crate) fn widen(&self, bits: u64) -> u64 {
        self.parts().map_or(bits, |parts| parts.widen(bits))
    }

    /// How each policy stands for a key.
    pub(crate) fn status(&self, print: Print, now: Instant) -> Vec<KeyStatus> {
        self.adopt(print, now);
        let here = on_table!(self, table => look(table, self, print, now, |set, cell| {
            set.status(cell, now)
        }));
        match self.parts() {
            None => here,
            Some(parts) => parts.status(here, print, now),
        }
    }

    /// The terms that count a key, where they are its own.
    pub(crate) fn terms(&self, print: Print, now: Instant) -> Option<Arc<Terms>> {
        let Width::Own(table) = &self.width else {
            return None;
        };
        let wanted = self.wanted(print, now);
        let found = table.get(print, TermsCell::clone);
        let mut slot = found.unwrap_or_else(|| TermsCell::fresh(self, wanted.as_ref()));
        slot.open(self, wanted.as_ref(), now);
        slot.terms().map(Arc::clone)
    }

    /// What each policy would say to a request.
    pub(crate) fn foresee(
        &self,
        print: Print,
        cost: Cost,
        now: Instant,
        lot: Lot,
    ) -> Vec<Forecast> {
        self.adopt(print, now);
        let here = on_table!(self, table => look(table, self, print, now, |set, cell| {
            set.foresee(cell, cost, now, lot)
        }));
        match self.parts() {
            None => here,
            Some(parts) => {
                let asked = Foreseen {
                    print,
                    cost,
                    now,
                    lot,
                };
                parts.foresee(here, &asked)
            }
        }
    }

    /// Starts to fetch what a key needs: first its page, then its slots.
    pub(crate) fn prefetch(&self, print: Print, step: PrefetchStep) {
        on_table!(self, table => match step {
            PrefetchStep::Page => table.prefetch_page(print),
            PrefetchStep::Slots => table.prefetch_slots(print),
        });
    }

    /// What the durable policies remember of a key, and its terms where they are its own.
    pub(crate) fn store(&self, print: Print) -> Option<DurableRow> {
        let stored = on_table!(self, table => table.get(print, |slot| {
            let (set, cell) = slot.read(self);
            let durable = slot.durable(self);
            let stored = (set.store(cell, durable), slot.terms().map(Arc::clone));
            (durable != 0).then_some(stored)
        }));
        stored.flatten()
    }

    /// Puts a cell back that was read, unless the key has one by now, or was removed.
    pub(crate) fn restore(
        &self,
        print: Print,
        cell: WrittenCell<'_>,
        now: Instant,
    ) -> Result<(), RestoreError> {
        self.adopt(print, now);
        on_table!(self, table => {
            let mut slot = CellSlot::written(self, cell, now).map_err(RestoreError::Cell)?;
            back_from_the_future(&mut slot, self, now);
            table
                .update(print, now.as_nanos(), |present| {
                    let is_newer = |dirty: &Arc<Dirty>| dirty.is_newer(print);
                    let is_newer = self.dirty.as_ref().is_some_and(is_newer);
                    let is_free = present.is_none() && !self.is_left() && !is_newer;
                    ((), is_free.then_some(slot))
                })
                .map_err(|Full| RestoreError::Full)
        })
    }

    pub(crate) fn shards_count(&self) -> usize {
        on_table!(self, table => table.shards_count())
    }

    /// The keys of one shard.
    pub(crate) fn prints_in(&self, shard: usize, prints: &mut Vec<Print>) {
        on_table!(self, table => table.for_each_in(shard, |print, _| prints.push(print)));
    }

    pub(crate) fn counters(&self) -> Counters {
        on_table!(self, table => table.counters())
    }

    pub(crate) fn len(&self) -> usize {
        on_table!(self, table => table.len())
    }

    /// Drops fresh cells from the next few pages.
    pub(crate) fn drop_fresh(&self, now: Instant, pages: usize) -> usize {
        on_table!(self, table => table.drop_fresh(now.as_nanos(), pages))
    }
}

impl Holder for Cells {
    fn give(&self, bytes: usize, now: u64) -> usize {
        match on_table!(self, table => table.give(bytes, now)) {
            0 => self.assigned.as_ref().map_or(0, |is| is.give(bytes, now)),
            given => given,
        }
    }
}

/// What was decided, and by which terms where they are a key's own.
type Checked = (Outcome, Option<Arc<Terms>>);

/// Decides for a key that may have no slot; returns the slot to write where it had none.
#[inline]
pub(crate) fn check_slot<const N: usize, S: CellSlot<N>>(
    cells: &Cells,
    slot: Option<&mut S>,
    wanted: Option<&Wanted>,
    DecideRequest { cost, now }: DecideRequest,
    lot: Lot,
) -> (Checked, Option<S>) {
    let mut made = None;
    let slot = slot.unwrap_or_else(|| made.insert(S::fresh(cells, wanted)));
    let (set, cell) = slot.open(cells, wanted, now);
    let outcome = set.check(cell, cost, now, lot);
    let terms = slot.terms().map(Arc::clone);
    let written = outcome.receipt.charged != 0;
    ((outcome, terms), made.filter(|_| written))
}

/// Reads what a key's policies say of it, by the terms it has now.
fn look<const N: usize, S: CellSlot<N>, T>(
    table: &Table<S, Worth>,
    cells: &Cells,
    print: Print,
    now: Instant,
    read: impl FnOnce(&PolicySet, &Cell<N>) -> T,
) -> T
where
    Worth: CellRules<S>,
{
    let wanted = cells.wanted(print, now);
    let found = table.get(print, S::clone);
    let mut slot = found.unwrap_or_else(|| S::fresh(cells, wanted.as_ref()));
    let (set, cell) = slot.open(cells, wanted.as_ref(), now);
    read(set, cell)
}

/// The cell that was written, perhaps by policies of before.
pub(crate) fn restored<const N: usize>(
    set: &PolicySet,
    written: WrittenCell<'_>,
    now: Instant,
) -> Result<Cell<N>, CellError> {
    let Some(WrittenBy {
        set: old, origins, ..
    }) = written.by
    else {
        return set.restore(written.bytes);
    };
    let cell: Cell<0> = old.restore(written.bytes)?;
    Ok(set.inherit(old, origins, &cell, now))
}

/// Bits of those policies that are durable.
pub(crate) fn durable(policies: &[NamedPolicy]) -> u64 {
    let policies = policies.iter().enumerate();
    let durable = policies.filter(|(_, policy)| policy.durable);
    durable.fold(0, |bits, (place, _)| bits | 1 << place)
}
