//! Every endpoint of `/v1` as it is documented, over both versions of HTTP.

use serde_json::{Value, json};
use tollgate_serve::settings::Token;

use crate::http::kit::{HttpServer, post};

#[test]
fn a_check_answers_with_all_its_members() {
    let server = HttpServer::start();
    let body = r#"{"key": {"user": "42", "plan": "free"}, "cost": 1}"#;
    let answer = server.post("/v1/check", body);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("content-type"), Some("application/json"));
    let policies = answer.field("ratelimit-policy").expect("policies");
    assert!(policies.contains("\"hourly\";q=5;w=3600"), "{policies}");
    assert!(answer.field("ratelimit").is_some());
    let mut json = answer.json();
    assert!(json["reset_after_ms"].is_u64());
    assert!(json["receipt"].is_string());
    let object = json.as_object_mut().expect("an object");
    object.remove("reset_after_ms");
    object.remove("receipt");
    let rest = json!({"allowed": true, "matched": true, "policy": "hourly", "limit": 5, "capacity": 5, "remaining": 4, "debt": 0, "retry_after_ms": null, "wait_ms": 0});
    assert_eq!(json, rest);
}

#[test]
fn a_denial_is_an_answer_and_a_status_where_that_is_asked_for() {
    let server = HttpServer::start();
    let body = r#"{"key": {"user": "1", "plan": "free"}, "cost": 5}"#;
    assert_eq!(server.post("/v1/check", body).json()["allowed"], true);
    let denied = server.post("/v1/check", body);
    assert_eq!(
        (denied.status, &denied.json()["allowed"]),
        (200, &json!(false))
    );
    assert_eq!(denied.json()["policy"], "hourly");
    assert!(denied.json()["retry_after_ms"].is_u64());
    assert!(denied.field("retry-after").is_some());
    for path in ["/v1/check?status=1", "/v1/check?status=true"] {
        let denied = server.post(path, body);
        assert_eq!(denied.status, 429);
        assert_eq!(denied.json()["violated-policies"], json!(["hourly"]));
        assert!(
            denied.json()["type"]
                .as_str()
                .expect("a type")
                .ends_with("#quota-exceeded")
        );
        assert!(denied.problem().contains("may pass in"));
        assert!(denied.field("retry-after").is_some());
    }
    let never = server.post(
        "/v1/check?status=1",
        r#"{"key": {"user": "1"}, "cost": 101}"#,
    );
    assert_eq!((never.status, never.field("retry-after")), (429, None));
    assert_eq!(server.post("/v1/check?status=0", body).status, 200);
    assert_eq!(server.post("/v1/check?status=maybe", body).status, 400);
    assert_eq!(server.post("/v1/check?statsu=1", body).status, 400);
}

