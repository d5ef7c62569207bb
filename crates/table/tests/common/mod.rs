//! Cells and tables that the tests share.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part.

use std::sync::Arc;
use tollgate_kit::scramble;
use tollgate_table::{Budget, CellRules, MemoryShare, Print, Sweep, Table, TableConfig, WhenFull};

/// A cell that says itself when it is fresh, and may own memory.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCell {
    pub fresh_at: u64,
    pub value: u64,
    pub heap: Vec<u8>,
}

impl TestCell {
    pub fn new(fresh_at: u64, value: u64) -> Self {
        Self {
            fresh_at,
            value,
            heap: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub struct Plain;

impl CellRules<TestCell> for Plain {
    fn fresh_at(&self, cell: &TestCell) -> u64 {
        cell.fresh_at
    }
    fn heap_bytes(&self, cell: &TestCell) -> usize {
        cell.heap.capacity()
    }
}

pub type Cells = Table<TestCell, Plain>;

pub fn table(shards: usize, limit: u64, when_full: WhenFull, sweep: Sweep) -> (Cells, Arc<Budget>) {
    let budget = Arc::new(Budget::new(limit));
    let config = TableConfig {
        shards: Some(shards),
        when_full,
        sweep,
    };
    (
        Table::new(Plain, config, MemoryShare::equal(&budget)),
        budget,
    )
}

pub fn endless(shards: usize) -> Cells {
    table(shards, u64::MAX, WhenFull::Evict, Sweep::BeforeGrowth).0
}

/// A well-mixed print for a small number.
pub fn print(number: u64) -> Print {
    Print(scramble(number))
}

pub fn contents(table: &Cells) -> Vec<(Print, TestCell)> {
    let mut all = Vec::new();
    table.for_each(|print, cell| all.push((print, cell.clone())));
    all
}
