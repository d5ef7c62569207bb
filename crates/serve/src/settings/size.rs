//! Numbers of bytes as they are typed: `4096`, `64KiB`, `1GiB`.

use std::ops::RangeInclusive;

use tollgate_contract::file::quote;

pub(super) fn within(text: &str, what: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
    let bytes = parse(text)?;
    let (least, most) = (shown(*bounds.start()), shown(*bounds.end()));
    if bytes < *bounds.start() {
        return Err(format!(
            "{what} must be from {least} to {most}: at least {least}"
        ));
    }
    if bytes > *bounds.end() {
        let typed = quote(text);
        return Err(format!("{typed} is above the largest {what}, {most}"));
    }
    Ok(bytes)
}

/// The error says what to write.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let typed = quote(text);
    let Ok(number) = number.parse::<u64>() else {
        return Err(format!("{typed} is not a number of bytes; {EXAMPLES}"));
    };
    let factor = UNITS.iter().find(|(name, _)| *name == unit.trim_start());
    let Some((_, factor)) = factor else {
        return Err(format!(
            "{typed} has the unknown unit {}; {EXAMPLES}",
            quote(unit.trim_start())
        ));
    };
    number
        .checked_mul(*factor)
        .ok_or_else(|| format!("{typed} is more than any memory"))
}

/// A number of bytes in the largest unit that divides it.
pub(crate) fn shown(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .rev()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    unit.map_or_else(
        || bytes.to_string(),
        |(name, factor)| format!("{}{name}", bytes / factor),
    )
}

const UNITS: [(&str, u64); 5] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const EXAMPLES: &str = "write for example 4096, 64KiB, 512MiB or 1GiB";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_shows() {
        for (text, size) in [
            ("0", 0),
            ("1B", 1),
            ("64KiB", 65_536),
            ("3 MiB", 3 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(parse(text), Ok(size), "{text}");
            assert_eq!(parse(&shown(size)), Ok(size));
        }
        assert_eq!(shown(1 << 30), "1GiB");
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "x", "-1", "1.5GiB", "1gb", "99999999999GiB", "GiB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
