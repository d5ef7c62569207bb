//! Signals, kills and restarts.

use std::io::Read;
use std::net::TcpStream;
use std::path::Path;

use tollgate_parts::Wire;

use crate::kit::{CONTRACTS, Server, file, until};

/// A connection on which the server has read a part of a request.
fn begin(server: &Server, part: &str) -> Wire {
    let mut wire = Wire::to(server.http);
    wire.begin(part);
    wire
}

#[test]
fn sigterm_finishes_what_is_under_way_and_ends_with_0() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let mut stream = begin(
            &server,
            "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-length: 21\r\n\r\n{\"key\":{",
        );
        server.signal(signal);
        let address = server.http;
        until("the port is closed", || {
            TcpStream::connect(address).is_err()
        });
        let answer = stream.ask("\"user\":\"a\"}}\n");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(stream.is_closed());
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        format!("http: 127.0.0.1:0\nresp: off\nlimits: {{ drain: 1h, slow: 1h }}\n{CONTRACTS}");
    let path = file(folder.path(), "tollgate.yaml", &settings);
    let mut command = crate::kit::tollgate(&["serve", "--format", "json", "--config"]);
    let server = Server::spawn(command.arg(path));
    let _stream = begin(&server, "POST /v1/check HTTP/1.1\r\nhost");
    server.signal("TERM");
    let address = server.http;
    until("the port is closed", || {
        TcpStream::connect(address).is_err()
    });
    server.signal("TERM");
    assert_eq!(server.end().0, Some(143));
}

/// A server that serves on for an hour after SIGTERM.
fn leaving(folder: &Path) -> Server {
    let settings = format!(
        "http: 127.0.0.1:0\nresp: 127.0.0.1:0\nlimits: {{ shutdown_delay: 1h, drain: 300ms }}\n{CONTRACTS}"
    );
    let path = file(folder, "tollgate.yaml", &settings);
    let mut command = crate::kit::tollgate(&["serve", "--format", "json", "--config"]);
    Server::spawn(command.arg(path).env_remove("TOLLGATE_SHUTDOWN_DELAY"))
}

#[test]
fn sigterm_serves_on_while_clients_are_sent_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let server = leaving(folder.path());
    let mut kept = begin(&server, "");
    let mut other = begin(&server, "");
    let mut http2 = Wire::to(server.http);
    http2.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let mut http2 = http2.stream;
    // Its settings: it serves this connection already, and did not take it while it leaves.
    http2.read_exact(&mut [0; 9]).unwrap();
    server.signal("TERM");
    until("it says that it is not ready", || {
        server.get("/readyz").status == 503
    });
    // Who was there is answered, and told not to come again here.
    let told = kept.get("/readyz");
    assert_eq!(
        (told.status, told.field("connection")),
        (503, Some("close"))
    );
    assert!(told.body.contains("told to stop"), "{told:?}");
    assert!(kept.ends());
    // So is who comes now.
    assert_eq!(server.take("a"), 99);
    // GOAWAY, without an error.
    let mut seen = Vec::new();
    until("GOAWAY", || {
        let mut chunk = [0; 1024];
        let read = http2.read(&mut chunk).unwrap();
        seen.extend_from_slice(&chunk[..read]);
        seen.windows(17)
            .any(|frame| frame.starts_with(&[0, 0, 8, 7, 0]) && frame.ends_with(&[0; 4]))
    });
    // A second signal is for those who will not wait.
    server.signal("TERM");
    assert_eq!(server.end().0, Some(143));
    assert_eq!(other.rest(), b"");
}

#[test]
fn sigint_does_not_keep_a_person_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = leaving(folder.path());
    assert_eq!(server.take("a"), 99);
    server.signal("INT");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn sighup_reads_contracts_again_and_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "contracts.yaml", CONTRACTS);
    let server = Server::start(
        folder.path(),
        &[
            "--contracts",
            path.to_str().unwrap(),
            "--log-format",
            "text",
        ],
    );
    assert_eq!(server.take("a"), 99);
    std::fs::write(&path, CONTRACTS.replace("100", "1000")).unwrap();
    server.signal("HUP");
    until("the new limit", || server.take("b") > 100);
    std::fs::write(&path, CONTRACTS.replace("limit", "limt")).unwrap();
    server.signal("HUP");
    until("the failure is told", || {
        server.get("/readyz").body.contains("reload failed")
    });
    assert!(server.take("c") > 100, "the old stays");
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("reload"), "{metrics}");
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(0));
    assert!(
        errors.contains("did you mean `limit`?") || errors.contains("limt"),
        "{errors}"
    );
}

#[test]
fn counts_survive_a_stop_in_full_and_a_kill_but_for_the_last_flush() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "contracts.yaml", CONTRACTS);
    let start = || Server::start(folder.path(), &["--contracts", path.to_str().unwrap()]);
    let server = start();
    for left in (90..100).rev() {
        assert_eq!(server.take("a"), left);
    }
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));

    let server = start();
    let written = || server.metric("tollgate_durable_rows_total");
    let before = written();
    assert_eq!(server.take("a"), 89, "nothing is lost by a stop");
    until("the flush", || written() > before);
    server.signal("KILL");
    assert_eq!(server.end().0, None);

    let server = start();
    assert_eq!(
        server.take("a"),
        88,
        "nothing older than a flush is lost by a kill"
    );
}
