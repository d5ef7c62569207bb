//! What a browser or a reader of JSON cannot be made to do: read under a name of strangers, guess a type, lose a digit.

use tollgate_serve::settings::ContractSource;

use crate::http::kit::{HttpServer, chunked, post};

#[test]
fn numbers_that_readers_of_json_cannot_hold_are_neither_taken_nor_given() {
    let server = HttpServer::with(|settings| {
        let text = "contracts: [{ id: c, key: [user], policies: [{ name: p, limit: 9007199254740992, per: 1s }] }]";
        settings.contracts = ContractSource::Text(text.to_owned());
    });
    let most = 9_007_199_254_740_992_u64;
    let check = server.post("/v1/check", r#"{"key": {"user": "1"}, "cost": 0}"#);
    let check = check.json();
    assert_eq!(
        (check["limit"].as_u64(), check["remaining"].as_u64()),
        (Some(most), Some(most))
    );
    for (path, body) in [
        (
            "/v1/check",
            r#"{"key": {"user": "1"}, "cost": 9007199254740993}"#,
        ),
        (
            "/v1/charge",
            r#"{"key": {"user": "1"}, "cost": 18446744073709551615}"#,
        ),
        (
            "/v1/reserve",
            r#"{"id": "i", "key": {"user": "1"}, "ttl_ms": 9007199254740993}"#,
        ),
        (
            "/v1/explain",
            r#"{"key": {"user": "1"}, "cost": 9007199254740993}"#,
        ),
        (
            "/throttle",
            r#"{"key": "a", "max_burst": 1, "count_per_period": 1, "period": 1, "quantity": 9007199254740993}"#,
        ),
    ] {
        let refused = server.post(path, body);
        assert_eq!(refused.status, 400, "{path}: {}", refused.body);
        assert!(
            refused.body.contains("9007199254740992 (2^53)"),
            "{path}: {}",
            refused.body
        );
    }
}

#[test]
fn a_listener_of_this_machine_answers_to_no_name_of_strangers() {
    let server =
        HttpServer::with(|settings| settings.http[0].hosts = vec!["tollgate.example".into()]);
    let check = r#"{"key": {"user": "1"}, "cost": 0}"#;
    for (host, status) in [
        ("localhost", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]", 200),
        ("tollgate.example:1", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:8080", 421),
    ] {
        // At once, in parts, and over HTTP/2.
        for request in [post("/v1/check", check), chunked("/v1/check", check)] {
            let mut client = server.connect();
            client.send(
                request
                    .replace("host: localhost", &format!("host: {host}"))
                    .as_bytes(),
            );
            let answer = client.reply();
            assert_eq!(answer.status, status, "{host}");
            assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.field("strict-transport-security"), None);
        }
        let field = format!("Host: {host}");
        let more = [
            "--http2-prior-knowledge",
            "-H",
            &field,
            "--json",
            check,
            "-w",
            " %{http_code}",
        ];
        let out = server.curl("/v1/check", &more);
        assert!(out.ends_with(&format!(" {status}")), "{host}: {out}");
    }
    // What a proxy asks about has the host of the client's request.
    for path in ["/v1/auth?user=1", "/v1/auth/pages"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\n\r\n").as_bytes());
        assert_eq!(client.reply().status, 200, "{path}");
    }
    for path in ["/", "/openapi.json", "/metrics", "/readyz", "/nothing"] {
        let mut client = server.connect();
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let answer = client.reply();
        assert_eq!(
            answer.field("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        let out = server.curl(path, &["--http2-prior-knowledge", "-I"]);
        assert!(
            out.contains("x-content-type-options: nosniff"),
            "{path}: {out}"
        );
    }
}
