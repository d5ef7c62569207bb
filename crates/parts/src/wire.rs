//! A connection that sees every byte, and the parts of HTTP/1.1 and RESP that tests need.
//!
//! Deliberately absent: TLS (a TLS stream can carry it), redirects, chunks.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::process::PATIENCE;

/// A connection over any stream. Nothing is read ahead.
#[derive(Debug)]
pub struct Wire<S = TcpStream> {
    /// What carries it.
    pub stream: S,
}

impl Wire {
    /// TCP with a long read timeout.
    #[track_caller]
    pub fn to(address: impl ToSocketAddrs) -> Self {
        Self::try_to(address).expect("a connection")
    }

    /// The same, if the connection may be refused.
    pub fn try_to(address: impl ToSocketAddrs) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }
}

impl Wire<UnixStream> {
    /// A connection over a socket in the file system.
    #[track_caller]
    pub fn unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream }
    }
}

impl<S: Read + Write> Wire<S> {
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("bytes are taken");
    }

    /// Sends bytes to a server that may have closed.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref())?;
        self.stream.flush()
    }

    /// Sends an HTTP request and reads its answer.
    #[track_caller]
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> HttpReply {
        self.send(request);
        self.reply()
    }

    /// Asks for a page.
    #[track_caller]
    pub fn get(&mut self, path: &str) -> HttpReply {
        self.ask(get(path))
    }

    /// Posts a body in JSON.
    #[track_caller]
    pub fn post(&mut self, path: &str, body: &str) -> HttpReply {
        self.ask(post(path, body))
    }

    /// Requests one token of a user over HTTP.
    #[track_caller]
    pub fn check(&mut self, user: &str) -> HttpReply {
        self.ask(check("user", user))
    }

    /// Sends a part of a request, and returns once the server has read it: it is sent in one piece with a complete
    /// request.
    #[track_caller]
    pub fn begin(&mut self, part: &str) {
        let reply = self.ask(get("/livez") + part);
        assert_eq!(reply.status, 200, "{reply:?}");
    }

    #[track_caller]
    pub fn reply(&mut self) -> HttpReply {
        self.try_reply().expect("an answer")
    }

    /// Reads the next answer over HTTP; an error if the connection ends before it is complete. A body without a
    /// length is left unread.
    pub fn try_reply(&mut self) -> Result<HttpReply> {
        self.read_reply("GET", Vec::new())
    }

    /// Reads the next answer to a method; `None` if the connection ends before it.
    #[track_caller]
    pub fn reply_to(&mut self, method: &str) -> Option<HttpReply> {
        let mut first = [0];
        match self.stream.read(&mut first) {
            Ok(1) => Some(
                self.read_reply(method, first.to_vec())
                    .expect("a whole one"),
            ),
            _ => None,
        }
    }

    fn read_reply(&mut self, method: &str, mut head: Vec<u8>) -> Result<HttpReply> {
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            self.stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let mut reply = HttpReply::parse(&head).expect("a head");
        let mut body = Vec::new();
        let length = reply.field("content-length");
        if let Some(length) = length.filter(|_| method != "HEAD") {
            body.resize(length.parse().expect("a length"), 0);
            self.stream.read_exact(&mut body)?;
        }
        reply.body = String::from_utf8_lossy(&body).into_owned();
        Ok(reply)
    }

    /// Sends a command of RESP on one line, and reads one line.
    #[track_caller]
    pub fn inline(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n"));
        self.line()
    }

    /// Sends, and reads exactly what is expected.
    #[track_caller]
    pub fn exchange(&mut self, bytes: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) {
        self.send(bytes);
        self.expect(expected);
    }

    /// Sends a command of RESP, and reads the array that answers it.
    #[track_caller]
    pub fn call(&mut self, words: &[&str]) -> Vec<String> {
        self.send(command(words));
        self.array()
    }

    /// Reads an array of RESP: strings as they are, other values as encoded.
    #[track_caller]
    pub fn array(&mut self) -> Vec<String> {
        let head = self.line();
        let count = head.strip_prefix('*').and_then(|count| count.parse().ok());
        let count: usize = count.unwrap_or_else(|| panic!("no array: {head}"));
        let mut items = Vec::new();
        while items.len() < count {
            let line = self.line();
            let is_text = line.starts_with('$') && line != "$-1";
            items.push(if is_text { self.line() } else { line });
        }
        items
    }

    #[track_caller]
    pub fn lives(&mut self) {
        self.exchange("PING\r\n", "+PONG\r\n");
    }

    /// Reads exactly what is expected.
    #[track_caller]
    pub fn expect(&mut self, expected: impl AsRef<[u8]>) {
        let expected = expected.as_ref();
        let mut came = vec![0; expected.len()];
        let read = self.stream.read_exact(&mut came);
        assert!(read.is_ok(), "{read:?}: {}", came.escape_ascii());
        assert_eq!(
            came.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }

    #[track_caller]
    pub fn line(&mut self) -> String {
        self.try_line().expect("a line")
    }

    /// Reads a line, without its end; `None` if the connection ends first.
    pub fn try_line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\n") {
            self.stream.read_exact(&mut byte).ok()?;
            line.push(byte[0]);
        }
        let line = String::from_utf8(line).expect("text");
        Some(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// Reads until the server closes; a reset is an end as well.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }

    /// Whether the peer closes, after any data.
    pub fn is_closed(&mut self) -> bool {
        let mut bytes = [0; 1024];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::ConnectionReset,
            }
        }
    }

    /// Whether the peer closes without another byte.
    pub fn ends(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    pub status: u16,
    /// Its header fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
    pub body: String,
}

