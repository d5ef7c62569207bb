//! Intervals of the calendar in UTC, in milliseconds.

use tollgate_limit::{Calendar, Instant};

use super::NANOS_PER_MILLI;

/// First and last millisecond of the interval with this code that holds `now`; `None` where there is no such code.
pub(super) fn interval(code: i64, now: i64) -> Option<(i64, i64)> {
    let calendar = match code {
        0 => return Some(aligned(60_000, now)),
        1 => return Some(aligned(3_600_000, now)),
        2 => return Some(aligned(86_400_000, now)),
        3 => Calendar::WEEK,
        4 => Calendar::MONTH,
        5 => Calendar::YEAR,
        _ => return None,
    };
    let nanos = u64::try_from(now)
        .unwrap_or(0)
        .saturating_mul(NANOS_PER_MILLI);
    let (start, end) = calendar.window(Instant::from_nanos(nanos));
    let millis = |nanos: u128| i64::try_from(nanos / u128::from(NANOS_PER_MILLI));
    let start = millis(u128::from(start)).unwrap_or(i64::MAX);
    let end = millis(end).unwrap_or(i64::MAX);
    Some((start, end.saturating_sub(1)))
}

/// An interval of a fixed length; days of UTC have no other.
const fn aligned(length: i64, now: i64) -> (i64, i64) {
    let start = now - now.rem_euclid(length);
    (start, start.saturating_add(length - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(code: i64, now: i64, start: i64, last: i64) {
        assert_eq!(interval(code, now), Some((start, last)));
    }

    #[test]
    fn intervals_end_a_millisecond_before_the_next() {
        // 2026-11-15T15:20:30.500Z, a Sunday.
        let now = 1_794_756_030_500;
        is(0, now, 1_794_756_000_000, 1_794_756_059_999);
        is(1, now, 1_794_754_800_000, 1_794_758_399_999);
        is(2, now, 1_794_700_800_000, 1_794_787_199_999);
        is(3, now, 1_794_182_400_000, 1_794_787_199_999);
        is(4, now, 1_793_491_200_000, 1_796_083_199_999);
        is(5, now, 1_767_225_600_000, 1_798_761_599_999);
        assert_eq!(interval(6, now), None);
        assert_eq!(interval(-1, now), None);
    }
}
