//! Keys by their place instead of their name, for whoever decides for other nodes: a contract and a print are enough.
//!
//! A node that forwards a request says where it is counted, never the key. Not here: which node decides, what is sent
//! between them, and in what order several of them are asked.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::Terms;
use tollgate_limit::{
    Cell, Charge, Cost, Forecast, Instant, KeyStatus, Lot, OperationId, Outcome, PolicySet, Span,
};
use tollgate_table::{Full, Print};

use crate::answer::{Answer, Booking, KeyLocation, Receipt};
use crate::cells::{Cells, on_table};
use crate::decide::{Bound, DecideRequest, decide};
use crate::durable::{RestoreError, WrittenBy, WrittenCell};
use crate::ids::{IdError, ReceiptNumber};
use crate::key::Key;
use crate::node::Node;
use crate::scope::Within;
use crate::set_clock::back_from_the_future;
use crate::terms::{CellSlot, places};

/// A contract, and the place of a key in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Place of the contract.
    pub contract: usize,
    /// The print of the key in it.
    pub print: Print,
    /// The key's place in a staged roll-out.
    pub lot: Lot,
}

/// What was charged at a spot, and by which terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// What the policies took.
    pub charge: Charge,
    /// Version of the terms that were charged, where the key has its own; else zero.
    pub terms: u64,
}

/// A cell that was taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// What every policy remembers.
    pub bytes: Vec<u8>,
    /// The terms that wrote it, where they are the key's own.
    pub terms: Option<Arc<Terms>>,
}

/// Spots of one request.
pub type Spots = SmallVec<[Spot; 2]>;

impl Within<'_> {
    /// Where a key is counted, in the order of the contracts.
    pub fn spots(&self, key: Key<'_>) -> Spots {
        let bound = self.bind(key).into_iter();
        bound
            .map(|bound| Spot {
                contract: bound.contract,
                print: bound.print,
                lot: bound.lot,
            })
            .collect()
    }
}

impl Node {
    /// Decides one request for these spots and charges it, all or nothing.
    pub fn check_spots(&self, spots: &[Spot], cost: Cost, now: Instant) -> Answer {
        let ask = DecideRequest { cost, now };
        let (mut node, mut spots) = (self, Spots::from_slice(spots));
        loop {
            if let Some(answer) = decide(&mut node.bounds(&spots), ask) {
                return answer.by(node.version());
            }
            let Some(next) = node.next() else {
                return Answer::full().by(node.version());
            };
            spots = moved(&spots, node, next);
            node = next;
        }
    }

    /// Charges without asking. Says whether every contract had room for the key.
    pub fn charge_spots(&self, spots: &[Spot], cost: Cost, now: Instant) -> bool {
        let mut has_room = true;
        for Bound { cells, print, .. } in self.bounds(spots) {
            has_room &= cells.charge(print, cost, now).is_ok();
        }
        has_room
    }

    /// Gives tokens back, the last taken first.
    pub fn refund_spots(&self, spots: &[Spot], cost: Cost, now: Instant) {
        for Bound { cells, print, .. } in self.bounds(spots) {
            cells.refund(print, cost, now);
        }
    }

    /// Forgets everything at these spots.
    pub fn reset_spots(&self, spots: &[Spot]) {
        for Bound { cells, print, .. } in self.bounds(spots) {
            cells.reset(print);
        }
    }

    /// Settles what was charged at one spot.
    pub fn settle_spot(&self, spot: &Spot, due: &Due, actual: Cost, now: Instant) {
        if let Some(cells) = self.cells_at(spot) {
            // A full table has counted the key it turned away; there is nobody else to tell.
            let _ = cells.settle(spot.print, *due, actual, now);
        }
    }

    /// Settles what a booking says, wherever it was charged, at this node.
    pub fn settle_booking(&self, booking: &Booking, actual: Cost, now: Instant) {
        let spot = self
            .spot_of(booking)
            .filter(|_| booking.receipt.charged != 0);
        if let Some((spot, due)) = spot {
            self.settle_spot(&spot, &due, actual, now);
        }
    }

    /// Whether something is counted here at a spot.
    pub fn has_cell(&self, spot: &Spot) -> bool {
        let cells = self.cells_at(spot);
        cells.is_some_and(|cells| cells.has(spot.print))
    }

