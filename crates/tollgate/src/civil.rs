//! Days and dates of the Gregorian calendar in UTC, as far as access logs and reports need them.
//!
//! No time zones and no clock: both sides are plain numbers. jiff knows the calendar.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, date};
use jiff::tz::TimeZone;

pub(crate) const DAY_MS: u64 = 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil(DateTime);

impl Civil {
    /// The calendar's name for a unix time; for one beyond the year 9999, the last moment of that.
    pub(crate) fn from_unix_ms(time_ms: u64) -> Self {
        let time = i64::try_from(time_ms).ok();
        let time = time.and_then(|time| Timestamp::from_millisecond(time).ok());
        Self(TimeZone::UTC.to_datetime(time.unwrap_or(Timestamp::MAX)))
    }

    /// `2000-10-10`.
    pub(crate) fn date(self) -> String {
        self.0.date().to_string()
    }

    /// `10-10 13:55`.
    pub(crate) fn day_and_minutes(self) -> String {
        self.0.strftime("%m-%d %H:%M").to_string()
    }

    /// `13:55`.
    pub(crate) fn minutes(self) -> String {
        self.0.strftime("%H:%M").to_string()
    }

    /// `13:55:36`.
    pub(crate) fn seconds(self) -> String {
        self.0.strftime("%H:%M:%S").to_string()
    }

    /// `13:55:36.007`.
    pub(crate) fn millis(self) -> String {
        self.0.strftime("%H:%M:%S%.3f").to_string()
    }
}

impl fmt::Display for Civil {
    /// `2000-10-10 13:55:36.000`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0.strftime("%Y-%m-%d %H:%M:%S%.3f"))
    }
}

/// Days from 1970-01-01 to a date, negative before; `None` when the calendar has no such day.
pub(crate) fn days(year: u64, month: u64, day: u64) -> Option<i64> {
    let (year, month, day) = (year.try_into(), month.try_into(), day.try_into());
    let day = Date::new(year.ok()?, month.ok()?, day.ok()?).ok()?;
    Some(day.duration_since(date(1970, 1, 1)).as_hours() / 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_until_the_year_2600_survives_the_round_trip() {
        for day in 0..230_000u64 {
            let Civil(moment) = Civil::from_unix_ms(day * DAY_MS);
            let [year, month, day_of_month] = [
                i64::from(moment.year()),
                i64::from(moment.month()),
                i64::from(moment.day()),
            ]
            .map(i64::cast_unsigned);
            assert_eq!(days(year, month, day_of_month), Some(day.cast_signed()));
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        assert_eq!(days(2023, 2, 29), None);
        assert_eq!(days(2024, 4, 31), None);
        assert_eq!(days(2024, 13, 1), None);
        assert_eq!(days(2024, 1, 0), None);
        assert!(days(2024, 2, 29).is_some());
    }

    #[test]
    fn a_known_moment_prints_as_the_calendar_says() {
        let moment = Civil::from_unix_ms(971_211_336_007);
        assert_eq!(moment.to_string(), "2000-10-10 20:55:36.007");
        assert_eq!(days(1969, 12, 31), Some(-1));
    }
}
