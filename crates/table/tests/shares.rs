//! Several tables of one budget: whoever stays within its part loses nothing, and what goes is what least is used of.
#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]
mod common;

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tollgate_table::{
    Budget, CellRules, Full, Holder, MemoryShare, Print, Sweep, Table, TableConfig, WhenFull,
};

/// So many of `u32::MAX` are used, and it is fresh then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    used: u32,
    fresh_at: u64,
}

/// Keys that must stay while they are of use; none where cells are not kept.
#[derive(Debug, Default)]
struct Kept(Option<Mutex<BTreeSet<Print>>>);

impl Kept {
    fn holds(&self, print: Print) -> bool {
        let kept = self.0.as_ref();
        kept.is_some_and(|kept| kept.lock().unwrap().contains(&print))
    }
}

impl CellRules<Cell> for Kept {
    fn fresh_at(&self, cell: &Cell) -> u64 {
        cell.fresh_at
    }
    fn heap_bytes(&self, _: &Cell) -> usize {
        0
    }
    fn used(&self, cell: &Cell, _: u64) -> u32 {
        cell.used
    }
    fn are_kept(&self) -> bool {
        self.0.is_some()
    }
    fn may_go(&self, print: Print) -> bool {
        !self.holds(print)
    }
}

#[derive(Debug)]
struct Cells {
    table: Table<Cell, Kept>,
    share: Arc<MemoryShare>,
}

impl Holder for Cells {
    fn give(&self, bytes: usize, now: u64) -> usize {
        self.table.give(bytes, now)
    }
}

impl Cells {
    fn new(budget: &Arc<Budget>, when_full: WhenFull, kept: Kept) -> Arc<Self> {
        let share = MemoryShare::equal(budget);
        let config = TableConfig {
            shards: Some(1),
            when_full,
            sweep: Sweep::BeforeGrowth,
        };
        let cells = Arc::new(Self {
            table: Table::new(kept, config, Arc::clone(&share)),
            share: Arc::clone(&share),
        });
        let holder: Arc<dyn Holder> = Arc::clone(&cells) as _;
        share.join(Arc::downgrade(&holder));
        cells
    }

    fn put(&self, number: u64, cell: Cell) -> Result<(), Full> {
        let print = common::print(number);
        self.table.update(print, 0, |_| ((), Some(cell)))
    }

    fn all(&self) -> BTreeMap<Print, Cell> {
        let mut all = BTreeMap::new();
        self.table.for_each(|print, cell| {
            all.insert(print, *cell);
        });
        all
    }
}

fn live(used: u32) -> Cell {
    Cell {
        used,
        fresh_at: 1_000,
    }
}

#[test]
fn a_flood_takes_nothing_from_a_table_within_its_part() {
    let budget = Arc::new(Budget::new(300_000));
    let [calm, flood, _idle] = [0; 3].map(|_| Cells::new(&budget, WhenFull::Evict, Kept(None)));
    for number in 0..1_000 {
        calm.put(number, live(1)).unwrap();
    }
    for number in 0..100_000 {
        flood.put(number, live(u32::MAX)).unwrap();
    }
    assert!(flood.share.used() > 200_000, "what nobody uses is borrowed");
    for number in 1_000..2_500 {
        calm.put(number, live(1)).unwrap();
    }
    assert!(calm.share.used() <= calm.share.part());
    assert_eq!(calm.table.len(), 2_500);
    assert_eq!(calm.table.counters().evicted_live, 0);
    assert!(budget.used() <= budget.limit());
}

#[test]
fn a_table_beyond_its_part_makes_room_among_its_own() {
    let budget = Arc::new(Budget::new(300_000));
    let [first, second] = [0; 2].map(|_| Cells::new(&budget, WhenFull::Evict, Kept(None)));
    for number in 0..20_000 {
        first.put(number, live(1)).unwrap();
    }
    for number in 0..20_000 {
        second.put(number, live(1)).unwrap();
    }
    let before = first.table.counters();
    let part = first.share.part();
    assert!(
        first.share.used().abs_diff(part) < 4_000 && second.share.used().abs_diff(part) < 4_000
    );
    for number in 20_000..40_000 {
        second.put(number, live(1)).unwrap();
    }
    assert!(first.table.counters().evicted_live - before.evicted_live < 100);
}

#[test]
fn a_share_of_a_fixed_size_is_given_it_by_those_who_have_taken_everything() {
    let budget = Arc::new(Budget::new(300_000));
    let cells = Cells::new(&budget, WhenFull::Evict, Kept(None));
    for number in 0..20_000 {
        cells.put(number, live(1)).unwrap();
    }
    let share = MemoryShare::fixed(&budget, 100_000);
    let config = TableConfig {
        shards: Some(1),
        when_full: WhenFull::Refuse,
        sweep: Sweep::BeforeGrowth,
    };
    let table = Table::new(Kept::default(), config, Arc::clone(&share));
    for number in 0..20_000 {
        // It is refused once the size is reached.
        let _ = table.update(common::print(number), 0, |_| ((), Some(live(1))));
    }
    assert!(
        (90_000..=100_000).contains(&share.used()),
        "{}",
        share.used()
    );
    assert!(budget.used() <= budget.limit(), "{}", budget.used());
}

#[test]
fn bytes_that_somebody_takes_without_a_share_are_given_back_by_whoever_has_more_than_is_left() {
    let budget = Arc::new(Budget::new(300_000));
    let cells = Cells::new(&budget, WhenFull::Evict, Kept(None));
    for number in 0..20_000 {
        cells.put(number, live(1)).unwrap();
    }
    budget.take(100_000);
    for number in 20_000..30_000 {
        cells.put(number, live(1)).unwrap();
    }
    assert!(budget.used() <= budget.limit(), "{}", budget.used());
}

