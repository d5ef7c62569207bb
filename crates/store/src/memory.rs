//! The last known states of keys, to decide by while the engine does not answer, and the charges that the engine lacks
//! because of that.
//!
//! Both use the memory budget for keys: cached states have an equal share of it and are evicted by newer ones;
//! owed charges have up to half of it and are never evicted, so that nothing admitted without the engine is
//! forgotten. Not
//! here: when to decide so, and when to send the charges.

use std::sync::Arc;

use tollgate_limit::{Cost, Instant, KeptState};
use tollgate_table::{Budget, CellRules, Holder, MemoryShare, Print, Table, TableConfig, WhenFull};

use crate::ask::{EngineAnswer, Name, StoreRequest, Verb};
use crate::book::{Book, StoredKey, Write};

#[derive(Debug)]
pub struct Memory {
    /// The share of cached states.
    share: Arc<MemoryShare>,
    known: Arc<Known>,
    /// Keys with owed charges; decided by the state here.
    owed: Table<Entry, Worth>,
    /// The page of `owed` that is sent next.
    page: usize,
    /// The time of the last decision.
    asked: Instant,
}

#[derive(Debug)]
struct Known(Table<Entry, Worth>);

#[derive(Debug)]
struct Entry {
    book: Arc<Book>,
    name: Name,
    found: StoredKey,
    /// From then on it is the same as an unknown key.
    fresh_at: Instant,
    /// Tokens admitted here, and not yet sent to the engine.
    owed: u64,
}

impl Memory {
    pub fn new(budget: &Arc<Budget>) -> Self {
        let share = MemoryShare::equal(budget);
        let owed = MemoryShare::fixed(budget, budget.limit() / OWED_PART);
        Self {
            known: Known::new(&share),
            share,
            owed: Table::new(Worth, config(WhenFull::Refuse), owed),
            page: 0,
            asked: Instant::default(),
        }
    }

    /// Caches the answer of the engine.
    pub fn note(&mut self, ask: &StoreRequest, said: &EngineAnswer) {
        let after = match said {
            EngineAnswer::Outcome { after, .. } => Some(after.clone()),
            EngineAnswer::Found(found) => found.clone(),
            // The answer to a charge or refund lacks the new state, and the cached one is outdated.
            EngineAnswer::Done => None,
        };
        let print = print(ask);
        if self.owed.get(print, |_| ()).is_some() {
            return;
        }
        let Some(found) = after else {
            self.known.0.remove(print);
            return;
        };
        let entry = Entry {
            book: Arc::clone(&ask.book),
            name: ask.name,
            fresh_at: ask.book.fresh_at(&found),
            found,
            owed: 0,
        };
        self.known.put(print, entry, ask.now);
    }

    /// Decides a check without the engine, by the cached state, and records the owed charge. `None` if there is
    /// no room to record it, or the request is not a check.
    pub fn decide(&mut self, ask: &StoreRequest) -> Option<EngineAnswer> {
        self.asked = ask.now;
        let print = print(ask);
        let known = &self.known.0;
        let decided = self.owed.update(print, ask.now.as_nanos(), |owing| {
            let decided = match owing {
                Some(entry) => decide(ask, Some(&*entry)),
                None => known
                    .get(print, |entry| decide(ask, Some(entry)))
                    .unwrap_or_else(|| decide(ask, None)),
            };
            decided.map_or((None, None), |(said, entry)| (Some(said), entry))
        });
        decided.ok().flatten()
    }

    /// Keys with owed charges.
    pub fn owing(&self) -> usize {
        self.owed.len()
    }

    /// Takes up to `most` owed charges, at the time of the last decision: that is a time of the
    /// same clock. Put back those that fail.
    pub fn take_owed(&mut self, most: usize) -> Vec<StoreRequest> {
        let mut prints = Vec::new();
        for _ in 0..self.owed.pages_count() {
            if prints.len() >= most || !self.owed.prints_of_page(self.page, &mut prints) {
                break;
            }
            // The rest of a page is taken by the next call.
            if prints.len() <= most {
                self.page = (self.page + 1) % self.owed.pages_count();
            }
        }
        prints.truncate(most);
        let owing = prints.into_iter().filter_map(|print| {
            let entry = self.owed.remove(print)?;
            self.charge_of(print, entry)
        });
        owing.collect()
    }

