//! Holding the seat, and what nodes that are gone left behind of owned keys.
//!
//! Where a node of the cluster is gone and its seat silent, whoever owns its keys now takes their rows: they become
//! heirs of this seat, are added to what is counted here, and are let go of in the statement that writes the sum. So
//! each is counted once. A node that was taken for gone and is not begins anew with what is left at its seat. All of
//! this is done beside decisions: a key that is asked before its row came counts from nothing, and the row is added to
//! that. Not here: SQL (`seat`), who owns a key (`owner`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant as Moment};

use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use super::Work;
use crate::durable::counted::{CountedContract, KnownRows};
use crate::durable::seat::LeftCells;
use crate::durable::{DatabaseLease, LoadSummary, StoreError};

/// What is known of such rows.
#[derive(Default)]
pub(super) struct Estate {
    /// Heirs that are counted and not let go of yet, and their keys, by the ids of their contracts.
    counted: Vec<i64>,
    keys: BTreeSet<(String, u64)>,
    /// Rows that are to be looked at.
    todo: VecDeque<LeftCells>,
    /// When somebody looks for more, and how long after that.
    due: Option<Moment>,
    rest: Duration,
}

/// A durable contract that has owners.
struct Owned {
    place: usize,
    known: KnownRows,
}

impl Work {
    /// Tells that the seat is held; what became of it otherwise is found by a flush.
    pub(super) fn beat(&mut self) {
        let Some(seat) = self.store.seat() else {
            return;
        };
        let (node, now) = (self.shared.engine.node(), self.shared.engine.now());
        let done = seat.beat().and_then(|()| self.inherit(&node, now));
        if let Err(StoreError::TakenOver | StoreError::Vacated | StoreError::Fenced) = done {
            // It is counted, told and remembered there.
            let _ = self.flush();
        }
    }

    /// Makes sure of the seat, where there is one, before anything is written.
    pub(super) fn hold(&mut self, node: &Node, now: Instant) -> Result<(), StoreError> {
        let Some(seat) = self.store.seat().cloned() else {
            return Ok(());
        };
        match seat.beat() {
            Err(StoreError::Fenced) => seat.beat(),
            Err(StoreError::Vacated) => {
                tracing::warn!("{}", StoreError::Vacated);
                seat.take_again()?;
                self.begin_again(node);
                self.recall(node, now)?;
                // Before, nobody hands keys over that would be forgotten.
                seat.beat()
            }
            Err(StoreError::TakenOver) => {
                // Nothing is written any more, and nothing is kept in mind for it.
                self.waiting.clear();
                self.together.clear();
                // Whoever has the seat has the home.
                node.give_up_homes(now);
                Err(StoreError::TakenOver)
            }
            done => done,
        }
    }

    /// Forgets what others may have taken from the seat meanwhile, and counts by what is left there.
    fn begin_again(&mut self, node: &Node) {
        self.estate = Estate::default();
        for place in self.owned_places(node) {
            // What was charged since the last flush goes with it, as if the process had ended then.
            node.forget_cells(place);
            if let Some(contract) = node.contracts().get(place) {
                self.returned.insert(contract.id.clone());
            }
        }
    }

    /// Says that everything is written, and that the seat is free.
    pub(super) fn leave(&mut self) -> Result<(), StoreError> {
        let mut done = self.flush();
        if done.is_err() && !matches!(done, Err(StoreError::TakenOver)) {
            // A connection may have ended unseen, or the database come back since: there is no later flush to find out.
            self.store.seat().map_or(Ok(()), DatabaseLease::hurry)?;
            done = self.flush();
        }
        match done {
            // Somebody else writes: there is nothing to lose here.
            Err(StoreError::TakenOver) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.store.seat().map_or(Ok(()), DatabaseLease::release),
        }
    }

    /// Takes over some of what nodes that are gone left behind: no more than a page, so that flushes are not held up.
    pub(super) fn inherit(&mut self, node: &Node, now: Instant) -> Result<(), StoreError> {
        let Some(seat) = self.store.seat().cloned() else {
            return Ok(());
        };
        self.settle(&seat, node, now)?;
        let is_due = self.estate.due.is_none_or(|due| Moment::now() >= due);
        if self.estate.todo.is_empty() && !is_due {
            return Ok(());
        }
        let owned = self.owned(node, now)?;
        if owned.is_empty() {
            return Ok(());
        }
        if self.estate.todo.is_empty() {
            self.look(&seat, &owned, now)?;
        }
        let taken = self.take_some(&seat, node, &owned, now)?;
        let counted = self.count_some(&seat, node, &owned, now)?;
        if taken + counted > 0 {
            self.estate.rest = LOOK_EVERY;
            self.estate.due = None;
        }
        Ok(())
    }

