//! Whole numbers from decimal text, eight digits at a time.

/// The value of a run of decimal digits; `None` when it is empty, holds anything else, or passes 64 bits.
#[inline]
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > SAFE_DIGITS {
        return long(text);
    }
    let (chunks, rest) = text.as_chunks::<8>();
    let mut value = 0;
    for chunk in chunks {
        value = value * 100_000_000 + eight(*chunk)?;
    }
    for byte in rest {
        value = value * 10 + digit(*byte)?;
    }
    Some(value)
}

/// Any number of this many digits fits 64 bits.
const SAFE_DIGITS: usize = 19;

#[cold]
fn long(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        value.checked_mul(10)?.checked_add(digit(*byte)?)
    })
}

fn digit(byte: u8) -> Option<u64> {
    let value = byte.wrapping_sub(b'0');
    (value <= 9).then_some(u64::from(value))
}

/// Eight digits in three multiplications: pairs, then fours, then all.
fn eight(chunk: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(chunk);
    let above = word.wrapping_add(0x4646_4646_4646_4646);
    let below = word.wrapping_sub(0x3030_3030_3030_3030);
    if (above | below) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = below.wrapping_mul(10).wrapping_add(below >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_survive_the_round_trip() {
        let mut value = 1u64;
        for _ in 0..64 {
            for near in [
                value - 1,
                value,
                value.saturating_add(1),
                value / 3,
                value / 7,
            ] {
                assert_eq!(decimal(near.to_string().as_bytes()), Some(near));
            }
            value = value.saturating_mul(2);
        }
        assert_eq!(decimal(u64::MAX.to_string().as_bytes()), Some(u64::MAX));
        assert_eq!(decimal(b"0000000000000000000000000000007"), Some(7));
    }

    #[test]
    fn anything_but_digits_is_refused_at_every_place() {
        assert_eq!(decimal(b""), None);
        assert_eq!(decimal(b"18446744073709551616"), None);
        for place in 0..17 {
            for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = *b"12345678901234567";
                text[place] = byte;
                assert_eq!(decimal(&text), None, "{byte} at {place}");
            }
        }
    }
}
