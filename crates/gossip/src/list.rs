//! Segments: what one writer admitted, as counts with the instant of the first, and the backlog they add up to.
//!
//! The end of the backlog is a pure function of the union of all writers' segments, and equals that of one bucket that saw
//! every admitted request in order, as long as every writer opens a new segment where it sees no backlog. What is
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

#[cfg(test)]
mod tests {
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
}
