//! What is known of requests: the sums of an export are the decisions that were made.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kit::{Ask, Server, contract, on_both};

fn check(server: &Server, user: &str) -> bool {
    let body = json!({ "key": { "user": user } });
    let ask = Ask::new(server.at, "POST", "").at("/v1/check").by_nobody();
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
        let begun = Instant::now();
        while sums() != (allowed, denied) {
            assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", sums());
            std::thread::sleep(Duration::from_millis(50));
        }
        let csv = server.get("/usage?contract=all&format=csv");
        assert_eq!(csv.line("content-type"), Some("text/csv; charset=utf-8"));
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
    let begun = Instant::now();
    loop {
        let tried = attempt(&lower);
        assert_eq!(tried.status, 200, "{}", tried.body);
        let sums = &tried.json()["sums"];
        if sums["allowed_before"] == 20 && sums["denied_after"] == 15 {
            break;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{}", tried.body);
        std::thread::sleep(Duration::from_millis(50));
    }
    attempt(&json!({ "id": "all", "kye": [] })).refuses(422, "invalid");
    server
        .post("/bans/x/try", &json!({}))
        .refuses(422, "invalid");
    assert_eq!(server.get("/contracts/all").json()["version"], 1);
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
