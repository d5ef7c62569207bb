//! Contracts, plans and assignments through the API: created, read, changed, rolled back, deleted.

use std::sync::Barrier;
use std::thread;

use serde_json::json;

use crate::kit::{ApiRefusal, Server, contract, on_both};

#[test]
fn a_thing_is_made_read_changed_and_deleted() {
    on_both("edits", |server| {
        let made = server.make("/contracts/a", &contract("a", 5));
        assert_eq!(made.field("etag"), Some("\"1\""));
        let read = server.get("/contracts/a");
        assert_eq!((read.status, read.field("etag")), (200, Some("\"1\"")));
        assert_eq!(read.json()["document"]["policies"][0]["limit"], 5);
        let known = server
            .ask("GET", "/contracts/a")
            .line("If-None-Match", "\"1\"")
            .send();
        assert_eq!((known.status, &*known.body), (304, ""));

        // A change without a precondition is refused, and one with an old version too.
        let put = || server.ask("PUT", "/contracts/a").json(&contract("a", 6));
        let unseen = put().send();
        unseen.refuses(428, "precondition_required");
        assert_eq!(unseen.json()["error"]["version"], 1);
        put()
            .line("If-None-Match", "*")
            .send()
            .refuses(412, "conflict");
        let changed = put()
            .line("If-Match", "\"1\"")
            .line("Tollgate-Reason", "more for all")
            .send();
        assert_eq!(
            (changed.status, changed.field("etag")),
            (200, Some("\"2\""))
        );
        let late = put().line("If-Match", "\"1\"").send();
        late.refuses(412, "conflict");
        assert_eq!(late.json()["error"]["version"], 2);
        let same = put().line("If-Match", "\"2\"").send().json();
        assert_eq!(
            (&same["changed"], &same["version"]),
            (&json!(false), &json!(2))
        );

        its_history_is_told(server);
        let back = server
            .ask("POST", "/contracts/a/rollback")
            .json(&json!({ "to": 1, "reason": "oh" }));
        let back = back.line("If-Match", "\"2\"").send();
        assert_eq!(back.json()["version"], 3, "{}", back.body);
        assert_eq!(
            server.get("/contracts/a").json()["document"]["policies"][0]["limit"],
            5
        );

        server
            .ask("DELETE", "/contracts/a")
            .send()
            .refuses(428, "precondition_required");
        let gone = server
            .ask("DELETE", "/contracts/a?reason=bye")
            .line("If-Match", "\"3\"")
            .send();
        assert_eq!(gone.json()["version"], 4);
        server.get("/contracts/a").refuses(404, "not_found");
        server
            .ask("DELETE", "/contracts/a")
            .send()
            .refuses(404, "not_found");
        let again = server.post("/contracts/a/rollback", &json!({ "to": 2 }));
        assert_eq!(again.json()["version"], 5, "{}", again.body);

        all_is_told(server);
    });
}

/// The history of a contract that was changed once.
fn its_history_is_told(server: &Server) {
    let history = server.get("/contracts/a/history?limit=1").json();
    assert_eq!(history["items"][0]["reason"], "more for all");
    assert_eq!(history["items"][0]["author"], "preset");
    assert_eq!(history["next"], "2");
    let first = server.get("/contracts/a/history?after=2").json();
    assert_eq!(first["items"][0]["version"], 1);
    let diff = server.get("/contracts/a/diff?from=1&to=2").json();
    assert_eq!(diff["diff"][0]["text"], "policies.p.limit: 5 -> 6");
    assert_eq!(server.get("/contracts/a/diff").json(), diff);
    server
        .get("/contracts/a/diff?from=7")
        .refuses(404, "not_found");
}

/// The list of all changes; the last one created a contract again.
fn all_is_told(server: &Server) {
    let changes = server.get("/changes?after=1&limit=2").json();
    assert_eq!(changes["items"][0]["revision"], 2);
    assert_eq!(changes["next"], "3");
    let audit = server.get("/audit").json();
    assert_eq!(audit["items"][0]["who"], "preset");
    assert_eq!(audit["items"][0]["origin"], "127.0.0.1");
    assert_eq!(audit["items"][0]["what"], "create contract");
}

#[test]
fn a_dry_run_checks_and_changes_nothing() {
    let server = Server::start();
    server.furnish();
    let put = |limit: u64| {
        let plan =
            json!({ "id": "free", "policies": [{ "name": "burst", "limit": limit, "per": "1s" }] });
        server
            .ask("PUT", "/plans/free?dry_run=true")
            .json(&plan)
            .send()
    };
    let tried = put(30).json();
    assert_eq!(tried["diff"][0]["text"], "policies.burst.limit: 20 -> 30");
    put(0).refuses(422, "invalid");
    assert_eq!(server.get("/plans/free").json()["version"], 1);
}

