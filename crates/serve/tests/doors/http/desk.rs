//! The admin API gets requests below its paths and no others, over every protocol.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tollgate_serve::desk::{AdminApi, Answering, Visit};
use tollgate_serve::settings::Listener;

use crate::http::kit::{HttpServer, chunked, post};

/// Echoes requests after a delay.
struct Echo;

impl AdminApi for Echo {
    fn answer(&self, visit: Visit) -> Answering<'_> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let Visit { request, peer } = visit;
            let is_near = peer
                .address
                .is_some_and(|address| address.ip().is_loopback());
            let line = request.headers().get("x-word");
            let line = line.and_then(|line| line.to_str().ok()).unwrap_or("-");
            let text = format!(
                "{} {} {line} {} {is_near} {}",
                request.method(),
                request.uri(),
                request.body().len(),
                peer.is_sealed
            );
            let response = Response::builder().status(203).header("x-desk", "here");
            response.body(Bytes::from(text)).expect("a response")
        })
    }
}

fn server() -> HttpServer {
    HttpServer::at_desk(Arc::new(Echo))
}

#[test]
fn a_desk_is_asked_below_its_paths() {
    let server = server();
    for path in ["/admin", "/admin/v1/x?y=1", "/console/", "/my/abc"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-Word: hi\r\n\r\n").as_bytes());
        let answer = client.reply();
        assert_eq!(answer.status, 203, "{path}");
        assert_eq!(answer.field("x-desk"), Some("here"));
        assert_eq!(answer.body, format!("GET {path} hi 0 true false"));
    }
    for path in ["/administrator", "/v1/admin"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        assert_eq!(client.reply().status, 404, "{path}");
    }
}

#[test]
fn decisions_before_and_behind_a_desk_are_answered_in_order() {
    let server = server();
    let mut client = server.connect();
    let check = post("/v1/check", r#"{"key": "a"}"#);
    let body = "x".repeat(100_000);
    let requests = [
        check.clone(),
        post("/admin/v1/a", "{}"),
        check.clone(),
        chunked("/console/b", &body),
        check,
    ];
    for request in requests {
        client.send(request.as_bytes());
    }
    let statuses: Vec<u16> = (0..5).map(|_| client.reply().status).collect();
    assert_eq!(statuses, [200, 203, 200, 203, 200]);
}

#[test]
fn a_desk_is_asked_over_http2_and_for_heads() {
    let server = server();
    let over = server.curl("/my/x", &["--http2-prior-knowledge", "-d", "12345"]);
    assert!(over.ends_with("/my/x - 5 true false"), "{over}");
    let mut client = server.connect();
    client.send(b"HEAD /admin HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.reply_to("HEAD").expect("an answer");
    assert_eq!(
        (answer.status, answer.field("content-length")),
        (203, Some("26"))
    );
    client.send(b"GET /admin HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.reply().body.len(), 25);
}

#[test]
fn a_desk_is_given_no_more_than_it_may_be_sent() {
    let server = server();
    let fits = server.post("/admin/x", &" ".repeat(1 << 20));
    assert_eq!(fits.body, "POST /admin/x - 1048576 true false");
    let large = server.post("/admin/x", &" ".repeat((1 << 20) + 1));
    assert_eq!(large.status, 413);
    assert!(large.problem().contains("1048576"), "{}", large.body);
}

#[test]
fn where_nobody_is_there_nothing_is() {
    let server = HttpServer::start();
    for path in ["/admin", "/admin/v1/contracts", "/console", "/my/x"] {
        assert_eq!(server.post(path, "{}").status, 404, "{path}");
    }
}

#[test]
fn a_desk_with_a_listener_of_its_own_is_nowhere_else() {
    let apart = Listener::loopback().for_admin();
    let mut server = HttpServer::at_desk_with(Arc::new(Echo), vec![apart]);
    let statuses = |server: &HttpServer| -> Vec<u16> {
        let ask = |request: String| {
            let mut client = server.connect();
            client.send(request.as_bytes());
            client.reply().status
        };
        let get = |path: &str| ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        vec![
            get("/admin/v1/x"),
            get("/console/"),
            get("/my/x"),
            ask(post("/v1/check", r#"{"key": "a"}"#)),
            ask(chunked("/v1/check", r#"{"key": "a"}"#)),
            get("/metrics"),
            get("/livez"),
        ]
    };
    assert_eq!(statuses(&server), [404, 404, 404, 200, 200, 200, 200]);
    server.at = server.admin();
    assert_eq!(statuses(&server), [203, 203, 203, 404, 404, 404, 200]);
    assert_eq!(
        server.curl(
            "/my/x",
            &[
                "--http2-prior-knowledge",
                "-w",
                "%{http_code}",
                "-o",
                "/dev/null"
            ]
        ),
        "203"
    );
}
