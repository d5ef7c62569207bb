//! Where calendar windows begin, computed only from the zone's offsets.
//!
//! A window begins at the first instant at which the local clock shows its first day or anything later, and
//! lasts until the next one begins. Windows defined by instants never overlap and never run backwards, even
//! where the local clock crosses midnight twice or skips it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use crate::policy::Period;

/// The start of the calendar window of `period` that holds `time`, both in nanoseconds.
pub(crate) fn window_start(period: Period, zone: &str, time: i128) -> i128 {
    let zone = zone_of(zone);
    let shown = zone.to_datetime(instant(time)).date();
    let here = first_day(period, shown);
    let next = first_day_after(period, shown);
    // The local clock may have shown the next window's first day already and stepped back since.
    [here, next]
        .into_iter()
        .map(|day| i128::from(day_start(&zone, day)) * NANOS_PER_SECOND)
        .filter(|start| *start <= time)
        .max()
        .unwrap_or_else(|| panic!("no window of {period:?} begins before {time}"))
}

/// The first day of the window that a local date lies in.
fn first_day(period: Period, mut day: Date) -> Date {
    while !is_first(period, day) {
        day = day.yesterday().expect("within the calendar");
    }
    day
}

/// The first day of the window after the one that a local date lies in.
fn first_day_after(period: Period, day: Date) -> Date {
    let mut next = day.tomorrow().expect("within the calendar");
    while !is_first(period, next) {
        next = next.tomorrow().expect("within the calendar");
    }
    next
}

fn is_first(period: Period, day: Date) -> bool {
    match period {
        Period::Nanos(_) => panic!("not a calendar period"),
        Period::Day => true,
        Period::Week => day.weekday() == Weekday::Monday,
        Period::Month => day.day() == 1,
        Period::Year => day.day_of_year() == 1,
    }
}

/// The first second since the epoch at which the zone's clock shows `day` or later.
fn day_start(zone: &TimeZone, day: Date) -> i64 {
    let midnight = Offset::UTC
        .to_timestamp(day.at(0, 0, 0, 0))
        .expect("within the calendar")
        .as_second();
    let mut from = midnight - 2 * SECONDS_PER_DAY;
    loop {
        // Between two transitions the local clock is the universal one plus a constant.
        let at = Timestamp::from_second(from).expect("within the calendar");
        let offset = i64::from(zone.to_offset(at).seconds());
        let until = zone
            .following(at)
            .next()
            .map(|next| next.timestamp().as_second());
        let reached = from.max(midnight - offset);
        match until {
            Some(until) if reached >= until => from = until,
            Some(_) | None => return reached,
        }
    }
}

fn instant(time: i128) -> Timestamp {
    Timestamp::from_nanosecond(time).expect("within the calendar")
}

fn zone_of(name: &str) -> TimeZone {
    let mut known = KNOWN.lock().expect("no lookup panics half way");
    if let Some(zone) = known.get(name) {
        return zone.clone();
    }
    let Ok(zone) = TimeZoneDatabase::bundled().get(name) else {
        drop(known);
        panic!("unknown time zone {name}");
    };
    known.insert(name.to_owned(), zone.clone());
    zone
}

/// Zones already read; reading one parses its whole table.
static KNOWN: Mutex<BTreeMap<String, TimeZone>> = Mutex::new(BTreeMap::new());

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;
const NANOS_PER_SECOND: i128 = 1_000_000_000;
