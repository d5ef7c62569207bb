//! Numbers as people read them: three significant digits, and a unit.
//!
//! A share below 100 % is never shown as 100 %, and one above zero never as zero.

#![allow(clippy::cast_precision_loss, reason = "three digits are shown")]

/// `999`, `12.4 k`, `1.2 M`.
pub(crate) fn count(value: u64) -> String {
    if value < 1000 {
        value.to_string()
    } else {
        scaled(value as f64)
    }
}

/// `1 234 567`.
pub(crate) fn exact(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// `12.4 k/s`, from a number and the time it took.
pub(crate) fn rate(value: u64, over_ms: u64) -> String {
    format!(
        "{}/s",
        number(value as f64 * 1000.0 / over_ms.max(1) as f64)
    )
}

/// `12.4 k`, `3.5`, `0.04`, from any number.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value <= 0.0 => "0".to_owned(),
        value if value < 0.095 => format!("{value:.2}"),
        value if value < 9.95 => tenths(value),
        value if value < 999.5 => format!("{value:.0}"),
        value => scaled(value),
    }
}

/// `86 %`, `4.1 %`, `0.03 %`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    match percent {
        _ if part == 0 => "0 %".to_owned(),
        _ if part == whole => "100 %".to_owned(),
        percent if percent >= 99.5 => format!("{:.2} %", percent.min(99.99)),
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.95 => format!("{percent:.1} %"),
        percent if percent >= 0.01 => format!("{percent:.2} %"),
        _ => "< 0.01 %".to_owned(),
    }
}

/// `850 ns`, `3.1 ms`, `12 s`, `3 h`.
pub(crate) fn wait(ns: u128) -> String {
    const UNITS: [(f64, &str); 6] = [
        (86_400e9, "d"),
        (3600e9, "h"),
        (60e9, "min"),
        (1e9, "s"),
        (1e6, "ms"),
        (1e3, "µs"),
    ];
    let value = ns as f64;
    // Half of the last digit shown decides, so that 999.9 µs is shown as 1 ms.
    match UNITS.iter().find(|(unit, _)| value >= *unit * 0.9995) {
        Some((unit, name)) => format!("{} {name}", number(value / unit)),
        None => format!("{ns} ns"),
    }
}

/// `3 h`, `3 h 20 min`, `1.5 s`: a duration in at most two units.
pub(crate) fn span(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1000, "s"),
    ];
    if ms < 60_000 {
        return wait(u128::from(ms) * 1_000_000);
    }
    let at = UNITS.iter().position(|(unit, _)| ms >= *unit).unwrap_or(0);
    let (unit, name) = UNITS[at];
    let whole = format!("{} {name}", exact(ms / unit));
    match UNITS.get(at + 1) {
        Some((small, small_name)) if ms % unit >= *small => {
            format!("{whole} {} {small_name}", ms % unit / small)
        }
        _ => whole,
    }
}

/// `512 MiB`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut scaled = value as f64;
    let mut name = "B";
    for unit in UNITS {
        if scaled < 1000.0 {
            break;
        }
        scaled /= 1024.0;
        name = unit;
    }
    format!("{} {name}", number(scaled))
}

fn scaled(value: f64) -> String {
    const UNITS: [(f64, &str); 6] = [
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
    ];
    let (unit, name) = UNITS
        .iter()
        .find(|(unit, _)| value >= unit * 0.9995)
        .copied()
        .unwrap_or((1e3, "k"));
    let scaled = value / unit;
    let digits = if scaled < 99.95 {
        tenths(scaled)
    } else {
        format!("{scaled:.0}")
    };
    format!("{digits} {name}")
}

/// One decimal, unless it is zero.
fn tenths(value: f64) -> String {
    let digits = format!("{value:.1}");
    digits
        .strip_suffix(".0")
        .map_or(digits.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_three_digits() {
        let shown = [0, 999, 1000, 12_449, 999_949, 1_200_000, u64::MAX].map(count);
        assert_eq!(
            shown,
            ["0", "999", "1 k", "12.4 k", "1 M", "1.2 M", "18.4 E"]
        );
        assert_eq!(exact(1_234_567u64), "1\u{202f}234\u{202f}567");
        assert_eq!(exact(12u64), "12");
    }

    #[test]
    fn shares_never_round_to_all_or_nothing() {
        assert_eq!(share(0, 10), "0 %");
        assert_eq!(share(10, 10), "100 %");
        assert_eq!(share(999_999, 1_000_000), "99.99 %");
        assert_eq!(share(1, 1_000_000), "< 0.01 %");
        assert_eq!(share(41, 1000), "4.1 %");
        assert_eq!(share(86, 100), "86 %");
        assert_eq!(share(3, 10_000), "0.03 %");
        assert_eq!(share(0, 0), "0 %");
    }

    #[test]
    fn times_carry_the_unit_that_fits() {
        let shown = [
            0,
            850,
            999_900,
            3_100_000,
            12_000_000_000,
            10_800_000_000_000,
        ]
        .map(wait);
        assert_eq!(shown, ["0 ns", "850 ns", "1 ms", "3.1 ms", "12 s", "3 h"]);
        assert_eq!(span(10_800_000), "3 h");
        assert_eq!(span(12_000_000), "3 h 20 min");
        assert_eq!(span(1500), "1.5 s");
        assert_eq!(span(61_000), "1 min 1 s");
    }

    #[test]
    fn rates_and_sizes_are_short() {
        assert_eq!(rate(12_400, 1000), "12.4 k/s");
        assert_eq!(rate(1, 30_000), "0.03/s");
        assert_eq!(rate(5, 0), "5 k/s");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(1_300_000_000), "1.2 GiB");
    }
}
