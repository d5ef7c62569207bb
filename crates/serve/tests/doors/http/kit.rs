//! A server on a free port, and a client that sends exactly the bytes it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tollgate_serve::desk::Desk;
use tollgate_serve::listen::Speech;
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{Address, ContractSource, Listener, Settings};

pub(crate) const CONTRACTS: &str = "
contracts:
  - id: free-users
    match: { plan: free }
    key: [user]
    policies:
      - { name: burst, limit: 20, per: 1s, algorithm: token-bucket, burst: 40 }
      - { name: hourly, limit: 5, per: 1h, algorithm: fixed-window }
  - id: users
    key: [user]
    policies:
      - { name: daily, limit: 100, per: 30d, algorithm: token-bucket }
  - id: shaped
    match: { lane: slow }
    key: [lane]
    policies:
      - { name: slow, limit: 1, per: 1s, algorithm: token-bucket, on_limit: delay, max_wait: 1h }
";

/// A server that stops when it is dropped.
pub(crate) struct Server {
    running: Option<Running>,
    pub(crate) at: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(set: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            contracts: ContractSource::Text(CONTRACTS.to_owned()),
            http: vec![Listener::plain(Address::Tcp(([127, 0, 0, 1], 0).into()))],
            ..Settings::default()
        };
        set(&mut settings);
        Self::of(run::start(settings).expect("a server starts"))
    }

    /// A server with a desk.
    pub(crate) fn at_desk(desk: Arc<dyn Desk>) -> Self {
        Self::at_desk_with(desk, Vec::new())
    }

    /// The same, with more listeners.
    pub(crate) fn at_desk_with(desk: Arc<dyn Desk>, more: Vec<Listener>) -> Self {
        let settings = Settings {
            contracts: ContractSource::Text(CONTRACTS.to_owned()),
            http: [vec![Listener::loopback()], more].concat(),
            ..Settings::default()
        };
        let running = run::start_with(settings, |_| Ok(Some(desk)));
        Self::of(running.expect("a server starts"))
    }

    fn of(running: Running) -> Self {
        let at = running.http().expect("an address");
        let running = Some(running);
        Self { running, at }
    }

    /// Where the management API is by itself.
    #[track_caller]
    pub(crate) fn admin(&self) -> SocketAddr {
        let running = self.running.as_ref().expect("a server");
        let mut listeners = running.listeners().iter();
        let admin = listeners.find(|open| open.speech == Speech::Admin);
        match admin.map(|open| &open.at) {
            Some(Address::Tcp(at)) => *at,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn leave(&self) {
        self.running.as_ref().expect("a server").leave();
    }

    pub(crate) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().expect("a server stops");
        }
    }

    pub(crate) fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.at).expect("a connection");
        let wait = Some(Duration::from_secs(20));
        stream.set_read_timeout(wait).expect("a time");
        stream.set_nodelay(true).expect("no delay");
        let buffer = Vec::new();
        Client { stream, buffer }
    }

    /// Posts a body on a connection of its own.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let mut client = self.connect();
        client.send(post(path, body).as_bytes());
        client.answer()
    }

    /// Runs curl, and gives what it printed.
    #[track_caller]
    pub(crate) fn curl(&self, path: &str, arguments: &[&str]) -> String {
        let out = Command::new("curl")
            .args(["-sS", "--max-time", "20"])
            .args(arguments)
            .arg(format!("http://{}{path}", self.at))
            .output()
            .expect("curl runs");
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout).to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A request with a body of JSON.
pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// The same request, for hyper to read.
pub(crate) fn chunked(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    )
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case, in order.
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn line(&self, name: &str) -> Option<&str> {
        let found = self.lines.iter().find(|(line, _)| line == name);
        found.map(|(_, value)| &**value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// The detail of a problem, which it must be.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.line("content-type"), Some("application/problem+json"));
        let json = self.json();
        assert_eq!(json["status"], self.status);
        json["detail"].as_str().expect("a detail").to_owned()
    }
}

impl Client {
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("bytes are taken");
    }

    /// The next answer.
    #[track_caller]
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_to("GET").expect("an answer")
    }

    /// The next answer to a method, or `None` where the connection ends.
    pub(crate) fn answer_to(&mut self, method: &str) -> Option<Answer> {
        let end = self.until(|buffer| find(buffer, b"\r\n\r\n"))?;
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let mut lines = text(&head).split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let lines: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = lines.iter().find(|(name, _)| name == "content-length");
        let length: usize = length.map_or(0, |(_, length)| length.parse().expect("a length"));
        let length = if method == "HEAD" { 0 } else { length };
        self.until(|buffer| (buffer.len() >= length).then_some(0))?;
        let body: Vec<u8> = self.buffer.drain(..length).collect();
        let body = text(&body).to_owned();
        Some(Answer {
            status,
            lines,
            body,
        })
    }

    /// The next line of a body that goes on; `None` where it ends.
    pub(crate) fn line(&mut self) -> Option<String> {
        let end = self.until(|buffer| find(buffer, b"\n"))?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        Some(text(&line).to_owned())
    }

    /// Whether the other side ends the connection without another byte.
    pub(crate) fn ends(&mut self) -> bool {
        let mut byte = [0];
        self.buffer.is_empty() && matches!(self.stream.read(&mut byte), Ok(0))
    }

    /// Everything until the end.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.buffer);
        // A connection that is reset has ended as well.
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }

    fn until(&mut self, is_enough: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
        loop {
            if let Some(found) = is_enough(&self.buffer) {
                return Some(found);
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk) {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.buffer.extend_from_slice(&chunk[..read]),
            }
        }
    }
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
