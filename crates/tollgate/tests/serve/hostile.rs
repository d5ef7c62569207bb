//! What strangers cannot make a server do: keep answers that they do not take, and keep places that others need.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use tollgate_parts::wire::{Wire, post};

use crate::kit::{CONTRACTS, Server, file, tollgate, until};

const CONNECTIONS: u32 = 10;
const STREAMS: u32 = 250;

/// What docs/operations.md promises for answers that are not taken, and as much again for what a process needs besides.
const GROWTH_MAX: u64 = 2 * (64 << 20);

/// A server with these settings.
fn server(folder: &Path, settings: &str) -> Server {
    let path = file(
        folder,
        "tollgate.yaml",
        &format!("http: 127.0.0.1:0\nresp: 127.0.0.1:0\n{settings}{CONTRACTS}"),
    );
    let mut command = tollgate(&["serve", "--format", "json", "--config"]);
    Server::spawn(command.arg(path).env("TOLLGATE_ADMIN_TOKEN", ADMIN))
}

const ADMIN: &str = "the secret of an administrator";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A head in names and values that the static table has, but for the path and the authority.
fn head(method: u8, path: &str) -> Vec<u8> {
    let mut block = vec![method, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(&[0x01, 9]);
    block.extend_from_slice(b"localhost");
    block
}

const GET: u8 = 0x82;
const POST: u8 = 0x83;
const END_OF_HEAD: u8 = 0x4;
const END_OF_ALL: u8 = 0x5;

/// Connections that ask on so many streams each. Their window is of so many bytes, and they read nothing.
fn flood(server: &Server, window: u32, flags: u8, block: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        let mut setting = vec![0, 4];
        setting.extend_from_slice(&window.to_be_bytes());
        bytes.extend(frame(4, 0, 0, &setting));
        for number in 0..STREAMS {
            bytes.extend(frame(1, flags, 2 * number + 1, block));
        }
        let mut wire = Wire::to(server.http);
        wire.send(&bytes);
        wire.stream
    };
    (0..CONNECTIONS).map(open).collect()
}

/// Waits until a server has looked at everything that it was sent: what it holds stays the same for a while.
fn settled(server: &Server) -> u64 {
    let (mut before, mut same) = (0, 0);
    until("memory that stays the same", || {
        let now = server.resident();
        same = if now.abs_diff(before) < 1 << 20 {
            same + 1
        } else {
            0
        };
        before = now;
        same > 10
    });
    before
}

#[test]
fn answers_that_nobody_takes_cost_a_bounded_amount_of_memory() {
    for (path, window) in [("/openapi.json", 0), ("/metrics", 1), ("/metrics", 1 << 20)] {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path(), "limits: { slow: 1h }\n");
        server.take("a");
        let before = server.resident();
        let flood = flood(&server, window, END_OF_ALL, &head(GET, path));
        let grown = settled(&server).saturating_sub(before);
        println!("{path} with a window of {window}: {} KiB", grown >> 10);
        assert!(
            grown < GROWTH_MAX,
            "{path} with a window of {window}: {} MiB",
            grown >> 20
        );
        server.take("b");
        drop(flood);
    }
}