impl HttpReply {
    /// The body ends with the bytes; `None` if they are not a reply.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.")?.get(2..5)?;
        let fields = lines.filter_map(|line| line.split_once(':'));
        let fields =
            fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        Some(Self {
            status: status.parse().ok()?,
            fields: fields.collect(),
            body: body.to_owned(),
        })
    }

    /// The value of a header field; the first if there are several.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(is, _)| is == name);
        found.map(|(_, value)| &**value)
    }

    /// The value of a header field that occurs at most once.
    #[track_caller]
    pub fn only_field(&self, name: &str) -> Option<&str> {
        let count = self.fields.iter().filter(|(is, _)| is == name).count();
        assert!(count < 2, "{name} twice in {self:?}");
        self.field(name)
    }

    /// The body, which is JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A header field that is a number.
    #[track_caller]
    pub fn number(&self, name: &str) -> u64 {
        let value = self.only_field(name).and_then(|value| value.parse().ok());
        value.unwrap_or_else(|| panic!("{name} in {self:?}"))
    }

    /// The detail; fails unless the body is a problem (RFC 9457).
    #[track_caller]
    pub fn problem(&self) -> String {
        let kind = self.field("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status);
        json["detail"].as_str().expect("a detail").to_owned()
    }

    /// The value of a metric without labels, or the sum over its labels.
    #[track_caller]
    pub fn metric(&self, name: &str) -> f64 {
        let lines = self.body.lines().filter_map(|line| line.strip_prefix(name));
        let values = lines.filter(|rest| rest.starts_with([' ', '{']));
        let value = |rest: &str| rest.rsplit(' ').next()?.parse::<f64>().ok();
        values.map(|rest| value(rest).expect("a number")).sum()
    }
}

/// A request on its own connection.
pub fn fetch(address: impl ToSocketAddrs, path: &str) -> Result<HttpReply> {
    let mut wire = Wire::try_to(address)?;
    wire.try_send(get(path))?;
    wire.try_reply()
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

pub fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A request for one token of a key with one entry.
pub fn check(name: &str, value: &str) -> String {
    post(
        "/v1/check",
        &format!("{{\"key\":{{\"{name}\":\"{value}\"}},\"cost\":1}}"),
    )
}

/// A command of RESP, of any bytes.
pub fn command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.as_ref().len()).bytes());
        bytes.extend_from_slice(word.as_ref());
        bytes.extend(b"\r\n");
    }
    bytes
}
