//! Numbers for people: units, and no more digits than they can use.
//!
//! Floats are welcome here: nothing on this side decides anything.

/// Between a number and its unit, and between groups of digits: narrow, and never broken.
const GAP: char = '\u{202f}';

/// A count as a float, for drawing.
#[allow(
    clippy::cast_precision_loss,
    reason = "drawn and rounded, never counted on"
)]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

/// All digits, in groups: `125 000`.
pub fn whole(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(GAP);
        }
        out.push(digit);
    }
    out
}

/// Three digits that count, and a letter: `12.4 k`.
pub fn short(value: f64) -> String {
    let mut scaled = value.max(0.0);
    for unit in ["", "k", "M", "G", "T"] {
        if scaled < 999.5 || unit == "T" {
            let digits = digits(scaled);
            return if unit.is_empty() {
                digits
            } else {
                format!("{digits}{GAP}{unit}")
            };
        }
        scaled /= 1000.0;
    }
    String::new()
}

/// So many each second: `12.4 k/s`.
pub fn rate(per_second: f64) -> String {
    let short = short(per_second);
    if short.ends_with(|c: char| c.is_ascii_digit()) {
        return format!("{short}{GAP}/s");
    }
    format!("{short}/s")
}

/// A part of a whole: `4.1 %`.
pub fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return format!("0{GAP}%");
    }
    if part >= whole {
        return format!("100{GAP}%");
    }
    let percent = 100.0 * float(part) / float(whole);
    match percent {
        p if p < 0.01 => format!("<{GAP}0.01{GAP}%"),
        p if p < 0.995 => format!("{p:.2}{GAP}%"),
        p if p < 9.95 => format!("{p:.1}{GAP}%"),
        // Never 100 % unless it is exact.
        p => format!("{:.0}{GAP}%", p.min(99.0)),
    }
}

/// A short time, from microseconds: `3.1 ms`.
pub fn latency(micros: f64) -> String {
    match micros {
        m if m < 999.5 => format!("{}{GAP}µs", digits(m)),
        m if m < 999_500.0 => format!("{}{GAP}ms", digits(m / 1e3)),
        m => format!("{}{GAP}s", digits(m / 1e6)),
    }
}

/// A length of time, from milliseconds, in its two largest units: `2 h 5 min`.
pub fn span(millis: u64) -> String {
    if millis < 1000 {
        return format!("{millis}{GAP}ms");
    }
    let seconds = millis / 1000;
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let first = units.iter().position(|(size, _)| seconds >= *size);
    let first = first.unwrap_or(units.len() - 1);
    let mut rest = seconds;
    let mut words = Vec::new();
    for (size, unit) in units.iter().skip(first).take(2) {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            words.push(format!("{count}{GAP}{unit}"));
        }
    }
    words.join(" ")
}

/// Bytes, in thousands: `1.2 MB`.
pub fn bytes(count: f64) -> String {
    let short = short(count);
    if short.ends_with(|c: char| c.is_ascii_digit()) {
        return format!("{short}{GAP}B");
    }
    format!("{short}B")
}

/// One or many: `1 node`, `3 nodes`.
pub fn counted(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", whole(count))
}

fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 0.095 => format!("{v:.2}"),
        v if v < 99.95 => {
            let text = format!("{v:.1}");
            text.strip_suffix(".0")
                .map(ToOwned::to_owned)
                .unwrap_or(text)
        }
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn plain(text: &str) -> String {
        text.replace(GAP, " ")
    }

    #[test]
    fn says_counts_with_three_digits_that_count() {
        let cases = [
            (0.0, "0"),
            (0.04, "0.04"),
            (12.0, "12"),
            (12.44, "12.4"),
            (999.4, "999"),
            (999.6, "1 k"),
            (12_440.0, "12.4 k"),
            (3_100_000.0, "3.1 M"),
        ];
        for (value, expected) in cases {
            assert_eq!(plain(&short(value)), expected);
        }
        assert_eq!(plain(&rate(12_440.0)), "12.4 k/s");
        assert_eq!(plain(&rate(7.0)), "7 /s");
        assert_eq!(plain(&whole(125_000)), "125 000");
        assert_eq!(plain(&bytes(1_234_567.0)), "1.2 MB");
    }

    #[test]
    fn says_shares_without_rounding_away_the_last_of_it() {
        let cases = [
            ((0, 10), "0 %"),
            ((41, 1000), "4.1 %"),
            ((1, 1_000_000), "< 0.01 %"),
            ((999_999, 1_000_000), "99 %"),
            ((5, 5), "100 %"),
            ((1, 0), "0 %"),
            ((86, 100), "86 %"),
        ];
        for ((part, all), expected) in cases {
            assert_eq!(plain(&share(part, all)), expected);
        }
    }

    #[test]
    fn says_times_in_their_two_largest_units() {
        let cases = [
            (240, "240 ms"),
            (4000, "4 s"),
            (61_000, "1 min 1 s"),
            (7_500_000, "2 h 5 min"),
            (86_400_000, "1 d"),
            (200_000_000, "2 d 7 h"),
        ];
        for (millis, expected) in cases {
            assert_eq!(plain(&span(millis)), expected);
        }
        assert_eq!(plain(&latency(3_140.0)), "3.1 ms");
        assert_eq!(plain(&latency(240.0)), "240 µs");
    }
}
