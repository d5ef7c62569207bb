//! The edges: budgets, refusals, evictions, panics, nesting.
mod common;

use common::{TestCell, contents, endless, print, table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tollgate_table::{Budget, Full, MemoryShare, Print, Sweep, Table, TableConfig, WhenFull};

fn fill(table: &common::Cells, numbers: std::ops::Range<u64>, fresh_at: u64, now: u64) -> u64 {
    let put = |number| {
        table.update(print(number), now, |_| {
            ((), Some(TestCell::new(fresh_at, number)))
        })
    };
    numbers.map(|number| u64::from(put(number).is_ok())).sum()
}

#[test]
fn a_full_table_refuses_before_the_closure_runs() {
    let (table, _) = table(1, 10_000, WhenFull::Refuse, Sweep::BeforeGrowth);
    let held = fill(&table, 0..1000, 10, 0);
    assert!((150..=10_000 / 48).contains(&held), "{held}");
    assert_eq!(table.counters().refused_new, 1000 - held);
    let absent = (0..1000)
        .map(print)
        .find(|&print| table.get(print, |_| ()).is_none());
    let refused = table.update(absent.unwrap(), 0, |_| -> ((), _) {
        panic!("must not run")
    });
    assert_eq!(refused, Err(Full));
}

#[test]
fn a_full_table_takes_keys_again_when_its_cells_are_fresh() {
    for sweep in [Sweep::BeforeGrowth, Sweep::AtBudget] {
        let (table, _) = table(1, 10_000, WhenFull::Refuse, sweep);
        let held = fill(&table, 0..1000, 10, 0);
        assert_eq!(fill(&table, 1000..1100, 20, 10), 100, "{sweep:?}");
        assert!(table.counters().dropped_fresh > 0 && table.counters().dropped_fresh <= held);
    }
}

#[test]
fn eviction_takes_the_cell_closest_to_fresh() {
    let (table, _) = table(1, 10_000, WhenFull::Evict, Sweep::BeforeGrowth);
    for number in 0..1000 {
        let fresh_at = 1_000_000 - number;
        let put = table.update(print(number), 0, |_| {
            ((), Some(TestCell::new(fresh_at, number)))
        });
        assert_eq!(put, Ok(()));
    }
    let held = contents(&table);
    assert_eq!(held.len() as u64 + table.counters().evicted_live, 1000);
    assert!(held.iter().filter(|(_, cell)| cell.value < 100).count() > 60);
}

#[test]
fn nothing_is_evicted_for_a_closure_that_keeps_nothing() {
    let (table, _) = table(1, 10_000, WhenFull::Evict, Sweep::BeforeGrowth);
    fill(&table, 0..1000, 10, 0);
    let before = contents(&table);
    for number in 1000..2000 {
        assert_eq!(
            table.update(print(number), 0, |cell| (cell.is_none(), None)),
            Ok(true)
        );
    }
    assert_eq!(contents(&table), before);
}

#[test]
fn sweeping_at_the_budget_keeps_fresh_cells_until_then() {
    let (table, _) = table(1, u64::MAX, WhenFull::Evict, Sweep::AtBudget);
    fill(&table, 0..5000, 0, 1);
    assert_eq!(table.len(), 5000);
    assert_eq!(table.drop_fresh(1, 1_000_000), 5000);
    assert!(table.is_empty());
}

#[test]
fn sweeping_before_growth_keeps_the_table_small() {
    let table = endless(1);
    for now in 0..100_000 {
        let _ = table.update(print(now), now, |_| ((), Some(TestCell::new(now + 100, 0))));
    }
    assert!(table.len() < 400, "{}", table.len());
    assert!(table.pages_count() < 20);
}

#[test]
fn a_sweep_is_bounded_and_goes_round() {
    let table = endless(4);
    fill(&table, 0..20_000, 5, 0);
    let pages = table.pages_count();
    assert_eq!(table.drop_fresh(4, pages), 0);
    assert!(table.drop_fresh(5, 10) <= 10 * 512);
    assert!(table.len() > 10_000);
    table.drop_fresh(5, pages);
    assert!(table.is_empty());
    assert!(table.bytes() < 64 * pages);
}

#[test]
fn tables_share_a_budget_and_give_it_back() {
    let budget = Arc::new(Budget::new(40_000));
    let config = TableConfig {
        shards: Some(1),
        when_full: WhenFull::Refuse,
        ..Default::default()
    };
    let first = Table::new(common::Plain, config, MemoryShare::equal(&budget));
    let second = Table::new(common::Plain, config, MemoryShare::equal(&budget));
    fill(&first, 0..10_000, 10, 0);
    assert!(fill(&second, 0..100, 10, 0) < 5);
    assert_eq!((first.bytes() + second.bytes()) as u64, budget.used());
    drop(first);
    assert_eq!(fill(&second, 0..100, 10, 0), 100);
    drop(second);
    assert_eq!(budget.used(), 0);
}

#[test]
fn heap_bytes_are_charged_as_cells_change() {
    let table = endless(1);
    let _ = table.update(print(1), 0, |_| ((), Some(TestCell::new(9, 0))));
    let before = table.bytes();
    let grow = |cell: Option<&mut TestCell>| (cell.map(|cell| cell.heap.reserve_exact(100)), None);
    assert_eq!(table.update(print(1), 0, grow), Ok(Some(())));
    assert_eq!(table.bytes(), before + 100);
    assert_eq!(
        table.update(print(1), 0, |_| ((), Some(TestCell::new(9, 0)))),
        Ok(())
    );
    assert_eq!(table.bytes(), before);
}

#[test]
fn cells_that_grow_in_place_stay_within_the_budget() {
    const LIMIT: u64 = 1 << 20;
    let (table, budget) = table(4, LIMIT, WhenFull::Evict, Sweep::BeforeGrowth);
    for round in 0..200 {
        for number in 0..200 {
            let step = if number % 50 == 0 { 32 << 10 } else { 64 };
            let grow = |cell: Option<&mut TestCell>| {
                let present = cell.map(|cell| cell.heap.reserve_exact(cell.heap.capacity() + step));
                let made = present.is_none().then(|| TestCell::new(1_000 + number, 0));
                ((), made)
            };
            let _ = table.update(print(number), round, grow);
            // A key that may not be refused takes one slot of its page by force.
            let forced = table.pages_count() * (size_of::<(u64, TestCell)>() + 16);
            let used = budget.used();
            assert!(used <= LIMIT + forced as u64, "{used} in round {round}");
        }
    }
    assert!(table.counters().evicted_live > 0);
}

#[test]
fn a_panic_in_the_closure_leaves_a_table_that_works() {
    let table = endless(1);
    let _ = table.update(print(1), 0, |_| ((), Some(TestCell::new(9, 0))));
    let before = table.bytes();
    let result = catch_unwind(AssertUnwindSafe(|| {
        table.update(print(1), 0, |cell| -> ((), _) {
            cell.unwrap().heap.reserve_exact(100);
            panic!("as a caller may");
        })
    }));
    assert!(result.is_err());
    assert_eq!(table.bytes(), before + 100);
    assert_eq!(table.remove(print(1)).map(|cell| cell.fresh_at), Some(9));
}

#[test]
fn a_closure_may_use_another_table() {
    let (outer, inner) = (endless(1), endless(1));
    let both = outer.update(print(1), 0, |_| {
        let put = inner.update(print(1), 0, |_| (7, Some(TestCell::new(9, 0))));
        (put, Some(TestCell::new(9, 0)))
    });
    assert_eq!(both, Ok(Ok(7)));
    assert_eq!((outer.len(), inner.len()), (1, 1));
}

#[test]
fn cells_come_in_the_same_order_after_the_same_operations() {
    let run = || {
        let (table, _) = table(4, 100_000, WhenFull::Evict, Sweep::BeforeGrowth);
        fill(&table, 0..3000, 50, 0);
        (0..500).for_each(|number| drop(table.remove(print(number * 3))));
        fill(&table, 5000..6000, 90, 20);
        contents(&table)
    };
    assert_eq!(run(), run());
}

#[test]
fn strange_shard_counts_are_rounded() {
    for (asked, given) in [(0, 1), (1, 1), (3, 4), (64, 64), (usize::MAX, 1 << 16)] {
        assert_eq!(endless(asked).shards_count(), given);
    }
    let table = endless(2);
    table.for_each_in(usize::MAX, |_, _| unreachable!());
    assert_eq!(table.get(Print(u64::MAX), |_| ()), None);
}
