//! A plain HTTP/1.1 client: one request, one reply, the connection closed behind it.
//!
//! Enough for commands that ask this server something. Not here: TLS, redirects, keep-alive.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tollgate_load::ServerAddress;

use crate::failure::Failure;

pub(crate) struct ServerRequest<'a> {
    pub(crate) server: &'a ServerAddress,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    /// Another header field, where there is one.
    pub(crate) line: Option<(&'a str, &'a str)>,
    /// JSON, where there is one; something else where `line` is its `content-type`.
    pub(crate) body: Option<&'a [u8]>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerReply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum HttpError {
    /// Nobody is there.
    Connect(io::Error),
    /// The connection broke, or took too long.
    Io(io::Error),
    /// What came is no reply.
    Reply(&'static str),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) | Self::Io(error) => error.fmt(f),
            Self::Reply(what) => f.write_str(what),
        }
    }
}

impl HttpError {
    /// What a command that asks a server says of it.
    pub(crate) fn failure(&self, server: &ServerAddress) -> Failure {
        match self {
            Self::Connect(error) => Failure::unavailable(format!(
                "error: nothing answers at {server}: {error}\nStart a server with `tollgate serve`, or name one with --server."
            )),
            Self::Io(error) => Failure::unavailable(format!("error: {server} broke off: {error}")),
            Self::Reply(what) => {
                Failure::protocol(format!("error: {server} does not speak HTTP: {what}"))
            }
        }
    }
}

/// An answer that goes on, or another.
pub(crate) enum Followed {
    /// The lines of it, as they come.
    Lines(BufReader<Box<dyn Read>>),
    /// Something else than success.
    Refused(ServerReply),
}

impl<'a> ServerRequest<'a> {
    pub(crate) fn get(server: &'a ServerAddress, path: &'a str, token: Option<&'a str>) -> Self {
        Self {
            server,
            method: "GET",
            path,
            token,
            line: None,
            body: None,
        }
    }

    /// Sends, and waits for the reply.
    pub(crate) fn send(&self) -> Result<ServerReply, HttpError> {
        let mut reply = Vec::new();
        let read = self.open()?.take(REPLY_MAX).read_to_end(&mut reply);
        read.map_err(HttpError::Io)?;
        parse(&reply)
    }

    /// Sends, and reads what comes line by line.
    pub(crate) fn follow(&self) -> Result<Followed, HttpError> {
        let mut lines = BufReader::new(self.open()?);
        let mut reply = Vec::new();
        while !reply.ends_with(b"\r\n\r\n") {
            let mut line = lines.by_ref().take(REPLY_MAX);
            let read = line.read_until(b'\n', &mut reply);
            if read.map_err(HttpError::Io)? == 0 || reply.len() > HEAD_MAX {
                return Err(HttpError::Reply("no head"));
            }
        }
        if reply.starts_with(b"HTTP/1.1 200 ") {
            return Ok(Followed::Lines(lines));
        }
        let rest = lines.take(REPLY_MAX).read_to_end(&mut reply);
        rest.map_err(HttpError::Io)?;
        parse(&reply).map(Followed::Refused)
    }

    /// Sends; what comes back is to be read.
    fn open(&self) -> Result<Box<dyn Read>, HttpError> {
        let mut bytes = self.head().into_bytes();
        bytes.extend_from_slice(self.body.unwrap_or_default());
        match self.server {
            ServerAddress::Unix(path) => {
                let mut stream = UnixStream::connect(path).map_err(HttpError::Connect)?;
                let patient = stream.set_read_timeout(Some(PATIENCE));
                let patient = patient.and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
                let sent = patient.and_then(|()| stream.write_all(&bytes));
                sent.map_err(HttpError::Io)?;
                Ok(Box::new(stream))
            }
            ServerAddress::Tcp(place) => {
                let mut stream = dial(place).map_err(HttpError::Connect)?;
                let patient = stream.set_read_timeout(Some(PATIENCE));
                let patient = patient.and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
                let sent = patient.and_then(|()| stream.write_all(&bytes));
                sent.map_err(HttpError::Io)?;
                Ok(Box::new(stream))
            }
        }
    }

    fn head(&self) -> String {
        let (method, path, host) = (self.method, self.path, self.server.host());
        let token = self
            .token
            .map(|token| format!("authorization: Bearer {token}\r\n"));
        let token = token.unwrap_or_default();
        let line = self
            .line
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let line = line.unwrap_or_default();
        let is_told = self.line.is_some_and(|(name, _)| name == "content-type");
        let kind = if is_told {
            ""
        } else {
            "content-type: application/json\r\n"
        };
        let body = self
            .body
            .map(|body| format!("{kind}content-length: {}\r\n", body.len()));
        let body = body.unwrap_or_default();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\naccept: application/json\r\nconnection: close\r\n{token}{line}{body}\r\n"
        )
    }
}

fn dial(place: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn parse(reply: &[u8]) -> Result<ServerReply, HttpError> {
    let end = memchr::memmem::find(reply, b"\r\n\r\n").ok_or(HttpError::Reply("no head"))?;
    let (head, rest) = reply.split_at(end);
    let body = rest.get(4..).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1."));
    let status = status.and_then(|rest| rest.get(2..5)?.parse().ok());
    let status = status.ok_or(HttpError::Reply("no status line"))?;
    let mut body = body.to_vec();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            let length = value
                .trim()
                .parse()
                .map_err(|_| HttpError::Reply("a bad content-length"))?;
            if body.len() < length {
                return Err(HttpError::Reply("the body is cut off"));
            }
            body.truncate(length);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            body = unchunked(&body).ok_or(HttpError::Reply("the body is cut off"))?;
        }
    }
    Ok(ServerReply { status, body })
}

/// Joins chunks; none if they do not end.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_end = memchr::memmem::find(rest, b"\r\n")?;
        let size = std::str::from_utf8(rest.get(..line_end)?).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = rest.get(line_end + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
}

/// A text as it stands in a path or a parameter.
pub(crate) fn encoded(text: &str) -> String {
    let letter = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(letter).collect()
}

const HEAD_MAX: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
const REPLY_MAX: u64 = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_a_length_or_come_in_chunks() {
        let reply = |status, body: &[u8]| ServerReply {
            status,
            body: body.to_vec(),
        };
        let length = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        assert_eq!(length, reply(200, b"{}"));
        let chunks = b"HTTP/1.1 429 No\r\ntransfer-encoding: chunked\r\n\r\n3;x\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        assert_eq!(parse(chunks).unwrap(), reply(429, b"abcd"));
        let bare = parse(b"HTTP/1.0 503 Busy\r\n\r\nwait").unwrap();
        assert_eq!(bare, reply(503, b"wait"));
    }

    #[test]
    fn a_query_has_no_letters_that_mean_something() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for bytes in [
            &b""[..],
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nab",
        ] {
            assert!(
                matches!(parse(bytes), Err(HttpError::Reply(_))),
                "{bytes:?}"
            );
        }
    }
}
