//! The table against the plainest map: equal without a budget, safely different with one.
mod common;

use common::{Cells, TestCell, contents, endless, print, table};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tollgate_table::{Full, Print, Sweep, WhenFull};

#[derive(Clone, Debug)]
enum Step {
    Put { key: u64, lives: u64, heap: usize },
    Touch { key: u64 },
    Remove { key: u64 },
    Many { keys: Vec<u64> },
    Sweep { pages: usize },
    Wait { time: u64 },
}

fn steps(keys: u64) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..keys, 0..50_u64, 0..100_usize).prop_map(|(key, lives, heap)| Step::Put { key, lives, heap }),
        2 => (0..keys).prop_map(|key| Step::Touch { key }),
        1 => (0..keys).prop_map(|key| Step::Remove { key }),
        2 => prop::collection::vec(0..keys, 0..80).prop_map(|keys| Step::Many { keys }),
        1 => (0..5_usize).prop_map(|pages| Step::Sweep { pages }),
        1 => (0..20_u64).prop_map(|time| Step::Wait { time }),
    ];
    prop::collection::vec(step, 1..400)
}

fn put(cell: TestCell) -> impl FnOnce(Option<&mut TestCell>) -> (bool, Option<TestCell>) {
    move |present| (present.is_some(), Some(cell))
}

/// A table and the map it should equal, but for cells that it was allowed to drop.
struct Twin {
    table: Cells,
    map: BTreeMap<Print, TestCell>,
    now: u64,
    may_lose_live: bool,
}

impl Twin {
    fn new(table: Cells, may_lose_live: bool) -> Self {
        Self {
            table,
            map: BTreeMap::new(),
            now: 0,
            may_lose_live,
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Put { key, lives, heap } => self.put(print(*key), *lives, *heap),
            Step::Touch { key } => self.touch(print(*key)),
            Step::Remove { key } => {
                let removed = self.table.remove(print(*key));
                assert_eq!(removed, self.map.remove(&print(*key)));
            }
            Step::Many { keys } => self.many(keys),
            Step::Sweep { pages } => {
                assert!(self.table.drop_fresh(self.now, *pages) <= 512 * pages);
            }
            Step::Wait { time } => self.now += time,
        }
        self.reconcile();
    }

    fn put(&mut self, print: Print, lives: u64, heap: usize) {
        let mut cell = TestCell::new(self.now + lives, 1);
        cell.heap.reserve_exact(heap);
        let present = self.map.contains_key(&print);
        match self.table.update(print, self.now, put(cell.clone())) {
            Ok(found) => {
                assert_eq!(found, present);
                self.map.insert(print, cell);
            }
            Err(Full) => assert!(!present, "a present key was refused"),
        }
    }

    fn touch(&mut self, print: Print) {
        let result = self.table.update(print, self.now, |cell| {
            let value = cell.map(|cell| {
                cell.value += 1;
                cell.value
            });
            (value, None)
        });
        let expected = self.map.get_mut(&print).map(|cell| {
            cell.value += 1;
            cell.value
        });
        assert!(result == Ok(expected) || result == Err(Full) && expected.is_none());
    }

    fn many(&mut self, keys: &[u64]) {
        let prints: Vec<Print> = keys.iter().map(|&key| print(key)).collect();
        let (now, mut order) = (self.now, Vec::new());
        let mut done = vec![None; keys.len()];
        self.table
            .update_many(&prints, now, |index, cell| match cell {
                Ok(Some(cell)) => {
                    order.push(index);
                    cell.value += 1;
                    done[index] = Some(cell.value);
                    None
                }
                Ok(None) => {
                    order.push(index);
                    done[index] = Some(1);
                    Some(TestCell::new(now + 10, 1))
                }
                Err(Full) => {
                    order.push(index);
                    Some(TestCell::new(0, 0))
                }
            });
        assert!(order.into_iter().eq(0..keys.len()));
        for (print, value) in prints.into_iter().zip(done) {
            let Some(value) = value else { continue };
            let cell = self
                .map
                .entry(print)
                .or_insert_with(|| TestCell::new(now + 10, 0));
            let restarted = value == 1 && (self.may_lose_live || cell.fresh_at <= now);
            cell.value = if restarted { 1 } else { cell.value + 1 };
            assert_eq!(cell.value, value);
        }
    }

