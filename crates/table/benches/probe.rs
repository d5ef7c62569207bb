//! What the table costs: nanoseconds per hash and per update, bytes per key, threads on one key.
//!
//! Run with `cargo bench -p tollgate-table`, or one part with `-- hash`, `-- probe 10000000`,
//! `-- rss 10000000`, `-- hot`. Not here: whole decisions, which are measured with the node.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // A measuring tool reads clocks.
#![allow(clippy::cast_precision_loss)] // Figures for people.

use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tollgate_kit::{Dice, scramble};
use tollgate_table::{Budget, CellRules, MemoryShare, Print, Seed, Table, TableConfig};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let part = args.first().map_or("all", String::as_str);
    let keys = args.get(1).and_then(|arg| arg.parse().ok());
    match part {
        "hash" => hash(),
        "rss" => rss(keys.unwrap_or(10_000_000)),
        "probe" => probe(keys.unwrap_or(1_000_000)),
        "hot" => hot(),
        _ => {
            hash();
            rss(10_000_000);
            probe(1_000_000);
            probe(10_000_000);
            hot();
        }
    }
}

/// The smallest cell of a limiter.
struct Cell {
    at: u64,
    spent: u64,
}

struct Never;

impl CellRules<Cell> for Never {
    fn fresh_at(&self, cell: &Cell) -> u64 {
        cell.at
    }
    fn heap_bytes(&self, _cell: &Cell) -> usize {
        0
    }
}

type Cells = Table<Cell, Never>;

fn table(keys: u64) -> Cells {
    let budget = Budget::new(keys.saturating_mul(40).max(1 << 20));
    Table::new(
        Never,
        TableConfig::default(),
        MemoryShare::equal(&Arc::new(budget)),
    )
}

fn count(cell: Option<&mut Cell>) -> (u64, Option<Cell>) {
    match cell {
        Some(cell) => {
            cell.spent += 1;
            (cell.spent, None)
        }
        None => (
            1,
            Some(Cell {
                at: u64::MAX,
                spent: 1,
            }),
        ),
    }
}

fn key(number: u64) -> u64 {
    scramble(number)
}

/// Nanoseconds per step, the median of several runs.
fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

fn timed(steps: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / steps as f64
}

/// Nanoseconds per step that this thread was running, so that a busy machine matters less.
fn timed_cpu(steps: usize, run: impl FnOnce()) -> f64 {
    let nanos = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = nanos();
    run();
    (nanos() - start) / steps as f64
}

const STEPS: usize = 1 << 20;

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    pages * 4096
}

fn rss(keys: u64) {
    let before = resident();
    let table = table(keys);
    let seed = Seed::new([1, 2]);
    let mut slowest = 0;
    let mut slow = 0;
    let nanos = timed_cpu(usize::try_from(keys).unwrap_or(1), || {
        for number in 0..keys {
            let one = Instant::now();
            let _ = table.update(seed.word(key(number)), 0, count);
            let nanos = one.elapsed().as_nanos();
            slowest = slowest.max(nanos);
            slow += u64::from(nanos > 10_000);
        }
    });
    let per_key = (resident() - before) as f64 / table.len() as f64;
    let charged = table.bytes() as f64 / table.len() as f64;
    println!(
        "rss: {} keys, {} shards, {per_key:.2} B per key resident, {charged:.2} charged; insert {nanos:.1} ns, slowest {slowest} ns, {slow} over 10 us; {:?}",
        table.len(),
        table.shards_count(),
        table.counters()
    );
}

