//! The fast path and hyper agree: the same request gets the same answer from both.

use proptest::prelude::*;

use crate::http::kit::{HttpServer, chunked, post};
use tollgate_parts::HttpReply;

/// What does not depend on who answers, nor on when.
fn essence(answer: &HttpReply) -> (u16, Vec<(String, String)>, String) {
    let lines = answer.fields.iter().filter(|(name, _)| name != "date");
    let mut lines: Vec<_> = lines.cloned().collect();
    lines.sort();
    (answer.status, lines, answer.body.clone())
}

fn path() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/v1/check",
        "/v1/check?status=1",
        "/v1/check?x",
        "/v1/peek",
        "/v1/commit",
        "/v1/cancel",
        "/v1/settle",
        "/livez",
        "/v1/chek",
        "/",
        "/json",
        "/throttle",
        "/v1/auth?cost=0",
    ]);
    prop_oneof![
        4 => known.prop_map(str::to_owned),
        1 => "/[a-z0-9/%.?=&~-]{0,20}",
    ]
}

fn body() -> impl Strategy<Value = String> {
    // Nothing here takes a token, so that the second to be asked finds what the first did.
    let bodies = prop::sample::select(vec![
        r#"{"key": {"user": "42", "plan": "free"}, "cost": 0}"#,
        r#"{"key": "bare", "cost": 0}"#,
        r#"[{"key": "bare", "cost": 0}, {"key": {"user": "1"}, "cost": 0}]"#,
        r#"{"key": {"user": "42"}, "cost": 9999999}"#,
        r#"{"key": {"user": "42"}}"#,
        r#"{"key": {"user": "42"}, "cost": 0, "contract": "nope"}"#,
        r#"{"id": "nobody", "cost": 1}"#,
        r#"{"id": "nobody"}"#,
        r#"{"receipt": "nothing", "cost": 1}"#,
        r#"{"domain": "a", "descriptors": []}"#,
        "",
        "{",
        "null",
        "[]",
    ]);
    prop_oneof![
        4 => bodies.prop_map(str::to_owned),
        1 => "[\\[\\]{}\":,a-z0-9 ]{0,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1, ..ProptestConfig::default() })]

    #[test]
    fn the_same_request_gets_the_same_answer(all in prop::collection::vec((path(), body()), 400)) {
        // Time must not pass between the two: no policy here counts in less than an hour, and none is charged.
        let server = HttpServer::with(|settings| {
            settings.contracts = tollgate_serve::settings::ContractSource::Text(
                "contracts: [{id: users, key: [user], policies: [{name: p, limit: 5, per: 30d, algorithm: token-bucket}]}]".into(),
            );
        });
        let mut lean = server.connect();
        let mut full = server.connect();
        // Read by hyper once, a connection stays with it.
        full.send(chunked("/v1/check", "{}").as_bytes());
        prop_assert_eq!(full.reply().status, 400);
        for (path, body) in all {
            if body == r#"{"key": {"user": "42"}}"# && path.starts_with("/v1/check") {
                continue;
            }
            lean.send(post(&path, &body).as_bytes());
            full.send(post(&path, &body).as_bytes());
            let (lean, full) = (lean.reply(), full.reply());
            prop_assert_eq!(essence(&lean), essence(&full), "{} {}", path, body);
        }
    }
}
