//! Prints that no hash would give: every request still does a bounded amount of work.
mod common;

use common::{TestCell, contents, endless, table};
use std::collections::BTreeSet;
use tollgate_table::{Print, Sweep, WhenFull};

/// Puts in the prints, checks that each is found and that pages are split one at a time.
#[track_caller]
fn insert_all(prints: impl Iterator<Item = u64>) -> common::Cells {
    let table = endless(4);
    let mut pages = table.pages_count();
    for print in prints.map(Print) {
        let put = table.update(print, 0, |_| ((), Some(TestCell::new(9, print.0))));
        assert_eq!(put, Ok(()));
        assert_eq!(table.get(print, |cell| cell.value), Some(print.0));
        assert!(table.pages_count() <= pages + 1);
        pages = table.pages_count();
    }
    table
}

#[test]
fn sequential_prints_are_all_kept() {
    let table = insert_all(0..20_000);
    assert_eq!(table.len(), 20_000);
}

#[test]
fn prints_of_equal_high_bits_are_all_kept() {
    let table = insert_all(
        (0..20_000_u64).map(|n| u64::MAX << 20 | n.wrapping_mul(0x9e37_79b9) & 0xf_ffff),
    );
    let distinct: BTreeSet<u64> = contents(&table).iter().map(|(print, _)| print.0).collect();
    assert_eq!(distinct.len(), table.len());
    assert_eq!(table.counters().evicted_live, 0);
}

#[test]
fn prints_of_equal_low_bits_fill_one_page_and_no_more() {
    let table = insert_all((0..2000).map(|n| n << 40 | 5));
    assert_eq!(table.len(), 512);
    assert_eq!(table.counters().evicted_live, 2000 - 512);
}

#[test]
fn a_full_page_refuses_where_it_may_not_evict() {
    let (table, _) = table(4, u64::MAX, WhenFull::Refuse, Sweep::AtBudget);
    let put = |n: u64| table.update(Print(n << 40), 0, |_| ((), Some(TestCell::new(9, n))));
    assert_eq!((0..2000).filter(|&n| put(n).is_ok()).count(), 512);
    assert_eq!(table.counters().refused_new, 2000 - 512);
    assert_eq!(put(7), Ok(()));
}

#[test]
fn one_print_again_and_again_is_one_cell() {
    let table = insert_all(std::iter::repeat_n(u64::MAX, 1000));
    assert_eq!(table.len(), 1);
}

#[test]
fn growth_moves_at_most_one_page_per_update() {
    let table = insert_all((0..50_000).map(|n| common::print(n).0));
    assert_eq!(table.len(), 50_000);
    assert!(table.pages_count() > 50_000 / 64);
}