fn probe(keys: u64) {
    let seed = Seed::new([1, 2]);
    let table = table(keys);
    let state = foldhash::quality::FixedState::with_seed(7);
    let mut map = hashbrown::HashMap::<u64, u64, _>::with_hasher(state);
    for number in 0..keys {
        let _ = table.update(seed.word(key(number)), 0, count);
        map.insert(key(number), 1);
    }
    let mut dice = Dice::new(99);
    let picks: Vec<u64> = (0..STEPS).map(|_| key(dice.below(keys))).collect();
    let prints: Vec<Print> = picks.iter().map(|&pick| seed.word(pick)).collect();
    let mut runs: [Vec<f64>; 5] = Default::default();
    for _ in 0..15 {
        runs[0].push(timed_cpu(STEPS, || {
            for pick in &picks {
                if let Some(spent) = map.get_mut(pick) {
                    *spent += 1;
                }
            }
        }));
        runs[1].push(timed_cpu(STEPS, || {
            for &print in &prints {
                let _ = black_box(table.update(print, 0, count));
            }
        }));
        runs[2].push(timed_cpu(STEPS, || many(&table, &prints)));
        runs[3].push(timed_cpu(STEPS, || {
            for &pick in &picks {
                let _ = black_box(table.update(seed.word(pick), 0, count));
            }
        }));
        runs[4].push(timed_cpu(STEPS, || {
            let mut batch = [Print(0); 32];
            for chunk in picks.chunks(32) {
                for (print, &pick) in batch.iter_mut().zip(chunk) {
                    *print = seed.word(pick);
                }
                many(&table, &batch[..chunk.len()]);
            }
        }));
    }
    let [map, one, many, one_hashed, many_hashed] = runs.map(median);
    println!(
        "probe: {keys} keys: hashbrown {map:.1} ns; update {one:.1}, in batches {many:.1} (x{:.2}); with the hash {one_hashed:.1}, in batches {many_hashed:.1} (x{:.2})",
        many / map,
        many_hashed / map
    );
}

fn many(table: &Cells, prints: &[Print]) {
    for batch in prints.chunks(32) {
        table.update_many(batch, 0, |_, cell| count(cell.unwrap_or(None)).1);
    }
}

fn hot() {
    let table = table(1000);
    let print = Seed::new([1, 2]).word(7);
    let hammer = |threads: usize| {
        let steps = STEPS * 8;
        timed(steps * threads, || {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for _ in 0..steps {
                            let _ = black_box(table.update(print, 0, count));
                        }
                    });
                }
            });
        })
    };
    let mut runs: [Vec<f64>; 3] = Default::default();
    for _ in 0..7 {
        for (threads, runs) in [1, 2, 4].into_iter().zip(&mut runs) {
            runs.push(hammer(threads));
        }
    }
    let [one, two, four] = runs.map(median);
    println!(
        "hot: one key: 1 thread {one:.1} ns, 2 threads {two:.1} (x{:.2} throughput), 4 threads {four:.1} (x{:.2})",
        one / two,
        one / four
    );
}

fn hash() {
    let seed = Seed::new([1, 2]);
    let fold =
        foldhash::quality::SeedableRandomState::with_seed(1, foldhash::SharedSeed::global_fixed());
    let texts: Vec<[u8; 21]> = (0..256_u64)
        .map(|n| std::array::from_fn(|i| u8::try_from(key(n) >> (i % 8) & 0x7f).unwrap_or(0)))
        .collect();
    // Through a generic function, so that every hash is inlined into its loop.
    both("u64, ours (sip 1-3)", |n| seed.word(n).0);
    both("u64, crate siphasher 1-3", |n| {
        SipHasher13::new_with_keys(1, 2).hash(&n.to_le_bytes())
    });
    both("u64, foldhash quality", |n| fold.hash_one(n));
    both("21 bytes, ours (sip 1-3)", |n| {
        seed.bytes(pick(&texts, n)).0
    });
    both("21 bytes, crate siphasher 1-3", |n| {
        SipHasher13::new_with_keys(1, 2).hash(pick(&texts, n))
    });
    both("21 bytes, foldhash quality", |n| {
        let mut hasher = fold.build_hasher();
        hasher.write(pick(&texts, n));
        hasher.finish()
    });
}

/// A text chosen by `n`, out of few enough to stay in the nearest cache.
fn pick(texts: &[[u8; 21]], n: u64) -> &[u8] {
    let at = usize::try_from(n % texts.len() as u64).unwrap_or(0);
    black_box(texts[at].as_slice())
}

fn both(name: &str, hash: impl Fn(u64) -> u64) {
    let latency = median((0..9).map(|_| timed_cpu(STEPS, || chain(&hash))).collect());
    let apart = median(
        (0..9)
            .map(|_| timed_cpu(STEPS, || independent(&hash)))
            .collect(),
    );
    println!("hash: {name}: {latency:.1} ns one after the other, {apart:.1} ns independent");
}

fn chain(hash: impl Fn(u64) -> u64) {
    let mut last = 0;
    for _ in 0..STEPS {
        last = hash(last);
    }
    black_box(last);
}

fn independent(hash: impl Fn(u64) -> u64) {
    let mut all = 0;
    for n in 0..STEPS as u64 {
        all ^= hash(n);
    }
    black_box(all);
}
