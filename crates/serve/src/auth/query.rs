//! Names and values of a query, percent and plus decoded.

use std::borrow::Cow;

use super::uri::unescaped;
use crate::value::text;

/// The pairs of a query, in order; empty ones are left out.
pub(crate) fn pairs(query: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    let pairs = query.split(|byte| *byte == b'&');
    pairs.filter(|pair| !pair.is_empty()).map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=');
        let (name, value) = pair.split_at(equals.unwrap_or(pair.len()));
        (decoded(name), decoded(value.get(1..).unwrap_or_default()))
    })
}

fn decoded(raw: &[u8]) -> Cow<'_, str> {
    if !raw.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return text(raw);
    }
    let mut plain = Vec::with_capacity(raw.len());
    plain.extend(unescaped(raw).map(|read| match read {
        (b'+', false) => b' ',
        (byte, _) => byte,
    }));
    Cow::Owned(text(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(query: &str) -> Vec<(String, String)> {
        let owned =
            |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        pairs(query.as_bytes()).map(owned).collect()
    }

    #[test]
    fn pairs_are_decoded_in_order() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("plan=free&&path=%2Fa+b&x&=y&z=1=2&bad=%zz"),
            [
                pair("plan", "free"),
                pair("path", "/a b"),
                pair("x", ""),
                pair("", "y"),
                pair("z", "1=2"),
                pair("bad", "%zz"),
            ]
        );
        assert_eq!(read(""), []);
    }

    #[test]
    fn what_is_no_text_is_escaped() {
        assert_eq!(read("a=%ff%41"), [("a".to_owned(), "\\xffA".to_owned())]);
    }
}