    /// How each policy stands at one spot.
    pub fn status_at(&self, spot: &Spot, now: Instant) -> Vec<KeyStatus> {
        let cells = self.cells_at(spot);
        cells.map_or_else(Vec::new, |cells| cells.status(spot.print, now))
    }

    /// What each policy would say at one spot.
    pub fn foresee_at(&self, spot: &Spot, cost: Cost, now: Instant) -> Vec<Forecast> {
        let cells = self.cells_at(spot);
        cells.map_or_else(Vec::new, |cells| {
            cells.foresee(spot.print, cost, now, spot.lot)
        })
    }

    /// A booking of a charge that another node made, or this one for another: no cells of this node have its number, so
    /// that nothing here takes it for a charge of its own.
    pub fn booking_elsewhere(&self, spot: &Spot, due: Due) -> Booking {
        let cells = self.cells_of(spot.contract).map_or(0, |cells| cells.id);
        Booking {
            contract: spot.contract,
            cells: cells | ELSEWHERE,
            print: spot.print,
            terms: due.terms,
            receipt: due.charge,
        }
    }

    /// The answer of somebody who decided at one spot for this node, by these terms where they are the key's own.
    pub fn answer_elsewhere(
        &self,
        spot: &Spot,
        outcome: &Outcome,
        terms: Option<Arc<Terms>>,
    ) -> Answer {
        let due = Due {
            charge: outcome.receipt,
            terms: 0,
        };
        let place = KeyLocation {
            contract: spot.contract,
            cells: self.booking_elsewhere(spot, due).cells,
            print: spot.print,
        };
        let answer = Answer::of(place, outcome).under(terms);
        answer.by(self.version())
    }

    /// The spot of a booking, wherever it was charged, and the charge as its contract sees it today; `None` where the
    /// contract is no more.
    pub fn spot_of(&self, booking: &Booking) -> Option<(Spot, Due)> {
        let own = Booking {
            cells: booking.cells & !ELSEWHERE,
            ..*booking
        };
        let (cells, charge) = self.cells_for(&own)?;
        let mut places = self.all_cells().iter();
        let contract = places.position(|own| own.is_or_has(cells))?;
        let spot = Spot {
            contract,
            print: booking.print,
            lot: Lot::ALWAYS,
        };
        let terms = booking.terms;
        Some((spot, Due { charge, terms }))
    }

    /// Takes the cell of a key out; `None` where it has none.
    pub fn take_cell(&self, contract: usize, print: Print, now: Instant) -> Option<Lifted> {
        let cells = self.cells_of(contract)?.holding(print);
        cells.adopt(print, now);
        if cells.is_left() {
            return None;
        }
        let taken = on_table!(cells, table => table
        .remove(print)
        .map(|slot| {
            let (set, cell) = slot.read(cells);
            Lifted {
                bytes: set.store(cell, u64::MAX).bytes,
                terms: slot.terms().map(Arc::clone),
            }
        }));
        if taken.is_some() {
            cells.changed(print);
        }
        taken
    }

    /// Puts a cell in that was taken out, here or by a node of the same contracts.
    pub fn merge_cell(
        &self,
        place: (usize, Print),
        lifted: &Lifted,
        now: Instant,
    ) -> Result<(), RestoreError> {
        let Lifted { bytes, terms } = lifted;
        let (contract, print) = place;
        let Some(terms) = terms else {
            return self.inherit_cell(contract, print, WrittenCell::new(bytes, None), now);
        };
        let of = self.contracts().get(contract);
        let policies = of.map_or(&[][..], |of| &of.policies);
        let by = WrittenBy {
            set: &terms.set,
            origins: &places(&terms.policies, policies),
            terms: Some(terms),
        };
        self.inherit_cell(contract, print, WrittenCell::new(bytes, Some(by)), now)
    }

    /// Puts a cell in that was written by other policies than those of the contract today, perhaps. Where the key has
    /// one here, charges of both are kept: the one that has more taken stays, and what was taken from the other is
    /// charged to it.
    pub fn inherit_cell(
        &self,
        contract: usize,
        print: Print,
        cell: WrittenCell<'_>,
        now: Instant,
    ) -> Result<(), RestoreError> {
        let cells = self.cells_of(contract).ok_or(RestoreError::NoContract)?;
        let is_own = cell.by.is_some_and(|by| by.terms.is_some());
        let cells = cells.own().filter(|_| is_own).map_or(cells, |own| &**own);
        cells.adopt(print, now);
        on_table!(cells, table => {
            let mut handed = CellSlot::written(cells, cell, now).map_err(RestoreError::Cell)?;
            back_from_the_future(&mut handed, cells, now);
            let merged = table.update(print, now.as_nanos(), |present| {
                cells.changed(print);
                match present {
                    None => ((), Some(handed)),
                    Some(slot) => {
                        slot.merge(cells, handed, now);
                        ((), None)
                    }
                }
            });
            merged.map_err(|Full| RestoreError::Full)
        })
    }

