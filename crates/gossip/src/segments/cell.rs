//! What a node keeps about one key: its own segments, what of them is unpublished, and the backlog.
//!
//! The backlog is that of all segments and, again, that of the published ones; both are kept up to date by what changes
//! and always equal what the whole union would give. Not here: when to speak and what to forget.

use tollgate_limit::Instant;

use crate::bucket::Bucket;
use crate::list::{Backlog, Segment, backlog};
use crate::talk::{COUNT_MAX, Known};

/// Segments of one's own at most; beyond that the two oldest become one, which can only lower the level.
const OWN_MAX: usize = 256;

/// What a node keeps about a key. Besides the backlogs, which follow from the rest, that is in bytes: key 16,
/// unpublished level and its instant 16, instant it became hot 8, version said last 5, and 24 per own segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// Ascending, no two with the same start.
    pub(super) own: Vec<Own>,
    /// Grains admitted here that nobody knows of, less what has faded.
    pub(super) secret: u128,
    /// When that was so.
    pub(super) secret_at: Instant,
    /// Since when the published level has been above zero; if it is not, when the published backlog changed last, or
    /// began to be above zero last.
    pub(super) hot: Instant,
    /// The backlog of everything known here.
    pub(super) all: Option<Backlog>,
    /// The backlog of everything published.
    pub(super) public: Option<Backlog>,
}

/// Tokens admitted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// When the first of them was.
    pub(super) start: Instant,
    /// How many.
    pub(super) count: u64,
    /// How many of them are published.
    pub(super) sent: u64,
}

impl Own {
    pub(super) fn unsent(self) -> u64 {
        self.count.saturating_sub(self.sent)
    }

    fn whole(&self) -> Segment {
        Segment {
            start: self.start,
            count: self.count,
        }
    }

    fn told(&self) -> Option<Segment> {
        (self.sent > 0).then_some(Segment {
            start: self.start,
            count: self.sent,
        })
    }
}

impl Cell {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            own: Vec::new(),
            secret: 0,
            secret_at: now,
            hot: now,
            all: None,
            public: None,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        45 + 24 * self.own.len() as u64
    }

    /// Every own segment.
    pub(super) fn whole(&self) -> Vec<Segment> {
        self.own.iter().map(Own::whole).collect()
    }

    /// The published parts of them.
    pub(super) fn told(&self) -> Vec<Segment> {
        self.own.iter().filter_map(Own::told).collect()
    }

    /// Counts tokens in the newest segment if that lies in the busy period, and else in a segment that begins now;
    /// returns what was added, with the start of its segment.
    ///
    /// A segment must not reach from one busy period into the next. What this node sees busy is busy in truth, so
    /// a segment that began since its busy period did can go on.
    pub(super) fn count(&mut self, bucket: Bucket, cost: u64, now: Instant) -> Segment {
        let newest = self.own.last_mut();
        let now = newest.as_ref().map_or(now, |newest| newest.start.max(now));
        let busy = self.all.filter(|all| all.end > bucket.mark(now));
        match newest {
            Some(newest)
                if newest.start == now || busy.is_some_and(|busy| newest.start >= busy.start) =>
            {
                newest.count = newest.count.saturating_add(cost).min(COUNT_MAX);
            }
            _ => self.open(cost, now),
        }
        let start = self.own.last().map_or(now, |newest| newest.start);
        Segment { start, count: cost }
    }

    fn open(&mut self, cost: u64, now: Instant) {
        self.own.push(Own {
            start: now,
            count: cost.min(COUNT_MAX),
            sent: 0,
        });
        if self.own.len() > OWN_MAX {
            let second = self.own.remove(1);
            if let Some(first) = self.own.first_mut() {
                first.count = first.count.saturating_add(second.count);
                first.sent = first.sent.saturating_add(second.sent);
            }
        }
    }

    /// Computes both backlogs anew.
    pub(super) fn recompute(&mut self, bucket: Bucket, known: &Known) {
        let mut segments: Vec<Segment> = self.own.iter().map(Own::whole).collect();
        segments.extend(known.all());
        self.all = backlog(bucket, &mut segments);
        segments.clear();
        segments.extend(self.own.iter().filter_map(Own::told));
        segments.extend(known.published());
        self.public = backlog(bucket, &mut segments);
    }
}
