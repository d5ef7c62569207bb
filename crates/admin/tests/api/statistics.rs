//! Statistics: the sums of an export are the decisions that were made.

use serde_json::{Value, json};
use tollgate_parts::until;

use crate::kit::{ApiRefusal, ApiRequest, Server, contract, on_both};

fn check(server: &Server, user: &str) -> bool {
    let body = json!({ "key": { "user": user } });
    let ask = ApiRequest::new(server.at, "POST", "")
        .at("/v1/check")
        .by_nobody();
    ask.json(&body).send().json()["allowed"] == true
}

#[test]
fn usage_is_what_was_decided() {
    on_both("usage", |server| {
        server.make("/contracts/all", &contract("all", 9));
        let (mut allowed, mut denied) = (0, 0);
        for n in 0..30 {
            if check(server, &format!("u{}", n % 2)) {
                allowed += 1;
            } else {
                denied += 1;
            }
        }
        let sums = || {
            let page = server.get("/usage?contract=all");
            assert_eq!(page.status, 200, "{}", page.body);
            let page = page.json();
            let sum = |name: &str| {
                let rows = page["items"].as_array().unwrap().iter();
                rows.map(|row| row[name].as_u64().unwrap()).sum::<u64>()
            };
            (sum("allowed"), sum("denied"))
        };
        until("everything is counted", || sums() == (allowed, denied));
        let csv = server.get("/usage?contract=all&format=csv");
        assert_eq!(csv.field("content-type"), Some("text/csv; charset=utf-8"));
        assert!(
            csv.body.contains("\"user=u0\"") || csv.body.contains("u0"),
            "{}",
            csv.body
        );
        let top = server.get("/top?by=asked&limit=1").json();
        assert_eq!(top["items"].as_array().map(Vec::len), Some(1), "{top}");
        let points = server.get("/series?contract=all").json();
        let asked: u64 = points["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| point["allowed"].as_u64().unwrap())
            .sum();
        assert_eq!(asked, allowed);
        assert!(server.get("/load").json()["all"]["rate"].is_number());
        let recent = server.get("/recent?key=user%3Du1&limit=3").json();
        assert_eq!(
            recent["items"].as_array().map(Vec::len),
            Some(3),
            "{recent}"
        );
    });
}

#[test]
fn a_change_is_tried_on_what_came() {
    let server = Server::start();
    server.make("/contracts/all", &contract("all", 100));
    for _ in 0..20 {
        assert!(check(&server, "ada"));
    }
    let attempt = |body: &Value| server.post("/contracts/all/try", body);
    let mut lower = contract("all", 5);
    lower["policies"][0]["per"] = json!("30d");
    until("the change is tried on all of them", || {
        let tried = attempt(&lower);
        assert_eq!(tried.status, 200, "{}", tried.body);
        let sums = &tried.json()["sums"];
        sums["allowed_before"] == 20 && sums["denied_after"] == 15
    });
    attempt(&json!({ "id": "all", "kye": [] })).refuses(422, "invalid");
    server
        .post("/bans/x/try", &json!({}))
        .refuses(422, "invalid");
    assert_eq!(server.get("/contracts/all").json()["version"], 1);
}

#[test]
fn a_change_is_tried_on_a_recorded_trace() {
    let server = Server::start();
    server.make("/contracts/all", &contract("all", 100));
    let attempt = |lines: &str| {
        let ask = server.ask("POST", "/contracts/all/try");
        ask.body("application/x-ndjson", lines).send()
    };
    let document = contract("all", 5).to_string();
    let request = |at: u64| format!("\n{}", json!({ "time": at, "user": "ada", "cost": 1 }));
    let lines: String = (0..20)
        .rev()
        .map(|n| request(1_700_000_000_000 + n))
        .collect();
    let tried = attempt(&format!("{document}{lines}\n\n")).json();
    let sums = &tried["sums"];
    assert_eq!(
        (
            &tried["requests"],
            &sums["allowed_before"],
            &sums["denied_after"]
        ),
        (&json!(20), &json!(20), &json!(15))
    );
    assert_eq!(tried["changed"][0]["key"], "user=ada");
    for (lines, said) in [
        ("", "first line"),
        ("{\"id\":", "EOF"),
        (
            &*format!("{document}\n{{\"user\":\"a\"}}"),
            "line 2: `time`",
        ),
        (
            &*format!("{document}\n{{\"time\":1,\"cost\":-1}}"),
            "line 2: `cost` is no whole number from 0 to 18446744073709551615",
        ),
        (&*format!("{document}\n[]"), "line 2"),
    ] {
        let refused = attempt(lines);
        refused.refuses(400, "malformed");
        assert!(refused.message().contains(said), "{}", refused.body);
    }
}

#[test]
fn absurd_questions_are_refused() {
    let server = Server::start();
    for path in [
        "/usage?from=yesterday",
        "/usage?format=xml",
        "/usage?after=x",
        "/series?step=second",
        "/series?from=now",
        "/top?by=name",
        "/recent?limit=0",
    ] {
        server.get(path).refuses(400, "malformed");
    }
    server
        .get("/series?from=1970-01-01T00:00:00Z&step=minute")
        .refuses(422, "invalid");
    for path in [
        "/usage?from=1970-01-01&until=9999-12-31",
        "/usage?after=%5B18446744073709551615,%22%22,%22%22%5D",
        "/top?window=18446744073709551615",
    ] {
        let answer = server.get(path);
        assert!(
            answer.status < 500,
            "{path}: {} {}",
            answer.status,
            answer.body
        );
    }
}
