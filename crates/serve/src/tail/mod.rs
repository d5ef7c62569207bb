//! Live decisions for watchers: those that a filter admits, as lines.
//!
//! No decision waits for a watcher: each has its own queue, and lines that do not fit in it, or exceed the rate, are
//! counted and dropped. Without watchers a decision pays one load. Not here: how lines are sent (`http`), nor
//! authorization.

mod filter;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use arc_swap::ArcSwap;
use serde::Serialize;
use tokio::sync::mpsc;
use tollgate_limit::Instant;
use tollgate_node::Key;

use crate::meter::Exposition;
use crate::meter::Judgement;

pub(crate) use filter::DESCRIBED;
pub use filter::{DecisionFilter, FilterError};

/// One decision, as a watcher reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TailLine {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// The protocol: `http`, `grpc`, `resp` or `mqtt`.
    pub door: &'static str,
    /// One of `allow`, `delay`, `deny`, `shadow_deny` or `error`.
    pub verdict: &'static str,
    /// The key, as `user=42,plan=free`; its hash if keys are not shown.
    pub key: String,
    /// Tokens requested.
    pub cost: u64,
    /// The contract that refused, or that has the least left.
    pub contract: Option<String>,
    /// Its policy.
    pub policy: Option<String>,
    pub limit: u64,
    /// The most it can hold.
    pub capacity: u64,
    /// What is left of that.
    pub remaining: u64,
    /// How far it is below zero.
    pub debt: u64,
    /// How long the request is held back, if it is.
    pub wait_ms: Option<u64>,
    /// Until the same request could pass, if it was refused and waiting helps.
    pub retry_after_ms: Option<u64>,
}

pub(crate) struct TailedDecision<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) judgement: Judgement,
    pub(crate) contracts: &'a [&'a str],
    pub(crate) now: Instant,
}

/// All watchers.
#[derive(Default)]
pub struct Tail {
    watched: AtomicUsize,
    lanes: ArcSwap<Vec<Arc<Lane>>>,
    dropped: AtomicU64,
}

/// One watcher, as decisions see it.
struct Lane {
    filter: DecisionFilter,
    lines: mpsc::Sender<TailLine>,
    dropped: AtomicU64,
    /// The second of the last line, and how many there were in it.
    second: AtomicU64,
    in_second: AtomicU64,
}

impl Tail {
    /// Watches what the filter admits from now on; `None` if there are [`WATCHERS_MAX`] watchers already.
    pub fn watch(self: &Arc<Self>, filter: DecisionFilter) -> Option<Watching> {
        if self.watched.fetch_add(1, Relaxed) >= WATCHERS_MAX {
            self.watched.fetch_sub(1, Relaxed);
            return None;
        }
        let (sender, queue) = mpsc::channel(LINES_MAX);
        let lane = Arc::new(Lane {
            filter,
            lines: sender,
            dropped: AtomicU64::new(0),
            second: AtomicU64::new(0),
            in_second: AtomicU64::new(0),
        });
        self.lanes.rcu(|lanes| {
            let others = lanes.iter().chain([&lane]);
            others.map(Arc::clone).collect::<Vec<_>>()
        });
        let tail = Arc::clone(self);
        Some(Watching { tail, lane, queue })
    }

    /// Whether there are watchers.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Relaxed) != 0
    }

    /// Shows a decision to watchers whose filter admits it and whose queue has room.
    pub(crate) fn show(&self, seen: &TailedDecision<'_>, line: impl Fn() -> TailLine) {
        for lane in self.lanes.load().iter() {
            if !lane.filter.admits(seen) {
                continue;
            }
            match lane.lines.try_reserve() {
                Ok(room) if lane.has_turn(seen.now) => room.send(line()),
                Ok(_) | Err(_) => {
                    lane.dropped.fetch_add(1, Relaxed);
                    self.dropped.fetch_add(1, Relaxed);
                }
            }
        }
    }

    /// The metrics of watching, for Prometheus.
    pub(crate) fn render(&self, text: &mut Exposition) {
        text.one("tollgate_tail_watchers", self.watched.load(Relaxed));
        text.one("tollgate_tail_dropped_total", self.dropped.load(Relaxed));
    }
}

impl Lane {
    /// Whether another line fits in this second. Concurrent threads may exceed the rate by a few.
    fn has_turn(&self, now: Instant) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if self.second.swap(second, Relaxed) != second {
            self.in_second.store(0, Relaxed);
        }
        self.in_second.fetch_add(1, Relaxed) < LINES_PER_SECOND
    }
}

/// Stops watching when dropped.
pub struct Watching {
    tail: Arc<Tail>,
    lane: Arc<Lane>,
    queue: mpsc::Receiver<TailLine>,
}

impl Watching {
    pub async fn next(&mut self) -> Option<TailLine> {
        self.queue.recv().await
    }

    /// The next decision, if there is one already.
    pub fn try_next(&mut self) -> Option<TailLine> {
        self.queue.try_recv().ok()
    }

    /// How many decisions were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.lane.dropped.load(Relaxed)
    }

    pub fn filter(&self) -> &DecisionFilter {
        &self.lane.filter
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.tail.lanes.rcu(|lanes| {
            let others = lanes.iter().filter(|lane| !Arc::ptr_eq(lane, &self.lane));
            others.map(Arc::clone).collect::<Vec<_>>()
        });
        self.tail.watched.fetch_sub(1, Relaxed);
    }
}

/// Limit on concurrent watchers.
pub const WATCHERS_MAX: usize = 16;
/// Limit on the lines per watcher and second.
pub const LINES_PER_SECOND: u64 = 1_000;
/// Queue length per watcher.
const LINES_MAX: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(key: &'static str, second: u64) -> TailedDecision<'static> {
        TailedDecision {
            key: Key::Text(key.as_bytes()),
            judgement: Judgement::Allowed,
            contracts: &[],
            now: Instant::from_nanos(second * 1_000_000_000),
        }
    }

    #[test]
    fn who_does_not_read_is_told_how_many_lines_are_missing_and_holds_up_nobody() {
        let tail = Arc::new(Tail::default());
        assert!(!tail.is_watched());
        let mut slow = tail.watch(DecisionFilter::default()).unwrap();
        let mut fast = tail.watch(DecisionFilter::default()).unwrap();
        let mut read = 0;
        for second in 0..3 {
            for _ in 0..2_000 {
                tail.show(&seen("a", second), TailLine::default);
                read += u64::from(fast.try_next().is_some());
            }
        }
        assert_eq!(read, 3 * LINES_PER_SECOND);
        assert_eq!(fast.dropped(), 3 * (2_000 - LINES_PER_SECOND));
        assert_eq!(slow.dropped(), 6_000 - LINES_MAX as u64);
        let left = std::iter::from_fn(|| slow.try_next()).count();
        assert_eq!(left, LINES_MAX);
        drop((slow, fast));
        assert!(!tail.is_watched() && tail.lanes.load().is_empty());
    }

    #[test]
    fn so_many_watch_and_no_more() {
        let tail = Arc::new(Tail::default());
        let watch = || tail.watch(DecisionFilter::default());
        let all: Vec<Watching> = std::iter::from_fn(watch).take(100).collect();
        assert_eq!(all.len(), WATCHERS_MAX);
        drop(all);
        assert!(watch().is_some());
    }
}
