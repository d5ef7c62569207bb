//! `GET /v1/tail`: what watchers see, and that they delay no request.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_parts::Wire;
use tollgate_parts::until;
use tollgate_serve::settings::Token;

use crate::http::kit::{HttpServer, post};

/// Watches, and reads the greeting.
fn watch(server: &HttpServer, query: &str) -> Wire {
    let mut client = server.connect();
    client.send(format!("GET /v1/tail?{query} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    let answer = client.reply();
    assert_eq!(answer.status, 200, "{query}");
    assert_eq!(answer.field("content-type"), Some("application/x-ndjson"));
    assert_eq!(answer.field("connection"), Some("close"));
    let greeting = next(&mut client);
    assert!(greeting["watching"]["filter"].is_object(), "{greeting}");
    client
}

#[track_caller]
fn next(client: &mut Wire) -> Value {
    let line = client.line();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
}

/// The next decision; skips other messages.
#[track_caller]
fn decision(client: &mut Wire) -> Value {
    loop {
        let line = next(client);
        if line.get("verdict").is_some() {
            return line;
        }
    }
}

fn check(server: &HttpServer, user: &str, plan: &str) {
    let key = json!({ "key": { "user": user, "plan": plan } });
    assert_eq!(server.post("/v1/check", &key.to_string()).status, 200);
}

fn metric(server: &HttpServer, name: &str) -> u64 {
    let text = server.curl("/metrics", &[]);
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.unwrap_or_else(|| panic!("no {name} in {text}"));
    value.trim().parse().expect("a number")
}

#[test]
fn who_watches_is_shown_the_decisions_that_the_filter_admits() {
    let server = HttpServer::start();
    let mut all = watch(&server, "");
    let mut refused = watch(
        &server,
        "verdict=refused&contract=free-users&key=user%3D7&key=plan%3Dfree",
    );
    for _ in 0..6 {
        check(&server, "7", "free");
    }
    check(&server, "8", "pro");
    let refusal = decision(&mut refused);
    assert_eq!(refusal["verdict"], "deny");
    assert_eq!(
        (&refusal["contract"], &refusal["policy"]),
        (&json!("free-users"), &json!("hourly"))
    );
    assert_eq!(
        (&refusal["key"], &refusal["cost"]),
        (&json!("plan=free,user=7"), &json!(1))
    );
    assert_eq!(
        (&refusal["limit"], &refusal["remaining"]),
        (&json!(5), &json!(0))
    );
    assert!(refusal["retry_after_ms"].as_u64() > Some(0), "{refusal}");
    let verdicts: Vec<String> = (0..7)
        .map(|_| decision(&mut all)["verdict"].to_string())
        .collect();
    let expected = [&["\"allow\""; 5][..], &["\"deny\"", "\"allow\""]].concat();
    assert_eq!(verdicts, expected);
    // One that describes its policy itself is shown as well.
    server.post(
        "/throttle",
        r#"{"key": "d", "max_burst": 9, "count_per_period": 9, "period": 60, "quantity": 2}"#,
    );
    let described = decision(&mut all);
    assert_eq!(
        (&described["contract"], &described["key"]),
        (&json!("(described)"), &json!("d"))
    );
    assert_eq!(
        (&described["cost"], &described["remaining"]),
        (&json!(2), &json!(7))
    );
}

#[test]
fn garbage_is_told_what_is_wrong_and_nobody_watches_by_it() {
    let server = HttpServer::start();
    for (query, said) in [
        ("contrat=users", "Did you mean `contract`?"),
        ("contract=user", "Did you mean `users`?"),
        ("contract=%ff%00", "No contract has the id"),
        ("verdict=refuse", "Did you mean `refused`?"),
        ("key=user", "no entry of a key"),
        ("key==", "no entry of a key"),
        ("verdict=deny&verdict=deny", "once"),
        ("%zz&&&=", "There is no parameter"),
    ] {
        let mut client = server.connect();
        client.send(format!("GET /v1/tail?{query} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let answer = client.reply();
        assert_eq!(answer.status, 400, "{query}");
        assert!(
            answer.problem().contains(said),
            "{query}: {}",
            answer.problem()
        );
    }
    let http2 = server.curl("/v1/tail", &["--http2-prior-knowledge"]);
    assert!(http2.contains("HTTP/1.1 only"), "{http2}");
    let mut head = server.connect();
    head.send(b"HEAD /v1/tail HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head.reply_to("HEAD").map(|answer| answer.status), Some(200));
    assert!(head.ends());
    until("nobody watches", || {
        metric(&server, "tollgate_tail_watchers ") == 0
    });
}

#[test]
fn who_does_not_read_holds_up_nobody_and_is_told_what_is_missing() {
    let server = HttpServer::with(|settings| settings.limits.slow = Duration::from_mins(1));
    let mut slow = watch(&server, "key=user%3Dbusy");
    let begun = Instant::now();
    let mut client = server.connect();
    // Far more than the sockets between here and there hold, and than is shown in a second.
    let ask = json!({ "key": { "user": "busy", "of": "x".repeat(200) } });
    let batch = post("/v1/check", &Value::from(vec![ask; 1_000]).to_string());
    for _ in 0..60 {
        client.send(batch.as_bytes());
        assert_eq!(client.reply().status, 200);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
    let dropped = metric(&server, "tollgate_tail_dropped_total ");
    assert!(dropped > 10_000, "{dropped}");
    // What was kept is shown, and how much is missing: all that was decided is one or the other.
    let (mut shown, mut missing) = (0, 0);
    while shown + missing < 60_000 {
        let line = next(&mut slow);
        shown += u64::from(line.get("verdict").is_some());
        missing = line["dropped"].as_u64().unwrap_or(missing);
    }
    assert_eq!((shown + missing, missing), (60_000, dropped));
}

#[test]
fn who_is_gone_is_forgotten_and_so_many_watch_at_most() {
    let server = HttpServer::start();
    let mut all: Vec<Wire> = (0..16).map(|_| watch(&server, "")).collect();
    let mut one_more = server.connect();
    one_more.send(b"GET /v1/tail HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = one_more.reply();
    assert_eq!(
        (answer.status, answer.field("retry-after")),
        (503, Some("1"))
    );
    all.truncate(1);
    until("they are forgotten", || {
        metric(&server, "tollgate_tail_watchers ") == 1
    });
    check(&server, "9", "pro");
    assert_eq!(decision(&mut all[0])["key"], "plan=pro,user=9");
}

#[test]
fn the_last_line_says_why_it_ends() {
    const OBSERVER: &str = "a-token-for-those-who-look";
    let mut server = HttpServer::with(|settings| {
        let soon = std::time::SystemTime::now() + Duration::from_secs(3);
        let soon = soon.duration_since(std::time::UNIX_EPOCH).expect("a time");
        let short = Token::new("a-token-for-three-seconds");
        let short = short.until(u64::try_from(soon.as_nanos()).expect("a time"));
        settings.tokens = vec![Token::new(OBSERVER), short].into();
    });
    let watch = |token: &str| {
        let mut client = server.connect();
        let line = format!("Authorization: Bearer {token}");
        client.send(format!("GET /v1/tail HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n").as_bytes());
        assert_eq!(client.reply().status, 200);
        client
    };
    let end = |client: &mut Wire| loop {
        if let Some(end) = next(client)["end"].as_str() {
            return end.to_owned();
        }
    };
    let mut short = watch("a-token-for-three-seconds");
    let mut long = watch(OBSERVER);
    assert!(end(&mut short).contains("token"));
    assert!(short.ends());
    server.stop();
    assert!(end(&mut long).contains("told to stop"));
    assert!(long.ends());
}
