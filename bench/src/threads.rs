//! Compares two threads with one, on the same limiter.
//!
//! Two threads are meaningful only while each has its own core. A round in which either had to
//! wait for a core is set aside; a row with too few rounds left is marked and not judged.
//! Time a thread sleeps on a lock of the limiter is the limiter's own, and stays in.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::measure::{MeasurePlan, Work, calibrate, per};
use crate::stopwatch::{Elapsed, Spread, Stopwatch, nanoseconds};

/// One limiter, and the work of two threads on it.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    /// Work of the thread that is also measured alone.
    pub(crate) first: Work,
    /// Work of the thread that joins it.
    pub(crate) second: Work,
}

/// How one limiter fared.
pub(crate) struct Scaling {
    pub(crate) name: &'static str,
    /// Wall time per decision with one thread.
    pub(crate) one_ns: Spread,
    /// Wall time per decision with two threads, of which each makes half.
    pub(crate) two_ns: Spread,
    /// Decisions per second with two threads over those with one.
    pub(crate) ratio: Spread,
    /// Rounds in which every thread had a core to itself.
    pub(crate) clean: usize,
    /// Rounds in all.
    pub(crate) rounds: usize,
}

/// The fewest clean rounds a figure may rest on.
pub(crate) const CLEAN_MIN: usize = 3;

/// Share of the wall time a thread may have waited for a core in a round that counts.
const WAIT_MAX: f64 = 0.03;

/// Slices are this many times shorter than elsewhere, and rounds as many times more, because a
/// short slice is likelier to pass undisturbed.
const FINER: u32 = 4;

/// One thread and then two, timed once.
#[derive(Clone, Copy)]
struct Round {
    one: Elapsed,
    first: Elapsed,
    second: Elapsed,
    /// From the first start to the last end of the two.
    wall_ns: f64,
}

impl Round {
    fn is_clean(&self) -> bool {
        let threads = [self.one, self.first, self.second];
        threads.iter().all(|thread| thread.waited_share <= WAIT_MAX)
    }
}

/// Measures all pairs, round by round; each round times one thread and then two.
pub(crate) fn measure_pairs(pairs: &mut [Pair], plan: MeasurePlan) -> Result<Vec<Scaling>> {
    let plan = MeasurePlan {
        rounds: plan.rounds * FINER as usize,
        slice: plan.slice / FINER,
    };
    let counts: Vec<u64> = pairs
        .iter_mut()
        .map(|pair| calibrate(&mut pair.first, plan))
        .collect();
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); pairs.len()];
    for round in 0..plan.rounds {
        for turn in 0..pairs.len() {
            let index = (round + turn) % pairs.len();
            rounds[index].push(time(&mut pairs[index], counts[index])?);
        }
    }
    let summed = pairs.iter().zip(rounds).zip(counts);
    Ok(summed
        .map(|((pair, rounds), count)| summarise(pair.name, &rounds, count))
        .collect())
}

fn time(pair: &mut Pair, count: u64) -> Result<Round> {
    (pair.second)(count / 10);
    (pair.first)(count / 10);
    let stopwatch = Stopwatch::start();
    (pair.first)(count);
    let one = stopwatch.elapsed();

    let barrier = Barrier::new(2);
    let timed = |work: &mut Work| {
        barrier.wait();
        let stopwatch = Stopwatch::start();
        work(count);
        let elapsed = stopwatch.elapsed();
        (stopwatch.began, elapsed)
    };
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| timed(&mut pair.second));
        let first = timed(&mut pair.first);
        (first, second.join())
    });
    let second = second.map_err(|_| anyhow!("{}: the second thread panicked", pair.name))?;
    let wall_ns = span_ns(first, second);
    Ok(Round {
        one,
        first: first.1,
        second: second.1,
        wall_ns,
    })
}

/// From the first start to the last end.
fn span_ns(first: (Instant, Elapsed), second: (Instant, Elapsed)) -> f64 {
    let (early, late) = if first.0 <= second.0 {
        (first, second)
    } else {
        (second, first)
    };
    let head_start_ns = nanoseconds(late.0 - early.0);
    early.1.wall_ns.max(head_start_ns + late.1.wall_ns)
}

/// Summarises the clean rounds, or all of them where too few are clean.
fn summarise(name: &'static str, rounds: &[Round], count: u64) -> Scaling {
    let clean: Vec<Round> = rounds.iter().copied().filter(Round::is_clean).collect();
    let used = if clean.len() < CLEAN_MIN {
        rounds
    } else {
        &clean
    };
    let spread = |figure: &dyn Fn(&Round) -> f64| Spread::of(used.iter().map(figure).collect());
    Scaling {
        name,
        one_ns: spread(&|round| per(round.one.wall_ns, count)),
        two_ns: spread(&|round| per(round.wall_ns, 2 * count)),
        ratio: spread(&|round| 2.0 * round.one.wall_ns / round.wall_ns),
        clean: clean.len(),
        rounds: rounds.len(),
    }
}
