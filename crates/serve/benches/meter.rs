//! What does counting add to a decision? Run with `cargo bench -p tollgate-serve --bench meter`.
//!
//! Prints nanoseconds of processor time for each decision that is counted: with one key, with a million, and with four
//! threads at once, which must not disturb each other.

#![allow(clippy::print_stdout, reason = "its only output")]
#![allow(clippy::cast_precision_loss, reason = "nanoseconds for people")]

use std::hint::black_box;
use std::time::{Duration, Instant as Moment};

use tollgate_limit::Instant;
use tollgate_node::Key;
use tollgate_serve::meter::{Decided, Door, Judgement, Meter};

const DECISIONS: u64 = 20_000_000;

fn main() {
    let one = [b"user:4711".to_vec()];
    let many: Vec<_> = (0..1 << 20)
        .map(|key| format!("user:{key}").into_bytes())
        .collect();
    report("one key", &one, 1);
    report("a million keys", &many, 1);
    report("a million keys, four threads", &many, 4);
}

fn report(name: &str, keys: &[Vec<u8>], threads: u64) {
    let meter = Meter::new();
    let mut best = f64::MAX;
    for _ in 0..3 {
        best = best.min(run(&meter, keys, threads));
    }
    println!("{name:<30} {best:>6.1} ns");
}

/// Nanoseconds for each decision, without those of the loop itself.
fn run(meter: &Meter, keys: &[Vec<u8>], threads: u64) -> f64 {
    let counted = time(keys, threads, |decided| meter.decided(decided));
    let bare = time(keys, threads, |decided| {
        black_box(decided);
    });
    (counted.as_nanos() as f64 - bare.as_nanos() as f64) / (DECISIONS * threads) as f64
}

fn time(keys: &[Vec<u8>], threads: u64, count: impl Fn(&Decided<'_>) + Sync) -> Duration {
    std::thread::scope(|scope| {
        let each = |thread: u64| {
            let count = &count;
            scope.spawn(move || {
                let begun = Moment::now();
                for number in 0..DECISIONS {
                    let place = (number.wrapping_mul(0x9E37_79B9) + thread) % keys.len() as u64;
                    let key = keys.get(usize::try_from(place).unwrap_or(0));
                    count(&Decided {
                        door: Door::Resp,
                        key: Key::Text(key.map_or(b"", Vec::as_slice)),
                        judgement: if number % 10 == 0 {
                            Judgement::Denied
                        } else {
                            Judgement::Allowed
                        },
                        contract: Some(0),
                        // As fast as one thread may be: five million a second.
                        now: Instant::from_nanos(1_800_000_000_000_000_000 + number * 200),
                    });
                }
                begun.elapsed()
            })
        };
        let running: Vec<_> = (0..threads).map(each).collect();
        running
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .sum()
    })
}
