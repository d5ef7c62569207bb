//! Rights of a limited token, over every protocol; and answers to guesses.

#![allow(clippy::expect_used)] // Helpers too: a test that cannot begin has failed.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::time::timeout;
use tollgate_http::{ClientAddress, Trust};
use tollgate_serve::settings::{
    ContractSource, QuotaLimits, RequestLimits, Settings, Token, TokenScope, Tokens,
};
use tollgate_wire::gubernator::{GetRateLimitsReq, GetRateLimitsResp, RateLimitReq};
use tollgate_wire::rls::{Entry, RateLimitDescriptor, RateLimitRequest, RateLimitResponse};
use tonic::Code;

use crate::grpc::quota::{self, QuotaStream, usage};
use crate::grpc::server::GrpcServer;
use crate::http::kit::{CONTRACTS, HttpServer};
use crate::resp::kit::{RespServer, command};

const CHECK: &str = "a-token-to-check-with";
const WRITE: &str = "a-token-to-write-with";
const OBSERVE: &str = "a-token-to-observe-with";

fn guard(settings: &mut Settings) {
    let of = |text, scope| Token::new(text).scoped([scope].into_iter().collect());
    let tokens = vec![
        of(CHECK, TokenScope::Check),
        of(WRITE, TokenScope::Write),
        of(OBSERVE, TokenScope::Observe),
    ];
    settings.tokens = tokens.into();
}

