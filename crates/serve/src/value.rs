//! Values of a key as clients of a proxy choose them: any bytes, of any length.
//!
//! All input becomes a key. If it were an error instead, proxies that pass requests on after errors would let it
//! through. Not here: how long a message may be.

use std::borrow::Cow;
use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use tollgate_limit::Span;

/// Bytes as text; those that are not UTF-8 are written as `\xff`.
pub(crate) fn text(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => raw.escape_ascii().to_string().into(),
    }
}

/// A span in whole milliseconds, rounded up: a client that waits that long does not come too early.
pub(crate) fn millis(span: Span) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Shortens the entries of a key with too many bytes: each long value keeps its beginning and its end, with a digest of
/// all its bytes between them.
pub(crate) fn shorten<N: AsRef<str>>(entries: &mut [(N, Cow<'_, str>)], bytes_max: usize) {
    let bytes = entries.iter();
    let bytes: usize = bytes
        .map(|(name, value)| name.as_ref().len() + value.len())
        .sum();
    if bytes <= bytes_max {
        return;
    }
    for (_, value) in entries {
        if let Some(short) = shortened(value) {
            *value = Cow::Owned(short);
        }
    }
}

/// The same for a key that is one value.
pub(crate) fn short(value: &str, bytes_max: usize) -> Cow<'_, str> {
    let short = (value.len() > bytes_max).then(|| shortened(value));
    short.flatten().map_or(Cow::Borrowed(value), Cow::Owned)
}

/// `None` if the value is short.
fn shortened(value: &str) -> Option<String> {
    if value.len() <= SHORT_BYTES_MAX {
        return None;
    }
    let begin = value.floor_char_boundary(EDGE_BYTES);
    let end = value.ceil_char_boundary(value.len() - EDGE_BYTES);
    let mut out = String::with_capacity(SHORT_BYTES_MAX);
    out.push_str(value.get(..begin).unwrap_or_default());
    out.push('~');
    for byte in digest(&SHA256, value.as_bytes()).as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out.push('~');
    out.push_str(value.get(end..).unwrap_or_default());
    Some(out)
}

/// What stays of each end of a long value.
const EDGE_BYTES: usize = 31;
/// The longest value that stays unchanged in a key that is too long: a shortened one has at most as many bytes.
const SHORT_BYTES_MAX: usize = 2 * EDGE_BYTES + 2 + 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn short(value: &str) -> String {
        let mut entries = [("user", Cow::Borrowed(value))];
        shorten(&mut entries, 1_000);
        let [(_, value)] = entries;
        value.into_owned()
    }

    #[test]
    fn what_is_no_text_is_escaped() {
        assert_eq!(text(b"a"), "a");
        assert_eq!(text(b"\xffA"), "\\xffA");
    }

    #[test]
    fn a_long_value_becomes_a_short_one_by_all_its_bytes() {
        let fits = "x".repeat(996);
        assert_eq!(short(&fits), fits);
        let long = "ä".repeat(3_000);
        let one = short(&long);
        assert!(one.len() <= SHORT_BYTES_MAX, "{one}");
        assert!(one.starts_with("ää") && one.ends_with("ää"), "{one}");
        assert_eq!(one, short(&long));
        let mut other = long.clone();
        other.replace_range(3_000..3_002, "ö");
        assert_ne!(one, short(&other));
    }
}
