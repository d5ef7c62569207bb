//! What this node last heard of keys, to decide by while the engine does not answer, and what it owes the engine for that.
//!
//! Places for a fixed number of keys, of which every key may have some. What is only remembered gives way to what is newer; what
//! is owed never does, so that nothing admitted without the engine is forgotten. Not here: when to decide so, and when to pay.

use std::sync::Arc;

use tollgate_limit::{Cost, Instant};

use crate::ask::{Ask, Name, Said, Verb};
use crate::book::{Book, Found, Write};

/// Keys as they were last heard of.
#[derive(Debug)]
pub struct Memory {
    slots: Box<[Option<Entry>]>,
    /// How many of them, side by side, a key may be in.
    ways: usize,
    /// Entries that owe something.
    owing: usize,
    /// When something was decided last.
    asked: Instant,
}

#[derive(Debug)]
struct Entry {
    book: Arc<Book>,
    name: Name,
    found: Found,
    /// Admitted here, and not yet told to the engine.
    owed: u64,
}

impl Memory {
    /// Room for that many keys, or a few more.
    pub fn new(keys: usize) -> Self {
        let ways = keys.clamp(1, WAYS);
        Self {
            slots: (0..keys.next_multiple_of(ways).max(ways))
                .map(|_| None)
                .collect(),
            ways,
            owing: 0,
            asked: Instant::default(),
        }
    }

    /// Takes note of what the engine said to an ask.
    pub fn note(&mut self, ask: &Ask, said: &Said) {
        let after = match said {
            Said::Outcome { after, .. } => Some(after.clone()),
            Said::Found(found) => found.clone(),
            // What a charge or a refund left behind is not told: what was known is no longer so.
            Said::Done => None,
        };
        let Some(slot) = self.slot(ask) else {
            return;
        };
        if slot.as_ref().is_some_and(|entry| entry.owed > 0) {
            return;
        }
        let is_its = slot.as_ref().is_some_and(|entry| entry.is_of(ask));
        match after {
            Some(found) => {
                *slot = Some(Entry {
                    book: Arc::clone(&ask.book),
                    name: ask.name,
                    found,
                    owed: 0,
                });
            }
            None if is_its => *slot = None,
            None => {}
        }
    }

    /// Decides a check without the engine, by what is known of the key, and owes what it charged. `None` where there is no
    /// room to owe it, or the ask is no check.
    pub fn decide(&mut self, ask: &Ask) -> Option<Said> {
        self.asked = ask.now;
        let slot = self.slot(ask)?;
        let is_its = slot.as_ref().is_some_and(|entry| entry.is_of(ask));
        let known = slot.as_ref().filter(|_| is_its);
        let was_owed = known.map_or(0, |entry| entry.owed);
        let found = known.and_then(|entry| entry.found_by(ask));
        let next = ask.book.apply(found.as_ref(), ask.verb, ask.now).ok()?;
        let Said::Outcome { outcome, .. } = &next.said else {
            return None;
        };
        let taken = if outcome.receipt.charged == 0 {
            0
        } else {
            outcome.receipt.cost
        };
        if let Some(Write::Keep { found, .. }) = next.write {
            *slot = Some(Entry {
                book: Arc::clone(&ask.book),
                name: ask.name,
                found,
                owed: was_owed.saturating_add(taken),
            });
            self.owing += usize::from(was_owed == 0 && taken > 0);
        }
        Some(next.said)
    }

    /// How many keys owe something.
    pub const fn owing(&self) -> usize {
        self.owing
    }

    /// Takes up to `most` debts out, as charges of the time at which something was decided last: that is a time of the same
    /// clock. What cannot be charged is to be put back.
    pub fn take_owed(&mut self, most: usize) -> Vec<Ask> {
        let mut asks = Vec::new();
        if self.owing == 0 {
            return asks;
        }
        let owing = self.slots.iter_mut().flatten();
        for entry in owing.filter(|entry| entry.owed > 0).take(most) {
            let part = entry.owed.min(Cost::MAX.tokens());
            let Ok(cost) = Cost::new(part) else {
                continue;
            };
            entry.owed -= part;
            self.owing -= usize::from(entry.owed == 0);
            asks.push(Ask {
                book: Arc::clone(&entry.book),
                name: entry.name,
                verb: Verb::Charge(cost),
                now: self.asked,
            });
        }
        asks
    }

    /// Puts a debt back that could not be paid. `false` where its place was taken meanwhile, and it is lost.
    pub fn put_back(&mut self, ask: &Ask) -> bool {
        let Verb::Charge(cost) = ask.verb else {
            return false;
        };
        let slot = self.slot(ask).and_then(Option::as_mut);
        let Some(entry) = slot.filter(|entry| entry.is_of(ask)) else {
            return false;
        };
        let is_first = entry.owed == 0;
        entry.owed = entry.owed.saturating_add(cost.tokens());
        self.owing += usize::from(is_first);
        true
    }

    /// Forgets what is only remembered, as contracts changed.
    pub fn forget_known(&mut self) {
        for slot in &mut self.slots {
            if slot.as_ref().is_some_and(|entry| entry.owed == 0) {
                *slot = None;
            }
        }
    }

