//! Keys that are found without waiting: the same cell as by every other way, or none.
mod common;

use std::thread;

use common::{Cells, TestCell, endless, print};
use tollgate_table::Print;

fn put(table: &Cells, number: u64, fresh_at: u64) {
    let made = table.update(print(number), 0, |_| {
        ((), Some(TestCell::new(fresh_at, number)))
    });
    assert_eq!(made, Ok(()));
}

/// The value of a key that is found at its spot.
fn value(table: &Cells, print: Print) -> Option<u64> {
    let mut page = table.spot(print)?.lock()?;
    page.near(print).map(|cell| cell.value)
}

#[test]
fn a_spot_has_the_cell_of_the_key() {
    let table = endless(64);
    put(&table, 7, 9);
    assert_eq!(value(&table, print(7)), Some(7));
    assert_eq!(value(&table, print(8)), None, "a key without a cell");
    let mut page = table.spot(print(7)).unwrap().lock().unwrap();
    page.near(print(7)).unwrap().value += 1;
    drop(page);
    assert_eq!(table.get(print(7), |cell| cell.value), Some(8));
}

#[test]
fn a_page_in_use_is_not_waited_for() {
    let table = endless(64);
    put(&table, 7, 9);
    let held = table.get(print(7), |_| table.spot(print(7)).unwrap().lock().is_none());
    assert_eq!(held, Some(true));
    assert_eq!(value(&table, print(7)), Some(7));
}

#[test]
fn no_key_has_a_spot_once_a_page_was_split() {
    let table = endless(1);
    put(&table, 7, 9);
    let held = table.spot(print(7)).unwrap();
    for number in 100..200 {
        put(&table, number, 9);
    }
    assert!(table.pages_count() > 1);
    assert!(held.lock().is_none(), "it was found before");
    assert!((100..200).all(|number| value(&table, print(number)).is_none()));
    table.drop_fresh(9, 10);
    assert_eq!(value(&table, print(7)), None, "its page may be another");
}

#[test]
fn keys_of_a_large_table_have_spots_again_when_it_is_small() {
    let table = endless(1 << 14);
    for number in 0..40_000 {
        put(&table, number, if number == 7 { 99 } else { 9 });
    }
    assert_eq!(table.pages_count(), 1 << 14, "none was split");
    assert_eq!(value(&table, print(7)), None);
    table.drop_fresh(9, 1 << 14);
    assert_eq!(table.len(), 1);
    assert_eq!(value(&table, print(7)), Some(7));
}

#[test]
fn spots_that_were_closed_stay_closed() {
    let table = endless(64);
    put(&table, 7, 99);
    put(&table, 8, 9);
    let held = table.spot(print(7)).unwrap();
    table.close_spots();
    assert!(held.lock().is_none(), "it was found before");
    assert_eq!(table.drop_fresh(9, 64), 1);
    assert_eq!(value(&table, print(7)), None);
    assert_eq!(table.get(print(7), |cell| cell.value), Some(7));
}

#[test]
fn nothing_is_lost_while_pages_are_split() {
    let table = endless(64);
    (0..64).for_each(|number| put(&table, number, u64::MAX));
    let rounds = 2_000;
    let count = || {
        for number in (0..64).cycle().take(64 * rounds) {
            let print = print(number);
            let mut page = table.spot(print).and_then(tollgate_table::PageSpot::lock);
            if let Some(cell) = page.as_mut().and_then(|page| page.near(print)) {
                cell.value += 1;
                continue;
            }
            drop(page);
            assert_eq!(table.in_place(print, |cell| cell.value += 1), Some(()));
        }
    };
    thread::scope(|scope| {
        scope.spawn(count);
        scope.spawn(count);
        scope.spawn(|| (64..20_000).for_each(|number| put(&table, number, u64::MAX)));
    });
    assert!(table.pages_count() > 64);
    for number in 0..64 {
        let value = table.get(print(number), |cell| cell.value);
        assert_eq!(value, Some(number + 2 * rounds as u64));
    }
}