    /// The part of a debt that one request can charge; the rest stays owed.
    fn charge_of(&self, print: Print, mut entry: Entry) -> Option<StoreRequest> {
        let cost = Cost::new(entry.owed.min(Cost::MAX.tokens())).ok()?;
        let ask = StoreRequest {
            book: Arc::clone(&entry.book),
            name: entry.name,
            verb: Verb::Charge(cost),
            now: self.asked,
        };
        entry.owed -= cost.tokens();
        if entry.owed == 0 {
            self.known.put(print, entry, self.asked);
        } else {
            let now = self.asked.as_nanos();
            self.owed.adopt(print, now, || Some(entry));
        }
        Some(ask)
    }

    /// Puts back a charge that failed. `false` if the request is not one.
    pub fn put_back(&mut self, ask: &StoreRequest) -> bool {
        let Verb::Charge(cost) = ask.verb else {
            return false;
        };
        let print = print(ask);
        let owing = self.owed.get(print, |_| ()).is_some();
        let entry = if owing {
            self.owed.remove(print)
        } else {
            self.known.0.remove(print)
        };
        // An entry evicted meanwhile is created again with the debt alone.
        let entry = entry.or_else(|| {
            let next = ask.book.apply(None, ask.verb, ask.now).ok()?;
            let Some(Write::Keep { found, fresh_at }) = next.write else {
                return None;
            };
            Some(Entry {
                book: Arc::clone(&ask.book),
                name: ask.name,
                found,
                fresh_at,
                owed: 0,
            })
        });
        let Some(mut entry) = entry else {
            return false;
        };
        entry.owed = entry.owed.saturating_add(cost.tokens());
        let now = self.asked.as_nanos();
        self.owed.adopt(print, now, || Some(entry))
    }

    /// Drops cached states after a change of contracts.
    pub fn forget_known(&mut self) {
        self.known = Known::new(&self.share);
    }
}

/// Applies a check to a cached state: the answer, and the new entry if it
/// changes. `None` for other requests.
fn decide(ask: &StoreRequest, known: Option<&Entry>) -> Option<(EngineAnswer, Option<Entry>)> {
    let found = known.and_then(|entry| entry.found_by(ask));
    let next = ask.book.apply(found.as_ref(), ask.verb, ask.now).ok()?;
    let EngineAnswer::Outcome { outcome, .. } = &next.said else {
        return None;
    };
    let taken = match outcome.receipt.charged {
        0 => 0,
        _ => outcome.receipt.cost,
    };
    let entry = match next.write {
        Some(Write::Keep { found, fresh_at }) => Some(Entry {
            book: Arc::clone(&ask.book),
            name: ask.name,
            found,
            fresh_at,
            owed: known.map_or(0, |entry| entry.owed).saturating_add(taken),
        }),
        Some(Write::Forget) | None => None,
    };
    Some((next.said, entry))
}

/// Identifies a key of a contract in both tables.
#[allow(clippy::cast_possible_truncation)] // Any 64 bits of a name do.
fn print(ask: &StoreRequest) -> Print {
    Print(ask.book.tag() ^ ask.name.0 as u64)
}

const fn config(when_full: WhenFull) -> TableConfig {
    TableConfig {
        shards: Some(SHARDS),
        when_full,
        sweep: tollgate_table::Sweep::BeforeGrowth,
    }
}

/// Debts take at most one half of the memory for keys.
const OWED_PART: u64 = 2;
/// One thread uses it at a time.
const SHARDS: usize = 64;

impl Known {
    fn new(share: &Arc<MemoryShare>) -> Arc<Self> {
        let table = Table::new(Worth, config(WhenFull::Evict), Arc::clone(share));
        let known = Arc::new(Self(table));
        let holder: Arc<dyn Holder> = Arc::clone(&known) as _;
        share.join(Arc::downgrade(&holder));
        known
    }

    fn put(&self, print: Print, entry: Entry, now: Instant) {
        // An entry without room is not cached.
        let _ = self.0.update(print, now.as_nanos(), |_| ((), Some(entry)));
    }
}

impl Holder for Known {
    fn give(&self, bytes: usize, now: u64) -> usize {
        self.0.give(bytes, now)
    }
}

/// The eviction order of both tables.
#[derive(Debug)]
struct Worth;

impl CellRules<Entry> for Worth {
    fn fresh_at(&self, entry: &Entry) -> u64 {
        match entry.owed {
            0 => entry.fresh_at.as_nanos(),
            _ => u64::MAX,
        }
    }

    fn heap_bytes(&self, entry: &Entry) -> usize {
        let kept = &entry.found.kept;
        let entries = kept.iter().map(|kept| match kept {
            KeptState::Entries(entries) => size_of_val(entries.as_slice()),
            KeptState::Spent(_) | KeptState::Count(_) | KeptState::Pair { .. } => 0,
        });
        size_of_val(kept.as_slice()) + entries.sum::<usize>()
    }
}

