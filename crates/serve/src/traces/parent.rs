//! The caller's span, from the header field `traceparent` of W3C Trace Context.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    /// Whether the caller records its own.
    pub(super) is_sampled: bool,
}

impl Parent {
    /// Reads `00-<32 digits>-<16 digits>-<2 digits>`; `None` if it is anything else.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (version, rest) = (text.get(..2)?, text.get(2..)?);
        // Later versions may have more fields, after another dash.
        let is_known = version == b"00" && text.len() == 55;
        let is_later =
            version != b"00" && version != b"ff" && matches!(text.get(55), None | Some(b'-'));
        let dashes = [rest.first()?, rest.get(33)?, rest.get(50)?];
        if !(is_known || is_later) || dashes != [b"-"; 3].map(|dash| &dash[0]) {
            return None;
        }
        let _: [u8; 1] = hex(version)?;
        let trace: [u8; 16] = hex(rest.get(1..33)?)?;
        let span: [u8; 8] = hex(rest.get(34..50)?)?;
        let [flags]: [u8; 1] = hex(rest.get(51..53)?)?;
        if trace == [0; 16] || span == [0; 8] {
            return None;
        }
        let is_sampled = flags & 1 == 1;
        Some(Self {
            trace,
            span,
            is_sampled,
        })
    }
}

/// Lower-case hexadecimal digits, two a byte.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let [high, low] = *pair else {
            return None;
        };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn reads_what_the_recommendation_shows() {
        let parent = Parent::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(parent.trace[..3], [0x4b, 0xf9, 0x2f]);
        assert_eq!(parent.span[6..], [0x02, 0xb7]);
        assert!(parent.is_sampled);
        let later = format!("cc{}-more", &GOOD[2..]);
        assert!(Parent::parse(later.as_bytes()).is_some());
    }

    #[test]
    fn anything_else_is_no_parent() {
        let none = |text: &str| assert_eq!(Parent::parse(text.as_bytes()), None, "{text}");
        none("");
        none(&GOOD.to_uppercase());
        none(&format!("ff{}", &GOOD[2..]));
        none(&format!("{GOOD}-more"));
        none(&GOOD.replace("00f067aa0ba902b7", "0000000000000000"));
        none(&GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)));
        none(&GOOD.replace('-', "_"));
        for end in 0..GOOD.len() {
            none(&GOOD[..end]);
        }
    }
}
