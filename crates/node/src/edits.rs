//! Changes to the cells of a contract that are not asked for: charges, refunds, settlements, resets.
//!
//! Policies that are counted with other nodes follow in the same step. Not here: decisions.

use tollgate_limit::{Cell, Charge, Cost, Instant, PolicySet};
use tollgate_table::{Full, Print};

use crate::apart::Due;
use crate::cells::{Cells, Miss, on_table};
use crate::set_clock::no_later;
use crate::terms::{CellSlot, Wanted};

impl Cells {
    /// Charges without asking; a cell is made where there is none.
    pub(crate) fn charge(&self, print: Print, cost: Cost, now: Instant) -> Result<(), Full> {
        let done = self.edit(print, now, Absent::Make, Edit::Charge(cost));
        match (done, self.heir()) {
            (Err(Miss::Left), Some(heir)) => heir.charge(print, cost, now),
            (Ok(()), _) => match self.parts() {
                Some(parts) if !parts.charge(print, cost, now) => Err(Full),
                _ => Ok(()),
            },
            (Err(_), _) => Err(Full),
        }
    }

    /// Gives tokens back; a key never seen has none to get.
    pub(crate) fn refund(&self, print: Print, cost: Cost, now: Instant) {
        let done = self.edit(print, now, Absent::Leave, Edit::Refund(cost));
        match (done, self.heir(), self.parts()) {
            (Err(Miss::Left), Some(heir), _) => heir.refund(print, cost, now),
            (_, _, Some(parts)) => parts.refund(print, cost, now),
            _ => {}
        }
    }

    /// Settles a charge, whose bits are those of the contract; a surcharge makes a cell where there is none.
    pub(crate) fn settle(
        &self,
        print: Print,
        due: Due,
        actual: Cost,
        now: Instant,
    ) -> Result<(), Full> {
        let Due { charge, terms } = due;
        // Only what was charged is settled, and giving back needs no cell.
        let charged = self
            .parts()
            .map_or(charge.charged, |parts| parts.narrow(charge.charged));
        let here = Charge {
            charged,
            at: no_later(charge.at, now),
            ..charge
        };
        let less = here.charged == 0 || actual.tokens() <= here.cost;
        let absent = if less { Absent::Leave } else { Absent::Make };
        let done = self.edit(print, now, absent, Edit::Settle(&here, actual, terms));
        if let (Err(Miss::Left), Some(heir)) = (done, self.heir()) {
            let charge = match terms {
                0 => heir.translate(&charge),
                _ => charge,
            };
            return heir.settle(print, Due { charge, terms }, actual, now);
        }
        // What was charged by terms of a key's own was charged to no part.
        if let Some(parts) = self.parts().filter(|_| terms == 0) {
            parts.settle(print, &charge, actual, now);
        }
        done.map_err(|_| Full)
    }

    /// Forgets a key.
    pub(crate) fn reset(&self, print: Print) {
        // A key without a cell that changed was removed: no row of it counts any more. Marked before too, so that
        // nobody reads the row back in between.
        self.changed(print);
        self.forget(print);
        self.changed(print);
        // Looked at afterwards: if the key had been taken over before, so had everything.
        match (self.heir(), self.parts()) {
            (Some(heir), _) => heir.reset(print),
            (None, Some(parts)) => parts.reset(print),
            (None, None) => {}
        }
    }

    /// Removes the cell of a key, without a mark.
    pub(crate) fn forget(&self, print: Print) {
        self.disown(print);
        on_table!(self, table => drop(table.remove(print)));
    }

    /// Changes the cell of a key.
    fn edit(&self, print: Print, now: Instant, absent: Absent, edit: Edit<'_>) -> Result<(), Miss> {
        if self.is_hollow() {
            self.adopt(print, now);
            return if self.is_left() {
                Err(Miss::Left)
            } else {
                Ok(())
            };
        }
        self.adopt(print, now);
        let wanted = self.wanted(print, now);
        let done = on_table!(self, table => table.update(print, now.as_nanos(), |slot| {
            let is_absent = slot.is_none();
            if let Some(miss) = self.misses(is_absent, print) {
                return (Err(miss), None);
            }
            if is_absent && absent == Absent::Leave {
                return (Ok(()), None);
            }
            let made = edit_slot(self, wanted.as_ref(), slot, edit, now);
            if !is_absent || made.is_some() {
                self.changed(print);
            }
            (Ok(()), made)
        }));
        match done {
            // A key that is not there needs no room, so a full table has nothing to refuse.
            Err(Full) if absent == Absent::Leave && !self.is_left() => Ok(()),
            Ok(done) => done,
            Err(Full) => Err(self.miss()),
        }
    }
}

/// What becomes of a key without a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    Make,
    Leave,
}

/// A change that is not asked for.
#[derive(Clone, Copy)]
enum Edit<'a> {
    Charge(Cost),
    Refund(Cost),
    /// By terms of this version.
    Settle(&'a Charge, Cost, u64),
}

impl Edit<'_> {
    fn apply<const N: usize>(&self, set: &PolicySet, cell: &mut Cell<N>, now: Instant) {
        match self {
            Self::Charge(cost) => set.charge(cell, *cost, now),
            Self::Refund(cost) => set.refund(cell, *cost, now),
            Self::Settle(receipt, actual, _) => set.settle(cell, receipt, *actual, now),
        }
    }
}

/// Changes what is remembered of a key; returns the slot to write where it had none.
fn edit_slot<const N: usize, S: CellSlot<N>>(
    cells: &Cells,
    wanted: Option<&Wanted>,
    slot: Option<&mut S>,
    edit: Edit<'_>,
    now: Instant,
) -> Option<S> {
    let mut made = None;
    let slot = slot.unwrap_or_else(|| made.insert(S::fresh(cells, wanted)));
    slot.open(cells, wanted, now);
    let translated;
    let edit = match edit {
        Edit::Settle(receipt, actual, made_by) => {
            translated = slot.translate(cells, receipt, made_by)?;
            Edit::Settle(&translated, actual, made_by)
        }
        edit => edit,
    };
    let (set, cell) = slot.open(cells, None, now);
    edit.apply(set, cell, now);
    made
}
