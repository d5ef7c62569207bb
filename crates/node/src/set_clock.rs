//! What is remembered when the clock is set: every key stands afterwards as it stood before.
//!
//! A charge of a time that is still to come would hold its key up until then, and one of long ago would fill its
//! bucket. So keys are moved along with the clock: nobody regains anything by it, and windows go on in the one that
//! holds the new time. Not here: whether a clock was set, and what machines that count with other nodes make of it
//! (`company`).

use std::sync::Arc;

use tollgate_limit::{Cell, CellError, Instant, PolicySet, Span};
use tollgate_table::{CellRules, Print, Table};

use crate::cells::{Cells, on_table};
use crate::durable::{DurableRow, WrittenCell};
use crate::node::Node;
use crate::terms::CellSlot;
use crate::worth::Worth;

/// A charge may be that much ahead, by clocks of other nodes that are a little off.
const AHEAD_MAX: Span = Span::from_nanos(60_000_000_000);
/// Pages of former contracts carried over between two looks at others.
const PAGES_AT_ONCE: usize = 64;

impl Node {
    /// Moves every key and every operation id from one time to another: what is so at `from`, as far as this node
    /// knows, is so at `to`. For the newest node, and whoever sets its clock, once: before it is set ahead, or when it
    /// was set back and what began before is over.
    ///
    /// It may take a while. Keys that are asked for meanwhile are decided as of the later time, which gives them
    /// nothing.
    pub fn move_time(&self, from: Instant, to: Instant) {
        while self.carry_over(from, PAGES_AT_ONCE) {}
        for cells in self.newest().each_cells() {
            cells.move_time(from, to);
        }
        self.ids().move_time(from, to);
        self.move_machines(from, to);
    }
}

impl Cells {
    fn move_time(&self, from: Instant, to: Instant) {
        on_table!(self, table => walk(table, from, |print, slot| {
            let (set, cell) = slot.open(self, None, from);
            if move_cell(set, cell, from, to) {
                self.changed(print);
            }
        }));
        // What is known of terms is known until some time.
        if let Some(assigned) = &self.assigned {
            assigned.forget_all();
        }
    }

    /// A row as it stands where the clock is set ahead; `None` where it says nothing.
    pub(crate) fn row_ahead(
        &self,
        cell: WrittenCell<'_>,
        from: Instant,
        to: Instant,
    ) -> Result<Option<DurableRow>, CellError> {
        on_table!(self, table => row_ahead(table, self, cell, from, to))
    }
}

/// Moves a row of this table's contract ahead.
fn row_ahead<const N: usize, S: CellSlot<N>>(
    _: &Table<S, Worth>,
    cells: &Cells,
    cell: WrittenCell<'_>,
    from: Instant,
    to: Instant,
) -> Result<Option<DurableRow>, CellError>
where
    Worth: CellRules<S>,
{
    let mut slot = S::written(cells, cell, from)?;
    let (set, cell) = slot.open(cells, None, from);
    let is_moved = move_cell(set, cell, from, to);
    let (set, cell) = slot.read(cells);
    let durable = slot.durable(cells);
    let row = || (set.store(cell, durable), slot.terms().map(Arc::clone));
    Ok((is_moved && durable != 0).then(row))
}

/// Moves a cell that is not there yet, or of a time that is over. Says whether it was.
pub(crate) fn move_cell<const N: usize>(
    set: &PolicySet,
    cell: &mut Cell<N>,
    from: Instant,
    to: Instant,
) -> bool {
    let is_due = if from < to {
        cell.at() < to && from < set.fresh_at(cell)
    } else {
        is_left_ahead(cell.at(), from, to)
    };
    if is_due {
        set.shift(cell, from, to);
    }
    is_due
}

/// Whether something happened before a clock was set back from one time to another, and not since.
pub(crate) fn is_left_ahead(at: Instant, from: Instant, to: Instant) -> bool {
    let half = Span::from_nanos(u128::from(from.nanos_since(to) / 2));
    to.saturating_add(half.min(AHEAD_MAX)) < at
}

/// Brings a slot that was written elsewhere, or by a process before this one, back from a time that is still to come.
pub(crate) fn back_from_the_future<const N: usize, S: CellSlot<N>>(
    slot: &mut S,
    cells: &Cells,
    now: Instant,
) {
    let (set, cell) = slot.open(cells, None, now);
    if now.saturating_add(AHEAD_MAX) < cell.at() {
        set.shift(cell, cell.at(), now);
    }
}

/// When something was charged, or now where that is still to come.
pub(crate) fn no_later(at: Instant, now: Instant) -> Instant {
    if now.saturating_add(AHEAD_MAX) < at {
        now
    } else {
        at
    }
}

/// Changes everything that a table remembers, each key once.
pub(crate) fn walk<C, R: CellRules<C>>(
    table: &Table<C, R>,
    now: Instant,
    mut change: impl FnMut(Print, &mut C),
) {
    let mut prints = Vec::new();
    for shard in 0..table.shards_count() {
        table.for_each_in(shard, |print, _| prints.push(print));
        for print in prints.drain(..) {
            // A key that went meanwhile needs no room.
            let _ = table.update(print, now.as_nanos(), |slot| {
                if let Some(slot) = slot {
                    change(print, slot);
                }
                ((), None)
            });
        }
    }
}
