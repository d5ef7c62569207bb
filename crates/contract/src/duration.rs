//! Lengths of time as they are typed: `250ms`, `1h30m`, `day`.
//!
//! Whatever is refused comes with what to write.

use tollgate_limit::{Calendar, Period};

use crate::snippet::quote;

/// A length of time in nanoseconds, in the largest unit that divides it.
pub fn shown(nanos: u64) -> String {
    const UNITS: [(u64, &str); 7] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let unit = UNITS
        .iter()
        .find(|(unit, _)| nanos >= *unit && nanos.is_multiple_of(*unit));
    unit.map_or_else(
        || "0s".to_owned(),
        |(unit, name)| format!("{}{name}", nanos / unit),
    )
}

/// Reads a length of time, or says what to write.
pub(crate) fn parse(text: &str) -> Result<Period, String> {
    match text {
        "second" => return Ok(Period::SECOND),
        "minute" => return Ok(Period::MINUTE),
        "hour" => return Ok(Period::HOUR),
        "day" => return Ok(Period::Calendar(Calendar::DAY)),
        "week" => return Ok(Period::Calendar(Calendar::WEEK)),
        "month" => return Ok(Period::Calendar(Calendar::MONTH)),
        "year" => return Ok(Period::Calendar(Calendar::YEAR)),
        _ => {}
    }
    if text.starts_with('-') {
        return Err(format!(
            "{} is negative; a length of time is not",
            quote(text)
        ));
    }
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = split_part(rest);
        let (number, unit) = part;
        let unit_ns = check_part(text, number, unit)?;
        if unit_ns >= smallest {
            return Err(format!(
                "{} has its units out of order; write the largest first, each once",
                quote(text)
            ));
        }
        smallest = unit_ns;
        let nanos = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(unit_ns));
        total = nanos
            .and_then(|nanos| total.checked_add(nanos))
            .ok_or_else(|| {
                format!(
                    "{} is longer than any length of time here, 100 years",
                    quote(text)
                )
            })?;
        rest = after;
    }
    if text.is_empty() {
        return Err(format!("a length of time is missing; {EXAMPLES}"));
    }
    Ok(Period::Fixed(total))
}

/// A length of time as it would be typed.
pub(crate) fn format(mut nanos: u64) -> String {
    let mut out = String::new();
    for (unit, unit_ns) in UNITS {
        if nanos >= unit_ns {
            out.push_str(&(nanos / unit_ns).to_string());
            out.push_str(unit);
            nanos %= unit_ns;
        }
    }
    if out.is_empty() { "0s".into() } else { out }
}

/// The pattern a typed length of time has, for the JSON schema.
pub const PATTERN: &str =
    "^(([0-9]+(w|d|h|m|s|ms|us|ns))+|second|minute|hour|day|week|month|year)$";

/// The number and unit that come first, and what follows them.
fn split_part(text: &str) -> ((&str, &str), &str) {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let number = text.find(|letter| !is_number(letter)).unwrap_or(text.len());
    let unit = text[number..]
        .find(is_number)
        .map_or(text.len(), |at| number + at);
    ((&text[..number], &text[number..unit]), &text[unit..])
}

/// The nanoseconds of the unit, if number and unit are right.
fn check_part(text: &str, number: &str, unit: &str) -> Result<u64, String> {
    let typed = quote(text);
    if number.is_empty() {
        return Err(format!("{typed} is not a length of time; {EXAMPLES}"));
    }
    if unit.is_empty() {
        let whole = number.split('.').next().unwrap_or(number);
        return Err(format!(
            "{typed} has no unit; write `{whole}s` for seconds, or use ms, m, h or d"
        ));
    }
    let Some((_, unit_ns)) = UNITS.into_iter().find(|(name, _)| *name == unit) else {
        return Err(unknown_unit(&typed, number, unit));
    };
    if number.contains('.') {
        let exact = fraction(number, unit_ns).map(format);
        let write = exact.map_or("write whole numbers".into(), |exact| {
            format!("write `{exact}`")
        });
        return Err(format!("{typed} has a fraction; {write}"));
    }
    Ok(unit_ns)
}

