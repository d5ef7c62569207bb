//! What a caller that was refused was told about coming back.
//!
//! Not here: how long it then waits (`backoff`).

use std::time::{Duration, UNIX_EPOCH};

use tollgate_limit::{Instant, Verdict};

/// What a refusal says about coming back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// Not before this long has passed.
    After(Duration),
    /// Coming back will not help: the cost is more than a policy can ever hold.
    Never,
    /// Nothing, or nothing that can be understood.
    Unknown,
}

impl RetryAfter {
    /// What the value of an HTTP field `Retry-After` says at `now`: whole seconds, or a date in any of the three forms
    /// that HTTP knows. A date that has passed is no wait; what is neither is [`Self::Unknown`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate_client::{Instant, RetryAfter};
    ///
    /// let now = Instant::from_nanos(784_111_770_000_000_000); // 6 November 1994, 08:49:30 GMT
    /// assert_eq!(RetryAfter::from_http("120", now), RetryAfter::After(Duration::from_secs(120)));
    /// let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    /// assert_eq!(RetryAfter::from_http(date, now), RetryAfter::After(Duration::from_secs(7)));
    /// assert_eq!(RetryAfter::from_http("soon", now), RetryAfter::Unknown);
    /// ```
    pub fn from_http(value: &str, now: Instant) -> Self {
        let value = value.trim_matches([' ', '\t']);
        if value.is_empty() || value.len() > VALUE_MAX {
            return Self::Unknown;
        }
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            // More digits than fit are longer than anybody waits.
            let seconds = value.parse().unwrap_or(u64::MAX);
            return Self::After(Duration::from_secs(seconds));
        }
        let Ok(date) = httpdate::parse_http_date(value) else {
            return Self::Unknown;
        };
        let since = date.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::After(since.saturating_sub(Duration::from_nanos(now.as_nanos())))
    }
}

impl From<Verdict> for RetryAfter {
    /// What the verdict of an answer says; a request that passed need not come back.
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow | Verdict::Delay { .. } => Self::Unknown,
            Verdict::Deny { retry_after } => Self::After(retry_after.into()),
            Verdict::Never => Self::Never,
        }
    }
}

/// The most bytes of a field that are looked at; the longest date has 33.
const VALUE_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 6 November 1994, 08:49:30 GMT.
    const NOW: Instant = Instant::from_nanos(784_111_770_000_000_000);

    #[track_caller]
    fn says(value: &str, seconds: u64) {
        let said = RetryAfter::from_http(value, NOW);
        assert_eq!(
            said,
            RetryAfter::After(Duration::from_secs(seconds)),
            "{value:?}"
        );
    }

    #[test]
    fn all_three_forms_of_a_date_are_read() {
        says("Sun, 06 Nov 1994 08:49:37 GMT", 7);
        says("Sunday, 06-Nov-94 08:49:37 GMT", 7);
        says("Sun Nov  6 08:49:37 1994", 7);
        says(" Sun, 06 Nov 1994 08:49:37 GMT\t", 7);
    }

    #[test]
    fn a_date_that_has_passed_is_no_wait() {
        says("Sun, 06 Nov 1994 08:49:29 GMT", 0);
        says("Thu, 01 Jan 1970 00:00:00 GMT", 0);
    }

    #[test]
    fn what_is_left_of_a_second_counts() {
        let now = Instant::from_nanos(NOW.as_nanos() + 250_000_000);
        assert_eq!(
            RetryAfter::from_http("Sun, 06 Nov 1994 08:49:31 GMT", now),
            RetryAfter::After(Duration::from_millis(750))
        );
    }

    #[test]
    fn seconds_of_any_length_are_seconds() {
        says("0", 0);
        says("007", 7);
        says("99999999999999999999999999", u64::MAX);
    }

    #[test]
    fn what_cannot_be_understood_says_nothing() {
        for value in [
            "",
            " ",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "12 s",
            "Sun, 06 Nov",
            "٣",
        ] {
            assert_eq!(
                RetryAfter::from_http(value, NOW),
                RetryAfter::Unknown,
                "{value:?}"
            );
        }
        assert_eq!(
            RetryAfter::from_http(&"1".repeat(VALUE_MAX + 1), NOW),
            RetryAfter::Unknown
        );
    }

    proptest! {
        #[test]
        fn no_value_is_too_strange(value in "\\PC{0,80}", now: u64) {
            let _ = RetryAfter::from_http(&value, Instant::from_nanos(now));
        }

        #[test]
        fn a_date_is_as_far_away_as_it_is(now in 0_u64..4_000_000_000, ahead in 0_u64..100_000_000) {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now + ahead));
            let now = Instant::from_nanos(now * 1_000_000_000);
            let said = RetryAfter::from_http(&date, now);
            prop_assert_eq!(said, RetryAfter::After(Duration::from_secs(ahead)));
        }
    }
}
