//! State shared by the threads of a run: the clock, begin and end of the run, and progress.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::plan::Timing;

pub(crate) struct RunShared {
    base: Instant,
    timing: Timing,
    /// When publishing begins; `NEVER` until all are connected.
    begin: AtomicU64,
    stop: AtomicBool,
    /// Distinguishes this run from others at the same broker.
    pub(crate) run: u32,
    /// Threads whose connections are up, and threads that have nothing left under way.
    pub(crate) ready: AtomicUsize,
    pub(crate) done: AtomicUsize,
    pub(crate) told: PublishProgress,
}

/// Progress of the whole run, warm-up included.
#[derive(Default)]
pub(crate) struct PublishProgress {
    pub(crate) connected: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) arrived: AtomicU64,
    pub(crate) errors: AtomicU64,
}

impl PublishProgress {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

/// Which part of a run counts, in nanoseconds of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunSpan {
    pub(crate) begin: u64,
    /// The end of the warm-up.
    pub(crate) from: u64,
    /// The last message is due before this.
    pub(crate) to: u64,
    /// Nothing is awaited after this.
    pub(crate) give_up: u64,
}

impl RunSpan {
    pub(crate) fn has(&self, due: u64) -> bool {
        (self.from..self.to).contains(&due)
    }
}

impl RunShared {
    pub(crate) fn new(timing: Timing, run: u32) -> Self {
        Self {
            base: Instant::now(),
            timing,
            begin: AtomicU64::new(NEVER),
            stop: AtomicBool::new(false),
            run,
            ready: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            told: PublishProgress::default(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        ns(self.base.elapsed())
    }

    /// Publishing begins in a moment.
    pub(crate) fn start(&self) {
        let begin = self.now().saturating_add(MOMENT_NS);
        self.begin.store(begin, Ordering::Release);
    }

    /// Known once publishing is to begin.
    pub(crate) fn span(&self) -> Option<RunSpan> {
        let begin = self.begin.load(Ordering::Acquire);
        if begin == NEVER {
            return None;
        }
        let from = begin.saturating_add(ns(self.timing.warm_up));
        let to = from.saturating_add(ns(self.timing.duration));
        let give_up = to.saturating_add(ns(self.timing.patience));
        Some(RunSpan {
            begin,
            from,
            to,
            give_up,
        })
    }

    /// Ends the run for all threads.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

const NEVER: u64 = u64::MAX;
const MOMENT_NS: u64 = 20_000_000;