fn unknown_unit(typed: &str, number: &str, unit: &str) -> String {
    let lower = unit.trim().to_lowercase();
    let singular = lower
        .strip_suffix('s')
        .filter(|word| word.len() > 1)
        .unwrap_or(&lower);
    let meant = match singular {
        "second" | "sec" => "s",
        "minute" | "min" => "m",
        "hour" | "hr" => "h",
        "day" => "d",
        "week" | "wk" => "w",
        "milli" | "millisecond" | "msec" => "ms",
        "micro" | "microsecond" | "µ" | "µs" | "usec" => "us",
        "nano" | "nanosecond" | "nsec" => "ns",
        "mo" | "mon" | "month" if number == "1" => {
            return format!("{typed} has no unit; write `month`");
        }
        "y" | "yr" | "year" if number == "1" => {
            return format!("{typed} has no unit; write `year`");
        }
        _ => UNITS
            .into_iter()
            .map(|(name, _)| name)
            .find(|name| *name == lower)
            .unwrap_or(""),
    };
    if meant.is_empty() {
        format!("{typed} has the unknown unit {}; {EXAMPLES}", quote(unit))
    } else {
        format!(
            "{typed} has the unknown unit {}; write `{number}{meant}`",
            quote(unit)
        )
    }
}

/// `1.5` of a unit in nanoseconds, where that is a whole number.
fn fraction(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.')?;
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part = part.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    (part % scale == 0).then_some(whole.checked_add(part / scale)?)
}

const EXAMPLES: &str = "write for example 250ms, 1s, 5m, 1h, 30d, minute, day or month";
const SECOND_NS: u64 = 1_000_000_000;

/// Units from the largest to the smallest, with their nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("w", 7 * 86_400 * SECOND_NS),
    ("d", 86_400 * SECOND_NS),
    ("h", 3_600 * SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("s", SECOND_NS),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(text: &str, nanos: u64) {
        assert_eq!(parse(text), Ok(Period::Fixed(nanos)));
    }

    #[track_caller]
    fn refused(text: &str, saying: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.contains(saying), "{text:?}: {error}");
    }

    #[test]
    fn reads_every_unit_and_their_sums() {
        is("250ms", 250_000_000);
        is("1s", SECOND_NS);
        is("5m", 300 * SECOND_NS);
        is("1h30m", 5_400 * SECOND_NS);
        is("30d", 2_592_000 * SECOND_NS);
        is("1w2d3h4m5s6ms7us8ns", 788_645_006_007_008);
        is("0s", 0);
        is("second", SECOND_NS);
        is("minute", 60 * SECOND_NS);
        is("hour", 3_600 * SECOND_NS);
        assert_eq!(parse("month"), Ok(Period::Calendar(Calendar::MONTH)));
    }

    #[test]
    fn says_what_to_write() {
        refused("60", "write `60s`");
        refused("1.5h", "write `1h30m`");
        refused("1.5ns", "write whole numbers");
        refused("5min", "write `5m`");
        refused("2 hours", "write `2h`");
        refused("1month", "write `month`");
        refused("3months", "unknown unit");
        refused("1H", "write `1h`");
        refused("5µs", "write `5us`");
        refused("-1s", "negative");
        refused("", "missing");
        refused("soon", "not a length of time");
        refused("30m1h", "largest first");
        refused("1h1h", "each once");
        refused("99999999999999999999s", "100 years");
        refused("9999999999d", "100 years");
    }

    #[test]
    fn formats_what_it_reads() {
        for text in ["1h30m", "1w2d3h4m5s6ms7us8ns", "0s", "90ns"] {
            assert_eq!(format(parse(text).unwrap().nanos()), text);
        }
    }
}
