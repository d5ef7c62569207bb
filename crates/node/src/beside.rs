//! Keys with terms of their own, in contracts whose other keys are counted together with other nodes.
//!
//! A machine has one set of numbers for all keys of a policy. So a key with terms of its own is counted in cells beside
//! those of the contract, as under `coordination: owner`: servers send it to its owner ([`Node::is_beside`]). When it
//! comes under terms of its own it takes along what this node knows to be spent of it, and takes it back when it comes
//! under those of the contract again. Not here: who owns it, and how cells follow terms (`terms`).
//!
//! [`Node::is_beside`]: crate::Node::is_beside

use std::sync::{Arc, OnceLock, Weak};

use tollgate_limit::{Cell, Charge, Cost, Instant};
use tollgate_table::Print;

use crate::cells::{Cells, Width, on_table};
use crate::terms::{Assigned, CellSlot, Knowledge, TermsCell};

/// The other cells of a contract.
#[derive(Debug)]
pub(crate) enum Beside {
    /// Those of keys with terms of their own.
    Own(Arc<Cells>),
    /// Those of all others.
    Others(OnceLock<Weak<Cells>>),
}

impl Cells {
    /// The cells of keys with terms of their own, where they are others.
    pub(crate) fn own(&self) -> Option<&Arc<Self>> {
        match &self.beside {
            Some(Beside::Own(own)) => Some(own),
            Some(Beside::Others(_)) | None => None,
        }
    }

    /// These cells, and those beside them of keys with terms of their own.
    pub(crate) fn with_own(&self) -> impl Iterator<Item = &Self> {
        [Some(self), self.own().map(|own| &**own)]
            .into_iter()
            .flatten()
    }

    /// Whether some cells are these, or beside these.
    pub(crate) fn is_or_has(&self, cells: &Self) -> bool {
        self.with_own().any(|one| std::ptr::eq(one, cells))
    }

    /// What is known of the terms of keys.
    #[inline]
    pub(crate) fn assigned(&self) -> Option<&Assigned> {
        match self.own() {
            None => self.assigned.as_deref(),
            Some(own) => own.assigned.as_deref(),
        }
    }

    /// The cells that count a key.
    #[inline]
    pub(crate) fn of(&self, print: Print) -> &Self {
        match self.own() {
            Some(own) if own.is_own(print) == Some(true) => own,
            _ => self,
        }
    }

    /// The cells that a key lies in.
    pub(crate) fn holding(&self, print: Print) -> &Self {
        match self.own() {
            Some(own) if own.has_slot(print) => own,
            _ => self,
        }
    }

    fn is_own(&self, print: Print) -> Option<bool> {
        self.assigned.as_ref()?.has_own(print)
    }

    fn has_slot(&self, print: Print) -> bool {
        on_table!(self, table => table.get(print, |_| ())).is_some()
    }

    /// Takes a key over from the cells beside these, or from the machines that counted it.
    #[cold]
    pub(crate) fn adopt_beside(&self, print: Print, now: Instant) {
        match &self.beside {
            Some(Beside::Others(others)) => {
                if let Some(others) = others.get().and_then(Weak::upgrade) {
                    self.adopt_spent(&others, print, now);
                }
            }
            // While it is not known whose terms it has, it stays where it is.
            Some(Beside::Own(own)) if own.has_slot(print) && own.is_own(print) == Some(false) => {
                self.take_back(own, print, now);
            }
            Some(Beside::Own(_)) | None => {}
        }
    }

    /// Takes over a key that was counted with other nodes.
    fn adopt_spent(&self, others: &Self, print: Print, now: Instant) {
        let (Width::Own(table), Some(parts)) = (&self.width, others.parts()) else {
            return;
        };
        table.adopt(print, now.as_nanos(), || {
            let spent = parts.take_spent(print, now);
            let places = parts.locals();
            let here = on_table!(others, from => from
                .remove(print)
                .map(|slot| TermsCell::adopted(self, others, &places, slot, now)));
            if here.is_none() && spent.iter().all(|(_, tokens)| *tokens == 0) {
                return None;
            }
            let mut own = here.unwrap_or_else(|| TermsCell::of(self, Cell::fresh(&self.set)));
            let (set, cell) = own.open(self, None, now);
            for (place, tokens) in spent {
                let nothing = Charge {
                    at: now,
                    cost: 0,
                    charged: 1 << place,
                };
                let tokens = Cost::new(tokens).unwrap_or(Cost::MAX);
                set.settle(cell, &nothing, tokens, now);
            }
            Some(own)
        });
    }

    /// Takes a key back that comes under the contract's policies again.
    fn take_back(&self, own: &Self, print: Print, now: Instant) {
        let (Width::Own(table), Some(parts)) = (&own.width, self.parts()) else {
            return;
        };
        let Some(mut slot) = table.remove(print) else {
            return;
        };
        slot.change(own, &Knowledge::none(now), now);
        let (set, cell) = slot.open(own, None, now);
        let stands = set.status(cell, now);
        let spent = |place: usize| {
            let capacity = set
                .policies()
                .get(place)
                .map(tollgate_limit::Policy::capacity);
            let missing = |status: &tollgate_limit::KeyStatus| {
                let missing = capacity.unwrap_or(0).saturating_sub(status.remaining);
                missing.saturating_add(status.debt)
            };
            stands.get(place).map_or(0, missing)
        };
        parts.put_spent(print, spent, now);
        if !self.is_hollow() {
            let places: Box<[_]> = (0..self.set.policies().len())
                .map(|local| Some(parts.place(local)))
                .collect();
            on_table!(self, table => table.adopt(print, now.as_nanos(), || {
                Some(CellSlot::adopted(self, own, &places, slot, now))
            }));
        }
    }
}
