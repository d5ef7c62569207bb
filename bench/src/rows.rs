//! The rows that are timed: which keys, which limit, how many threads, and who takes part.

use std::sync::Arc;

use anyhow::Result;
use clap::ValueEnum;

use crate::keys::{self, BenchKey, HOT};
use crate::measure::{BenchLane, MeasurePlan, Work, measure};
use crate::report::{RowReport, ThreadsReport};
use crate::subject::{BATCH, Build, Limit, Runner};
use crate::subjects::{self, REFERENCE, SubjectEntry};
use crate::threads::{Pair, measure_pairs};

/// One timed row. The names are those of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchRow {
    /// Prices of reading a clock
    Clocks,
    /// One key, one thread, every request passes
    Hot,
    /// One key, one thread, every request is denied
    Denied,
    /// A million random integer keys, one thread
    #[value(name = "u64-1m")]
    Number1M,
    /// Ten million random integer keys, one thread
    #[value(name = "u64-10m")]
    Number10M,
    /// A million string keys of 21 bytes, one thread
    #[value(name = "text-1m")]
    Text1M,
    /// A million random integer keys, 32 to a call
    #[value(name = "batch-1m")]
    Batch1M,
    /// Ten million random integer keys, 32 to a call
    #[value(name = "batch-10m")]
    Batch10M,
    /// One key, two threads
    ThreadsHot,
    /// Two threads, each with keys of its own
    ThreadsDistinct,
}

/// Keys of each thread in the row of distinct keys: few enough to stay in a core's own cache.
const THREAD_KEYS: u64 = 1024;

impl BenchRow {
    /// Lists the rows of a full run, or of a quick one.
    pub(crate) fn usual(quick: bool) -> Vec<Self> {
        let large = [Self::Number10M, Self::Batch10M];
        Self::value_variants()
            .iter()
            .copied()
            .filter(|row| !quick || !large.contains(row))
            .collect()
    }

    /// The name typed on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The heading of the row's table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Clocks => "clock reads",
            Self::Hot => "one hot key, 1 thread, all pass",
            Self::Denied => "one hot key, 1 thread, all denied",
            Self::Number1M => "1 M random u64 keys, 1 thread",
            Self::Number10M => "10 M random u64 keys, 1 thread",
            Self::Text1M => "1 M string keys of 21 bytes, 1 thread",
            Self::Batch1M => "1 M random u64 keys, 32 to a call, 1 thread",
            Self::Batch10M => "10 M random u64 keys, 32 to a call, 1 thread",
            Self::ThreadsHot => "2 threads, one hot key",
            Self::ThreadsDistinct => "2 threads, 1024 keys of its own each",
        }
    }
}

/// Measures a row of one thread, other than the clocks.
pub(crate) fn solo(row: BenchRow, plan: MeasurePlan) -> Result<RowReport> {
    let entries = subjects::all();
    let mut lanes = match row {
        BenchRow::Denied => hot_lanes(&entries, Limit::Shut),
        BenchRow::Number1M => number_lanes(&entries, 1_000_000, Call::Single),
        BenchRow::Number10M => number_lanes(&entries, 10_000_000, Call::Single),
        BenchRow::Batch1M => number_lanes(&entries, 1_000_000, Call::Batch),
        BenchRow::Batch10M => number_lanes(&entries, 10_000_000, Call::Batch),
        BenchRow::Text1M => text_lanes(&entries, 1_000_000),
        BenchRow::Hot | BenchRow::Clocks | BenchRow::ThreadsHot | BenchRow::ThreadsDistinct => {
            hot_lanes(&entries, Limit::Open)
        }
    };
    let costs = measure(&mut lanes, plan)?;
    Ok(RowReport::new(row, &entries, &costs))
}

/// Measures a row of two threads.
pub(crate) fn duo(row: BenchRow, plan: MeasurePlan) -> Result<ThreadsReport> {
    let entries = subjects::all();
    let mut pairs: Vec<Pair> = entries
        .iter()
        .filter_map(|entry| pair(entry, row))
        .collect();
    let scalings = measure_pairs(&mut pairs, plan)?;
    Ok(ThreadsReport::new(row, &entries, &scalings))
}

/// How the keys reach the limiter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Single,
    Batch,
}

fn hot_lanes(entries: &[SubjectEntry], limit: Limit) -> Vec<BenchLane> {
    let lane = |entry: &SubjectEntry| {
        let work = match (entry.number, entry.text) {
            (Some(build), _) => hot(build(limit), HOT),
            (None, Some(build)) => hot(build(limit), String::numbered(HOT)),
            (None, None) => return None,
        };
        Some(BenchLane {
            name: entry.name,
            work,
            limit,
        })
    };
    entries.iter().filter_map(lane).collect()
}

fn number_lanes(entries: &[SubjectEntry], count: usize, call: Call) -> Vec<BenchLane> {
    let keys: Arc<Vec<u64>> = Arc::new(keys::shuffled(0..count as u64));
    let filled = entries
        .iter()
        .filter(|entry| entry.holds(count))
        .filter_map(|entry| {
            let work = match call {
                Call::Single => walk(fill(entry.name, entry.number?, &keys), &keys),
                // The reference has no batches; it shows what the same draw costs one by one.
                Call::Batch if entry.name == REFERENCE => {
                    walk(fill(entry.name, entry.number?, &keys), &keys)
                }
                Call::Batch => {
                    entry.number?(Limit::Open).batches(&keys[..BATCH])?;
                    walk_batches(fill(entry.name, entry.number?, &keys), &keys)
                }
            };
            Some(BenchLane {
                name: entry.name,
                work,
                limit: Limit::Open,
            })
        });
    filled.collect()
}

