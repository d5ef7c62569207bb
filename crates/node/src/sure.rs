//! Keys with terms of their own, asked for by whoever would rather wait than be counted by other terms.
//!
//! A cell that follows the terms its key is known to have is sure of it until something that was known turns. So nearly
//! every request finds all it needs in one cell, as if the terms were those of the contract. Not here: what is known,
//! and how a cell comes to follow it (`terms`).

use tollgate_limit::{Cost, Instant};
use tollgate_table::Print;

use crate::answer::{Answer, KeyLocation};
use crate::cells::{Cells, Width};
use crate::decide::{Bound, DecideRequest};
use crate::key::Key;
use crate::known::Stranger;
use crate::scope::Within;
use crate::terms::{CellSlot, TermsCell, Wanted};

impl Within<'_> {
    /// Decides one request and charges it; `None` where in a contract that binds the key its terms are not known, or
    /// its counts are away.
    pub fn check_known(&self, key: Key<'_>, cost: Cost, now: Instant) -> Option<Answer> {
        let ask = DecideRequest { cost, now };
        if let Some((place, cells)) = self.lone_own(key)
            && let Some(answer) = cells.take_own(place, ask)
        {
            return Some(answer.by(self.node.version()));
        }
        let mut bound = self.bind(key);
        if let [bound] = &*bound
            && let Some(answer) = bound.cells.take_own(bound.place(), ask)
        {
            return Some(answer.by(self.node.version()));
        }
        let is_unknown =
            |b: &Bound<'_>| b.cells.is_strange(b.print, now) || b.cells.is_away(b.print);
        if bound.iter().any(is_unknown) {
            return None;
        }
        Some(match self.decide(&mut bound, ask) {
            Some(answer) => answer.by(self.node.version()),
            None => self.check_any(key, ask),
        })
    }

    /// The contracts that bind a key whose terms in them are not known.
    pub fn strangers(&self, key: Key<'_>, now: Instant) -> Vec<Stranger> {
        self.those(key, |bound| bound.cells.is_strange(bound.print, now))
    }

    /// The contracts that bind a key whose counts in them are away: it has no cell and may have a row.
    pub fn away(&self, key: Key<'_>) -> Vec<Stranger> {
        self.those(key, |bound| bound.cells.is_away(bound.print))
    }

    fn those(&self, key: Key<'_>, is_one: impl Fn(&Bound<'_>) -> bool) -> Vec<Stranger> {
        let bound = self.bind(key).into_iter();
        bound
            .filter(is_one)
            .map(|bound| Stranger {
                contract: bound.contract,
                print: bound.print,
            })
            .collect()
    }
}

impl Cells {
    /// Decides the short way for a key with terms of its own that its cell is sure to follow, where they have a short
    /// way.
    #[inline]
    fn take_own(&self, place: KeyLocation, ask: DecideRequest) -> Option<Answer> {
        let Width::Own(table) = &self.width else {
            return None;
        };
        let answer = table.in_place(place.print, |own| {
            if self.is_left() || !own.is_sure(self, ask.now) {
                return None;
            }
            let TermsCell { cell, by, .. } = own;
            let plain = by.set(&self.set).plain()?;
            let taken = plain.take(cell, ask.cost, ask.now)?;
            self.changed(place.print);
            Some(Answer::taken(place, plain, taken).under(by.terms.clone()))
        });
        answer?
    }

    /// Whether somebody has to be asked for the terms of a key.
    fn is_strange(&self, print: Print, now: Instant) -> bool {
        let Some(assigned) = self.assigned() else {
            return false;
        };
        let is_sure = match &self.width {
            Width::Own(table) => table.get(print, |own| own.is_sure(self, now)),
            _ => None,
        };
        !is_sure.unwrap_or(false) && !assigned.is_known(print, now)
    }

    /// The terms that a key is known to have, unless it has a slot that is sure to follow them.
    #[inline]
    pub(crate) fn wanted_by<const N: usize, S: CellSlot<N>>(
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_contract::{Contracts, Terms};
    use tollgate_limit::Span;
    use tollgate_table::Seed;

    use super::*;
    use crate::{Knowledge, Node, NodeConfig, Scope};

    const NOW: Instant = Instant::from_nanos(3_600_000_000_000);
    const LATER: Instant = Instant::from_nanos(u64::MAX);
    const ANN: Key<'static> = Key::Entries(&[("user", "ann")]);

    fn contracts(limit: u64) -> Contracts {
        let text = format!(
            "plans: [{{ id: free, policies: [{{ name: a, limit: {limit}, per: 1d }}] }}]
contracts: [{{ id: users, key: [user], plan: free }}]"
        );
        Contracts::parse(&text).unwrap()
    }

    fn own(limit: u64, until: Instant) -> Knowledge {
        let policies = contracts(limit).get(0).unwrap().policies.clone();
        Knowledge {
            terms: Some(Arc::new(Terms::new(policies, limit).unwrap())),
            is_shared: true,
            revision: limit,
            until,
        }
    }

    /// Limit and rest of a decision, where it is known by which terms.
    fn known(node: &Node, now: Instant) -> Option<(u64, u64)> {
        let within = node.within(Scope::All).unwrap();
        let answer = within.check_known(ANN, Cost::ONE, now);
        answer.map(|answer| (answer.limit, answer.remaining))
    }

    #[test]
    fn a_cell_is_sure_of_its_terms_until_they_turn_or_end() {
        let config = NodeConfig {
            is_assigned: true,
            ..NodeConfig::default()
        };
        let node = Node::new(contracts(10), config, Seed::new([1, 2]));
        let end = NOW.saturating_add(Span::from_nanos(1_000_000_000));
        assert_eq!(known(&node, NOW), None, "nobody told");
        let ann = node.within(Scope::All).unwrap().strangers(ANN, NOW)[0];
        node.learn(ann, own(50, LATER), NOW);
        assert_eq!(known(&node, NOW), Some((50, 49)));
        assert_eq!(known(&node, NOW), Some((50, 48)), "sure");
        node.learn(ann, own(60, end), NOW);
        assert_eq!(
            known(&node, NOW),
            Some((60, 57)),
            "something newer is known"
        );
        assert_eq!(known(&node, end), None, "over");
        node.learn(ann, own(70, LATER), end);
        assert_eq!(known(&node, end), Some((70, 66)));
        node.unlearn_value(0, "ann");
        assert_eq!(known(&node, end), None, "forgotten");
        node.learn(ann, own(70, LATER), end);
        assert_eq!(known(&node, end), Some((70, 65)));
        node.unlearn_all(0);
        assert_eq!(known(&node, end), None, "all are forgotten");
        node.learn(ann, own(70, LATER), end);
        assert_eq!(known(&node, end), Some((70, 64)));
        let next = Arc::new(node).succeed(contracts(11), end);
        while next.carry_over(end, 7) {}
        assert_eq!(known(&next, end), None, "another contract");
    }
}
