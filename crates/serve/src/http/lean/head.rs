//! The head of an HTTP/1 request, read strictly.
//!
//! Two parties that disagree where a request ends can be made to see different requests, so whatever can be read in two
//! ways is refused or left to hyper. Not here: bodies in chunks, upgrades, and whatever else hyper does as well.

use std::mem::MaybeUninit;

use http::StatusCode;

/// The most header fields of a request.
pub(super) const LINES_MAX: usize = 100;

/// Room for header fields.
pub(super) type Slots<'b> = [MaybeUninit<httparse::Header<'b>>; LINES_MAX];

/// What the first bytes of a request are.
#[derive(Debug)]
pub(super) enum Read<'h, 'b> {
    /// Not all of a head yet.
    Partial,
    /// A head whose request is simple enough to be answered here.
    Head(Head<'h, 'b>),
    /// A request for hyper.
    Other,
    /// No request, and nothing behind it can be one.
    Bad(StatusCode, &'static str),
}

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head<'h, 'b> {
    /// Bytes of the head.
    pub(super) length: usize,
    /// Bytes of the body.
    pub(super) body: u64,
    pub(super) method: &'b str,
    pub(super) path: &'b str,
    pub(super) query: &'b str,
    pub(super) lines: &'h [httparse::Header<'b>],
    pub(super) version: Version,
    /// Whether the connection stays open.
    pub(super) is_kept: bool,
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Closes connections unless asked to keep them.
    Http10,
    /// Keeps connections unless asked to close them.
    Http11,
}

/// Reads the head of a request.
pub(super) fn read<'h, 'b>(bytes: &'b [u8], slots: &'h mut Slots<'b>) -> Read<'h, 'b> {
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, slots) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Read::Partial,
        Err(error) => return bad(error),
    };
    if !ends_lines_well(bytes.get(..length).unwrap_or_default()) {
        return Read::Bad(
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
        return Read::Bad(StatusCode::BAD_REQUEST, NO_REQUEST);
    };
    if !target.starts_with('/') || method == "CONNECT" {
        return Read::Other;
    }
    if !target.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
        return Read::Bad(
            StatusCode::BAD_REQUEST,
            "The target has bytes it may not have.",
        );
    }
    let version = match version {
        0 => Version::Http10,
        _ => Version::Http11,
    };
    let framing = match Framing::of(headers, version) {
        Ok(Some(framing)) => framing,
        Ok(None) => return Read::Other,
        Err(why) => return Read::Bad(StatusCode::BAD_REQUEST, why),
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Read::Head(Head {
        length,
        body: framing.body,
        method,
        path,
        query,
        lines: headers,
        version,
        is_kept: framing.is_kept,
    })
}

/// Where a request ends, and whether another may follow.
struct Framing {
    body: u64,
    is_kept: bool,
}

impl Framing {
    /// `None` for requests that hyper must read.
    fn of(lines: &[httparse::Header<'_>], version: Version) -> Result<Option<Self>, &'static str> {
        let mut found = Found::default();
        for line in lines {
            found.see(line)?;
        }
        if found.hosts > 1 || (found.hosts == 0 && version == Version::Http11) {
            return Err("There must be one `Host`.");
        }
        if found.is_coded && found.body.is_some() {
            return Err("There is both `Transfer-Encoding` and `Content-Length`.");
        }
        if found.is_coded && version == Version::Http10 {
            return Err("HTTP/1.0 has no `Transfer-Encoding`.");
        }
        if found.is_coded || found.is_odd {
            return Ok(None);
        }
        let is_kept = match version {
            Version::Http10 => found.wish == Some(Wish::Keep),
            Version::Http11 => found.wish != Some(Wish::Close),
        };
        let body = found.body.unwrap_or(0);
        Ok(Some(Self { body, is_kept }))
    }
}

/// What the fields say that matter for framing.
#[derive(Default)]
struct Found {
    body: Option<u64>,
    hosts: usize,
    is_coded: bool,
    wish: Option<Wish>,
    /// Whether something is asked that only hyper does.
    is_odd: bool,
}

/// What a client wants of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Keep,
    Close,
}

impl Found {
    fn see(&mut self, line: &httparse::Header<'_>) -> Result<(), &'static str> {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        match line.name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("expect") => self.is_odd = true,
            7 if is("upgrade") => self.is_odd = true,
            10 if is("connection") => self.connection(line.value),
            14 if is("content-length") => {
                let length = number(line.value).ok_or("`Content-Length` is no number.")?;
                if self.body.replace(length).is_some() {
                    return Err("There is more than one `Content-Length`.");
                }
            }
            17 if is("transfer-encoding") => {
                if !line.value.eq_ignore_ascii_case(b"chunked") || self.is_coded {
                    return Err("`Transfer-Encoding` can only be `chunked`.");
                }
                self.is_coded = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.wish = self.wish.or(Some(Wish::Keep));
        } else if value.eq_ignore_ascii_case(b"close") {
            self.wish = Some(Wish::Close);
        } else {
            self.is_odd = true;
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
fn bad<'h, 'b>(error: httparse::Error) -> Read<'h, 'b> {
    use httparse::Error;
    match error {
        Error::Version => Read::Bad(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "This is HTTP/1.1, HTTP/1.0 or HTTP/2.",
        ),
        Error::TooManyHeaders => Read::Bad(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "There are too many header fields.",
        ),
        Error::HeaderName => Read::Bad(StatusCode::BAD_REQUEST, "A header field has no name."),
        Error::HeaderValue => Read::Bad(
            StatusCode::BAD_REQUEST,
            "A header field has bytes it may not have.",
        ),
        Error::NewLine | Error::Status | Error::Token => {
            Read::Bad(StatusCode::BAD_REQUEST, NO_REQUEST)
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
        Other,
        Bad(u16),
        Head { body: u64, is_kept: bool },
    }

    #[track_caller]
    fn reads(text: &str, is: &Is) {
        let mut slots = [const { MaybeUninit::uninit() }; LINES_MAX];
        let found = match read(text.as_bytes(), &mut slots) {
            Read::Partial => Is::Partial,
            Read::Other => Is::Other,
            Read::Bad(status, _) => Is::Bad(status.as_u16()),
            Read::Head(Head { body, is_kept, .. }) => Is::Head { body, is_kept },
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
    fn what_hyper_does_as_well_is_left_to_it() {
        for lines in [
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "Upgrade: h2c\r\n",
            "Connection: keep-alive, Upgrade\r\n",
        ] {
            reads(&format!("{GET}{lines}\r\n"), &Is::Other);
        }
        reads("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", &Is::Other);
        reads("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", &Is::Other);
    }

    #[test]
    fn too_many_fields_are_too_many() {
        let lines = "A: b\r\n".repeat(LINES_MAX);
        reads(&format!("{GET}{lines}\r\n"), &Is::Bad(431));
    }
}
