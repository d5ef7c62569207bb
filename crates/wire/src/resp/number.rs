//! Integers as Redis reads them: decimal, no plus sign, no spaces, no leading zeros, 64 bits, exact.

use super::error::CommandError;

pub(super) fn signed<'a>(text: &[u8]) -> Result<i64, CommandError<'a>> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let padded = digits.len() > 1 && digits[0] == b'0' || negative && digits == b"0";
    if digits.is_empty() || padded {
        return Err(CommandError::NotAnInteger);
    }
    let mut value = 0_i64;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(CommandError::NotAnInteger);
        }
        let digit = i64::from(byte - b'0');
        // Counted downwards, because the smallest integer has no positive twin.
        value = value
            .checked_mul(10)
            .and_then(|value| value.checked_sub(digit))
            .ok_or(CommandError::NotAnInteger)?;
    }
    if negative {
        return Ok(value);
    }
    value.checked_neg().ok_or(CommandError::NotAnInteger)
}

/// Reads an integer that is at least `least`, which is not negative.
pub(super) fn at_least<'a>(
    text: &[u8],
    least: u64,
    what: &'static str,
) -> Result<u64, CommandError<'a>> {
    let value = u64::try_from(signed(text)?).ok();
    value
        .filter(|value| *value >= least)
        .ok_or(CommandError::TooSmall { what, least })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_64_bit_integer() {
        for value in [0, 1, -1, 10, i64::MAX, i64::MIN, i64::MIN + 1, -90] {
            assert_eq!(signed(value.to_string().as_bytes()), Ok(value));
        }
    }

    #[test]
    fn refuses_whatever_redis_refuses() {
        let wrong = [
            "",
            "-",
            "+1",
            " 1",
            "1 ",
            "01",
            "-0",
            "00",
            "1.0",
            "1e3",
            "0x1",
            "--1",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ];
        for text in wrong {
            assert_eq!(
                signed(text.as_bytes()),
                Err(CommandError::NotAnInteger),
                "{text}"
            );
        }
    }

    #[test]
    fn names_what_is_too_small() {
        let error = CommandError::TooSmall {
            what: "period",
            least: 1,
        };
        assert_eq!(at_least(b"0", 1, "period"), Err(error));
        assert_eq!(at_least(b"-1", 1, "period"), Err(error));
        assert_eq!(at_least(b"1", 1, "period"), Ok(1));
    }
}