impl Entry {
    /// The cached state, converted to the policies of a request.
    fn found_by(&self, ask: &StoreRequest) -> Option<StoredKey> {
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

    fn check(book: &Arc<Book>, name: u128) -> StoreRequest {
        StoreRequest {
            book: Arc::clone(book),
            name: Name(name),
            verb: Verb::Check {
                cost: Cost::ONE,
                lot: Lot::ALWAYS,
            },
            now: Instant::from_nanos(1_000_000_000),
        }
    }

    fn passes(said: Option<&EngineAnswer>) -> bool {
        matches!(said, Some(EngineAnswer::Outcome { outcome, .. }) if outcome.decision.verdict.is_allowed())
    }

    #[test]
    fn goes_on_from_what_was_heard_last_and_owes_what_it_admits() {
        let (book, mut memory) = (book(), memory());
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
        assert!(
            matches!(owed[..], [StoreRequest { verb: Verb::Charge(cost), .. }] if cost.tokens() == 6)
        );
        assert_eq!(memory.owing(), 0);
        assert!(memory.put_back(&owed[0]) && memory.owing() == 1);
    }

    #[test]
    fn other_terms_go_on_from_what_was_heard_under_those_before() {
        let (ten, mut memory) = (book(), memory());
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
        assert!(
            matches!(owed[..], [StoreRequest { verb: Verb::Charge(cost), .. }] if cost.tokens() == 15)
        );
    }

    /// The memory of a small server.
    fn memory() -> Memory {
        Memory::new(&Arc::new(Budget::new(BYTES)))
    }

    const BYTES: u64 = 32 << 20;

    /// Distributed like fingerprints.
    fn name(number: u128) -> u128 {
        (number * number * 0x9E37_79B9_7F4A_7C15) >> 17
    }

    #[test]
    fn calm_traffic_of_many_keys_has_a_place_for_all_of_them() {
        let (book, mut memory) = (book(), memory());
        for number in 0..100_000 {
            assert!(
                passes(memory.decide(&check(&book, name(number))).as_ref()),
                "{number}"
            );
        }
        assert_eq!(memory.owing(), 100_000);
        let mut paid = 0;
        while memory.owing() > 0 {
            let owed = memory.take_owed(256);
            assert!((1..=256).contains(&owed.len()));
            paid += owed.len();
        }
        assert_eq!(paid, 100_000);
    }

    #[test]
    fn what_is_owed_keeps_its_place_and_what_is_known_gives_way() {
        let budget = Arc::new(Budget::new(1 << 20));
        let (book, mut memory) = (book(), Memory::new(&budget));
        for number in 0..20_000 {
            let ask = check(&book, name(number));
            let next = book.apply(None, ask.verb, ask.now).unwrap();
            memory.note(&ask, &next.said);
        }
        let admitted =
            (20_000..40_000).filter(|number| memory.decide(&check(&book, name(*number))).is_some());
        let owing = admitted.count();
        // Half of the memory, at some 200 bytes a key, and not a byte beyond it.
        assert!((2000..6000).contains(&owing), "{owing}");
        assert_eq!(memory.owing(), owing);
        assert!(
            budget.used() <= budget.limit() + (64 << 10),
            "{}",
            budget.used()
        );
        memory.forget_known();
        let mut paid = 0;
        while memory.owing() > 0 {
            paid += memory.take_owed(100).len();
        }
        assert_eq!(paid, owing);
        assert!(passes(memory.decide(&check(&book, name(39_999))).as_ref()));
    }

    #[test]
    fn a_debt_that_is_put_back_is_owed_though_its_key_was_forgotten() {
        let (book, mut memory) = (book(), memory());
        assert!(passes(memory.decide(&check(&book, 1)).as_ref()));
        let owed = memory.take_owed(10);
        memory.forget_known();
        assert!(memory.put_back(&owed[0]));
        assert_eq!((memory.owing(), memory.take_owed(10).len()), (1, 1));
    }

    #[test]
    fn a_charge_that_the_engine_made_makes_what_was_known_stale() {
        let (book, mut memory) = (book(), memory());
        let ask = check(&book, 1);
        let next = book.apply(None, ask.verb, ask.now).unwrap();
        memory.note(&ask, &next.said);
        memory.note(&ask, &EngineAnswer::Done);
        let admitted = (0..20)
            .filter(|_| passes(memory.decide(&ask).as_ref()))
            .count();
        assert_eq!(admitted, 10);
    }
}
