//! Parses the field `grpc-timeout`: up to eight digits and a unit.

use std::time::Duration;

use http::HeaderMap;

/// `None` if absent or unreadable.
pub(super) fn of(headers: &HeaderMap) -> Option<Duration> {
    parse(headers.get("grpc-timeout")?.as_bytes())
}

fn parse(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let count = digits.iter().try_fold(0_u64, |count, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(count * 10 + digit)
    })?;
    Some(match unit {
        b'H' => Duration::from_secs(count * 3_600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

const DIGITS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit_and_nothing_else() {
        assert_eq!(parse(b"2H"), Some(Duration::from_hours(2)));
        assert_eq!(parse(b"3M"), Some(Duration::from_mins(3)));
        assert_eq!(parse(b"10S"), Some(Duration::from_secs(10)));
        assert_eq!(parse(b"20m"), Some(Duration::from_millis(20)));
        assert_eq!(parse(b"99999999u"), Some(Duration::from_micros(99_999_999)));
        assert_eq!(parse(b"0n"), Some(Duration::ZERO));
        for text in ["", "S", "10", "123456789S", "-1S", "1.5S", "1s"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
