//! Arbitrary input from outside: a typed answer, nothing lost and nothing executed.

use serde_json::json;
use tollgate_admin::described;

use crate::kit::{ApiRefusal, Server, contract, on_both};

/// Names that a parser might interpret.
const NAMES: [&str; 9] = [
    "<script>alert(1)</script>",
    "'; DROP TABLE catalogue_object; --",
    "\" OR 1=1 --",
    "%_",
    "../../etc/passwd",
    "a/b?c#d",
    "{id}",
    "\u{202e}🦀 ä",
    "$1",
];

fn encoded(name: &str) -> String {
    let letters = name.bytes().map(|byte| format!("%{byte:02X}"));
    letters.collect::<Vec<_>>().concat()
}

#[test]
fn names_are_only_names() {
    on_both("names", |server| {
        for name in NAMES {
            let path = format!("/contracts/{}", encoded(name));
            let made = server
                .ask("PUT", &path)
                .json(&contract(name, 1))
                .line("Tollgate-Reason", "a <b>")
                .send();
            assert_eq!(made.status, 201, "{name}: {}", made.body);
            let read = server.get(&path);
            assert_eq!(read.json()["id"], name);
            assert_eq!(read.field("content-type"), Some("application/json"));
            let plan =
                json!({ "id": name, "policies": [{ "name": name, "limit": 1, "per": "1s" }] });
            server.make(&format!("/plans/{}", encoded(name)), &plan);
            let identity = format!("user={name}");
            let own = json!({ "identity": identity, "plan": name, "note": name });
            server.make(&format!("/assignments/{}", encoded(&identity)), &own);
            let reset = server.post(
                "/keys/reset",
                &json!({ "key": { name: name }, "reason": name }),
            );
            assert_eq!(reset.status, 200, "{}", reset.body);
            assert_eq!(
                server
                    .post("/tokens", &json!({ "name": name, "role": "viewer" }))
                    .status,
                201
            );
            assert_eq!(
                server
                    .get(&format!("/contracts?prefix={}", encoded(name)))
                    .json()["items"][0]["id"],
                name
            );
        }
        let all = server.get("/contracts").json();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(NAMES.len()));
        assert_eq!(
            server.get("/assignments").json()["items"]
                .as_array()
                .map(Vec::len),
            Some(NAMES.len())
        );
    });
}

/// Bodies that every route refuses.
const BODIES: [(&str, &[u8]); 9] = [
    ("application/json", b""),
    ("application/json", b"{"),
    ("application/json", b"[]"),
    ("application/json", b"null"),
    (
        "application/json",
        b"{\"to\": -1, \"key\": 5, \"name\": {}, \"a\\u0000b\": 1}",
    ),
    (
        "application/json",
        b"{\"id\": \"a\\u0000b\", \"identity\": \"user=\\u0000\"}",
    ),
    ("application/yaml", b"&a [*a, *a]"),
    ("application/x-ndjson", b"\xff\xfe"),
    ("text/html", b"<b>"),
];

#[test]
fn no_route_breaks_at_odd_names_bodies_and_parameters() {
    let server = Server::start();
    server.furnish();
    for route in described() {
        for name in [
            "%00",
            "%ff",
            "%",
            "x",
            "%3Cscript%3E",
            "a%0Ab",
            &"y".repeat(3000),
        ] {
            let path = route.path.replace("{id}", name).replace("{identity}", name);
            for (kind, body) in BODIES {
                let ask = server
                    .ask(route.method.as_str(), "")
                    .at(&path)
                    .body(kind, body);
                let answer = ask.line("If-Match", "\"1\"").send();
                assert!(
                    answer.status < 500,
                    "{} {path}: {} {}",
                    route.method,
                    answer.status,
                    answer.body
                );
            }
        }
        for odd in [
            "?",
            "?a=b",
            "?limit=%00",
            "?after=%ff",
            "?limit=1&limit=1",
            "?reason=%zz",
            "?key=%C3%28",
        ] {
            let answer = server
                .ask(route.method.as_str(), "")
                .at(&format!("{}{odd}", route.path))
                .send();
            assert!(
                answer.status < 500,
                "{} {}{odd}: {}",
                route.method,
                route.path,
                answer.body
            );
        }
    }
    // Nothing was lost.
    assert_eq!(
        server.get("/contracts").json()["items"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn large_bodies_and_deep_ones_are_refused() {
    let server = Server::start();
    let large = format!("{{\"id\": \"a\", \"x\": \"{}\"}}", "y".repeat(2 << 20));
    assert_eq!(
        server
            .ask("PUT", "/contracts/a")
            .body("application/json", large)
            .send()
            .status,
        413
    );
    let document = format!("{{\"id\": \"a\", \"x\": \"{}\"}}", "y".repeat(300 << 10));
    server
        .ask("PUT", "/contracts/a")
        .body("application/json", document)
        .send()
        .refuses(422, "invalid");
    let deep = "[".repeat(100_000);
    server
        .ask("PUT", "/contracts/a")
        .body("application/json", deep.clone())
        .send()
        .refuses(400, "malformed");
    let deep = server
        .ask("PUT", "/contracts/a")
        .body("application/yaml", deep)
        .send();
    assert_eq!(deep.status, 422, "{}", deep.body);
    let lines = "{\"identity\":\"user=1\",\"plan\":\"free\"}\n".repeat(2500);
    server
        .ask("POST", "/assignments/import")
        .body("application/x-ndjson", lines)
        .send()
        .refuses(422, "invalid");
    let reason = "x".repeat(501);
    let put = server
        .ask("PUT", "/contracts/a")
        .json(&contract("a", 1))
        .line("Tollgate-Reason", &reason)
        .send();
    put.refuses(400, "malformed");
}

#[test]
fn unknown_fields_are_named_with_what_was_meant() {
    let server = Server::start();
    server.furnish();
    let back = server
        .ask("POST", "/contracts/all/rollback")
        .json(&json!({ "to": 1, "raeson": "x" }))
        .send();
    back.refuses(400, "malformed");
    assert!(back.message().contains("`reason`"), "{}", back.body);
    let policy = json!({ "id": "x", "key": ["user"], "policies": [{ "name": "p", "limt": 1, "per": "1s" }] });
    let policy = server.ask("PUT", "/contracts/x").json(&policy).send();
    policy.refuses(422, "invalid");
    assert!(policy.message().contains("`limit`"), "{}", policy.body);
    let other = server
        .ask("PUT", "/contracts/x")
        .json(&contract("y", 1))
        .send();
    other.refuses(422, "invalid");
    let list = server.get("/contracts?prefx=a");
    assert!(list.message().contains("`prefix`"), "{}", list.body);
}