fn request(method: &str, path: &str, lines: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\n{lines}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn status(server: &HttpServer, token: &str, method: &str, path: &str, body: &str) -> u16 {
    let mut client = server.connect();
    let line = format!("Authorization: Bearer {token}\r\n");
    client.send(request(method, path, &line, body).as_bytes());
    client.reply().status
}

#[test]
fn a_token_opens_what_it_is_for_and_nothing_else_over_http() {
    let server = HttpServer::with(guard);
    let key = r#"{"key": {"user": "7"}, "cost": 1}"#;
    let asks = [
        (CHECK, "POST /v1/check"),
        (CHECK, "POST /v1/peek"),
        (CHECK, "POST /v1/reserve"),
        (CHECK, "POST /v1/settle"),
        (CHECK, "POST /v1/commit"),
        (CHECK, "POST /v1/cancel"),
        (CHECK, "GET /v1/auth"),
        (CHECK, "POST /json"),
        (CHECK, "POST /throttle"),
        (CHECK, "POST /v1/GetRateLimits"),
        (WRITE, "POST /v1/charge"),
        (WRITE, "POST /v1/refund"),
        (OBSERVE, "POST /v1/explain"),
        (OBSERVE, "GET /metrics"),
        (OBSERVE, "GET /v1/top"),
        (OBSERVE, "GET /v1/tail"),
        (OBSERVE, "GET /v1/cluster"),
        (OBSERVE, "GET /v1/cluster/supply"),
        (OBSERVE, "GET /v1/cluster/split"),
        (OBSERVE, "GET /v1/cluster/sync"),
        (OBSERVE, "GET /v1/leases"),
        (OBSERVE, "GET /v1/gateway"),
    ];
    for (right, ask) in asks {
        let (method, path) = ask.split_once(' ').expect("both");
        let body = if method == "POST" { key } else { "" };
        for token in [CHECK, WRITE, OBSERVE] {
            let status = status(&server, token, method, path, body);
            let is_let_in = !matches!(status, 401 | 403);
            assert_eq!(is_let_in, token == right, "{ask} {token} {status}");
            assert_ne!(status, 401, "{ask} {token}");
        }
    }
    let mut client = server.connect();
    let line = format!("Authorization: Bearer {CHECK}\r\n");
    client.send(request("POST", "/v1/charge", &line, key).as_bytes());
    assert!(client.reply().problem().contains("lacks the scope `write`"));
    let field = format!("Authorization: Bearer {OBSERVE}");
    let metrics = server.curl("/metrics", &["-H", &field]);
    let refused = 2 * asks.len() + 1;
    let told = format!("tollgate_forbidden_total{{door=\"http\"}} {refused}\n");
    assert!(metrics.contains(&told), "{told} is not in {metrics}");
}

/// Callers that check, another of them with a second token, and one that may also write.
fn callers(settings: &mut Settings) {
    let of =
        |text, scopes: &[TokenScope]| Token::new(text).scoped(scopes.iter().copied().collect());
    let tokens = vec![
        of(CHECK, &[TokenScope::Check]).named("shop"),
        of(ROTATED, &[TokenScope::Check]).named("shop"),
        of(OTHER, &[TokenScope::Check]),
        of(WRITE, &[TokenScope::Check, TokenScope::Write]),
    ];
    settings.tokens = tokens.into();
}

const ROTATED: &str = "another-token-of-that-caller";
const OTHER: &str = "a-token-of-another-caller";

#[test]
fn reservations_and_receipts_are_settled_by_their_caller_or_one_that_may_write() {
    let server = HttpServer::with(callers);
    let ask = |token: &str, path: &str, body: &str| {
        let mut client = server.connect();
        let line = format!("Authorization: Bearer {token}\r\n");
        client.send(request("POST", path, &line, body).as_bytes());
        client.reply()
    };
    let key = r#""key": {"user": "7"}, "cost": 3"#;
    for (path, settles) in [("/v1/commit", true), ("/v1/cancel", false)] {
        for right in [CHECK, ROTATED, WRITE] {
            let id = format!("{path}-{right}");
            let reserve = format!(r#"{{{key}, "id": "{id}"}}"#);
            assert_eq!(ask(CHECK, "/v1/reserve", &reserve).json()["allowed"], true);
            let cost = if settles { r#", "cost": 1"# } else { "" };
            let settle = format!(r#"{{"id": "{id}"{cost}}}"#);
            let unknown = ask(OTHER, path, &format!(r#"{{"id": "no-such-id"{cost}}}"#));
            let of_other = ask(OTHER, path, &settle);
            assert_eq!(
                (of_other.status, &of_other.body),
                (unknown.status, &unknown.body)
            );
            assert_eq!(ask(right, path, &settle).status, 200, "{path} {right}");
        }
    }
    let mine = ask(CHECK, "/v1/check", &format!(r#"{{{key}, "id": "same"}}"#)).json();
    let theirs = ask(OTHER, "/v1/check", &format!(r#"{{{key}, "id": "same"}}"#)).json();
    assert_eq!(
        theirs["remaining"],
        mine["remaining"].as_u64().expect("a number") - 3
    );
    let settle = format!(r#"{{"receipt": {}, "cost": 0}}"#, mine["receipt"]);
    assert_eq!(ask(OTHER, "/v1/settle", &settle).status, 404);
    assert_eq!(ask(ROTATED, "/v1/settle", &settle).status, 200);
    let settle = format!(r#"{{"receipt": {}, "cost": 0}}"#, theirs["receipt"]);
    assert_eq!(ask(CHECK, "/v1/settle", &settle).status, 404);
    assert_eq!(ask(WRITE, "/v1/settle", &settle).status, 200);
}

#[test]
fn receipts_over_resp_are_settled_by_their_caller() {
    let server = RespServer::with(|settings| {
        callers(settings);
        settings.contracts = ContractSource::Text(CONTRACTS.to_owned());
    });
    let of = |token: &str| {
        let mut wire = server.connect();
        wire.exchange(command(&["AUTH", token]), "+OK\r\n");
        wire
    };
    let (mut mine, mut other, mut writer) = (of(CHECK), of(OTHER), of(WRITE));
    for settler in [&mut of(ROTATED), &mut writer] {
        mine.send(command(&["TOLLGATE.CHECK", "KEY", "user", "x"]));
        while mine.line() != "receipt" {}
        mine.line();
        let settle = command(&["TOLLGATE.SETTLE", &mine.line(), "0"]);
        other.send(&settle);
        assert!(other.line().starts_with("-ERR"), "another caller's receipt");
        settler.exchange(&settle, ":1\r\n");
    }
}

#[test]
fn what_a_check_gives_back_or_forgets_is_a_write() {
    let server = HttpServer::with(guard);
    let limit = |more: &str| {
        format!(
            r#"{{"requests": [{{"name": "n", "unique_key": "k", "hits": 1, "limit": 9, "duration": 1000{more}}}]}}"#
        )
    };
    let envoy = |more: &str| {
        format!(
            r#"{{"domain": "d", "descriptors": [{{"entries": [{{"key": "user", "value": "7"}}]{more}}}]}}"#
        )
    };
    for (path, body, writes) in [
        ("/v1/GetRateLimits", limit(""), false),
        ("/v1/GetRateLimits", limit(r#", "behavior": 8"#), true),
        ("/json", envoy(""), false),
        ("/json", envoy(r#", "is_negative_hits": true"#), true),
    ] {
        let told = status(&server, CHECK, "POST", path, &body);
        assert_eq!(told, if writes { 403 } else { 200 }, "{path} {body}");
    }
}

#[tokio::test]
async fn a_token_opens_what_it_is_for_and_nothing_else_over_grpc() {
    let mut settings = Settings::default();
    guard(&mut settings);
    let server = GrpcServer::with(CONTRACTS, settings);
    let envoy = |is_negative_hits| RateLimitRequest {
        domain: "any".into(),
        descriptors: vec![RateLimitDescriptor {
            entries: vec![Entry {
                key: "user".into(),
                value: "7".into(),
            }],
            is_negative_hits,
            ..RateLimitDescriptor::default()
        }],
        hits_addend: 1,
    };
    let rls = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    let report = "/kuadrant.service.ratelimit.v1.RateLimitService/Report";
    for (path, token, is_back, code) in [
        (rls, CHECK, false, None),
        (rls, CHECK, true, Some(Code::PermissionDenied)),
        (rls, OBSERVE, false, Some(Code::PermissionDenied)),
        (
            rls,
            "no-such-token-here",
            false,
            Some(Code::Unauthenticated),
        ),
        (report, CHECK, false, Some(Code::PermissionDenied)),
        (report, WRITE, false, None),
    ] {
        let told = server
            .call_by::<_, RateLimitResponse>(path, envoy(is_back), token)
            .await;
        assert_eq!(
            told.err().map(|status| status.code()),
            code,
            "{path} {token}"
        );
    }
    let back = GetRateLimitsReq {
        requests: vec![RateLimitReq {
            name: "n".into(),
            unique_key: "k".into(),
            hits: -1,
            limit: 9,
            duration: 1000,
            ..RateLimitReq::default()
        }],
    };
    let told = server
        .call_by::<_, GetRateLimitsResp>("/pb.gubernator.V1/GetRateLimits", back, CHECK)
        .await;
    assert_eq!(told.expect_err("a refusal").code(), Code::PermissionDenied);
}

#[test]
fn a_token_opens_what_it_is_for_and_nothing_else_over_resp() {
    let server = RespServer::with(guard);
    for token in [CHECK, WRITE, OBSERVE] {
        let mut wire = server.connect();
        wire.exchange(command(&["AUTH", token]), "+OK\r\n");
        wire.lives();
        let noperm = |scope: &str| {
            format!("-NOPERM this token is not for that: it lacks the scope '{scope}'.")
        };
        let mut line = |words: &[&str]| {
            wire.send(command(words));
            wire.line()
        };
        let checks: [&[&str]; 4] = [
            &["THROTTLE", "k", "1", "1", "1"],
            &["TOLLGATE.CHECK", "KEY", "x"],
            &["TOLLGATE.PEEK", "KEY", "x"],
            &["TOLLGATE.SETTLE", "receipt", "1"],
        ];
        let writes: [&[&str]; 3] = [
            &["TOLLGATE.CHARGE", "KEY", "x"],
            &["TOLLGATE.REFUND", "KEY", "x"],
            &["TOLLGATE.RESET", "KEY", "x"],
        ];
        for (words, right, scope) in checks
            .map(|words| (words, CHECK, "check"))
            .into_iter()
            .chain(writes.map(|words| (words, WRITE, "write")))
        {
            if token == right {
                continue;
            }
            assert_eq!(line(words), noperm(scope), "{words:?} {token}");
        }
    }
    let mut wire = server.connect();
    wire.exchange(command(&["AUTH", WRITE]), "+OK\r\n");
    wire.exchange(command(&["TOLLGATE.CHARGE", "KEY", "x"]), ":1\r\n");
}

#[test]
fn guesses_are_limited_by_where_they_come_from_and_right_tokens_pass() {
    let server = HttpServer::with(|settings| {
        guard(settings);
        settings.client_address = ClientAddress {
            trust: Trust::Hops(1),
            ..ClientAddress::default()
        };
    });
    let from = |client: &str, token: &str| {
        let mut wire = server.connect();
        let lines = format!("Authorization: Bearer {token}\r\nX-Forwarded-For: {client}\r\n");
        wire.send(request("POST", "/v1/check", &lines, r#"{"key": {"user": "7"}}"#).as_bytes());
        wire.reply()
    };
    let statuses: Vec<u16> = (0..30)
        .map(|n| from("203.0.113.9", &format!("a-guess-of-many-{n}")).status)
        .collect();
    assert!(statuses.starts_with(&[401; 20]), "{statuses:?}");
    let limited = from("203.0.113.9", "a-guess-of-many");
    assert_eq!(limited.status, 429, "{statuses:?}");
    assert!(limited.field("retry-after").is_some());
    assert_eq!(from("203.0.113.10", "a-guess-of-many").status, 401);
    assert_eq!(from("203.0.113.9", CHECK).status, 200);
}

#[test]
fn guesses_over_resp_are_limited_over_all_connections() {
    let server = RespServer::with(guard);
    let guess = || {
        let mut wire = server.connect();
        wire.send(command(&["AUTH", "a-guess-of-many"]));
        wire.line()
    };
    for _ in 0..20 {
        assert!(guess().starts_with("-WRONGPASS"));
    }
    assert_eq!(guess(), "-ERR too many wrong passwords");
    let mut wire = server.connect();
    wire.exchange(command(&["AUTH", CHECK]), "+OK\r\n");
    wire.lives();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_the_token_that_opened_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens");
    let save = |token: &str| {
        let beside = folder.path().join("new");
        std::fs::write(&beside, token).expect("written");
        std::fs::set_permissions(&beside, Permissions::from_mode(0o600)).expect("a mode");
        std::fs::rename(beside, &path).expect("renamed");
    };
    save("first-token-of-two");
    let assigned = QuotaLimits {
        // A server that just started assigns nothing for as long as both.
        ttl_s: 3,
        delivery: Duration::from_secs(1),
        ..QuotaLimits::default()
    };
    let settings = Settings {
        limits: RequestLimits {
            quota: assigned,
            ..RequestLimits::default()
        },
        tokens: Tokens::of_file(&path).expect("tokens"),
        ..Settings::default()
    };
    let server = GrpcServer::with(quota::CONTRACTS, settings);
    let open = async |token| QuotaStream::by(server.channel().await, Some(token)).await;
    let mut link = open("first-token-of-two").await.expect("a stream");
    link.say(vec![usage(&[("tenant", "a")], 0, 0, 1)]).await;
    link.hear().await.expect("an assignment");
    save("second-token-of-two");
    let ended = timeout(quota::PATIENCE, async {
        loop {
            if let Err(status) = link.down.message().await {
                return status;
            }
        }
    });
    assert_eq!(ended.await.expect("in time").code(), Code::Unauthenticated);
    let refused = open("first-token-of-two").await.err().expect("a refusal");
    assert_eq!(refused.code(), Code::Unauthenticated);
    let mut link = open("second-token-of-two").await.expect("a stream");
    link.say(vec![usage(&[("tenant", "a")], 0, 0, 1)]).await;
    link.hear().await.expect("an assignment");
}
