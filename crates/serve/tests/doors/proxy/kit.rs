//! What stands around a proxy in these tests: Tollgate, a page, the proxy's process, and a client.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tollgate_parts::{HttpReply, Process, Wire, until};
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{ContractSource, Listener, Settings};

/// Three requests a minute for each address.
pub(crate) const THREE_A_MINUTE: &str = "contracts:\n  - id: page\n    key: [address]\n    policies: [{ name: minute, limit: 3, per: 1m }]\n";

/// A server with these contracts, on a free port.
pub(crate) fn tollgate(contracts: &str) -> Running {
    tollgate_with(contracts, Settings::default())
}

/// The same, with more settings.
pub(crate) fn tollgate_with(contracts: &str, settings: Settings) -> Running {
    let settings = Settings {
        contracts: ContractSource::Text(contracts.to_owned()),
        http: vec![Listener::loopback()],
        ..settings
    };
    run::start(settings).expect("the server starts")
}

/// A page that echoes its request; served until the process ends.
pub(crate) fn page() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve_page(stream));
        }
    });
    address
}

fn serve_page(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    loop {
        let (mut line, mut first) = (String::new(), String::new());
        while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
            if first.is_empty() {
                first.clone_from(&line);
            }
            line.clear();
        }
        if first.is_empty() {
            return;
        }
        let status = if first.contains("/forbidden") {
            "403 Forbidden"
        } else {
            "200 OK"
        };
        let body = format!("page: {first}");
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// A proxy's process; it ends with the test.
pub(crate) struct Proxy {
    process: Process,
    pub(crate) address: SocketAddr,
    folder: TempDir,
}

/// Starts a proxy on a free port: `prepare` writes its files into a folder and says how it is called.
///
/// A port that is free may be gone when the proxy opens it, so that a proxy which ends at once is tried again.
pub(crate) fn proxy(prepare: impl Fn(&Path, SocketAddr) -> Command) -> Proxy {
    let mut said = String::new();
    for _ in 0..5 {
        let folder = tempfile::tempdir().expect("a folder");
        let address = free_port();
        let mut command = prepare(folder.path(), address);
        command.current_dir(folder.path());
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let process = Process::logged(command.stdout(Stdio::null()).stderr(log));
        let mut proxy = Proxy {
            process,
            address,
            folder,
        };
        if proxy.is_up() {
            return proxy;
        }
        said = std::fs::read_to_string(proxy.folder.path().join("log")).expect("a log");
    }
    panic!("the proxy does not start: {said}");
}

impl Proxy {
    /// Waits until it listens; false where it ended instead.
    fn is_up(&mut self) -> bool {
        let mut is_up = false;
        until("the proxy listens or ends", || {
            is_up = TcpStream::connect(self.address).is_ok();
            is_up || self.process.has_ended()
        });
        is_up
    }
}

/// An address without a listener at the moment.
pub(crate) fn free_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], tollgate_parts::free_port()))
}

/// A shipped file, with its addresses replaced.
pub(crate) fn shipped(path: &str, replace: &[(&str, String)]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../deploy")
        .join(path);
    let mut text = std::fs::read_to_string(&path).expect("a shipped file");
    for (from, to) in replace {
        assert!(text.contains(from), "{} has no `{from}`", path.display());
        text = text.replace(from, to);
    }
    text
}

pub(crate) fn get(at: SocketAddr, path: &str) -> HttpReply {
    ask(
        at,
        &format!("GET {path} HTTP/1.1\r\nhost: page.test\r\n"),
        "",
    )
}

pub(crate) fn metrics(at: SocketAddr) -> String {
    ask(at, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n", "").body
}

pub(crate) fn post(at: SocketAddr, path: &str, body: &str) -> HttpReply {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n",
        body.len()
    );
    ask(at, &head, body)
}

/// Sends a custom head, which must end with a line end.
pub(crate) fn ask(at: SocketAddr, head: &str, body: &str) -> HttpReply {
    let mut wire = Wire::to(at);
    wire.send(format!("{head}connection: close\r\n\r\n{body}"));
    HttpReply::parse(&wire.rest()).expect("a reply")
}

/// Asks until [`THREE_A_MINUTE`] refuses: what clients of a proxy are told, and that the page answers until then. Gives
/// the refusal.
#[track_caller]
pub(crate) fn passes_three_and_says_429(proxy: SocketAddr) -> HttpReply {
    for left in [2, 1, 0] {
        let passed = get(proxy, "/a?cost=0&deny=200");
        assert_eq!(passed.status, 200, "{passed:?}");
        assert!(
            passed.body.starts_with("page: GET /a?cost=0&deny=200 "),
            "{passed:?}"
        );
        assert_eq!(
            passed.only_field("ratelimit-policy"),
            Some("\"minute\";q=3;w=60")
        );
        let limit = passed.only_field("ratelimit").unwrap();
        assert!(
            limit.starts_with(&format!("\"minute\";r={left};t=")),
            "{limit}"
        );
        assert_eq!(passed.only_field("retry-after"), None);
    }
    let refused = get(proxy, "/a");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(
        (1..=20).contains(&refused.number("retry-after")),
        "{refused:?}"
    );
    assert!(
        refused
            .only_field("ratelimit")
            .unwrap()
            .starts_with("\"minute\";r=0;t=")
    );
    assert_eq!(
        refused.only_field("content-type"),
        Some("application/problem+json")
    );
    refused
}