#[test]
fn a_table_that_refuses_gives_back_only_what_is_fresh() {
    let budget = Arc::new(Budget::new(100_000));
    let [first, second] = [0; 2].map(|_| Cells::new(&budget, WhenFull::Refuse, Kept(None)));
    let held = (0..10_000)
        .filter(|&n| first.put(n, live(1)).is_ok())
        .count();
    assert!((0..100).filter(|&n| second.put(n, live(1)).is_ok()).count() < 10);
    assert_eq!(first.table.len(), held);
    let later = |n: u64| {
        let cell = Cell {
            used: 1,
            fresh_at: 9_000,
        };
        second
            .table
            .update(common::print(n), 1_000, |_| ((), Some(cell)))
    };
    assert!(
        (0..1_000).all(|n| later(n).is_ok()),
        "the first are fresh by now"
    );
}

#[test]
fn cells_that_must_stay_do_and_new_keys_are_refused_before_they_are_decided() {
    let budget = Arc::new(Budget::new(20_000));
    let kept = Kept(Some(Mutex::default()));
    let cells = Cells::new(&budget, WhenFull::Evict, kept);
    let keep = |n| cells.table_kept().lock().unwrap().insert(common::print(n));
    let mut held = BTreeSet::new();
    for number in 0..2_000 {
        keep(number);
        if cells.put(number, live(1)).is_ok() {
            held.insert(common::print(number));
        }
    }
    assert!(cells.all().keys().eq(&held), "none went");
    assert!(budget.used() <= budget.limit());
    let refused = cells.table.update(common::print(9_999), 0, |_| -> ((), _) {
        unreachable!("it has no room")
    });
    assert_eq!(refused, Err(Full));
    cells.table_kept().lock().unwrap().clear();
    cells.put(9_999, live(1)).unwrap();
    assert_eq!(cells.table.len(), held.len());
}

impl Cells {
    fn table_kept(&self) -> &Mutex<BTreeSet<Print>> {
        self.table.rules().0.as_ref().unwrap()
    }
}

#[derive(Clone, Debug)]
struct Put {
    table: usize,
    key: u64,
    cell: Cell,
}

fn puts() -> impl Strategy<Value = Vec<Put>> {
    let used = prop_oneof![0..4_u32, Just(u32::MAX)];
    let put = (0..3_usize, 0..400_u64, used, 1..5_u64);
    let put = put.prop_map(|(table, key, used, fresh_at)| Put {
        table,
        key,
        cell: Cell { used, fresh_at },
    });
    prop::collection::vec(put, 1..600)
}

/// What goes for want of room is one cell of those that least is used of, and of these the one that is fresh first.
fn went_first(before: &BTreeMap<Print, Cell>, after: &BTreeMap<Print, Cell>) {
    let rank = |cell: &Cell| (cell.used, cell.fresh_at);
    let gone = before
        .iter()
        .filter(|(print, _)| !after.contains_key(print));
    let stay = before.iter().filter(|(print, _)| after.contains_key(print));
    let last = gone.map(|(_, cell)| rank(cell)).max();
    let first = stay.map(|(_, cell)| rank(cell)).min();
    assert!(
        last.is_none() || first.is_none() || last <= first,
        "{last:?} before {first:?}"
    );
}

proptest! {
    #[test]
    fn what_least_is_used_of_goes_first(puts in puts()) {
        // So small that the table is one page.
        let budget = Arc::new(Budget::new(800));
        let cells = Cells::new(&budget, WhenFull::Evict, Kept(None));
        let mut before = BTreeMap::new();
        for put in puts {
            cells.put(put.key, put.cell).unwrap();
            let after = cells.all();
            prop_assert_eq!(after.get(&common::print(put.key)), Some(&put.cell));
            went_first(&before, &after);
            before = after;
        }
        prop_assert_eq!(cells.table.pages_count(), 1);
    }

    #[test]
    fn a_model_that_counts_says_who_may_lose_keys(puts in puts(), limit in 2_000..12_000_u64) {
        let budget = Arc::new(Budget::new(limit));
        let all = [0; 3].map(|_| Cells::new(&budget, WhenFull::Evict, Kept(None)));
        let mut model: [BTreeMap<Print, Cell>; 3] = Default::default();
        // The most that each ever wanted: one that never wanted its part never loses anything.
        let mut most = [0; 3];
        for put in puts {
            all[put.table].put(put.key, put.cell).unwrap();
            model[put.table].insert(common::print(put.key), put.cell);
            // One slot, and an allocation, for each page that had none.
            let forced: usize = all.iter().map(|cells| cells.table.pages_count() * 40).sum();
            prop_assert!(budget.used() <= limit + forced as u64);
            for (place, cells) in all.iter().enumerate() {
                let held = cells.all();
                let lost = model[place].keys().any(|print| !held.contains_key(print));
                most[place] = most[place].max(wanted(model[place].len()));
                let may_lose = most[place] > cells.share.part();
                prop_assert!(may_lose || !lost, "table {place} of {} lost a key", cells.share.part());
                model[place] = held;
            }
        }
        let sum: u64 = all.iter().map(|cells| cells.share.used()).sum();
        prop_assert_eq!(sum, budget.used());
    }
}

/// The most bytes that a table may take for so many cells: pages are at least half full but for the last, each has two
/// slots or an eighth to spare, and a lock.
fn wanted(cells: usize) -> u64 {
    let slots = cells + cells / 8 + 4;
    (slots * 24 + (1 + cells / 12) * (32 + 16 + 48)) as u64
}
