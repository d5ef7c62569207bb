//! The head of an HTTP/1 request, parsed strictly.
//!
//! Two parties that disagree where a request ends can be made to see different requests (request smuggling), so
//! everything ambiguous is refused. This is the only parser of HTTP/1 heads. Not here: bodies (`body`).

use std::mem::MaybeUninit;

use http::StatusCode;

/// Limit on header fields of a request.
pub(super) const LINES_MAX: usize = 100;

/// Space for header fields.
pub(super) type Slots<'b> = [MaybeUninit<httparse::Header<'b>>; LINES_MAX];

#[derive(Debug)]
pub(super) enum ParsedHead<'h, 'b> {
    /// The head is incomplete.
    Partial,
    Head(RequestHead<'h, 'b>),
    /// Not a request, and nothing behind it can be one.
    Bad(StatusCode, &'static str),
}

#[derive(Debug)]
pub(super) struct RequestHead<'h, 'b> {
    pub(super) length: usize,
    /// Where the body ends.
    pub(super) length_of_body: Length,
    /// Whether the client waits for `100 Continue`.
    pub(super) expects: bool,
    pub(super) method: &'b str,
    pub(super) target: &'b str,
    pub(super) path: &'b str,
    pub(super) query: &'b str,
    pub(super) lines: &'h [httparse::Header<'b>],
    pub(super) version: HttpVersion,
    pub(super) is_kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// After this many bytes.
    Known(u64),
    /// After the last chunk.
    Chunked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    /// Closes connections unless asked to keep them.
    Http10,
    /// Keeps connections unless asked to close them.
    Http11,
}

pub(super) fn read<'h, 'b>(bytes: &'b [u8], slots: &'h mut Slots<'b>) -> ParsedHead<'h, 'b> {
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, slots) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return ParsedHead::Partial,
        Err(error) => return bad(error),
    };
    if !ends_lines_well(bytes.get(..length).unwrap_or_default()) {
        return ParsedHead::Bad(
            StatusCode::BAD_REQUEST,
            "A line of the head ends without CR.",
        );
    }
    let httparse::Request {
        method: Some(method),
        path: Some(target),
        version: Some(version),
        headers,
    } = request
    else {
        return ParsedHead::Bad(StatusCode::BAD_REQUEST, NO_REQUEST);
    };
    if !target.starts_with('/') {
        let why = "The target of a request begins with `/`; this is no proxy.";
        return ParsedHead::Bad(StatusCode::BAD_REQUEST, why);
    }
    if !target.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
        return ParsedHead::Bad(
            StatusCode::BAD_REQUEST,
            "The target has bytes it may not have.",
        );
    }
    let version = match version {
        0 => HttpVersion::Http10,
        _ => HttpVersion::Http11,
    };
    let framing = match Framing::of(headers, version) {
        Ok(framing) => framing,
        Err((status, why)) => return ParsedHead::Bad(status, why),
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    ParsedHead::Head(RequestHead {
        length,
        length_of_body: framing.body,
        expects: framing.expects,
        method,
        target,
        path,
        query,
        lines: headers,
        version,
        is_kept: framing.is_kept,
    })
}

/// Where a request ends, and whether another may follow.
struct Framing {
    body: Length,
    expects: bool,
    is_kept: bool,
}

/// The status and reason of a refusal.
type Wrong = (StatusCode, &'static str);

/// A head that can be read in two ways.
const fn ambiguous(why: &'static str) -> Wrong {
    (StatusCode::BAD_REQUEST, why)
}

impl Framing {
    fn of(lines: &[httparse::Header<'_>], version: HttpVersion) -> Result<Self, Wrong> {
        let mut found = Found::default();
        for line in lines {
            found.see(line)?;
        }
        if found.hosts > 1 || (found.hosts == 0 && version == HttpVersion::Http11) {
            return Err(ambiguous("There must be one `Host`."));
        }
        if found.is_coded && found.body.is_some() {
            let why = "There is both `Transfer-Encoding` and `Content-Length`.";
            return Err(ambiguous(why));
        }
        if found.is_coded && version == HttpVersion::Http10 {
            return Err(ambiguous("HTTP/1.0 has no `Transfer-Encoding`."));
        }
        let is_kept = match version {
            HttpVersion::Http10 => found.wish == Some(Wish::Keep),
            HttpVersion::Http11 => found.wish != Some(Wish::Close),
        };
        let body = if found.is_coded {
            Length::Chunked
        } else {
            Length::Known(found.body.unwrap_or(0))
        };
        Ok(Self {
            body,
            expects: found.expects,
            is_kept,
        })
    }
}

/// The fields that matter for framing.
#[derive(Default)]
struct Found {
    body: Option<u64>,
    hosts: usize,
    is_coded: bool,
    wish: Option<Wish>,
    expects: bool,
}

/// The `connection` field's demand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Keep,
    Close,
}

impl Found {
    fn see(&mut self, line: &httparse::Header<'_>) -> Result<(), Wrong> {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        match line.name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("expect") => {
                if !line.value.eq_ignore_ascii_case(b"100-continue") {
                    let why = "`Expect` can only be `100-continue`.";
                    return Err((StatusCode::EXPECTATION_FAILED, why));
                }
                self.expects = true;
            }
            10 if is("connection") => self.connection(line.value),
            14 if is("content-length") => {
                let length = number(line.value);
                let length = length.ok_or(ambiguous("`Content-Length` is no number."))?;
                if self.body.replace(length).is_some() {
                    return Err(ambiguous("There is more than one `Content-Length`."));
                }
            }
            17 if is("transfer-encoding") => {
                if !line.value.eq_ignore_ascii_case(b"chunked") || self.is_coded {
                    return Err(ambiguous("`Transfer-Encoding` can only be `chunked`."));
                }
                self.is_coded = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for wish in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if wish.eq_ignore_ascii_case(b"keep-alive") {
                self.wish = self.wish.or(Some(Wish::Keep));
            } else if wish.eq_ignore_ascii_case(b"close") {
                self.wish = Some(Wish::Close);
            }
        }
    }
}

