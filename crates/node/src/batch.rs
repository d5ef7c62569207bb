//! Many requests for one contract at one time, with the waits for memory overlapped.

use tollgate_limit::{Cost, Instant};
use tollgate_table::{CellRules, Print, Table};

use crate::answer::{Answer, KeyLocation};
use crate::cells::{Miss, check_slot, on_table};
use crate::decide::{Bound, DecideRequest};
use crate::terms::CellSlot;
use crate::worth::Worth;

/// Requests whose cells are fetched together.
pub(crate) const CHUNK: usize = 32;

/// A request for a key whose print is known.
#[derive(Clone, Copy)]
pub(crate) struct Printed {
    pub(crate) print: Print,
    pub(crate) cost: Cost,
}

/// Decides up to [`CHUNK`] requests in order and hands over the answers; returns how many. `bound` is the contract; its
/// print is not used.
///
/// Fewer than there are were decided where an heir came to have the cells meanwhile.
pub(crate) fn check_chunk(
    bound: Bound<'_>,
    requests: &[Printed],
    now: Instant,
    answer: impl FnMut(Answer),
) -> usize {
    for request in requests {
        bound.cells.adopt(request.print, now);
    }
    on_table!(bound.cells, table => check_table(table, bound, requests, now, answer))
}

fn check_table<const N: usize, S: CellSlot<N>>(
    table: &Table<S, Worth>,
    bound: Bound<'_>,
    requests: &[Printed],
    now: Instant,
    mut answer: impl FnMut(Answer),
) -> usize
where
    Worth: CellRules<S>,
{
    let mut prints = [Print(0); CHUNK];
    for (print, request) in prints.iter_mut().zip(requests) {
        *print = request.print;
    }
    let prints = prints.get(..requests.len()).unwrap_or(&prints);
    let plain = bound.cells.plain();
    let mut decided = 0;
    table.update_many(prints, now.as_nanos(), |index, slot| {
        if decided != index || bound.cells.is_left() {
            return None;
        }
        decided += 1;
        let (Ok(slot), Some(request)) = (slot, requests.get(index)) else {
            answer(match bound.cells.miss() {
                Miss::Unread => Answer::unread(),
                Miss::Full | Miss::Left => Answer::full(),
            });
            return None;
        };
        if slot.is_none() && bound.cells.may_have_row(request.print) {
            answer(Answer::unread());
            return None;
        }
        let place = KeyLocation {
            contract: bound.contract,
            cells: bound.cells.id,
            print: request.print,
        };
        let mut slot = slot;
        if let (Some(plain), Some(slot)) = (plain, &mut slot)
            && let (_, cell) = slot.open(bound.cells, None, now)
            && let Some(taken) = plain.take(cell, request.cost, now)
        {
            answer(Answer::taken(place, plain, taken));
            return None;
        }
        let cost = request.cost;
        let ((outcome, _), made) = check_slot(
            bound.cells,
            slot,
            None,
            DecideRequest { cost, now },
            bound.lot,
        );
        if outcome.receipt.charged != 0 {
            bound.cells.changed(request.print);
        }
        answer(Answer::of(place, &outcome));
        made
    });
    decided
}
