//! Keys with terms of their own, asked for by whoever would rather wait than be counted by other terms.
//!
//! A cell that follows the terms its key is known to have is sure of it until something that was known turns. So nearly
//! every request finds all it needs in one cell, as if the terms were those of the contract. Not here: what is known, and how a
//! cell comes to follow it (`terms`).

use tollgate_limit::{Cost, Instant};
use tollgate_table::Print;

use crate::answer::{Answer, Place};
use crate::cells::{Cells, Width};
use crate::decide::{Ask, decide};
use crate::key::Key;
use crate::scope::Within;
use crate::terms::{Own, Slot, Stranger, Wanted};

impl Within<'_> {
    /// Decides one request and charges it; `None` where the terms of the key are not known in a contract that binds it.
    pub fn check_known(&self, key: Key<'_>, cost: Cost, now: Instant) -> Option<Answer> {
        let ask = Ask { cost, now };
        let mut bound = self.bind(key);
        if let [bound] = &*bound
            && let Some(answer) = bound.cells.take_own(bound.place(), ask)
        {
            return Some(answer.by(self.node.version()));
        }
        if bound.iter().any(|b| b.cells.is_strange(b.print, now)) {
            return None;
        }
        Some(match decide(&mut bound, ask) {
            Some(answer) => answer.by(self.node.version()),
            None => self.check_any(key, ask),
        })
    }

    /// The contracts that bind a key whose terms in them are not known.
    pub fn strangers(&self, key: Key<'_>, now: Instant) -> Vec<Stranger> {
        let bound = self.bind(key).into_iter();
        let unknown = bound.filter(|bound| bound.cells.is_strange(bound.print, now));
        unknown
            .map(|bound| Stranger {
                contract: bound.contract,
                print: bound.print,
            })
            .collect()
    }
}

impl Cells {
    /// Decides the short way for a key with terms of its own that its cell is sure to follow, where they have a short way.
    #[inline]
    fn take_own(&self, place: Place, ask: Ask) -> Option<Answer> {
        let Width::Own(table) = &self.width else {
            return None;
        };
        let answer = table.in_place(place.print, |own| {
            if self.is_left() || !own.is_sure(self, ask.now) {
                return None;
            }
            let Own { cell, by, .. } = own;
            let plain = by.set(&self.set).plain()?;
            let taken = plain.take(cell, ask.cost, ask.now)?;
            Some(Answer::taken(place, plain, taken).under(by.terms.clone()))
        });
        let answer = answer??;
        self.changed(place.print);
        Some(answer)
    }

    /// Whether somebody has to be asked for the terms of a key.
    fn is_strange(&self, print: Print, now: Instant) -> bool {
        let (Some(assigned), Width::Own(table)) = (&self.assigned, &self.width) else {
            return false;
        };
        let is_sure = table.get(print, |own| own.is_sure(self, now));
        !is_sure.unwrap_or(false) && !assigned.is_known(print, now)
    }

    /// The terms that a key is known to have, unless it has a slot that is sure to follow them.
    #[inline]
    pub(crate) fn wanted_by<const N: usize, S: Slot<N>>(
        &self,
        slot: Option<&S>,
        print: Print,
        now: Instant,
    ) -> Option<Wanted> {
        let assigned = self.assigned.as_ref()?;
        if slot.is_some_and(|slot| slot.is_sure(self, now)) {
            return None;
        }
        assigned.known(print, now)
    }
}
