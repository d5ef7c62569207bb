//! Minutes, hours and days as numbers since the UNIX epoch, in UTC.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The resolution of stored counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Kept for a day.
    Minute,
    /// Kept for 90 days.
    Hour,
    /// Summed over hours.
    Day,
}

impl Step {
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Minute => MINUTE_S,
            Self::Hour => HOUR_S,
            Self::Day => DAY_S,
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            ("minute", Self::Minute),
            ("hour", Self::Hour),
            ("day", Self::Day),
        ];
        all.into_iter().find(|(is, _)| *is == name).map(|of| of.1)
    }
}

/// A day as `2026-11-16`, from the number of days since the epoch.
pub fn date(day: u64) -> String {
    civil(day.saturating_mul(DAY_S)).map_or_else(String::new, |at| at.date().to_string())
}

/// An instant as `2026-11-16T08:25:00Z`, from seconds since the epoch.
pub fn moment(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().map(Timestamp::from_second);
    at.and_then(Result::ok)
        .map_or_else(String::new, |at| at.to_string())
}

/// The number of a day written as `2026-11-16`; `None` for an invalid day or one before the epoch.
pub fn day_of_date(text: &str) -> Option<u64> {
    let date: Date = text.parse().ok()?;
    let at = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(u64::try_from(at.as_second()).ok()? / DAY_S)
}

fn civil(seconds: u64) -> Option<jiff::civil::DateTime> {
    let at = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(at.to_zoned(TimeZone::UTC).datetime())
}

pub const MINUTE_S: u64 = 60;
pub const HOUR_S: u64 = 3600;
pub const DAY_S: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(20_513), "2026-03-01");
        assert_eq!(day_of_date("2026-03-01"), Some(20_513));
        assert_eq!(day_of_date("2026-02-30"), None);
        assert_eq!(day_of_date("1969-12-31"), None);
        assert_eq!(moment(20_513 * DAY_S + 3_661), "2026-03-01T01:01:01Z");
        assert_eq!(moment(u64::MAX), "");
    }
}
