//! Many requests for one contract at one time, with the waits for memory overlapped.

use tollgate_limit::{Cell, Cost, Instant};
use tollgate_table::{Print, Table};

use crate::answer::{Answer, Place};
use crate::cells::{Worth, check_cell, on_table};
use crate::decide::Bound;

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

fn check_table<const N: usize>(
    table: &Table<Cell<N>, Worth>,
    bound: Bound<'_>,
    requests: &[Printed],
    now: Instant,
    mut answer: impl FnMut(Answer),
) -> usize {
    let mut prints = [Print(0); CHUNK];
    for (print, request) in prints.iter_mut().zip(requests) {
        *print = request.print;
    }
    let prints = prints.get(..requests.len()).unwrap_or(&prints);
    let (set, plain) = (&*bound.cells.set, bound.cells.plain());
    let mut decided = 0;
    table.update_many(prints, now.as_nanos(), |index, cell| {
        if decided != index || bound.cells.is_left() {
            return None;
        }
        decided += 1;
        let (Ok(cell), Some(request)) = (cell, requests.get(index)) else {
            answer(Answer::full());
            return None;
        };
        let place = Place {
            contract: bound.contract,
            cells: bound.cells.id,
            print: request.print,
        };
        let mut cell = cell;
        if let (Some(plain), Some(cell)) = (plain, &mut cell)
            && let Some(taken) = plain.take(cell, request.cost, now)
        {
            answer(Answer::taken(place, plain, taken));
            return None;
        }
        let (outcome, made) = check_cell(set, cell, request.cost, now, bound.lot);
        if outcome.receipt.charged != 0 {
            bound.cells.changed(request.print);
        }
        answer(Answer::of(place, &outcome));
        made
    });
    decided
}
