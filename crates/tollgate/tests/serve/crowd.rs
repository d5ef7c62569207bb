//! Ten thousand connections that say nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use crate::kit::{CONTRACTS, DEADLINE, Server, file};

const IDLE: usize = 10_000;
/// Bytes of the process that one idle connection may take; what the system holds for it is not in there.
const BYTES_EACH_MAX: u64 = 8 << 10;

#[test]
fn ten_thousand_idle_connections_cost_little_and_disturb_nobody() {
    raise_descriptors();
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "contracts.yaml", CONTRACTS);
    let server = Server::start(folder.path(), &["--contracts", path.to_str().unwrap()]);
    server.take("a");
    let before = server.resident();
    let mut idle = Vec::with_capacity(IDLE);
    for number in 0..IDLE {
        let address = if number % 2 == 0 {
            server.http
        } else {
            server.resp
        };
        let mut stream = TcpStream::connect(address).unwrap();
        if number % 4 < 2 {
            // Half of them have asked something before they fell silent.
            ask(&mut stream, address == server.http);
        }
        idle.push(stream);
    }
    let each = server.resident().saturating_sub(before) / IDLE as u64;
    assert!(
        each <= BYTES_EACH_MAX,
        "{each} bytes for each idle connection"
    );
    let begun = Instant::now();
    for _ in 0..50 {
        server.take("b");
    }
    assert!(begun.elapsed() < DEADLINE / 3, "{:?}", begun.elapsed());
    drop(idle);
    server.take("c");
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
    println!("{each} bytes for each of {IDLE} idle connections");
}

fn ask(stream: &mut TcpStream, is_http: bool) {
    let question: &[u8] = if is_http {
        b"GET /v1/auth?user=1 HTTP/1.1\r\nhost: t\r\n\r\n"
    } else {
        b"PING\r\n"
    };
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(question).unwrap();
    let mut answer = [0; 2048];
    assert!(stream.read(&mut answer).unwrap() > 0);
}

/// Both this process and the server, its child, need a descriptor for each.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    assert!(
        maximum.is_none_or(|most| most > IDLE as u64 + 500),
        "{maximum:?} descriptors are too few"
    );
}
