//! Paths of other limiters, asked as their clients ask them.

use serde_json::{Value, json};
use tollgate_parts::HttpReply;

use crate::proxy::kit::{self, post};

fn get(at: std::net::SocketAddr, path: &str) -> HttpReply {
    kit::ask(
        at,
        &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n"),
        "",
    )
}

#[track_caller]
fn body(answer: &HttpReply) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"))
}

#[test]
fn the_rate_limit_service_is_there_without_grpc() {
    let server = kit::tollgate(
        "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: 1, name: each }\n",
    );
    let at = server.http().unwrap();
    let request =
        r#"{"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "ada"}]}]}"#;
    let allowed = post(at, "/json", request);
    assert_eq!(allowed.status, 200, "{allowed:?}");
    let allowed = body(&allowed);
    assert_eq!(allowed["overallCode"], "OK");
    assert_eq!(allowed["statuses"][0]["currentLimit"]["requestsPerUnit"], 1);
    assert_eq!(allowed["statuses"][0]["currentLimit"]["unit"], "MINUTE");
    let refused = post(at, "/json", request);
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(
        (1..=60).contains(&refused.number("retry-after")),
        "{refused:?}"
    );
    assert_eq!(body(&refused)["overallCode"], "OVER_LIMIT");
    for bad in [
        "",
        "{",
        "[]",
        r#"{"domain": ""}"#,
        r#"{"domain": "shop"}"#,
        r#"{"domain": "shop", "descriptors": [], "more": 1}"#,
    ] {
        assert_eq!(post(at, "/json", bad).status, 400, "{bad}");
    }
    assert_eq!(get(at, "/json").status, 405);
    let health = get(at, "/healthcheck");
    assert_eq!((health.status, &*health.body), (200, "OK"));
}

#[test]
fn throttlecrab_is_always_answered_with_200() {
    let server = kit::tollgate(kit::THREE_A_MINUTE);
    let at = server.http().unwrap();
    let request = r#"{"key": "user:1", "max_burst": 2, "count_per_period": 1, "period": 60}"#;
    let first = post(at, "/throttle", request);
    assert_eq!(first.status, 200, "{first:?}");
    let expected =
        json!({"allowed": true, "limit": 2, "remaining": 1, "reset_after": 60, "retry_after": 0});
    assert_eq!(body(&first), expected);
    let _ = post(at, "/throttle", request);
    let third = post(at, "/throttle", request);
    assert_eq!(third.status, 200, "{third:?}");
    let third = body(&third);
    assert_eq!(
        (&third["allowed"], &third["remaining"]),
        (&json!(false), &json!(0))
    );
    assert!(
        (55..=60).contains(&third["retry_after"].as_i64().unwrap()),
        "{third}"
    );
    let more = request.replace("60}", "60, \"quantity\": 3}");
    assert_eq!(body(&post(at, "/throttle", &more))["allowed"], json!(false));
    for bad in [
        request.replace('2', "0"),
        request.replace("60", "-1"),
        request.replace("\"key\"", "\"kee\""),
        more.replace("\"quantity\": 3", "\"quantity\": -1"),
        "null".to_owned(),
    ] {
        assert_eq!(post(at, "/throttle", &bad).status, 400, "{bad}");
    }
    assert_eq!(get(at, "/health").status, 200);
}

#[test]
fn gubernator_is_asked_for_many_at_once() {
    let server = kit::tollgate(kit::THREE_A_MINUTE);
    let at = server.http().unwrap();
    let request = r#"{"requests": [
        {"name": "r", "uniqueKey": "a", "hits": "1", "limit": "2", "duration": "60000"},
        {"name": "r", "unique_key": "a", "hits": 2, "limit": 2, "duration": 60000, "algorithm": "TOKEN_BUCKET"},
        {"name": "", "unique_key": "a", "hits": 1, "limit": 2, "duration": 60000, "unknown": true}]}"#;
    let answer = post(at, "/v1/GetRateLimits", request);
    assert_eq!(answer.status, 200, "{answer:?}");
    let all = body(&answer)["responses"].clone();
    assert_eq!(
        (&all[0]["status"], &all[0]["remaining"]),
        (&json!("UNDER_LIMIT"), &json!("1"))
    );
    assert_eq!(
        (&all[1]["status"], &all[1]["remaining"]),
        (&json!("OVER_LIMIT"), &json!("1"))
    );
    assert_ne!(all[2]["error"], json!(""));
    assert_eq!(post(at, "/v1/GetRateLimits", "{").status, 400);
    let many = vec!["{}"; 1_001].join(",");
    let many = format!("{{\"requests\": [{many}]}}");
    assert_eq!(post(at, "/v1/GetRateLimits", &many).status, 400);
}

#[test]
fn gubernators_checks_say_that_all_is_well() {
    let server = kit::tollgate(kit::THREE_A_MINUTE);
    let at = server.http().unwrap();
    let health = body(&get(at, "/v1/HealthCheck"));
    assert_eq!(
        (&health["status"], &health["peer_count"]),
        (&json!("healthy"), &json!(1))
    );
    assert_eq!(body(&get(at, "/v1/LiveCheck")), json!({}));
}

#[test]
fn a_page_in_a_browser_must_say_that_it_sends_json() {
    let server = kit::tollgate(kit::THREE_A_MINUTE);
    let head = "POST /throttle HTTP/1.1\r\nhost: a\r\norigin: https://evil.test\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n";
    assert_eq!(kit::ask(server.http().unwrap(), head, "{}").status, 415);
}
