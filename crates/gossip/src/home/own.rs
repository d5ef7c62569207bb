//! What this node admitted for one key: segments, and how much of each was reported.
//!
//! Not here: when to report, and what others admitted.

use tollgate_limit::Instant;

use crate::list::Segment;

/// Segments in a list, here and on the wire.
pub(super) const SEGMENTS_MAX: usize = 64;

/// A segment, and how many of its tokens were reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: Instant,
    count: u64,
    sent: u64,
}

/// This node's segments of one key, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pieces: Vec<Piece>,
}

impl Own {
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Counts `cost` tokens admitted now, in the newest segment if the backlog seen here was never gone since its
    /// start.
    pub(super) fn add(&mut self, cost: u64, now: Instant, busy: Instant) {
        if let Some(newest) = self.pieces.last_mut()
            && newest.start >= busy
        {
            newest.count = newest.count.saturating_add(cost);
            return;
        }
        let newest = self.pieces.last().map_or(now, |piece| piece.start);
        self.pieces.push(Piece {
            start: now.max(newest),
            count: cost,
            sent: 0,
        });
        if self.pieces.len() > SEGMENTS_MAX {
            self.join_oldest();
        }
    }

    /// Whether there is anything that nobody was told of.
    pub(super) fn has_unsent(&self) -> bool {
        self.pieces.iter().any(|piece| piece.sent < piece.count)
    }

    /// Joins what was admitted since the backlog seen here began: only its first instant and its sum matter.
    pub(super) fn fold(&mut self, busy: Instant) {
        let first = self.pieces.partition_point(|piece| piece.start < busy);
        let later: Vec<_> = self.pieces.drain(first..).collect();
        let joined = later.into_iter().reduce(join);
        self.pieces.extend(joined);
    }

    /// Everything is reported.
    pub(super) fn publish(&mut self) {
        for piece in &mut self.pieces {
            piece.sent = piece.count;
        }
    }

    /// All segments.
    pub(super) fn list(&self) -> Vec<Segment> {
        self.counted(|piece| piece.count)
    }

    /// What was reported of them.
    pub(super) fn sent(&self) -> Vec<Segment> {
        self.counted(|piece| piece.sent)
    }

    /// Drops what was never reported.
    pub(super) fn drop_unsent(&mut self) {
        self.pieces.retain_mut(|piece| {
            piece.count = piece.sent;
            piece.count > 0
        });
    }

    /// Drops what was reported, all of it drained by `end`. What was not is newer than the first news of that backlog,
    /// which made this node report everything. So it was admitted on top, and begins to drain only at `end`.
    pub(super) fn carry(&mut self, end: Instant) {
        let mut carried = 0_u64;
        let mut kept = Vec::new();
        for mut piece in self.pieces.drain(..) {
            piece.count -= piece.sent;
            piece.sent = 0;
            if piece.start < end {
                carried = carried.saturating_add(piece.count);
            } else if piece.count > 0 {
                kept.push(piece);
            }
        }
        if carried > 0 {
            kept.push(Piece {
                start: end,
                count: carried,
                sent: 0,
            });
        }
        kept.sort_unstable_by_key(|piece| piece.start);
        self.pieces = kept;
    }

    fn counted(&self, count: impl Fn(&Piece) -> u64) -> Vec<Segment> {
        let segment = |piece: &Piece| Segment {
            start: piece.start,
            count: count(piece),
        };
        let segments = self.pieces.iter().map(segment);
        segments.filter(|segment| segment.count > 0).collect()
    }

    /// Joins the two oldest at the earlier start, which can only lower the backlog.
    fn join_oldest(&mut self) {
        if let [first, second, ..] = self.pieces.as_mut_slice() {
            *second = join(*first, *second);
            self.pieces.remove(0);
        }
    }
}

fn join(earlier: Piece, later: Piece) -> Piece {
    Piece {
        start: earlier.start,
        count: earlier.count.saturating_add(later.count),
        sent: earlier.sent.saturating_add(later.sent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn unsent(own: &Own) -> u64 {
        let unsent = own.pieces.iter().map(|piece| piece.count - piece.sent);
        unsent.sum()
    }

    #[test]
    fn a_new_backlog_opens_a_segment_and_a_report_folds_them() {
        let mut own = Own::default();
        own.add(1, at(1), at(1));
        own.add(2, at(2), at(1));
        own.add(1, at(9), at(9));
        assert_eq!((own.len(), unsent(&own)), (2, 4));
        own.fold(at(1));
        own.publish();
        assert_eq!((own.list(), own.has_unsent()), (own.sent(), false));
        assert_eq!(own.len(), 1);
    }

    #[test]
    fn what_came_on_top_drains_after_what_was_reported() {
        let mut own = Own::default();
        own.add(3, at(1), at(1));
        own.publish();
        own.add(2, at(2), at(1));
        own.carry(at(20));
        let carried = Segment {
            start: at(20),
            count: 2,
        };
        assert_eq!(own.list(), [carried]);
        own.drop_unsent();
        assert!(own.is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_loses_no_count() {
        let mut own = Own::default();
        for second in 0..200 {
            own.add(1, at(second), at(second));
        }
        assert_eq!((own.len(), unsent(&own)), (SEGMENTS_MAX, 200));
    }
}