#[test]
fn yaml_is_as_good_as_json() {
    let server = Server::start();
    let text = "id: y\nkey: [user]\npolicies:\n  - { name: p, limit: 7, per: 1m } # a week\n";
    let put = |kind: &str, text: &str| server.ask("PUT", "/contracts/y").body(kind, text).send();
    put("text/plain", text).refuses(415, "unsupported_media_type");
    put("application/json", text).refuses(400, "malformed");
    let wrong = put("application/yaml", "id: y\nkye: [user]\n");
    wrong.refuses(422, "invalid");
    assert!(wrong.message().contains("`key`"), "{}", wrong.body);
    assert_eq!(wrong.json()["error"]["details"][0]["line"], 2);
    assert_eq!(put("application/yaml", text).status, 201);
}

#[test]
fn what_others_need_stays() {
    let server = Server::start();
    server.furnish();
    let delete = |path: &str| server.ask("DELETE", path).line("If-Match", "\"1\"").send();
    let used = delete("/plans/free");
    used.refuses(409, "in_use");
    assert_eq!(
        used.json()["error"]["details"].as_array().map(Vec::len),
        Some(2)
    );
    server.make(
        "/assignments/user%3D1",
        &json!({ "identity": "user=1", "plan": "pro" }),
    );
    delete("/plans/pro").refuses(409, "in_use");
    let circle = json!({ "id": "free", "follows": "pro", "policies": [] });
    let circle = server
        .ask("PUT", "/plans/free")
        .line("If-Match", "\"1\"")
        .json(&circle)
        .send();
    circle.refuses(422, "invalid");
    let breaks =
        json!({ "id": "free", "policies": [{ "name": "other", "limit": 1, "per": "1s" }] });
    let breaks = server
        .ask("PUT", "/plans/free")
        .line("If-Match", "\"1\"")
        .json(&breaks)
        .send();
    breaks.refuses(409, "breaks");
}

#[test]
fn lists_have_filters_and_pages() {
    on_both("lists", |server| {
        server.furnish();
        let ids = |path: &str| -> Vec<String> {
            let (mut all, mut path) = (Vec::new(), path.to_owned());
            let first = path.clone();
            loop {
                let page = server.get(&path);
                assert_eq!(page.status, 200, "{}", page.body);
                let page = page.json();
                let items = page["items"].as_array().unwrap();
                all.extend(
                    items
                        .iter()
                        .map(|item| item["id"].as_str().unwrap().to_owned()),
                );
                let Some(next) = page["next"].as_str() else {
                    return all;
                };
                path = format!("{first}&after={}", next.replace('=', "%3D"));
            }
        };
        for n in 0..5 {
            let plan = if n % 2 == 0 { "pro" } else { "free" };
            server.make(
                &format!("/assignments/user%3D{n}"),
                &json!({ "identity": format!("user={n}"), "plan": plan }),
            );
        }
        let own = json!({ "identity": "user=3", "plan": "pro", "contract": "users", "until": "2020-01-01T00:00:00Z" });
        server.make("/assignments/user%3D3%40users", &own);
        assert_eq!(ids("/contracts?limit=1"), ["all", "users"]);
        assert_eq!(ids("/contracts?plan=free"), ["users"]);
        assert_eq!(ids("/plans?plan=free"), ["pro"]);
        assert_eq!(ids("/plans?prefix=fr"), ["free"]);
        assert_eq!(ids("/assignments?limit=2").len(), 6);
        assert_eq!(
            ids("/assignments?plan=pro&limit=1"),
            ["user=0", "user=2", "user=3@users", "user=4"]
        );
        assert_eq!(
            ids("/assignments?identity=user%3D3&limit=1"),
            ["user=3", "user=3@users"]
        );
        assert_eq!(ids("/assignments?contract=users"), ["user=3@users"]);
        assert_eq!(
            ids("/assignments?prefix=user%3D3"),
            ["user=3", "user=3@users"]
        );
    });
}

