//! What an answer says of the policy it names, over several protocols.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tollgate_serve::settings::{ContractSource, Listener};

use crate::http::kit::HttpServer;
use crate::resp::kit::RespServer;

/// Both refuse what costs two once three are taken: `burst` for a quarter of a minute, `daily` for a day.
const TWO: &str = "
contracts:
  - id: users
    key: [user]
    policies:
      - { name: burst, limit: 4, per: 1m, algorithm: token-bucket }
      - { name: daily, limit: 3, per: 1d, algorithm: sliding-log }
";

/// A bucket that holds more than its limit.
const LARGE: &str = "
contracts:
  - id: users
    key: [user]
    policies:
      - { name: burst, limit: 5, per: 1s, burst: 10, max_debt: 100 }
";

fn server(contracts: &str) -> HttpServer {
    HttpServer::with(|settings| {
        settings.contracts = ContractSource::Text(contracts.to_owned());
        settings.resp = vec![Listener::loopback()];
    })
}

fn check(server: &HttpServer, path: &str, cost: u64) -> tollgate_parts::HttpReply {
    let body = json!({"key": {"user": "ada"}, "cost": cost}).to_string();
    server.post(path, &body)
}

#[test]
fn what_stands_beside_a_policy_is_its_own_where_two_refuse() {
    let server = server(TWO);
    assert_eq!(check(&server, "/v1/check", 3).json()["policy"], "daily");
    let refused = check(&server, "/v1/check", 2);
    let answer = refused.json();
    let told = |name: &str| answer[name].clone();
    assert_eq!(told("policy"), "daily");
    assert_eq!((told("limit"), told("remaining")), (json!(3), json!(0)));
    for time in ["retry_after_ms", "reset_after_ms"] {
        let millis = told(time).as_u64().expect("a time");
        assert!(
            (86_000_000..=86_400_000).contains(&millis),
            "{time} {millis}"
        );
    }
    let limits = refused.field("ratelimit").expect("limits");
    let (burst, daily) = limits.split_once(", ").expect("two");
    assert!(
        burst == "\"burst\";r=1;t=15" || burst == "\"burst\";r=1;t=14",
        "{burst}"
    );
    assert!(daily.starts_with("\"daily\";r=0;t=86"), "{daily}");
    let problem = check(&server, "/v1/check?status=1", 2);
    assert_eq!(
        problem.json()["violated-policies"],
        json!(["burst", "daily"])
    );
    let auth = server.curl("/v1/auth?user=ada&cost=2", &["-D", "-"]);
    assert!(
        auth.contains("\"violated-policies\":[\"burst\",\"daily\"]"),
        "{auth}"
    );
    assert!(auth.contains("of \\\"daily\\\""), "{auth}");
}

#[test]
fn an_allowed_request_hears_when_the_policy_it_is_told_of_is_as_new() {
    let server = server(
        "contracts: [{ id: users, key: [user], policies: [
            { name: burst, limit: 2, per: 1s }, { name: daily, limit: 100, per: 1d } ] }]",
    );
    let answer = check(&server, "/v1/check", 1).json();
    assert_eq!(
        (&answer["policy"], &answer["reset_after_ms"]),
        (&json!("burst"), &json!(500))
    );
}

