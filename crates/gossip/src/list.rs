//! Segments: what one writer admitted, as counts with the instant of the first, and the backlog they add up to.
//!
//! The end of the backlog is a pure function of the union of all writers' segments, and equals that of one bucket that
//! saw every admitted request in order, as long as every writer opens a new segment where it sees no backlog. What is
//! computed from a part of the segments never exceeds it. Not here: when a writer speaks, and what it forgets.

use tollgate_limit::Instant;

use crate::bucket::{Bucket, Mark};

/// `count` tokens admitted by one writer, the first of them at `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) start: Instant,
    pub(crate) count: u64,
}

/// Where the current busy period begins and where it will end if nothing more is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) start: Instant,
    pub(crate) end: Mark,
}

/// The backlog of all `segments` together; sorts them by their start. `None` when there are none.
///
/// The end is the greatest `start + tokens admitted at or after it`, over all starts.
pub(crate) fn backlog(bucket: Bucket, segments: &mut [Segment]) -> Option<Backlog> {
    segments.sort_unstable_by_key(|segment| segment.start);
    let mut best: Option<Backlog> = None;
    let mut count = 0_u64;
    for segment in segments.iter().rev() {
        count = count.saturating_add(segment.count);
        let end = bucket.mark(segment.start).plus(bucket.grains(count));
        if best.is_none_or(|best| end >= best.end) {
            best = Some(Backlog {
                start: segment.start,
                end,
            });
        }
    }
    best
}

impl Backlog {
    /// Adds `more` to the union this is the backlog of. `false`, and nothing changed, when it begins before the busy
    /// period: only the whole union can tell what becomes of that.
    ///
    /// Every candidate at or before its start grows by its count, the one that attains the end among them; so does
    /// the candidate of its own start, unless that lies beyond the end, where a busy period begins.
    pub(crate) fn add(&mut self, bucket: Bucket, more: Segment) -> bool {
        if more.start < self.start {
            return false;
        }
        let begins = bucket.mark(more.start);
        if begins > self.end {
            *self = Self::of(bucket, more);
        } else {
            self.end = self.end.plus(bucket.grains(more.count));
        }
        true
    }

    /// The backlog of one segment.
    pub(crate) fn of(bucket: Bucket, segment: Segment) -> Self {
        let begins = bucket.mark(segment.start);
        Self {
            start: segment.start,
            end: begins.plus(bucket.grains(segment.count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn segment(seconds: u64, count: u64) -> Segment {
        Segment {
            start: at(seconds),
            count,
        }
    }

    #[test]
    fn a_drained_period_does_not_count() {
        let bucket = Bucket::new(10, 1, 1_000_000_000).unwrap();
        let mut segments = [segment(100, 3), segment(0, 2), segment(101, 4)];
        let backlog = backlog(bucket, &mut segments).unwrap();
        assert_eq!(backlog.start, at(100));
        assert_eq!(backlog.end, bucket.mark(at(107)));
    }

    #[test]
    fn periods_that_touch_are_one() {
        let bucket = Bucket::new(10, 1, 1_000_000_000).unwrap();
        let mut segments = [segment(2, 1), segment(0, 2)];
        assert_eq!(backlog(bucket, &mut segments).unwrap().start, at(0));
        assert_eq!(super::backlog(bucket, &mut []), None);
    }

    proptest! {
        #[test]
        fn adding_one_by_one_gives_the_backlog_of_all(
            times in prop::collection::vec((0_u64..40, 1_u64..5), 1..30),
        ) {
            let bucket = Bucket::new(10, 1, 1_500_000_000).unwrap();
            let mut segments = Vec::new();
            let mut cached: Option<Backlog> = None;
            for (seconds, count) in times {
                let more = segment(seconds, count);
                segments.push(more);
                let whole = backlog(bucket, &mut segments).unwrap();
                match &mut cached {
                    Some(cached) => if !cached.add(bucket, more) { *cached = whole },
                    None => cached = Some(Backlog::of(bucket, more)),
                }
                prop_assert_eq!(cached, Some(whole));
            }
        }
    }
}