#[test]
fn pipelines_that_nobody_reads_are_counted_and_end() {
    let checks = format!("[{}]", vec![r#"{"key":"a"}"#; 500].join(","));
    let http = post("/v1/check", &checks);
    let resp = format!("ECHO {}\r\n", "x".repeat(60_000));
    for request in [http, resp] {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path(), "limits: { slow: 3s }\n");
        let is_http = request.starts_with("POST");
        let at = if is_http { server.http } else { server.resp };
        let mut open: Vec<(TcpStream, usize)> = Vec::new();
        for _ in 0..5 {
            let stream = TcpStream::connect(at).unwrap();
            stream.set_nonblocking(true).unwrap();
            open.push((stream, 0));
        }
        let mut most = 0.0_f64;
        until("answers wait, and the connections end", || {
            for (stream, at) in &mut open {
                while let Ok(written) = stream.write(&request.as_bytes()[*at..]) {
                    *at = (*at + written) % request.len();
                }
            }
            most = most.max(server.metric("tollgate_unsent_bytes"));
            most > 0.0 && server.metric("tollgate_connections_open") < 1.5
        });
        assert!(most < 1e6, "{most} bytes of 5 connections");
        assert!(server.metric("tollgate_timed_out_total") >= 5.0);
        assert!(server.metric("tollgate_unsent_bytes") < 1.0);
    }
}

#[test]
fn streams_whose_answer_is_not_taken_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), "limits: { slow: 300ms }\n");
    let mut flood = flood(&server, 0, END_OF_ALL, &head(GET, "/openapi.json"));
    let mut resets = 0;
    let mut seen = Vec::new();
    until("every stream is reset", || {
        let mut chunk = vec![0; 64 << 10];
        let read = flood[0].read(&mut chunk).unwrap();
        assert!(read > 0, "the connection stays");
        seen.extend_from_slice(&chunk[..read]);
        while let Some(head) = seen.get(..9) {
            let length =
                usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            if seen.len() < 9 + length {
                break;
            }
            resets += u32::from(head[3] == 3);
            seen.drain(..9 + length);
        }
        resets == STREAMS
    });
    assert!(server.metric("tollgate_timed_out_total") >= f64::from(STREAMS));
    until("nothing is held", || {
        server.metric("tollgate_unsent_bytes") < 1.0
    });
}

/// The answer to a request whose body comes in chunks after its head, so that it needs a place to wait at.
fn late_body(server: &Server, request: &str, kind: &str, body: &str) -> String {
    let mut wire = Wire::to(server.http);
    let head = format!(
        "{request}\r\nhost: localhost\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    wire.send(head);
    std::thread::sleep(Duration::from_millis(200));
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    // Who was refused by the head alone may have been left already.
    let _ = wire.try_send(chunk);
    String::from_utf8(wire.rest()).unwrap()
}

#[test]
fn whoever_shows_no_token_takes_no_place_of_others() {
    let folder = tempfile::tempdir().unwrap();
    // Few enough for all connections to hold together, at the eight of which each is sure.
    let settings =
        "limits: { requests: 80, slow: 1h }\naccess: { tokens: [the-secret-of-callers] }\n";
    let server = server(folder.path(), settings);
    let caller = "authorization: Bearer the-secret-of-callers";
    let check = format!("POST /v1/check HTTP/1.1\r\n{caller}");
    let admin = format!("authorization: Bearer {ADMIN}");
    let manage = format!("POST /admin/v1/validate HTTP/1.1\r\n{admin}");
    let contract = r#"{"contract": {"id": "x", "key": ["user"], "policies": []}}"#;
    for path in [
        "/v1/check",
        "/json",
        "/livez",
        "/admin/v1/contracts",
        "/console/login",
        "/console/theme",
        "/console/static/x",
        "/my/x",
    ] {
        // Heads whose bodies never come.
        let floods = flood(&server, 65_535, END_OF_HEAD, &head(POST, path));
        settled(&server);
        let answer = late_body(&server, &check, "application/json", r#"{"key": "a"}"#);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        let managed = late_body(&server, &manage, "application/json", contract);
        assert!(!managed.starts_with("HTTP/1.1 503"), "{path}: {managed}");
        let managed = Wire::to(server.http).ask(format!(
            "GET /admin/v1/status HTTP/1.1\r\nhost: localhost\r\n{admin}\r\nconnection: close\r\n\r\n"
        ));
        assert_eq!(managed.status, 200, "{path}: {managed:?}");
        let form = format!("token={}", ADMIN.replace(' ', "+"));
        let signed_in = Wire::to(server.http).ask(format!(
            "POST /console/login HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{form}",
            form.len()
        ));
        assert_eq!(signed_in.status, 303, "{path}: {signed_in:?}");
        drop(floods);
    }
}

#[test]
fn one_connection_takes_few_of_the_places() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), "limits: { requests: 1000, slow: 1h }\n");
    let mut all = flood(&server, 65_535, END_OF_HEAD, &head(POST, "/v1/check"));
    all.truncate(4);
    settled(&server);
    let check = "POST /v1/check HTTP/1.1";
    let answer = late_body(&server, check, "application/json", r#"{"key": "a"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