#[test]
fn a_list_is_answered_with_a_list_and_problems_stay_in_their_places() {
    let server = HttpServer::start();
    let body = r#"[{"key": {"user": "1"}}, {"key": {"user": "1"}, "contract": "nope"},
        {"key": {"user": "1"}, "contract": "users"}]"#;
    let answer = server.post("/v1/check", body);
    assert_eq!(answer.status, 200);
    let json = answer.json();
    let list = json.as_array().expect("a list");
    assert_eq!(list[0]["remaining"], 99);
    assert_eq!(list[1]["status"], 404);
    assert_eq!(list[2]["remaining"], 98);
    let long = "x".repeat(5_000);
    for wrong in [
        &format!(r#"[{{"key": {{"user": "1"}}}}, {{"key": {{"user": "{long}"}}}}]"#),
        r#"[{"key": {"user": "1"}}, {"key": {"user": "1"}, "id": ""}]"#,
    ] {
        let refused = server.post("/v1/check", wrong);
        assert_eq!(refused.status, 400);
        assert!(refused.problem().starts_with("Check 2 of the list"));
    }
    assert_eq!(remaining(&server, "1"), 98);
    assert_eq!(server.post("/v1/check", "[]").json(), json!([]));
    let denied = r#"[{"key": {"user": "1"}, "cost": 101}]"#;
    assert_eq!(server.post("/v1/check?status=1", denied).status, 200);
    let many = format!("[{}]", vec![r#"{"key":"a"}"#; 1_001].join(","));
    assert_eq!(server.post("/v1/check", &many).status, 400);
}

#[test]
fn delayed_requests_are_told_how_long_to_wait() {
    let server = HttpServer::start();
    let body = r#"{"key": {"lane": "slow"}, "cost": 1}"#;
    assert_eq!(server.post("/v1/check", body).json()["wait_ms"], 0);
    let answer = server.post("/v1/check", body).json();
    assert_eq!(answer["allowed"], true);
    let wait = answer["wait_ms"].as_u64().expect("a wait");
    assert!((500..=1_000).contains(&wait), "{wait}");
}

#[track_caller]
fn remaining(server: &HttpServer, user: &str) -> Value {
    let body = json!({"key": {"user": user}}).to_string();
    let answer = server.post("/v1/peek", &body);
    assert_eq!(answer.status, 200);
    answer.json()["policies"][0]["remaining"].clone()
}

#[test]
fn what_was_taken_can_be_settled_by_its_receipt() {
    let server = HttpServer::start();
    let taken = server.post("/v1/check", r#"{"key": {"user": "s"}, "cost": 10}"#);
    let receipt = taken.json()["receipt"].clone();
    let settle = json!({"receipt": receipt, "cost": 3, "id": "once"}).to_string();
    for _ in 0..3 {
        let done = server.post("/v1/settle", &settle);
        assert_eq!((done.status, done.json()), (200, json!({"applied": true})));
    }
    assert_eq!(remaining(&server, "s"), 97);
    let mut forged = receipt.as_str().expect("a receipt").to_owned();
    let last = if forged.ends_with('A') { 'B' } else { 'A' };
    forged.pop();
    forged.push(last);
    for wrong in [forged.as_str(), "", "x", "\u{1F600}"] {
        let settle = json!({"receipt": wrong, "cost": 3}).to_string();
        assert_eq!(server.post("/v1/settle", &settle).status, 404, "{wrong}");
    }
}

#[test]
fn reservations_are_committed_or_cancelled_once() {
    let server = HttpServer::start();
    let reserve = r#"{"id": "r1", "key": {"user": "r"}, "cost": 10, "ttl_ms": 60000}"#;
    for _ in 0..2 {
        let answer = server.post("/v1/reserve", reserve);
        assert_eq!(
            (answer.status, &answer.json()["remaining"]),
            (200, &json!(90))
        );
        assert_eq!(answer.json()["receipt"], Value::Null);
    }
    let commit = |cost: u32| {
        let body = json!({"id": "r1", "cost": cost}).to_string();
        server.post("/v1/commit", &body).status
    };
    assert_eq!((commit(4), commit(4), commit(5)), (200, 200, 409));
    assert_eq!(remaining(&server, "r"), 96);
    server.post(
        "/v1/reserve",
        r#"{"id": "r2", "key": {"user": "r"}, "cost": 10}"#,
    );
    assert_eq!(server.post("/v1/cancel", r#"{"id": "r2"}"#).status, 200);
    assert_eq!(remaining(&server, "r"), 96);
    assert_eq!(server.post("/v1/cancel", r#"{"id": "r3"}"#).status, 404);
    assert_eq!(
        server
            .post("/v1/commit", r#"{"id": "r3", "cost": 1}"#)
            .status,
        404
    );
    assert_eq!(server.post("/v1/cancel", r#"{"id": ""}"#).status, 400);
}

#[test]
fn a_refusal_is_explained() {
    let server = HttpServer::start();
    server.post(
        "/v1/charge",
        r#"{"key": {"user": "e", "plan": "free"}, "cost": 5}"#,
    );
    let body = r#"{"key": {"user": "e", "plan": "free"}, "cost": 1}"#;
    let answer = server.post("/v1/explain", body);
    assert_eq!(answer.status, 200);
    let json = answer.json();
    assert_eq!(json["allowed"], false);
    assert!(json["retry_after_ms"].is_u64());
    let summary = json["summary"].as_str().expect("a sentence");
    assert!(
        summary.contains("hourly") && summary.contains("free-users"),
        "{summary}"
    );
    let policies = json["policies"].as_array().expect("policies");
    let names: Vec<_> = policies.iter().map(|policy| &policy["policy"]).collect();
    assert_eq!(names, ["burst", "hourly", "daily"]);
    assert_eq!(policies[1]["remaining"], 0);
    assert_eq!(json["misses"][0]["contract"], "shaped");
    // Nothing was taken.
    assert_eq!(
        server.post("/v1/explain", body).json()["policies"][2]["remaining"],
        95
    );
    let unknown = r#"{"key": "e", "contract": "nope"}"#;
    assert_eq!(server.post("/v1/explain", unknown).status, 404);
}

#[test]
fn charges_and_refunds_need_no_answer() {
    let server = HttpServer::start();
    let applied = |path: &str, body: &str| {
        let done = server.post(path, body);
        assert_eq!(done.status, 200, "{}", done.body);
        done.json()["applied"] == true
    };
    assert!(applied(
        "/v1/charge",
        r#"{"key": {"user": "c"}, "cost": 30, "id": "c1"}"#
    ));
    assert!(applied(
        "/v1/charge",
        r#"{"key": {"user": "c"}, "cost": 30, "id": "c1"}"#
    ));
    assert_eq!(remaining(&server, "c"), 70);
    assert!(applied(
        "/v1/refund",
        r#"{"key": {"user": "c"}, "cost": 10}"#
    ));
    assert_eq!(remaining(&server, "c"), 80);
    assert!(!applied(
        "/v1/charge",
        r#"{"key": {"nobody": "c"}, "cost": 1}"#
    ));
    assert!(!applied(
        "/v1/refund",
        r#"{"key": {"nobody": "c"}, "cost": 1}"#
    ));
    assert_eq!(server.post("/v1/charge", r#"{"key": "a"}"#).status, 400);
}

#[test]
fn an_id_is_charged_once() {
    let server = HttpServer::start();
    let body = r#"{"key": {"user": "i"}, "id": "i1"}"#;
    for _ in 0..3 {
        assert_eq!(server.post("/v1/check", body).json()["remaining"], 99);
    }
    assert_eq!(remaining(&server, "i"), 99);
    let long = json!({"key": {"user": "i"}, "id": "x".repeat(129)}).to_string();
    assert_eq!(server.post("/v1/check", &long).status, 400);
    let other = r#"{"id": "i1", "key": {"user": "i"}}"#;
    assert_eq!(server.post("/v1/reserve", other).status, 409);
}

#[test]
fn wrong_bodies_are_refused_with_what_is_wrong_and_where() {
    let server = HttpServer::start();
    let deep = format!("{{\"key\": {}", "[".repeat(10_000));
    for (body, says) in [
        ("", "empty"),
        ("  \n", "empty"),
        ("{", "line 1 column 1"),
        ("{\"key\": \"a\",\n \"cots\": 2}", "Did you mean `cost`?"),
        ("{\"key\": \"a\",\n \"cots\": 2}", "`cots`"),
        ("{\"key\": \"a\",\n \"cots\": 2}", "line 2 column 7"),
        ("{\"cost\": 2}", "missing field `key`"),
        ("{\"key\": 5.5}", "from -2^53 to 2^53"),
        (
            "{\"key\": true}",
            "a string, a whole number from -2^53 to 2^53, or an object of them",
        ),
        ("{\"key\": {}}", "at least one entry"),
        ("{\"key\": {\"a\": \"1\", \"a\": \"2\"}}", "`a` comes twice"),
        ("{\"key\": \"a\", \"key\": \"b\"}", "duplicate field `key`"),
        ("{\"key\": {\"a\": {\"b\": \"c\"}}}", "a string"),
        (&deep, "line 1"),
        ("{\"key\": \"a\", \"cost\": -1}", "-1"),
        ("{\"key\": \"a\", \"cost\": 1.5}", "1.5"),
        ("{\"key\": \"a\", \"cost\": 1e400}", "line 1"),
        ("{\"key\": \"a\", \"cost\": 18446744073709551616}", "line 1"),
        (
            "{\"key\": \"a\", \"cost\": 9007199254740993}",
            "from 0 to 9007199254740992 (2^53)",
        ),
        ("{\"key\": \"\\ud800\"}", "line 1 column 16"),
        ("{\"key\": \"a\"} x", "trailing"),
        ("[{\"key\": \"a\"}, 5]", "line 1"),
        ("null", "a check or a list of checks"),
    ] {
        let answer = server.post("/v1/check", body);
        assert_eq!(answer.status, 400, "{body}");
        let detail = answer.problem();
        assert!(detail.contains(says), "{body}: {detail}");
    }
    let mut client = server.connect();
    client.send(b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"key\":\"\xff\xfe\"} ");
    assert_eq!(client.reply().status, 400);
}

#[test]
fn keys_have_a_length() {
    let server = HttpServer::start();
    let key = |length: usize| json!({"key": {"user": "x".repeat(length)}}).to_string();
    assert_eq!(server.post("/v1/check", &key(4_000)).status, 200);
    for path in ["/v1/check", "/v1/peek"] {
        let refused = server.post(path, &key(4_093));
        assert_eq!(refused.status, 400);
        assert!(refused.problem().contains("4096"));
    }
    let entries = (0..65).map(|n| (n.to_string(), json!("x")));
    let entries: serde_json::Map<String, Value> = entries.collect();
    let refused = server.post("/v1/check", &json!({"key": entries}).to_string());
    assert_eq!(refused.status, 400);
    // A megabyte is read, and then refused like any other.
    let refused = server.post("/v1/check", &key(1_000_000));
    assert_eq!(refused.status, 400);
}

#[test]
fn contracts_are_asked_by_their_id() {
    let server = HttpServer::start();
    let ask = |contract: &str| {
        let body = json!({"key": {"user": "k", "plan": "free"}, "contract": contract});
        server.post("/v1/check", &body.to_string())
    };
    assert_eq!(ask("users").json()["limit"], 100);
    assert_eq!(ask("free-users").json()["limit"], 5);
    let unknown = ask("free-usres");
    assert_eq!(unknown.status, 404);
    assert!(unknown.problem().contains("`free-usres`"));
}

#[test]
fn paths_methods_and_types_are_refused_by_name() {
    let server = HttpServer::start();
    let answer = server.post("/v1/chekc", "{}");
    assert_eq!(answer.status, 404);
    assert!(answer.problem().contains("Did you mean `/v1/check`?"));
    let mut client = server.connect();
    for method in ["GET", "PUT", "DELETE", "PATCH", "FOO"] {
        client.send(format!("{method} /v1/check HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let answer = client.reply();
        assert_eq!((answer.status, answer.field("allow")), (405, Some("POST")));
    }
    client.send(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.reply().field("allow"), Some("GET, HEAD"));
    for (kind, status) in [
        ("Content-Type: application/json; charset=utf-8\r\n", 200),
        ("content-type: Application/JSON\r\n", 200),
        ("content-type: application/vnd.x+json\r\n", 200),
        ("", 200),
        ("Origin: http://evil.example\r\n", 415),
        ("Content-Type: text/plain\r\n", 415),
        ("Content-Type: application/x-www-form-urlencoded\r\n", 200),
        (
            "Content-Type: application/x-www-form-urlencoded\r\nOrigin: http://evil.example\r\n",
            415,
        ),
    ] {
        client.send(format!("POST /v1/check HTTP/1.1\r\nHost: a\r\n{kind}Content-Length: 11\r\n\r\n{{\"key\":\"a\"}}").as_bytes());
        assert_eq!(client.reply().status, status, "{kind}");
    }
}

#[test]
fn tokens_guard_what_decides_and_nothing_else() {
    let server = HttpServer::with(|settings| settings.tokens = vec![Token::new("sesame")].into());
    let body = r#"{"key": "a"}"#;
    for path in ["/v1/check", "/v1/peek", "/v1/settle", "/v1/auth", "/json"] {
        let refused = server.post(path, body);
        assert_eq!(refused.status, 401, "{path}");
        assert!(
            refused
                .field("www-authenticate")
                .expect("a scheme")
                .starts_with("Bearer")
        );
        refused.problem();
    }
    let with = |token: &str| {
        let field = format!("Authorization: {token}");
        let arguments = [
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-H",
            &field,
            "--json",
            body,
        ];
        server.curl("/v1/check", &arguments)
    };
    assert_eq!(
        (with("Bearer sesame"), with("Bearer sesam")),
        ("200".into(), "401".into())
    );
    for path in ["/livez", "/readyz", "/openapi.json", "/"] {
        assert_eq!(
            server.curl(path, &["-o", "/dev/null", "-w", "%{http_code}"]),
            "200"
        );
    }
    assert_eq!(
        server.curl("/v1/top", &["-o", "/dev/null", "-w", "%{http_code}"]),
        "401"
    );
}

#[test]
fn curl_gets_the_same_over_both_versions() {
    let server = HttpServer::start();
    let body = r#"{"key": {"user": "v", "plan": "free"}, "cost": 1}"#;
    for version in ["--http1.0", "--http1.1", "--http2-prior-knowledge"] {
        let arguments = [
            version,
            "--json",
            body,
            "-w",
            " %{http_code} %{http_version} %header{content-type}",
        ];
        let out = server.curl("/v1/check", &arguments);
        assert!(out.starts_with("{\"allowed\":true,"), "{out}");
        assert!(out.ends_with(" application/json"), "{out}");
        let out = server.curl("/v1/chekc", &[version, "--json", body]);
        assert!(out.contains("Did you mean `/v1/check`?"), "{out}");
        let out = server.curl("/livez", &[version, "-I"]);
        assert!(out.contains("content-length: 3"), "{out}");
        let metrics = server.curl("/metrics", &[version]);
        assert!(metrics.contains("# TYPE"), "{metrics}");
        let top = server.curl("/v1/top", &[version]);
        let top: Value = serde_json::from_str(&top).expect("JSON");
        assert!(top["keys"].is_array());
        assert!(server.curl("/", &[version]).contains("<h1>Tollgate</h1>"));
    }
}

#[test]
fn readiness_ends_before_the_server_does() {
    let mut server = HttpServer::start();
    let mut kept = server.connect();
    kept.send(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(kept.reply().status, 200);
    server.stop();
    assert!(kept.ends());
}

#[test]
fn who_is_under_way_when_the_server_stops_is_answered() {
    let mut server = HttpServer::start();
    let mut slow = server.connect();
    let request = post("/v1/check", r#"{"key": "a"}"#);
    let (first, second) = request.split_at(request.len() - 3);
    // An answer to what came in the same packet shows that the server has begun to read.
    slow.send(format!("{request}{first}").as_bytes());
    assert_eq!(slow.reply().status, 200);
    let at = server.at;
    std::thread::scope(|scope| {
        let stopping = scope.spawn(|| server.stop());
        // The listener is closed first, so that no other client connects.
        while std::net::TcpStream::connect(at).is_ok() {
            std::thread::yield_now();
        }
        slow.send(second.as_bytes());
        let answer = slow.reply();
        assert_eq!(
            (answer.status, answer.field("connection")),
            (200, Some("close"))
        );
        assert!(slow.ends());
        stopping.join().expect("it stops");
    });
}
