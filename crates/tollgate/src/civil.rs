//! Days and dates of the Gregorian calendar in UTC, as far as access logs and reports need them.
//!
//! No time zones and no clock: both sides are plain numbers.

use std::fmt;

/// Milliseconds of one day.
pub const DAY_MS: u64 = 86_400_000;

/// A moment of the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, 1970 or later.
    pub year: u64,
    /// Month, from 1.
    pub month: u64,
    /// Day of the month, from 1.
    pub day: u64,
    /// Hour, from 0.
    pub hour: u64,
    /// Minute, from 0.
    pub minute: u64,
    /// Second, from 0.
    pub second: u64,
    /// Millisecond, from 0.
    pub milli: u64,
}

impl Civil {
    /// The calendar's name for a unix time.
    pub fn from_unix_ms(time_ms: u64) -> Self {
        let (year, month, day) = date(time_ms / DAY_MS);
        let rest = time_ms % DAY_MS;
        Self {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            milli: rest % 1000,
        }
    }

    /// `2000-10-10`.
    pub fn date(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `13:55`.
    pub fn minutes(self) -> String {
        format!("{:02}:{:02}", self.hour, self.minute)
    }

    /// `13:55:36`.
    pub fn seconds(self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

impl fmt::Display for Civil {
    /// `2000-10-10 13:55:36.000`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}.{:03}", self.date(), self.seconds(), self.milli)
    }
}

/// Days from 1970-01-01 to a date, negative before; `None` when the calendar has no such day.
pub fn days(year: u64, month: u64, day: u64) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || day > month_length(year, month) || year > 9999 {
        return None;
    }
    // Years start in March, so that the leap day is the last one.
    let year = year.cast_signed() - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month.cast_signed() + 9) % 12) + 2) / 5 + day.cast_signed() - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Year, month and day of a day counted from 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

fn month_length(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_until_the_year_2600_survives_the_round_trip() {
        for day in 0..230_000u64 {
            let (year, month, day_of_month) = date(day);
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