    fn cells_at(&self, spot: &Spot) -> Option<&Cells> {
        Some(self.cells_of(spot.contract)?.of(spot.print))
    }

    fn bounds(&self, spots: &[Spot]) -> SmallVec<[Bound<'_>; 4]> {
        let bound = |spot: &Spot| {
            Some(Bound {
                contract: spot.contract,
                cells: self.cells_at(spot)?,
                print: spot.print,
                lot: spot.lot,
            })
        };
        spots.iter().filter_map(bound).collect()
    }
}

/// What an operation by id was answered that this node did not decide alone.
impl Node {
    /// The answer that an id stands for already.
    pub fn recall(&self, id: &OperationId, now: Instant) -> Option<Result<Answer, IdError>> {
        self.ids().recall(id, now)
    }

    /// Remembers the answer to a check by id, or to a reservation where it has a time to live, and returns it as it is
    /// remembered.
    pub fn remember(
        &self,
        id: &OperationId,
        answer: Answer,
        ttl: Option<Span>,
        now: Instant,
    ) -> Result<Answer, Remembered> {
        let answer = match ttl {
            Some(_) => answer,
            None => self.whole().numbered(id, answer, now),
        };
        self.ids().remember(id, answer.clone(), ttl, now)?;
        Ok(answer)
    }

    /// Settles a reservation at its actual cost: `settle` is called with its receipt, the first time.
    pub fn commit_by(
        &self,
        id: &OperationId,
        actual: Cost,
        now: Instant,
        settle: impl FnOnce(&Receipt),
    ) -> Result<(), IdError> {
        self.ids().commit(id, actual, now, settle)
    }

    /// Settles a receipt that was handed out under a number: `settle` is called the first time. Settling it again at
    /// the same cost does nothing.
    pub fn settle_numbered_by(
        &self,
        number: ReceiptNumber,
        actual: Cost,
        now: Instant,
        settle: impl FnOnce(),
    ) -> Result<(), IdError> {
        self.ids().settle(number, actual, now, settle)
    }
}

/// Why an answer was not remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// The id stands for another answer.
    Before(Box<Answer>),
    /// The id cannot be used.
    Id(IdError),
}

/// The same spots by the places of the contracts of the node that follows.
fn moved(spots: &[Spot], from: &Node, to: &Node) -> Spots {
    let place = |spot: &Spot| {
        let id = &from.contracts().get(spot.contract)?.id;
        let contract = to.contracts().position(id)?;
        Some(Spot { contract, ..*spot })
    };
    spots.iter().filter_map(place).collect()
}

/// Keeps the charges of both cells in `cell`.
pub(crate) fn merge<const N: usize>(
    set: &PolicySet,
    cell: &mut Cell<N>,
    handed: Cell<N>,
    now: Instant,
) {
    let (here, there) = (taken(set, cell, now), taken(set, &handed, now));
    let less = if sum(&there) > sum(&here) {
        *cell = handed;
        here
    } else {
        there
    };
    let cost = less.into_iter().max().unwrap_or(0);
    if let Ok(cost) = Cost::new(cost) {
        set.charge(cell, cost, now);
    }
}

fn sum(taken: &[u64]) -> u64 {
    taken
        .iter()
        .fold(0, |sum, taken| sum.saturating_add(*taken))
}

/// How many tokens each policy misses, as far as it can have them.
fn taken<const N: usize>(set: &PolicySet, cell: &Cell<N>, now: Instant) -> Vec<u64> {
    let fresh = set.status(&Cell::<N>::fresh(set), now);
    let is = set.status(cell, now);
    let both = fresh.iter().zip(&is);
    both.map(|(fresh, is)| fresh.remaining.saturating_sub(is.remaining))
        .collect()
}

/// Numbers of cells that are not this node's have it.
const ELSEWHERE: u64 = 1 << 63;
