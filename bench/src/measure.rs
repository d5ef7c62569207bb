//! Times several lanes in turn: one slice of each per round, so that a slow minute of a shared
//! machine falls on all of them.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::stopwatch::{Spread, Stopwatch, nanoseconds};
use crate::subject::{BATCH, Limit};

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasurePlan {
    pub(crate) rounds: usize,
    /// Least length of one timed slice.
    pub(crate) slice: Duration,
}

/// Makes a given number of decisions, and says how many passed.
pub(crate) type Work = Box<dyn FnMut(u64) -> u64 + Send>;

/// One subject in one row.
pub(crate) struct BenchLane {
    pub(crate) name: &'static str,
    /// The decisions to time.
    pub(crate) work: Work,
    /// What every decision must answer.
    pub(crate) limit: Limit,
}

/// What one lane cost per decision, in nanoseconds.
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    pub(crate) cpu_ns: Spread,
    pub(crate) wall_ns: Spread,
}

/// Measures all lanes, round by round; each round starts with another lane.
pub(crate) fn measure(lanes: &mut [BenchLane], plan: MeasurePlan) -> Result<Vec<Cost>> {
    let counts: Vec<u64> = lanes
        .iter_mut()
        .map(|lane| calibrate(&mut lane.work, plan))
        .collect();
    let mut cpu = vec![Vec::new(); lanes.len()];
    let mut wall = vec![Vec::new(); lanes.len()];
    for round in 0..plan.rounds {
        for turn in 0..lanes.len() {
            let index = (round + turn) % lanes.len();
            let (lane, count) = (&mut lanes[index], counts[index]);
            // The other lanes emptied the caches; a tenth of a slice refills them.
            (lane.work)(whole_batches(count / 10));
            let stopwatch = Stopwatch::start();
            let passed = (lane.work)(count);
            let elapsed = stopwatch.elapsed();
            check(lane, passed, count)?;
            cpu[index].push(per(elapsed.cpu_ns, count));
            wall[index].push(per(elapsed.wall_ns, count));
        }
    }
    let costs = lanes
        .iter()
        .zip(cpu)
        .zip(wall)
        .map(|((lane, cpu), wall)| Cost {
            name: lane.name,
            cpu_ns: Spread::of(cpu),
            wall_ns: Spread::of(wall),
        });
    Ok(costs.collect())
}

/// Finds how many decisions fill a slice.
pub(crate) fn calibrate(work: &mut Work, plan: MeasurePlan) -> u64 {
    let enough_ns = nanoseconds(plan.slice) / 10.0;
    let mut count = 32 * BATCH as u64;
    loop {
        let stopwatch = Stopwatch::start();
        work(count);
        let cpu_ns = stopwatch.elapsed().cpu_ns;
        if cpu_ns >= enough_ns {
            // A twentieth more, so that a slice is seldom shorter than asked.
            return whole_batches(scaled(count, 1.05 * nanoseconds(plan.slice) / cpu_ns));
        }
        count *= 2;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub(crate) fn per(time_ns: f64, count: u64) -> f64 {
    time_ns / count as f64
}

/// Fails if an answer is not the one that the row expects.
fn check(lane: &BenchLane, passed: u64, count: u64) -> Result<()> {
    let expected = match lane.limit {
        Limit::Open => count,
        Limit::Shut => 0,
    };
    let name = lane.name;
    ensure!(
        passed == expected,
        "{name}: {passed} of {count} passed, not {expected}"
    );
    Ok(())
}

fn whole_batches(count: u64) -> u64 {
    count.max(1).next_multiple_of(BATCH as u64)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive count below 2^53"
)]
fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor) as u64
}