    /// Forgets in the map what the table dropped, if it was allowed to, and compares the rest.
    fn reconcile(&mut self) {
        let now = self.now;
        let held: BTreeMap<Print, TestCell> = contents(&self.table).into_iter().collect();
        assert_eq!(held.len(), self.table.len());
        let lose = self.may_lose_live;
        self.map.retain(|print, cell| {
            let kept = held.contains_key(print);
            assert!(
                kept || lose || cell.fresh_at <= now,
                "a live cell was dropped"
            );
            kept
        });
        // A cell that was dropped and came back within one batch may have another life.
        assert!(self.map.keys().eq(held.keys()));
        self.map.clone_from(&held);
    }
}

/// Slots of `TestCell` take 48 bytes here; a forced one also brings an allocation.
const SLOT_FORCED: u64 = 48 + 16;
/// The most heap bytes of one cell in these tests.
const HEAP_MAX: u64 = 100;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn without_a_budget_the_table_is_the_map(steps in steps(600)) {
        let (table, budget) = table(2, u64::MAX, WhenFull::Evict, Sweep::AtBudget);
        let mut map = BTreeMap::new();
        for step in &steps {
            if let Step::Put { key, lives, .. } = step {
                let cell = TestCell::new(*lives, *key);
                let found = table.update(print(*key), 0, put(cell.clone()));
                prop_assert_eq!(found, Ok(map.insert(print(*key), cell).is_some()));
            } else if let Step::Remove { key } = step {
                prop_assert_eq!(table.remove(print(*key)), map.remove(&print(*key)));
            } else if let Step::Many { keys } = step {
                let prints: Vec<Print> = keys.iter().map(|&key| print(key)).collect();
                table.update_many(&prints, 0, |_, cell| {
                    cell.ok().flatten().map_or_else(|| Some(TestCell::new(9, 0)), |cell| { cell.value += 1; None })
                });
                for print in prints {
                    map.entry(print).and_modify(|cell| cell.value += 1).or_insert_with(|| TestCell::new(9, 0));
                }
            }
        }
        let held: BTreeMap<Print, TestCell> = contents(&table).into_iter().collect();
        prop_assert_eq!(held, map);
        prop_assert_eq!(table.bytes() as u64, budget.used());
        drop(table);
        prop_assert_eq!(budget.used(), 0);
    }

    #[test]
    fn sweeping_drops_only_what_is_fresh(steps in steps(600)) {
        let mut twin = Twin::new(endless(2), false);
        for step in &steps {
            twin.run(step);
        }
        prop_assert_eq!(twin.table.counters().evicted_live, 0);
        prop_assert_eq!(twin.table.counters().refused_new, 0);
    }

    #[test]
    fn a_refusing_table_keeps_what_is_live_and_its_budget(
        steps in steps(600), limit in 0..30_000_u64, early in any::<bool>()
    ) {
        let sweep = if early { Sweep::BeforeGrowth } else { Sweep::AtBudget };
        let (table, budget) = table(2, limit, WhenFull::Refuse, sweep);
        let fixed = budget.used();
        let mut twin = Twin::new(table, false);
        for step in &steps {
            // A present cell may be replaced by one with more heap; that is charged, not refused.
            let heap: u64 = contents(&twin.table).iter().map(|(_, cell)| cell.heap.capacity() as u64).sum();
            twin.run(step);
            prop_assert!(budget.used() <= limit.max(fixed) + heap + HEAP_MAX);
        }
        prop_assert_eq!(twin.table.counters().evicted_live, 0);
    }

    #[test]
    fn an_evicting_table_never_refuses_and_keeps_its_budget(
        steps in steps(600), limit in 0..30_000_u64, early in any::<bool>()
    ) {
        let sweep = if early { Sweep::BeforeGrowth } else { Sweep::AtBudget };
        let (table, budget) = table(2, limit, WhenFull::Evict, sweep);
        let fixed = budget.used();
        let mut twin = Twin::new(table, true);
        for step in &steps {
            let Step::Put { key, lives, .. } = step else {
                twin.run(step);
                continue;
            };
            twin.run(&Step::Put { key: *key, lives: *lives, heap: 0 });
            let forced = SLOT_FORCED * twin.table.pages_count() as u64;
            prop_assert!(budget.used() <= limit.max(fixed) + forced);
            // A cell that is fresh as it comes may go as it comes.
            prop_assert!(*lives == 0 || twin.table.get(print(*key), |_| ()).is_some());
        }
        prop_assert_eq!(twin.table.counters().refused_new, 0);
    }
}