#[test]
fn a_bucket_larger_than_its_limit_says_what_it_holds() {
    let server = server(LARGE);
    let passed = check(&server, "/v1/check", 1);
    let answer = passed.json();
    let told = |name: &str| answer[name].as_u64().expect("a number");
    assert_eq!(
        (told("limit"), told("capacity"), told("remaining")),
        (5, 10, 9)
    );
    assert_eq!(passed.field("ratelimit-policy"), Some("\"burst\";q=10;w=2"));
    assert_eq!(passed.field("ratelimit"), Some("\"burst\";r=9;t=1"));
    let peek = server
        .post("/v1/peek", r#"{"key": {"user": "bob"}}"#)
        .json();
    let burst = &peek["policies"][0];
    assert_eq!(
        (&burst["limit"], &burst["capacity"], &burst["remaining"]),
        (&json!(5), &json!(10), &json!(10))
    );
}

#[test]
fn debt_is_told_with_every_answer() {
    let server = server(
        "contracts: [{ id: users, key: [user], policies: [{ name: daily, limit: 10, per: 1d, algorithm: fixed-window }] }]",
    );
    let body = r#"{"key": {"user": "ada"}, "cost": 17}"#;
    assert_eq!(
        server.post("/v1/charge", body).json(),
        json!({"applied": true})
    );
    let refused = check(&server, "/v1/check", 1).json();
    assert_eq!(
        (&refused["remaining"], &refused["debt"]),
        (&json!(0), &json!(7))
    );
    let problem = check(&server, "/v1/check?status=1", 1).problem();
    assert!(problem.contains("owes 7"), "{problem}");
    let peek = server
        .post("/v1/peek", r#"{"key": {"user": "ada"}}"#)
        .json();
    assert_eq!(peek["policies"][0]["debt"], 7);
    let why = server
        .post("/v1/explain", r#"{"key": {"user": "ada"}}"#)
        .json();
    assert_eq!(why["policies"][0]["debt"], 7);
    assert!(
        why["summary"]
            .as_str()
            .expect("a summary")
            .contains("owes 7"),
        "{why}"
    );
    let auth = server.curl("/v1/auth?user=ada", &[]);
    assert!(auth.contains("owes 7"), "{auth}");
}

#[test]
fn redis_clients_hear_the_same() {
    let server = RespServer::by(TWO);
    let client = redis::Client::open(format!("redis://{}", server.address)).unwrap();
    let mut client = client.get_connection().unwrap();
    let mut ask = |cost: u64| -> BTreeMap<String, redis::Value> {
        let words = ("COST", cost, "KEY", "user", "ada");
        redis::cmd("TOLLGATE.CHECK")
            .arg(words)
            .query(&mut client)
            .unwrap()
    };
    let _ = ask(3);
    let refused = ask(2);
    let number = |name: &str| match &refused[name] {
        redis::Value::Int(number) => *number,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(
        refused["policy"],
        redis::Value::BulkString(b"daily".to_vec())
    );
    assert_eq!(
        (number("limit"), number("capacity"), number("remaining")),
        (3, 3, 0)
    );
    assert!(number("retry_after_ms") > 86_000_000 && number("reset_after_ms") > 86_000_000);
    assert_eq!((number("debt"), number("matched")), (0, 1));
}

/// A server that does this with keys that no contract binds.
fn unmatched(rule: &str) -> HttpServer {
    server(&format!("unmatched: {rule}\n{}", LARGE.trim_start()))
}

#[test]
fn a_key_that_no_contract_binds_is_told_of_and_counted() {
    let server = unmatched("warn");
    let answer = server.post("/v1/check", r#"{"key": {"usr": "ada"}}"#);
    let json = answer.json();
    assert_eq!(
        (&json["allowed"], &json["matched"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(answer.field("tollgate-matched"), Some("false"));
    let auth = server.curl("/v1/auth?usr=ada", &["-D", "-"]);
    assert!(auth.contains("tollgate-matched: false"), "{auth}");
    let known = server.post("/v1/check", r#"{"key": {"user": "ada"}}"#);
    assert_eq!(
        (&known.json()["matched"], known.field("tollgate-matched")),
        (&json!(true), None)
    );
    let metrics = server.curl("/metrics", &[]);
    assert!(
        metrics.contains("tollgate_unmatched_total{door=\"http\"} 2"),
        "{metrics}"
    );
}

#[test]
fn explain_names_the_nearest_contract_and_the_nearest_field() {
    let server = unmatched("warn");
    let why = server
        .post("/v1/explain", r#"{"key": {"usr": "ada"}}"#)
        .json();
    assert_eq!(why["matched"], false);
    assert_eq!(why["misses"][0]["did_you_mean"], json!({"usr": "user"}));
    let summary = why["summary"].as_str().expect("a summary");
    assert!(
        summary.contains("the nearest is `users`")
            && summary.contains("did you mean `user` by `usr`?"),
        "{summary}"
    );
}

#[test]
fn a_key_that_no_contract_binds_is_refused_where_the_file_says_so() {
    let server = unmatched("deny");
    let body = r#"{"key": {"usr": "ada"}}"#;
    let answer = server.post("/v1/check", body).json();
    let told = ["allowed", "matched", "retry_after_ms"].map(|name| answer[name].clone());
    assert_eq!(told, [json!(false), json!(false), Value::Null]);
    let problem = server.post("/v1/check?status=1", body);
    assert_eq!(problem.status, 403);
    assert!(problem.problem().contains("No contract binds this key"));
    let list = server.post("/v1/check", &format!("[{body}]")).json();
    assert_eq!(list[0]["allowed"], false);
    let why = server.post("/v1/explain", body).json();
    assert_eq!(why["allowed"], false);
    let auth = server.curl(
        "/v1/auth?usr=ada",
        &["-o", "/dev/null", "-w", "%{http_code}"],
    );
    assert_eq!(auth, "403");
    assert_eq!(
        server.post("/v1/check", r#"{"key": {"user": 42}}"#).json()["allowed"],
        true
    );
}

#[test]
fn a_file_may_not_say_what_it_likes_of_keys_that_no_contract_binds() {
    let text = format!("unmatched: maybe\n{}", LARGE.trim_start());
    let error = tollgate_contract::Contracts::parse(&text).expect_err("no such word");
    assert!(
        error
            .to_string()
            .contains("unknown word for keys that no contract binds"),
        "{error}"
    );
}

#[test]
fn the_server_says_what_becomes_of_keys_where_the_file_does_not() {
    let server = HttpServer::with(|settings| {
        settings.contracts = ContractSource::Text(LARGE.to_owned());
        settings.node.unmatched = tollgate_contract::Unmatched::Deny;
    });
    assert_eq!(
        server
            .post("/v1/check", r#"{"key": {"usr": "ada"}}"#)
            .json()["allowed"],
        false
    );
}

#[test]
fn a_number_is_the_same_key_as_its_text() {
    let server = server(LARGE);
    let left = |key: &str| {
        server
            .post("/v1/check", &format!(r#"{{"key": {{"user": {key}}}}}"#))
            .json()["remaining"]
            .clone()
    };
    assert_eq!((left("42"), left("\"42\"")), (json!(9), json!(8)));
    let wrong = server.post("/v1/check", r#"{"key": {"user": 1.5}}"#);
    assert!(
        wrong.problem().contains("from -2^53 to 2^53"),
        "{}",
        wrong.problem()
    );
    let cost = server.post("/v1/check", r#"{"key": {"user": 1}, "cost": -1}"#);
    assert!(
        cost.problem().contains("from 0 to 9007199254740992 (2^53)"),
        "{}",
        cost.problem()
    );
}

#[test]
fn lists_say_the_same_as_single_answers() {
    let server = server(TWO);
    let one = r#"{"key": {"user": "ada"}, "cost": 3}"#;
    let answers = server.post("/v1/check", &format!("[{one},{one}]")).json();
    let second: &Value = &answers[1];
    assert_eq!(
        (&second["policy"], &second["limit"]),
        (&json!("daily"), &json!(3))
    );
}