    /// The place of a key: its own, or an empty one, or that of the key charged longest ago. `None` where all owe.
    #[allow(clippy::cast_possible_truncation)] // A remainder below the number of slots, and any 64 bits of a name do.
    fn slot(&mut self, ask: &Ask) -> Option<&mut Option<Entry>> {
        let sets = self.slots.len() / self.ways;
        let set = (ask.book.tag() ^ ask.name.0 as u64) % sets as u64;
        let set = self.slots.chunks_mut(self.ways).nth(set as usize)?;
        let rank = |slot: &Option<Entry>| match slot {
            Some(entry) if entry.is_of(ask) => Some((0, Instant::default())),
            None => Some((1, Instant::default())),
            Some(entry) if entry.owed == 0 => Some((2, entry.found.at)),
            Some(_) => None,
        };
        let ranked = set.iter().enumerate();
        let ranked = ranked.filter_map(|(place, slot)| Some((rank(slot)?, place)));
        let (_, place) = ranked.min()?;
        set.get_mut(place)
    }
}

/// Where chance puts more keys than this together, those beyond have no place.
const WAYS: usize = 16;

impl Entry {
    fn is_of(&self, ask: &Ask) -> bool {
        self.name == ask.name && self.book.tag() == ask.book.tag()
    }

    /// What is known, to the policies of an ask.
    fn found_by(&self, ask: &Ask) -> Option<Found> {
        if self.book.shape_id() == ask.book.shape_id() {
            return Some(self.found.clone());
        }
        ask.book.inherit(self.book.shape(), &self.found, ask.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_contract::Contracts;
    use tollgate_limit::Lot;

    fn book() -> Arc<Book> {
        let file =
            "contracts: [{ id: api, key: [user], policies: [{ name: ten, limit: 10, per: 1h }] }]";
        let contracts = Contracts::parse(file).unwrap();
        Arc::new(Book::of(contracts.get(0).unwrap()).unwrap())
    }

    fn check(book: &Arc<Book>, name: u128) -> Ask {
        Ask {
            book: Arc::clone(book),
            name: Name(name),
            verb: Verb::Check {
                cost: Cost::ONE,
                lot: Lot::ALWAYS,
            },
            now: Instant::from_nanos(1_000_000_000),
        }
    }

    fn passes(said: Option<&Said>) -> bool {
        matches!(said, Some(Said::Outcome { outcome, .. }) if outcome.decision.verdict.is_allowed())
    }

    #[test]
    fn goes_on_from_what_was_heard_last_and_owes_what_it_admits() {
        let (book, mut memory) = (book(), Memory::new(16));
        let ask = check(&book, 7);
        let mut found = None;
        for _ in 0..4 {
            let next = book.apply(found.as_ref(), ask.verb, ask.now).unwrap();
            memory.note(&ask, &next.said);
            if let Some(Write::Keep { found: kept, .. }) = next.write {
                found = Some(kept);
            }
        }
        let admitted = (0..20)
            .filter(|_| passes(memory.decide(&ask).as_ref()))
            .count();
        assert_eq!(admitted, 6, "four of ten were the engine's");
        assert_eq!(memory.owing(), 1);
        let owed = memory.take_owed(10);
        assert!(matches!(owed[..], [Ask { verb: Verb::Charge(cost), .. }] if cost.tokens() == 6));
        assert_eq!(memory.owing(), 0);
        assert!(memory.put_back(&owed[0]) && memory.owing() == 1);
    }

    #[test]
    fn other_terms_go_on_from_what_was_heard_under_those_before() {
        let (ten, mut memory) = (book(), Memory::new(16));
        let file =
            "contracts: [{ id: api, key: [user], policies: [{ name: ten, limit: 15, per: 1h }] }]";
        let contracts = Contracts::parse(file).unwrap();
        let fifteen = Arc::new(Book::of(contracts.get(0).unwrap()).unwrap());
        let passed = |memory: &mut Memory, book: &Arc<Book>| {
            let asks = (0..20).map(|_| check(book, 7));
            asks.filter(|ask| passes(memory.decide(ask).as_ref()))
                .count()
        };
        assert_eq!(passed(&mut memory, &ten), 10);
        assert_eq!(passed(&mut memory, &fifteen), 5);
        let owed = memory.take_owed(10);
        assert!(matches!(owed[..], [Ask { verb: Verb::Charge(cost), .. }] if cost.tokens() == 15));
    }

    #[test]
    fn what_is_owed_keeps_its_place_and_what_is_known_gives_way() {
        let (book, mut memory) = (book(), Memory::new(1));
        assert!(passes(memory.decide(&check(&book, 1)).as_ref()));
        assert!(memory.decide(&check(&book, 2)).is_none());
        memory.forget_known();
        assert_eq!(memory.take_owed(10).len(), 1);
        assert!(passes(memory.decide(&check(&book, 2)).as_ref()));
    }

    #[test]
    fn keys_that_chance_puts_together_all_have_a_place() {
        let (book, mut memory) = (book(), Memory::new(1024));
        // Spread as fingerprints are.
        let name = |number: u128| (number * number * 0x9E37_79B9_7F4A_7C15) >> 17;
        for number in 0..256 {
            assert!(memory.decide(&check(&book, name(number))).is_some());
        }
        assert_eq!(memory.owing(), 256);
    }

    #[test]
    fn a_charge_that_the_engine_made_makes_what_was_known_stale() {
        let (book, mut memory) = (book(), Memory::new(4));
        let ask = check(&book, 1);
        let next = book.apply(None, ask.verb, ask.now).unwrap();
        memory.note(&ask, &next.said);
        memory.note(&ask, &Said::Done);
        let admitted = (0..20)
            .filter(|_| passes(memory.decide(&ask).as_ref()))
            .count();
        assert_eq!(admitted, 10);
    }
}