fn text_lanes(entries: &[SubjectEntry], count: usize) -> Vec<BenchLane> {
    let keys: Arc<Vec<String>> = Arc::new(keys::shuffled(0..count as u64));
    let filled = entries
        .iter()
        .filter(|entry| entry.holds(count))
        .filter_map(|entry| {
            let work = walk(fill(entry.name, entry.text?, &keys), &keys);
            Some(BenchLane {
                name: entry.name,
                work,
                limit: Limit::Open,
            })
        });
    filled.collect()
}

/// Builds a limiter that has seen every key once, in an order other than that of drawing.
pub(crate) fn fill<K: BenchKey>(name: &str, build: Build<K>, keys: &[K]) -> Box<dyn Runner<K>> {
    eprintln!("  filling {name} with {} keys", keys.len());
    let mut runner = build(Limit::Open);
    for index in keys::order(0..keys.len() as u64, 2) {
        #[expect(clippy::cast_possible_truncation, reason = "an index of the slice")]
        let index = index as usize;
        runner.each(&keys[index..=index]);
    }
    runner
}

/// Decides one key again and again. Under [`Limit::Shut`] the requests that pass are spent first.
fn hot<K: BenchKey>(mut runner: Box<dyn Runner<K>>, key: K) -> Work {
    runner.same(&key, 4);
    Box::new(move |count| runner.same(&key, count))
}

/// Walks through the keys one by one, round and round.
fn walk<K: BenchKey>(mut runner: Box<dyn Runner<K>>, keys: &Arc<Vec<K>>) -> Work {
    let mut cursor = Cursor {
        keys: Arc::clone(keys),
        at: 0,
    };
    Box::new(move |count| cursor.draw(count, |keys| runner.each(keys)))
}

/// Walks through the keys in batches, round and round.
fn walk_batches(mut runner: Box<dyn Runner<u64>>, keys: &Arc<Vec<u64>>) -> Work {
    let mut cursor = Cursor {
        keys: Arc::clone(keys),
        at: 0,
    };
    Box::new(move |count| cursor.draw(count, |keys| runner.batches(keys).unwrap_or_default()))
}

/// A place in a ring of keys.
struct Cursor<K> {
    keys: Arc<Vec<K>>,
    at: usize,
}

impl<K> Cursor<K> {
    /// Hands the next `count` keys to `decide`, in runs as long as possible; adds what it answers.
    fn draw(&mut self, count: u64, mut decide: impl FnMut(&[K]) -> u64) -> u64 {
        let (mut left, mut passed) = (count, 0);
        while left > 0 {
            let ahead = &self.keys[self.at..];
            let run = ahead.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            passed += decide(&ahead[..run]);
            left -= run as u64;
            self.at = (self.at + run) % self.keys.len();
        }
        passed
    }
}

fn pair(entry: &SubjectEntry, row: BenchRow) -> Option<Pair> {
    let (first, second) = match (entry.number, entry.text) {
        (Some(build), _) => pair_of(entry, build, row)?,
        (None, Some(build)) => pair_of(entry, build, row)?,
        (None, None) => return None,
    };
    Some(Pair {
        name: entry.name,
        first,
        second,
    })
}

fn pair_of<K: BenchKey>(
    entry: &SubjectEntry,
    build: Build<K>,
    row: BenchRow,
) -> Option<(Work, Work)> {
    let runner = build(Limit::Open);
    let other = runner.handle()?;
    if row == BenchRow::ThreadsHot {
        return Some((hot(runner, K::numbered(HOT)), hot(other, K::numbered(HOT))));
    }
    if !entry.holds(2) {
        return None;
    }
    let first = Arc::new(keys::shuffled(0..THREAD_KEYS));
    let second = Arc::new(keys::shuffled(THREAD_KEYS..2 * THREAD_KEYS));
    Some((walk(runner, &first), walk(other, &second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_goes_round_and_leaves_no_key_out() {
        let mut cursor = Cursor {
            keys: Arc::new(vec![0, 1, 2, 3, 4]),
            at: 0,
        };
        let mut drawn = Vec::new();
        for count in [3, 6, 2] {
            let answered = cursor.draw(count, |keys| {
                drawn.extend_from_slice(keys);
                keys.len() as u64
            });
            assert_eq!(answered, count);
        }
        assert_eq!(drawn, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn every_entry_answers_as_its_limit_says() {
        for entry in subjects::all() {
            for limit in [Limit::Open, Limit::Shut] {
                let lanes = hot_lanes(std::slice::from_ref(&entry), limit);
                for mut lane in lanes {
                    let expected = if limit == Limit::Open { 100 } else { 0 };
                    assert_eq!((lane.work)(100), expected, "{} {limit:?}", lane.name);
                }
            }
        }
    }
}
