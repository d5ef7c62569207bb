//! Where a request ends: pipelining, splitting, and attempts to make two parsers disagree.

use proptest::prelude::*;

use crate::http::kit::{HttpServer, chunked, post, text};

const CHECK: &str = r#"{"key": {"user": "42", "plan": "pro"}, "cost": 0}"#;

#[test]
fn pipelined_requests_are_answered_in_order_however_they_are_split() {
    let server = HttpServer::start();
    let get = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    let nothing = "GET /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let all = [
        get,
        &post("/v1/check", CHECK),
        nothing,
        &post("/v1/peek", CHECK),
        get,
    ]
    .concat();
    for at in 0..=all.len() {
        let mut client = server.connect();
        let (first, second) = all.as_bytes().split_at(at);
        client.send(first);
        if at % 16 == 0 {
            // Most splits arrive as one; some are made to arrive as two.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        client.send(second);
        let statuses: Vec<u16> = (0..5).map(|_| client.reply().status).collect();
        assert_eq!(statuses, [200, 200, 404, 400, 200], "split at {at}");
    }
}

#[test]
fn one_byte_at_a_time_will_do() {
    let server = HttpServer::start();
    for request in [post("/v1/check", CHECK), chunked("/v1/check", CHECK)] {
        let mut client = server.connect();
        for byte in request.as_bytes() {
            client.send([*byte]);
        }
        assert_eq!(client.reply().status, 200);
    }
}

#[test]
fn deep_pipelines_are_answered_whole() {
    let server = HttpServer::start();
    let mut client = server.connect();
    let request = post("/v1/check", CHECK);
    let count = 2_000;
    let mut writer = client.stream.try_clone().expect("a second handle");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let all = request.repeat(count);
            std::io::Write::write_all(&mut writer, all.as_bytes()).expect("bytes are taken");
        });
        for _ in 0..count {
            assert_eq!(client.reply().status, 200);
        }
    });
}

#[test]
fn connections_are_kept_or_closed_as_asked() {
    let server = HttpServer::start();
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.reply().field("connection"), None);
        client.send(b"HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = client.reply_to("HEAD").expect("an answer");
        assert_eq!((head.field("content-length"), &*head.body), (Some("3"), ""));
        client.send(b"GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(client.reply().field("connection"), Some("keep-alive"));
    }
    client.send(
        b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /livez HTTP/1.1\r\n",
    );
    assert_eq!(client.reply().field("connection"), Some("close"));
    assert!(client.ends());
    let mut client = server.connect();
    client.send(b"GET /livez HTTP/1.0\r\n\r\n");
    assert_eq!(client.reply().field("connection"), Some("close"));
    assert!(client.ends());
}

#[test]
fn requests_that_take_time_are_answered_in_order_among_others() {
    let server = HttpServer::start();
    let mut client = server.connect();
    let expect = post("/v1/check", CHECK).replace("host:", "expect: 100-continue\r\nhost:");
    let (lean, full) = (post("/v1/check", CHECK), chunked("/v1/check", CHECK));
    client.send([&*lean, &full, &lean, &expect].concat().as_bytes());
    for _ in 0..3 {
        assert_eq!(client.reply().status, 200);
    }
    let last = client.reply();
    let last = if last.status == 100 {
        client.reply()
    } else {
        last
    };
    assert_eq!(last.status, 200);
}

#[test]
fn smuggled_requests_are_never_answered() {
    let server = HttpServer::start();
    let hidden = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    // As the first of a connection, and behind what takes time, which used to be read by another parser.
    for before in [String::new(), chunked("/v1/check", CHECK)] {
        for lines in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            "Content-Length: 0\r\nContent-Length: 35\r\n",
            "Content-Length: 35\r\nContent-Length: 0\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 0, 35\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +0\r\n",
            "Content-Length : 0\r\n",
            "Content-Length: 0x0\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding: chunked, identity\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            " Transfer-Encoding: chunked\r\n",
            "X: y\r\n Transfer-Encoding: chunked\r\n",
            "X: y\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\n",
            "X: y\rTransfer-Encoding: chunked\r\n",
            "X: \0\r\n",
            "Host: b\r\n",
        ] {
            let request =
                format!("POST /livez HTTP/1.1\r\nHost: a\r\n{lines}\r\n0\r\n\r\n{hidden}");
            is_refused(&server, &before, &request);
        }
        for target in [
            "http://a/livez",
            "http://b/livez",
            "*",
            "a:80",
            "/livez\x7f",
        ] {
            let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n{hidden}");
            is_refused(&server, &before, &request);
        }
    }
}

/// Sends requests of which the last must be refused, and nothing after it be read.
#[track_caller]
fn is_refused(server: &HttpServer, before: &str, request: &str) {
    let mut client = server.connect();
    client.send(before.as_bytes());
    if !before.is_empty() {
        assert_eq!(client.reply().status, 200);
    }
    client.send(request.as_bytes());
    let answer = client.reply_to("POST");
    let answer = answer.unwrap_or_else(|| panic!("{request:?}"));
    let rest = client.rest();
    assert_eq!(answer.status, 400, "{request:?}");
    assert!(rest.is_empty(), "{request:?}: {}", text(&rest));
}

#[test]
fn chunks_are_read_strictly() {
    let server = HttpServer::start();
    for body in [
        "5 \r\nabcde\r\n0\r\n\r\n",
        "-1\r\na\r\n0\r\n\r\n",
        "1\r\nab\r\n0\r\n\r\n",
        "ffffffffffffffff1\r\n",
        "g\r\n",
    ] {
        let mut client = server.connect();
        let head = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.send(format!("{head}{body}GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let rest = client.reply_to("POST").map(|answer| answer.status);
        assert!(matches!(rest, None | Some(400)), "{body:?}: {rest:?}");
    }
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        &b"GET "[..],
        b"POST ",
        b"/v1/check",
        b" HTTP/1.1",
        b"\r\n",
        b"\r\n\r\n",
        b"Host: a\r\n",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"{\"key\":\"a\"}",
        b"\0",
        b"\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\xff\xff",
        b"0\r\n\r\n",
        b"Expect: 100-continue\r\n",
        b": ",
        b"\0\0\x08\x06\0\0\0\0\0",
    ]);
    let piece = prop_oneof![
        pieces.prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..40)
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_end_in_an_answer_or_an_end(all in prop::collection::vec(garbage(), 300)) {
        let server = HttpServer::with(|settings| settings.limits.slow = std::time::Duration::from_millis(300));
        for bytes in all {
            let mut client = server.connect();
            // The server may have closed before the last byte.
            let _ = std::io::Write::write_all(&mut client.stream, &bytes);
            let _ = client.stream.shutdown(std::net::Shutdown::Write);
            client.rest();
        }
        let alive = server.post("/v1/check", CHECK);
        prop_assert_eq!(alive.status, 200);
    }
}