    /// Looks for seats that were left.
    fn look(
        &mut self,
        seat: &DatabaseLease,
        owned: &BTreeMap<i64, Owned>,
        now: Instant,
    ) -> Result<(), StoreError> {
        let estate = &mut self.estate;
        estate.rest = (estate.rest * 2).clamp(LOOK_EVERY, LOOK_EVERY_MAX);
        estate.due = Some(Moment::now() + estate.rest);
        let Some(cluster) = self.shared.cluster.get() else {
            return Ok(());
        };
        let numbers: Vec<i64> = owned.keys().copied().collect();
        for left in seat.left_seats(numbers.clone(), cluster.names_alive(), now)? {
            estate.todo.extend(numbers.iter().map(|number| LeftCells {
                seat: left.clone(),
                contract: *number,
                after: None,
            }));
        }
        Ok(())
    }

    fn owned_places(&self, node: &Node) -> Vec<usize> {
        let owner = self.shared.owner.get();
        owner.map_or_else(Vec::new, |owner| owner.durable_places(node))
    }

    /// Durable contracts that have owners, by number.
    fn owned(&mut self, node: &Node, now: Instant) -> Result<BTreeMap<i64, Owned>, StoreError> {
        let mut owned = BTreeMap::new();
        for place in self.owned_places(node) {
            let Some(of) = CountedContract::of(node, place) else {
                continue;
            };
            let numbers = self.numbers(&of, now)?;
            let known = self.store.known_as(numbers, &of)?;
            owned.insert(known.numbers.contract, Owned { place, known });
        }
        Ok(owned)
    }

    /// Takes rows of keys that this node owns from a seat that nobody holds. Says how many.
    fn take_some(
        &mut self,
        seat: &DatabaseLease,
        node: &Node,
        owned: &BTreeMap<i64, Owned>,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let Some(mut left) = self.estate.todo.front().cloned() else {
            return Ok(0);
        };
        let (company, contract) = (self.shared.owner.get(), owned.get(&left.contract));
        let is_mine = |print: u64| {
            let both = company.zip(contract);
            both.is_some_and(|(company, of)| company.is_own(node, of.place, Print(print)))
        };
        let (mut taken, until) = seat.take_cells(&left, now, is_mine)?;
        self.estate.todo.pop_front();
        if until.is_some() {
            left.after = until;
            self.estate.todo.push_front(left);
        } else {
            taken += seat.take_heirs(&left, is_mine)?;
        }
        Ok(taken)
    }

    /// Adds heirs to what is counted. Says how many.
    fn count_some(
        &mut self,
        seat: &DatabaseLease,
        node: &Node,
        owned: &BTreeMap<i64, Owned>,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let numbers: Vec<i64> = owned.keys().copied().collect();
        let mut loaded = LoadSummary::default();
        for (number, contract, heir) in seat.heirs(seat.name(), &numbers)? {
            let Some(owned) = owned.get(&contract) else {
                continue;
            };
            self.estate.counted.push(number);
            let Some(cell) = owned.known.cell(&heir) else {
                loaded.changed += 1;
                continue;
            };
            let (place, print) = (owned.place, Print(heir.print));
            if node.is_away(place, print) {
                self.store
                    .read(&Arc::clone(&self.node), place, vec![heir.print], now)?;
            }
            loaded.count(node.inherit_cell(place, print, cell, now));
            if let Some(contract) = node.contracts().get(place) {
                self.estate.keys.insert((contract.id.clone(), heir.print));
            }
        }
        let all = self.estate.counted.len() as u64;
        if all > 0 {
            loaded.log("keys of nodes that are gone were taken over", None);
            let meter = self.shared.engine.meter().durable();
            meter.inherited(loaded.cells, loaded.broken);
            self.settle(seat, node, now)?;
            if let Some(owner) = self.shared.owner.get() {
                // Members may have changed meanwhile.
                owner.note_strays();
            }
        }
        Ok(all)
    }

    /// Writes what heirs were added to, and lets go of them.
    fn settle(
        &mut self,
        seat: &DatabaseLease,
        node: &Node,
        now: Instant,
    ) -> Result<(), StoreError> {
        if self.estate.counted.is_empty() {
            return Ok(());
        }
        let mut cells = Vec::new();
        for (id, print) in self.estate.keys.clone() {
            // What a contract that is no more counted is let go of as well.
            let place = node.contracts().position(&id);
            let Some(of) = place.and_then(|place| CountedContract::of(node, place)) else {
                continue;
            };
            let numbers = self.numbers(&of, now)?;
            cells.push(self.written(&of, numbers, Print(print), now)?);
        }
        seat.settle_heirs(cells, self.estate.counted.clone())?;
        self.estate.counted.clear();
        self.estate.keys.clear();
        Ok(())
    }
}

/// Seats that were left are looked for so often; where there are none, ever less often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY_MAX: Duration = Duration::from_secs(4);
