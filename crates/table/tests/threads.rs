//! Many threads on the same cells: nothing is lost and nothing waits for ever.
mod common;

use common::{Cells, TestCell, contents, endless, print};
use tollgate_table::Print;

const THREADS: u64 = 4;
const STEPS: u64 = 20_000;

fn add(table: &Cells, print: Print) {
    let _ = table.update(print, 0, |cell| ((), count(cell)));
}

fn count(cell: Option<&mut TestCell>) -> Option<TestCell> {
    match cell {
        Some(cell) => {
            cell.value += 1;
            None
        }
        None => Some(TestCell::new(9, 1)),
    }
}

fn total(table: &Cells) -> u64 {
    contents(table).iter().map(|(_, cell)| cell.value).sum()
}

#[test]
fn every_update_of_spread_keys_counts() {
    let table = endless(4);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let table = &table;
            scope.spawn(move || {
                (0..STEPS).for_each(|step| add(table, print(step * (thread + 1) % 5000)));
            });
        }
    });
    assert_eq!(total(&table), THREADS * STEPS);
    assert!(table.len() <= 5000);
}

#[test]
fn every_update_of_one_hot_key_counts() {
    let table = endless(4);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..STEPS).for_each(|_| add(&table, print(1))));
        }
    });
    assert_eq!(total(&table), THREADS * STEPS);
}

#[test]
fn batches_sweeps_and_walks_may_run_at_once() {
    let table = endless(2);
    let prints: Vec<Print> = (0..STEPS).map(|step| print(step % 3000)).collect();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| table.update_many(&prints, 0, |_, cell| count(cell.unwrap_or(None))));
        }
        scope.spawn(|| (0..200).for_each(|_| assert_eq!(table.drop_fresh(0, 3), 0)));
        scope.spawn(|| (0..20).for_each(|_| assert!(contents(&table).len() <= 3000)));
    });
    assert_eq!(total(&table), 2 * STEPS);
}
