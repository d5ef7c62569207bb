//! Holds the database lease, and takes over rows that dead nodes left for owned keys.
//!
//! If a node of the cluster is dead and its lease silent, the new owner of its keys takes their rows: they become
//! successor rows of this lease, are added to the counts here, and are released in the statement that writes the sum.
//! So each is counted once. A node that was wrongly taken as dead starts again with what is left under its lease. All
//! of this runs beside decisions: a key requested before its row arrived counts from zero, and the row is added. Not
//! here: SQL (`seat`), who owns a key (`owner`).

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

/// Progress of the take-over.
#[derive(Default)]
pub(super) struct Estate {
    /// Successor rows that are counted but not released yet, and their keys, by contract id.
    counted: Vec<i64>,
    keys: BTreeSet<(String, u64)>,
    /// Cells still to examine.
    todo: VecDeque<LeftCells>,
    /// When the next search is due, and the pause after it.
    due: Option<Moment>,
    rest: Duration,
}

/// A durable contract with owned keys.
struct Owned {
    place: usize,
    known: KnownRows,
}

impl Work {
    /// Renews the lease; a flush discovers if it was lost.
    pub(super) fn beat(&mut self) {
        let Some(seat) = self.store.seat() else {
            return;
        };
        let (node, now) = (self.shared.engine.node(), self.shared.engine.now());
        let done = seat.beat().and_then(|()| self.inherit(&node, now));
        if let Err(StoreError::TakenOver | StoreError::Vacated | StoreError::Fenced) = done {
            // The flush counts, logs and remembers the failure.
            let _ = self.flush();
        }
    }

    /// Confirms the lease, if there is one, before anything is written.
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
                // Before the first beat no keys are handed over that would then be lost.
                seat.beat()
            }
            Err(StoreError::TakenOver) => {
                // Nothing is written any more, so nothing is remembered for it.
                self.waiting.clear();
                self.together.clear();
                // The holder of the lease owns the keys.
                node.give_up_homes(now);
                Err(StoreError::TakenOver)
            }
            done => done,
        }
    }

    /// Drops counts that others may have taken from the lease, and reloads what is left there.
    fn begin_again(&mut self, node: &Node) {
        self.estate = Estate::default();
        for place in self.owned_places(node) {
            // Charges since the last flush are lost, as if the process had ended then.
            node.forget_cells(place);
            if let Some(contract) = node.contracts().get(place) {
                self.returned.insert(contract.id.clone());
            }
        }
    }

    /// Marks everything as written and the lease as free.
    pub(super) fn leave(&mut self) -> Result<(), StoreError> {
        let mut done = self.flush();
        if done.is_err() && !matches!(done, Err(StoreError::TakenOver)) {
            // A connection may have ended unseen, or the database come back: no later flush will find out.
            self.store.seat().map_or(Ok(()), DatabaseLease::hurry)?;
            done = self.flush();
        }
        match done {
            // Another process writes: there is nothing to lose here.
            Err(StoreError::TakenOver) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.store.seat().map_or(Ok(()), DatabaseLease::release),
        }
    }

    /// Takes over some rows of dead nodes: at most a page, so that flushes are not delayed.
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

    /// Searches for abandoned leases.
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

    /// Durable contracts with owned keys, by number.
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

    /// Takes rows of keys that this node owns from an abandoned lease. Returns how many.
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

    /// Adds successor rows to the counts. Returns how many.
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

    /// Writes the sums and releases their successor rows.
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
            // Rows of a removed contract are released as well.
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

/// Search interval for abandoned leases; it grows while there are none.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_EVERY_MAX: Duration = Duration::from_secs(4);