/// A number of digits and nothing else.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_MAX {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(number * 10 + digit)
    })
}

/// Whether every line ends with CR and LF.
fn ends_lines_well(head: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', head)
        .all(|at| at > 0 && head.get(at - 1).is_some_and(|byte| *byte == b'\r'))
}

#[cold]
fn bad<'h, 'b>(error: httparse::Error) -> ParsedHead<'h, 'b> {
    use httparse::Error;
    match error {
        Error::Version => ParsedHead::Bad(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "This is HTTP/1.1, HTTP/1.0 or HTTP/2.",
        ),
        Error::TooManyHeaders => ParsedHead::Bad(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "There are too many header fields.",
        ),
        Error::HeaderName => {
            ParsedHead::Bad(StatusCode::BAD_REQUEST, "A header field has no name.")
        }
        Error::HeaderValue => ParsedHead::Bad(
            StatusCode::BAD_REQUEST,
            "A header field has bytes it may not have.",
        ),
        Error::NewLine | Error::Status | Error::Token => {
            ParsedHead::Bad(StatusCode::BAD_REQUEST, NO_REQUEST)
        }
    }
}

const NO_REQUEST: &str = "This is no HTTP request.";
/// As many digits as always fit in 64 bits.
const DIGITS_MAX: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    enum Is {
        Partial,
        Bad(u16),
        Chunked,
        Head { body: u64, is_kept: bool },
    }

    #[track_caller]
    fn reads(text: &str, is: &Is) {
        let mut slots = [const { MaybeUninit::uninit() }; LINES_MAX];
        let found = match read(text.as_bytes(), &mut slots) {
            ParsedHead::Partial => Is::Partial,
            ParsedHead::Bad(status, _) => Is::Bad(status.as_u16()),
            ParsedHead::Head(head) => match head.length_of_body {
                Length::Chunked => Is::Chunked,
                Length::Known(body) => Is::Head {
                    body,
                    is_kept: head.is_kept,
                },
            },
        };
        assert_eq!(found, *is, "{text:?}");
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n";

    #[test]
    fn plain_heads_are_read_and_every_beginning_is_partial() {
        let head = format!("{GET}Content-Length: 12\r\n\r\n");
        for length in 0..head.len() {
            reads(&head[..length], &Is::Partial);
        }
        let body = 12;
        reads(
            &head,
            &Is::Head {
                body,
                is_kept: true,
            },
        );
        let body = 0;
        reads(
            &format!("{GET}\r\n"),
            &Is::Head {
                body,
                is_kept: true,
            },
        );
        reads(
            &format!("{GET}connection: Close\r\n\r\n"),
            &Is::Head {
                body,
                is_kept: false,
            },
        );
        reads(
            "GET / HTTP/1.0\r\n\r\n",
            &Is::Head {
                body,
                is_kept: false,
            },
        );
        reads(
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            &Is::Head {
                body,
                is_kept: true,
            },
        );
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for lines in [
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: 1 1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\nContent-Length: 1\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length : 1\r\n",
            " Content-Length: 1\r\n",
            "A: b\r\n c\r\n",
            "A: b\nContent-Length: 1\r\n",
            "A: b\rContent-Length: 1\r\n",
            "A: b\0c\r\n",
            "Host: b\r\n",
            ": b\r\n",
        ] {
            reads(&format!("{GET}{lines}\r\n"), &Is::Bad(400));
        }
        reads("GET / HTTP/1.1\r\n\r\n", &Is::Bad(400));
        reads("GET / HTTP/1.1\nHost: a\n\n", &Is::Bad(400));
        reads("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", &Is::Bad(400));
        reads(
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            &Is::Bad(400),
        );
        reads("GET / HTTP/2.0\r\n\r\n", &Is::Bad(505));
    }

    #[test]
    fn what_is_asked_of_the_connection_changes_nothing_about_where_a_request_ends() {
        let (body, is_kept) = (0, true);
        for lines in [
            "Expect: 100-continue\r\n",
            "Upgrade: h2c\r\n",
            "Connection: keep-alive, Upgrade\r\n",
            "TE: gzip, chunked\r\n",
        ] {
            reads(&format!("{GET}{lines}\r\n"), &Is::Head { body, is_kept });
        }
        let is_kept = false;
        let lines = "Connection: TE, Close\r\n";
        reads(&format!("{GET}{lines}\r\n"), &Is::Head { body, is_kept });
        let lines = "Transfer-Encoding: Chunked\r\n";
        reads(&format!("{GET}{lines}\r\n"), &Is::Chunked);
        reads(&format!("{GET}Expect: more\r\n\r\n"), &Is::Bad(417));
    }

    #[test]
    fn only_paths_are_targets() {
        for target in ["*", "http://a/", "a:443", "livez", "?"] {
            for method in ["GET", "OPTIONS", "CONNECT"] {
                let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n");
                reads(&head, &Is::Bad(400));
            }
        }
    }

    #[test]
    fn too_many_fields_are_too_many() {
        let lines = "A: b\r\n".repeat(LINES_MAX);
        reads(&format!("{GET}{lines}\r\n"), &Is::Bad(431));
    }
}
