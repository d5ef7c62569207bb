//! A server for one test, and a client that sees every byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{ContractSource, Limits, Listener, Runtime, Settings, Token};

/// Nothing here takes as long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A server with a RESP port of its own.
pub(crate) struct Server {
    running: Option<Running>,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// One that everybody may ask, without contracts.
    pub(crate) fn open() -> Self {
        Self::with(|_| {})
    }

    /// One that decides by these contracts.
    pub(crate) fn by(contracts: &str) -> Self {
        let text = contracts.to_owned();
        Self::with(|settings| settings.contracts = ContractSource::Text(text))
    }

    /// One that asks for this token.
    pub(crate) fn guarded(token: &str) -> Self {
        Self::with(|settings| settings.tokens = vec![Token::new(token)].into())
    }

    pub(crate) fn limited(change: impl FnOnce(&mut Limits)) -> Self {
        Self::with(|settings| change(&mut settings.limits))
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings {
            resp: vec![Listener::loopback()],
            runtime: Runtime {
                threads: Some(1),
                ..Runtime::default()
            },
            ..Settings::default()
        };
        change(&mut settings);
        let running = start(settings).unwrap();
        let address = running.resp().unwrap();
        Self {
            running: Some(running),
            address,
        }
    }

    pub(crate) fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    pub(crate) fn connect(&self) -> Wire {
        Wire::to(&self.address.to_string())
    }

    /// Stops as an operator would, and waits for the end.
    pub(crate) fn stop(&mut self) {
        self.running.take().unwrap().stop().unwrap();
    }
}

/// A connection that sees every byte.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
}

impl Wire {
    pub(crate) fn to(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Self { stream }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Reads exactly what is expected.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: impl AsRef<[u8]>) {
        let expected = expected.as_ref();
        let mut came = vec![0; expected.len()];
        let read = self.stream.read_exact(&mut came);
        assert!(read.is_ok(), "{read:?}: {}", came.escape_ascii());
        assert_eq!(
            came.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }

    /// Sends and expects.
    #[track_caller]
    pub(crate) fn ask(&mut self, bytes: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) {
        self.send(bytes);
        self.expect(expected);
    }

    /// Reads a line, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            self.stream.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
        }
        line.truncate(line.len() - 2);
        String::from_utf8(line).unwrap()
    }

    /// Reads until the server closes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = self.stream.read_to_end(&mut rest);
        rest
    }

    /// Whether the server is there.
    #[track_caller]
    pub(crate) fn lives(&mut self) {
        self.ask("PING\r\n", "+PONG\r\n");
    }
}

/// A command as clients send it.
pub(crate) fn command(words: &[&str]) -> Vec<u8> {
    let words: Vec<_> = words.iter().map(|word| word.as_bytes()).collect();
    raw(&words)
}

/// A command of any bytes.
pub(crate) fn raw(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend_from_slice(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Waits until it is so.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
