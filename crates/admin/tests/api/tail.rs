//! The live tail: the API, and the page in a real browser and without its script.

use serde_json::{Value, json};
use tollgate_parts::until;

use crate::console::Person;
use crate::day::pictures;
use crate::kit::{ApiRefusal, PRESET, Server};

/// Sends a normal check.
fn check(server: &Server, user: &str) {
    let ask = server.ask("POST", "").at("/v1/check").by_nobody();
    let answer = ask.json(&json!({ "key": { "user": user } })).send();
    assert_eq!(answer.status, 200, "{}", answer.body);
}

fn three_a_month() -> Value {
    let policy = json!({ "name": "p", "limit": 3, "per": "30d" });
    json!({ "id": "all", "key": ["user"], "policies": [policy] })
}

#[test]
fn a_look_shows_what_came_since_it_was_first_asked_for() {
    let server = Server::start();
    server.make("/contracts/all", &three_a_month());
    check(&server, "before");
    let look = || server.get("/tail?key=user%3Dada&verdict=refused").json();
    let first = look();
    assert_eq!(first["items"], json!([]), "{first}");
    for _ in 0..5 {
        check(&server, "ada");
        check(&server, "bob");
    }
    let told = look();
    let items = told["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{told}");
    assert_eq!(
        (&items[0]["verdict"], &items[0]["key"]),
        (&json!("deny"), &json!("user=ada"))
    );
    assert_eq!(told["since_ms"], first["since_ms"], "the same look goes on");
    for (garbage, said) in [
        ("?contract=al", "Did you mean `all`?"),
        ("?verdict=%00", "no text"),
        ("?verdict=refuse", "Did you mean `refused`?"),
        ("?key=ada", "no entry"),
        ("?verdikt=deny", "`verdict`"),
    ] {
        let answer = server.get(&format!("/tail{garbage}"));
        answer.refuses(400, "malformed");
        assert!(
            answer.message().contains(said),
            "{garbage}: {}",
            answer.message()
        );
    }
    // More filters than are kept: the least recently polled are replaced.
    for user in 0..20 {
        let answer = server.get(&format!("/tail?key=user%3D{user}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let watchers = || {
        let metrics = server.ask("GET", "").at("/metrics").by_nobody().send().body;
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("tollgate_tail_watchers "));
        line.unwrap().to_owned()
    };
    assert_eq!(watchers(), "4");
    until("nobody looks any more", || watchers() == "0");
}

#[test]
fn the_page_shows_decisions_live_and_as_a_snapshot() {
    let server = Server::start();
    server.make("/contracts/all", &three_a_month());
    let person = Person::at(&server);
    person.signs_in(PRESET);
    person.go("/console/tail?contract=all&verdict=refused");
    person.sees("Nothing was decided since");
    for _ in 0..5 {
        check(&server, "ada");
    }
    // The script polls the page.
    person.sees("user=ada");
    person.sees("0 left of 3");
    let rows = "return document.querySelectorAll('#results tbody tr').length";
    assert_eq!(person.browser.run(rows), 2, "only those that are refused");
    let shown = "return document.querySelector('[name=verdict]').value";
    assert_eq!(person.browser.run(shown), "refused", "the filter stays");
    person.browser.picture(&pictures().join("live-tail.png"));
    person.go("/console/tail?key=ada&verdict=refused");
    person.sees("is no entry of a key");
    let typed = "return document.querySelector('[name=key]').value";
    assert_eq!(person.browser.run(typed), "ada", "what was typed stays");

    // Without its script the page shows new decisions when it is reloaded.
    person.browser.allow_scripts(false);
    person.go("/console/tail?contract=all&verdict=refused");
    assert!(!person.browser.text("body").contains("user=bob"));
    for _ in 0..4 {
        check(&server, "bob");
    }
    person.browser.follow("#results p.note a");
    person.sees("user=bob");
}
