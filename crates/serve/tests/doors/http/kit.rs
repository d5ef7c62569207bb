//! A server on a free port.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

pub(crate) use tollgate_parts::wire::post;
use tollgate_parts::{HttpReply, Wire};
use tollgate_serve::desk::AdminApi;
use tollgate_serve::listen::Speech;
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{ContractSource, ListenAddress, Listener, Settings};

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
pub(crate) struct HttpServer {
    running: Option<Running>,
    pub(crate) at: SocketAddr,
}

impl HttpServer {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(set: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            contracts: ContractSource::Text(CONTRACTS.to_owned()),
            http: vec![Listener::plain(ListenAddress::Tcp(
                ([127, 0, 0, 1], 0).into(),
            ))],
            ..Settings::default()
        };
        set(&mut settings);
        Self::of(run::start(settings).expect("a server starts"))
    }

    /// A server with an admin API.
    pub(crate) fn at_desk(desk: Arc<dyn AdminApi>) -> Self {
        Self::at_desk_with(desk, Vec::new())
    }

    /// The same, with more listeners.
    pub(crate) fn at_desk_with(desk: Arc<dyn AdminApi>, more: Vec<Listener>) -> Self {
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

    /// The separate address of the admin API.
    #[track_caller]
    pub(crate) fn admin(&self) -> SocketAddr {
        let running = self.running.as_ref().expect("a server");
        let mut listeners = running.listeners().iter();
        let admin = listeners.find(|open| open.speech == Speech::Admin);
        match admin.map(|open| &open.at) {
            Some(ListenAddress::Tcp(at)) => *at,
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

    pub(crate) fn connect(&self) -> Wire {
        Wire::to(self.at)
    }

    /// Posts a body on a connection of its own.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &str) -> HttpReply {
        self.connect().post(path, body)
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

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A request as [`post`] writes it, for hyper to read.
pub(crate) fn chunked(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    )
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
