//! Reads the two clocks every slice is timed by: this thread's CPU time, and wall time.
//!
//! CPU time comes from `CLOCK_THREAD_CPUTIME_ID`; it leaves out the time other processes had the
//! core, which matters on a shared machine, but not what they did to the caches. How long the
//! thread waited for a core comes from `/proc/thread-self/schedstat`; sleeping on a lock is not
//! such waiting.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Time taken by one slice, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elapsed {
    pub(crate) cpu_ns: f64,
    pub(crate) wall_ns: f64,
    /// Share of the wall time in which the thread was ready to run and had no core; not a number
    /// where the kernel does not tell.
    pub(crate) waited_share: f64,
}

pub(crate) struct Stopwatch {
    /// When it was started.
    pub(crate) began: Instant,
    cpu_ns: f64,
    waited_ns: f64,
}

impl Stopwatch {
    /// Starts both clocks. The slow reading of the wait comes first, outside the timed stretch.
    pub(crate) fn start() -> Self {
        let waited_ns = thread_waited_ns();
        Self {
            began: Instant::now(),
            cpu_ns: thread_cpu_ns(),
            waited_ns,
        }
    }

    /// Reads both clocks, and the wait after them.
    pub(crate) fn elapsed(&self) -> Elapsed {
        let cpu_ns = thread_cpu_ns() - self.cpu_ns;
        let wall_ns = nanoseconds(self.began.elapsed());
        Elapsed {
            cpu_ns,
            wall_ns,
            waited_share: (thread_waited_ns() - self.waited_ns) / wall_ns,
        }
    }
}

/// Nanoseconds of a duration, as the figures use them.
pub(crate) fn nanoseconds(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a run is far shorter than 2^53 nanoseconds"
)]
fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The second number of `schedstat`: nanoseconds spent waiting on a run queue.
fn thread_waited_ns() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = statistics
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok());
    waited.unwrap_or(f64::NAN)
}

/// Median and extremes of several rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    /// The middle of the rounds.
    pub(crate) median: f64,
    /// The lowest round.
    pub(crate) min: f64,
    /// The highest round.
    pub(crate) max: f64,
}

impl Spread {
    /// Summarises rounds; of an even number the upper middle one counts. Zero if there are none.
    pub(crate) fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let at = |index: usize| rounds.get(index).copied().unwrap_or_default();
        Self {
            median: at(rounds.len() / 2),
            min: at(0),
            max: at(rounds.len().saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_names_the_middle_and_the_ends() {
        let spread = Spread::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 3.0));
    }
}
