//! Servers for one test, and clients that see every byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
pub(crate) use tollgate_parts::until;

use tollgate_parts::HttpAnswer;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Listener, Runtime, Settings};

/// Nothing here takes as long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) const CONTRACTS: &str =
    "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 1000000, per: 1s }] }]";

/// Both doors at free ports, on two threads.
pub(crate) fn settings() -> Settings {
    Settings {
        http: vec![Listener::loopback()],
        resp: vec![Listener::loopback()],
        contracts: ContractSource::Text(CONTRACTS.to_owned()),
        runtime: Runtime {
            threads: Some(2),
            ..Runtime::default()
        },
        ..Settings::default()
    }
}

/// A server with these changes.
pub(crate) fn server(change: impl FnOnce(&mut Settings)) -> Running {
    let mut settings = settings();
    change(&mut settings);
    start(settings).unwrap()
}

/// A connection that sees every byte, whatever carries it.
pub(crate) struct Wire<S>(pub(crate) S);

pub(crate) fn tcp(address: Option<SocketAddr>) -> Wire<TcpStream> {
    let stream = TcpStream::connect(address.unwrap()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    Wire(stream)
}

pub(crate) fn unix(path: &Path) -> Wire<UnixStream> {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    Wire(stream)
}

impl<S: Read + Write> Wire<S> {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.0.write_all(bytes.as_ref())
    }

    /// Sends a request without more fields and reads its answer.
    pub(crate) fn get(&mut self, path: &str) -> HttpAnswer {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: t\r\n\r\n"))
            .unwrap();
        self.reply().unwrap()
    }

    /// Asks about a user.
    pub(crate) fn check(&mut self, user: &str) -> HttpAnswer {
        self.send(check(user)).unwrap();
        self.reply().unwrap()
    }

    /// Sends a part of a request, and returns once the server has read it: it comes in one piece with a whole one.
    pub(crate) fn begin(&mut self, part: &str) {
        self.send(check("whole") + part).unwrap();
        assert_eq!(self.reply().unwrap().status, 200);
    }

    /// Reads one answer; `None` where the connection ends before it begins.
    pub(crate) fn reply(&mut self) -> Option<HttpAnswer> {
        HttpAnswer::read(&mut self.0)
    }

    /// Sends a line of RESP and reads a line.
    pub(crate) fn line(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n")).unwrap();
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(b"\r\n") {
            let count = self.0.read(&mut byte).unwrap();
            assert_eq!(
                count,
                1,
                "the connection ended: {:?}",
                String::from_utf8_lossy(&text)
            );
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap().trim_end().to_owned()
    }

    /// Whether the other side closes, whatever it says before.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut bytes = [0; 1024];
        loop {
            match self.0.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

/// A request that asks about a user.
pub(crate) fn check(user: &str) -> String {
    check_of("user", user)
}

/// The same of a key with one entry.
pub(crate) fn check_of(name: &str, value: &str) -> String {
    let body = format!("{{\"key\":{{\"{name}\":\"{value}\"}},\"cost\":1}}");
    let length = body.len();
    format!(
        "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
