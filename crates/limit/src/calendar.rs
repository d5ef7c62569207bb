//! Calendar windows: days, weeks, months and years in a time zone.
//!
//! Zones come from the database compiled into the program, so that every machine agrees on them. Not here: the
//! zone of this machine.

use jiff::civil::Date;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Span as CivilSpan, Timestamp, ToSpan};

use crate::time::Instant;

const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// A unit of the calendar in a time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    unit: Unit,
    zone: TimeZone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

impl Calendar {
    /// Midnight to midnight, in UTC.
    pub const DAY: Self = Self::utc(Unit::Day);
    /// Monday to Monday, in UTC.
    pub const WEEK: Self = Self::utc(Unit::Week);
    /// First to first, in UTC.
    pub const MONTH: Self = Self::utc(Unit::Month);
    /// January to January, in UTC.
    pub const YEAR: Self = Self::utc(Unit::Year);

    const fn utc(unit: Unit) -> Self {
        Self {
            unit,
            zone: TimeZone::UTC,
        }
    }

    /// The same unit in the named zone of the IANA database; `None` where there is no such zone.
    pub fn in_zone(&self, name: &str) -> Option<Self> {
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        Some(Self {
            unit: self.unit,
            zone,
        })
    }

    /// Whether the zone is UTC, as it is unless another was asked for.
    pub fn is_utc(&self) -> bool {
        self.zone == TimeZone::UTC
    }

    /// The name of the zone in the IANA database.
    pub fn zone_name(&self) -> Option<&str> {
        self.zone.iana_name()
    }

    /// Every zone name, for suggestions.
    pub fn zone_names() -> Vec<String> {
        TimeZoneDatabase::bundled()
            .available()
            .map(|name| name.as_str().to_owned())
            .collect()
    }

    /// The name used in contract files.
    pub const fn name(&self) -> &'static str {
        match self.unit {
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }

    /// 1, 7, 30 or 365 days: the length where the calendar is not followed.
    pub const fn nominal_nanos(&self) -> u64 {
        match self.unit {
            Unit::Day => DAY_NS,
            Unit::Week => 7 * DAY_NS,
            Unit::Month => 30 * DAY_NS,
            Unit::Year => 365 * DAY_NS,
        }
    }

    /// First nanosecond of the window that holds `now`, and first nanosecond after it, perhaps beyond the last instant.
    ///
    /// A window begins at the first instant of its first civil day, also where the clocks change at midnight.
    pub fn window(&self, now: Instant) -> (u64, u128) {
        let nanos = u128::from(now.as_nanos());
        let Ok(timestamp) = Timestamp::from_nanosecond(i128::from(now.as_nanos())) else {
            return (0, u128::MAX);
        };
        let mut first = self.first_day(self.zone.to_datetime(timestamp).date());
        let mut start = self.start_of(first);
        let mut end = u128::MAX;
        // Where clocks go back over midnight a civil day is entered twice; the boundary is the first entry.
        while let Ok(next) = first.checked_add(self.step()) {
            end = self.start_of(next);
            if nanos < end {
                break;
            }
            (first, start) = (next, end);
        }
        (u64::try_from(start).unwrap_or(now.as_nanos()), end)
    }

    fn first_day(&self, day: Date) -> Date {
        match self.unit {
            Unit::Day => day,
            Unit::Week => {
                let since_monday = day.weekday().to_monday_zero_offset();
                day.checked_sub(i32::from(since_monday).days())
                    .unwrap_or(day)
            }
            Unit::Month => day.first_of_month(),
            Unit::Year => day.first_of_year(),
        }
    }

    fn step(&self) -> CivilSpan {
        match self.unit {
            Unit::Day => 1.day(),
            Unit::Week => 1.week(),
            Unit::Month => 1.month(),
            Unit::Year => 1.year(),
        }
    }

    /// First nanosecond of a civil day; days before the epoch begin at it.
    fn start_of(&self, day: Date) -> u128 {
        let midnight = day.at(0, 0, 0, 0);
        match self.zone.to_ambiguous_timestamp(midnight).compatible() {
            Ok(timestamp) => u128::try_from(timestamp.as_nanosecond()).unwrap_or(0),
            Err(_) => u128::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        let timestamp: Timestamp = text.parse().expect("a timestamp");
        Instant::from_nanos(u64::try_from(timestamp.as_nanosecond()).expect("after the epoch"))
    }

    #[track_caller]
    fn window_is(calendar: &Calendar, now: &str, start: &str, end: &str) {
        let (from, to) = calendar.window(at(now));
        let end = u128::from(at(end).as_nanos());
        assert_eq!((from, to), (at(start).as_nanos(), end));
    }

    #[test]
    fn a_day_with_a_clock_change_has_23_or_25_hours() {
        let day = Calendar::DAY.in_zone("Europe/Ljubljana").expect("zone");
        window_is(
            &day,
            "2026-03-29T12:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        );
        window_is(
            &day,
            "2026-10-25T12:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z",
        );
    }

    #[test]
    fn weeks_begin_on_monday() {
        window_is(
            &Calendar::WEEK,
            "2026-11-15T23:59:59.999999999Z",
            "2026-11-09T00:00:00Z",
            "2026-11-16T00:00:00Z",
        );
    }

    #[test]
    fn months_and_years_follow_the_calendar() {
        window_is(
            &Calendar::MONTH,
            "2028-02-29T10:00:00Z",
            "2028-02-01T00:00:00Z",
            "2028-03-01T00:00:00Z",
        );
        window_is(
            &Calendar::YEAR,
            "2028-02-29T10:00:00Z",
            "2028-01-01T00:00:00Z",
            "2029-01-01T00:00:00Z",
        );
    }

    #[test]
    fn a_day_without_midnight_begins_when_the_clock_jumps() {
        let day = Calendar::DAY.in_zone("America/Sao_Paulo").expect("zone");
        window_is(
            &day,
            "2018-11-04T12:00:00Z",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
        );
    }

    #[test]
    fn every_window_of_every_zone_holds_its_instant() {
        for name in Calendar::zone_names() {
            let Some(day) = Calendar::DAY.in_zone(&name) else {
                panic!("{name} is listed but unknown")
            };
            for hour in (0..400_000_u64).step_by(997) {
                let now = Instant::from_nanos(hour * 3_600_000_000_000);
                let (start, end) = day.window(now);
                assert!(
                    start <= now.as_nanos() && u128::from(now.as_nanos()) < end,
                    "{name} at hour {hour}"
                );
            }
        }
    }

    #[test]
    fn the_last_window_ends_after_the_last_instant_and_the_first_begins_with_the_epoch() {
        // 2554-07-21T23:34:33Z, a Wednesday.
        for (calendar, days) in [
            (Calendar::DAY, 1),
            (Calendar::WEEK, 7),
            (Calendar::MONTH, 31),
            (Calendar::YEAR, 365),
        ] {
            let (start, end) = calendar.window(Instant::LAST);
            assert!(start < u64::MAX && end > u128::from(u64::MAX));
            assert_eq!(end - u128::from(start), days * u128::from(DAY_NS));
            assert_eq!(calendar.window(Instant::default()).0, 0);
        }
    }
}