#[test]
fn absurd_pages_are_refused_or_empty() {
    on_both("pages", |server| {
        server.furnish();
        for wrong in [
            "limit=0",
            "limit=1001",
            "limit=-1",
            "limit=x",
            "limit=1&limit=2",
            "after=%00",
            "offset=3",
        ] {
            server
                .get(&format!("/assignments?{wrong}"))
                .refuses(400, "malformed");
        }
        server
            .get("/contracts?identity=user%3D3")
            .refuses(400, "malformed");
        for odd in ["after=%27%3B--", "prefix=%F0%9F%A6%80", "after=%7f"] {
            assert_eq!(
                server.get(&format!("/assignments?{odd}")).status,
                200,
                "{odd}"
            );
        }
        let end = server.get("/assignments?after=zzzz").json();
        assert_eq!(end, json!({ "items": [], "next": null }));
        let huge = server
            .get("/contracts/users/history?after=18446744073709551615")
            .json();
        assert_eq!(huge["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            server.get("/changes?after=18446744073709551615").json()["items"],
            json!([])
        );
    });
}

#[test]
fn of_two_editors_exactly_one_wins() {
    on_both("editors", |server| {
        server.make("/contracts/a", &contract("a", 1));
        for round in 1..=5 {
            let barrier = Barrier::new(4);
            let edit = |limit: u64| {
                let tag = format!("\"{round}\"");
                let ask = server.ask("PUT", "/contracts/a").line("If-Match", &tag);
                let ask = ask.json(&contract("a", round * 10 + limit));
                barrier.wait();
                ask.send().status
            };
            let mut statuses: Vec<u16> = thread::scope(|scope| {
                let editors: Vec<_> = (1..5)
                    .map(|limit| scope.spawn(move || edit(limit)))
                    .collect();
                editors
                    .into_iter()
                    .map(|editor| editor.join().unwrap())
                    .collect()
            });
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 412, 412, 412], "round {round}");
        }
    });
}

#[test]
fn a_policy_is_rolled_out_in_stages() {
    let server = Server::start();
    server.furnish();
    let policies = || {
        let read = server.get("/contracts/users?compiled=true").json();
        read["compiled"]["policies"][0]["enforce_percent"].clone()
    };
    assert_eq!(policies(), 100);
    let steps = [
        (json!("shadow"), 0),
        (json!(10), 10),
        (json!("all"), 100),
        (json!(0), 0),
    ];
    for (version, (to, percent)) in (1..).zip(steps) {
        let ask = server
            .ask("POST", "/contracts/users/rollout")
            .json(&json!({ "policy": "burst", "to": to }));
        let done = ask.line("If-Match", &format!("\"{version}\"")).send();
        assert_eq!(done.status, 200, "{}", done.body);
        assert_eq!(policies(), percent, "{to}");
    }
    assert_eq!(
        server.get("/contracts/users/history").json()["items"]
            .as_array()
            .map(Vec::len),
        Some(5)
    );
    for (body, status) in [
        (json!({ "to": 101 }), 400),
        (json!({ "to": "half" }), 400),
        (json!({ "to": 1.5 }), 400),
        (json!({}), 400),
        (json!({ "to": 1, "policy": "brust" }), 400),
    ] {
        let refused = server
            .ask("POST", "/contracts/users/rollout")
            .json(&body)
            .line("If-Match", "*")
            .send();
        assert_eq!(refused.status, status, "{body} {}", refused.body);
    }
    server
        .post("/contracts/none/rollout", &json!({ "to": "all" }))
        .refuses(404, "not_found");
}

#[test]
fn assignments_are_imported_whole_or_not_at_all() {
    on_both("imports", |server| {
        server.furnish();
        let import = |text: &str| {
            server
                .ask("POST", "/assignments/import")
                .body("application/x-ndjson", text)
                .send()
        };
        let lines = (0..100).map(|n| format!("{{\"identity\":\"user={n}\",\"plan\":\"pro\"}}\n\n"));
        let lines = lines.collect::<Vec<_>>().concat();
        let done = import(&lines).json();
        assert_eq!((&done["made"], &done["same"]), (&json!(100), &json!(0)));
        let again = import(&lines).json();
        assert_eq!((&again["made"], &again["same"]), (&json!(0), &json!(100)));
        let wrong = import(
            "{\"identity\":\"user=x\",\"plan\":\"pro\"}\n{\"identity\":\"user=y\",\"paln\":\"pro\"}\n",
        );
        wrong.refuses(422, "invalid");
        assert!(wrong.message().starts_with("line 2: "), "{}", wrong.body);
        import("{\"identity\":\"user=x\",\"plan\":\"pro\"}\n{\"identity\":\"user=y\",\"plan\":\"none\"}\n").refuses(422, "invalid");
        server
            .get("/assignments/user%3Dx")
            .refuses(404, "not_found");
        // An imported object has no history of its own, but a version.
        assert_eq!(
            server.get("/assignments/user%3D7/history").json()["items"],
            json!([])
        );
        assert_eq!(
            server.get("/assignments/user%3D7").field("etag"),
            Some("\"1\"")
        );
    });
}
