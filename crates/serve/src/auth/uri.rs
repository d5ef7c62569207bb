//! The path and the query of a client's request, as the proxy reports them.
//!
//! Clients can write one path in many ways, so a path is normalized (RFC 3986, section 6) before contracts see it:
//! otherwise `/%6Cogin` or `//login` would evade a contract that matches `/login`. Not here: forms that only some
//! servers treat as equal, such as case.

use std::borrow::Cow;

use smallvec::SmallVec;

/// The target is neither a path nor a URI with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPath;

/// Splits a request target into path and query; drops scheme and host of an absolute URI.
pub(super) fn split(target: &[u8]) -> Result<(&[u8], &[u8]), NoPath> {
    if target == b"*" {
        return Ok((target, b""));
    }
    let rest = without_host(target)?;
    let end = rest.iter().position(|byte| *byte == b'#');
    let rest = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let mark = rest.iter().position(|byte| *byte == b'?');
    let (path, query) = rest.split_at(mark.unwrap_or(rest.len()));
    Ok((path, query.get(1..).unwrap_or_default()))
}

fn without_host(target: &[u8]) -> Result<&[u8], NoPath> {
    if target.starts_with(b"/") {
        return Ok(target);
    }
    let colon = target.windows(3).position(|three| three == b"://");
    let start = colon.filter(|at| *at > 0).ok_or(NoPath)? + 3;
    let rest = target.get(start..).unwrap_or_default();
    let slash = rest
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#'));
    Ok(slash.and_then(|at| rest.get(at..)).unwrap_or(b"/"))
}

/// The normalized path that contracts see: printable ASCII, at most [`PATH_BYTES_MAX`].
pub(super) fn path(raw: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(path) if is_plain(raw) => Cow::Borrowed(path),
        _ => Cow::Owned(rewritten(raw)),
    }
}

/// Whether a path is normalized already, which most are.
fn is_plain(raw: &[u8]) -> bool {
    let mut before = b' ';
    raw.len() <= PATH_BYTES_MAX
        && raw.iter().all(|byte| {
            let doubtful = before == b'/' && matches!(byte, b'/' | b'.');
            before = *byte;
            !doubtful && byte.is_ascii_graphic() && *byte != b'%'
        })
        && (raw.starts_with(b"/") || raw == b"*")
}

fn rewritten(raw: &[u8]) -> String {
    // Decode first: `/%2E%2E/` goes up as `/../` does.
    let mut plain = Vec::with_capacity(raw.len());
    for (byte, is_escaped) in unescaped(raw) {
        let is_plain = if is_escaped {
            is_unreserved(byte)
        } else {
            byte.is_ascii_graphic() && byte != b'%'
        };
        spell(byte, !is_plain, &mut plain);
    }
    let text = String::from_utf8(plain).unwrap_or_default();
    let mut kept: SmallVec<[&str; 16]> = SmallVec::new();
    let mut ends_open = true;
    for segment in text.split('/') {
        ends_open = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let mut out = String::with_capacity(text.len() + 1);
    for segment in &kept {
        out.push('/');
        out.push_str(segment);
    }
    if ends_open {
        out.push('/');
    }
    out.truncate(PATH_BYTES_MAX);
    out
}

/// Decoded bytes, and whether each was escaped.
pub(super) fn unescaped(mut raw: &[u8]) -> impl Iterator<Item = (u8, bool)> {
    std::iter::from_fn(move || {
        let (first, after) = raw.split_first()?;
        let byte = escaped(*first, after);
        raw = after.get(byte.map_or(0, |_| 2)..).unwrap_or_default();
        Some((byte.unwrap_or(*first), byte.is_some()))
    })
}

/// The byte that `%` and two digits stand for.
fn escaped(first: u8, after: &[u8]) -> Option<u8> {
    let (b'%', [high, low, ..]) = (first, after) else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

fn spell(byte: u8, is_escaped: bool, out: &mut Vec<u8>) {
    if is_escaped {
        let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
        out.extend([b'%', high, low]);
    } else {
        out.push(byte);
    }
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// Paths that differ only after this many bytes are the same.
const PATH_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn cut(target: &str) -> (String, &str) {
        let (raw, query) = split(target.as_bytes()).unwrap();
        let query = std::str::from_utf8(query).unwrap();
        (path(raw).into_owned(), query)
    }

    #[test]
    fn a_target_is_cut_into_path_and_query() {
        assert_eq!(cut("/a/b?c=d?e#f"), ("/a/b".to_owned(), "c=d?e"));
        assert_eq!(cut("/"), ("/".to_owned(), ""));
        assert_eq!(cut("https://x.test/a?b"), ("/a".to_owned(), "b"));
        assert_eq!(cut("https://x.test?b"), ("/".to_owned(), "b"));
        assert_eq!(cut("http://x.test"), ("/".to_owned(), ""));
        assert_eq!(cut("*"), ("*".to_owned(), ""));
        for none in ["", "a/b", "?a", "://a/b", "#"] {
            assert_eq!(split(none.as_bytes()), Err(NoPath), "{none}");
        }
    }

    #[test]
    fn a_path_has_one_form() {
        for (written, form) in [
            ("/login", "/login"),
            ("//login", "/login"),
            ("/%6Cogin", "/login"),
            ("/%6cogin", "/login"),
            ("/x/../login", "/login"),
            ("/x/%2e%2E/login", "/login"),
            ("/./login", "/login"),
            ("/../../login", "/login"),
            ("/login/", "/login/"),
            ("/login/.", "/login/"),
            ("/a/b/..", "/a/"),
            ("/a%2fb", "/a%2Fb"),
            ("/100%", "/100%25"),
            ("/%zz", "/%25zz"),
            ("/č", "/%C4%8D"),
            ("/a b", "/a%20b"),
            ("/.hidden", "/.hidden"),
            ("", "/"),
        ] {
            assert_eq!(path(written.as_bytes()), form, "{written}");
        }
        assert_eq!(path(b"/\xff\r\n"), "/%FF%0D%0A");
    }

    #[test]
    fn a_path_without_end_is_cut() {
        let long = "/a".repeat(4_000);
        assert_eq!(path(long.as_bytes()).len(), PATH_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_become_a_printable_path(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
            let once = path(&raw).into_owned();
            prop_assert!(once.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert!(once.starts_with('/') || once == "*");
        }

        #[test]
        fn the_one_form_stays_as_it_is(raw in "[/.%a-f0-9?#]{0,24}") {
            let once = path(raw.as_bytes()).into_owned();
            prop_assert_eq!(path(once.as_bytes()), &*once);
        }
    }
}
