//! HTTP/2 in bytes: what misbehaving clients do, and that others do not notice.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use tollgate_parts::Wire;

use crate::http::kit::{HttpServer, find};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a short frame")
        .to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// `GET http://a/livez`, in names and values that the static table has, but for the path and the authority.
fn get_livez() -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x04, 6];
    block.extend_from_slice(b"/livez");
    block.extend_from_slice(&[0x01, 1, b'a']);
    block
}

fn open(server: &HttpServer) -> Wire {
    let mut client = server.connect();
    client.send(PREFACE);
    client.send(frame(4, 0, 0, &[]));
    client
}

/// The error of the last GOAWAY, once the connection ends.
fn goodbye(client: &mut Wire) -> Option<u32> {
    goodbye_after(Vec::new(), client)
}

/// The same, where something was read before.
fn goodbye_after(mut bytes: Vec<u8>, client: &mut Wire) -> Option<u32> {
    bytes.extend(client.rest());
    let mut at = 0;
    let mut error = None;
    while let Some(head) = bytes.get(at..at + 9) {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let payload = bytes.get(at + 9..at + 9 + length)?;
        if head[3] == 7 {
            error = Some(u32::from_be_bytes([
                payload[4], payload[5], payload[6], payload[7],
            ]));
        }
        at += 9 + length;
    }
    error
}

const ENHANCE_YOUR_CALM: u32 = 11;

#[test]
fn answers_over_http2_come_from_the_same_handlers() {
    let server = HttpServer::start();
    let mut client = open(&server);
    client.send(frame(1, 0x5, 1, &get_livez()));
    read_until(&mut client, b"ok\n");
}

/// Everything up to some bytes, and perhaps more.
#[track_caller]
fn read_until(client: &mut Wire, end: &[u8]) -> Vec<u8> {
    let mut seen = Vec::new();
    while find(&seen, end).is_none() {
        let mut chunk = [0; 4096];
        let read = client.stream.read(&mut chunk).expect("bytes");
        assert!(read > 0, "the connection ended");
        seen.extend_from_slice(&chunk[..read]);
    }
    seen
}

#[test]
fn rapid_resets_end_the_connection_and_nobody_elses() {
    let server = HttpServer::start();
    let mut other = server.connect();
    let mut client = open(&server);
    let mut flood = Vec::new();
    for stream in (1..4_001).step_by(2) {
        flood.extend(frame(1, 0x5, stream, &get_livez()));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    // The server closes before the last of them.
    let _ = client.stream.write_all(&flood);
    assert_eq!(goodbye(&mut client), Some(ENHANCE_YOUR_CALM));
    other.send(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(other.reply().status, 200);
}

#[test]
fn endless_continuations_end_the_connection() {
    let server = HttpServer::start();
    let mut client = open(&server);
    let mut flood = frame(1, 0x1, 1, &get_livez());
    let mut junk = Vec::new();
    for n in 0..100 {
        junk.extend_from_slice(&[0x00, 4]);
        junk.extend_from_slice(format!("x-{n:02}").as_bytes());
        junk.extend_from_slice(&[100]);
        junk.extend_from_slice(&[b'v'; 100]);
    }
    for _ in 0..200 {
        flood.extend(frame(9, 0, 1, &junk));
    }
    let _ = client.stream.write_all(&flood);
    let error = goodbye(&mut client);
    assert!(error.is_some_and(|error| error != 0), "{error:?}");
    // Empty ones cost nothing but are as endless.
    let mut client = open(&server);
    let mut flood = frame(1, 0x1, 1, &[]);
    for _ in 0..10_000 {
        flood.extend(frame(9, 0, 1, &[]));
    }
    let _ = client.stream.write_all(&flood);
    let error = goodbye(&mut client);
    assert!(error.is_some_and(|error| error != 0), "{error:?}");
    assert_eq!(server.post("/v1/check", r#"{"key": "a"}"#).status, 200);
}

#[test]
fn large_heads_are_refused() {
    let server = HttpServer::start();
    let value = "y".repeat(20_000);
    let arguments = [
        "--http2-prior-knowledge",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "-H",
    ];
    let mut arguments = arguments.to_vec();
    let field = format!("x: {value}");
    arguments.push(&field);
    assert_eq!(server.curl("/livez", &arguments), "431");
}

#[test]
fn a_stopping_server_says_goodbye() {
    let mut server = HttpServer::start();
    let mut client = open(&server);
    client.send(frame(1, 0x5, 1, &get_livez()));
    let seen = read_until(&mut client, b"ok\n");
    server.stop();
    assert_eq!(goodbye_after(seen, &mut client), Some(0));
}

#[test]
fn a_leaving_server_says_goodbye_and_answers_what_still_comes() {
    let mut server = HttpServer::with(|settings| {
        settings.limits.shutdown_delay = Duration::from_millis(500);
        settings.limits.drain = Duration::from_millis(500);
    });
    let mut client = open(&server);
    client.send(frame(1, 0x5, 1, &get_livez()));
    let mut seen = read_until(&mut client, b"ok\n");
    std::thread::scope(|scope| {
        scope.spawn(|| server.leave());
        // The last stream that it will take is not named yet: it still takes what was on its way.
        seen.extend(read_until(&mut client, &[0, 0, 8, 7, 0]));
        client.send(frame(1, 0x5, 3, &get_livez()));
        seen.extend(read_until(&mut client, b"ok\n"));
        let mut fresh = server.connect();
        fresh.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
        let told = fresh.reply();
        assert_eq!(
            (told.status, told.field("connection")),
            (503, Some("close"))
        );
    });
    server.stop();
    assert_eq!(goodbye_after(seen, &mut client), Some(0));
}

#[test]
fn connections_come_to_an_age_where_that_is_limited() {
    let server = HttpServer::with(|settings| {
        settings.limits.connection_age = Some(Duration::from_millis(400));
        settings.limits.drain = Duration::from_millis(400);
    });
    let began = Instant::now();
    let mut client = open(&server);
    client.send(frame(1, 0x5, 1, &get_livez()));
    let seen = read_until(&mut client, b"ok\n");
    let mut plain = server.connect();
    let mut answers = 0;
    let last = loop {
        plain.send(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = plain.reply();
        assert_eq!(answer.status, 200);
        answers += 1;
        if answer.field("connection") == Some("close") {
            break began.elapsed();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(answers > 1 && plain.ends());
    assert!(last >= Duration::from_millis(350), "{last:?}");
    // It goes of its own accord, without an error.
    assert_eq!(goodbye_after(seen, &mut client), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_body_that_is_not_needed_fails_no_client() {
    let server = HttpServer::with(|settings| settings.tokens = vec!["the-secret".into()].into());
    let body = "x".repeat(100_000);
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        for path in ["/v1/chekc", "/v1/check", "/livez"] {
            let out = server.curl(path, &[version, "--json", &body, "-w", " %{http_code}"]);
            let status = out.rsplit(' ').next();
            assert!(matches!(status, Some("404" | "401" | "405")), "{out}");
        }
    }
}
