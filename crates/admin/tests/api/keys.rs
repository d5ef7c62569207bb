//! Keys: explained, and acted on, by what the server counts.

use serde_json::{Value, json};
use tollgate_parts::until;

use crate::kit::{ApiRefusal, ApiRequest, Server, contract, on_both, postgres};

/// Takes a token as a normal request.
fn check(server: &Server, key: &Value) -> Value {
    let body = json!({ "key": key });
    ApiRequest::new(server.at, "POST", "")
        .at("/v1/check")
        .by_nobody()
        .json(&body)
        .send()
        .json()
}

#[test]
fn a_key_is_explained_and_helped() {
    let server = Server::start();
    let live = json!({ "name": "hourly", "limit": 5, "per": "30d", "algorithm": "token-bucket" });
    server.make(
        "/contracts/live",
        &json!({ "id": "live", "key": ["user"], "policies": [live] }),
    );
    let ada = json!({ "user": "ada" });
    for _ in 0..5 {
        assert_eq!(check(&server, &ada)["allowed"], true);
    }
    assert_eq!(check(&server, &ada)["allowed"], false);
    let explain = || server.get("/keys/explain?key=user%3Dada");
    let why = explain().json();
    assert_eq!(
        (&why["allowed"], &why["policies"][0]["remaining"]),
        (&json!(false), &json!(0))
    );
    assert!(
        why["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0),
        "{why}"
    );
    assert!(
        why["summary"]
            .as_str()
            .unwrap()
            .starts_with("denied by `hourly` of `live`"),
        "{why}"
    );

    let refund = server.post(
        "/keys/refund?reason=sorry",
        &json!({ "key": ada, "cost": 2 }),
    );
    assert_eq!(refund.json(), json!({ "applied": true }), "{}", refund.body);
    assert_eq!(explain().json()["policies"][0]["remaining"], 2);
    server.post(
        "/keys/charge",
        &json!({ "key": ada, "cost": 1, "contract": "live", "id": "once" }),
    );
    server.post(
        "/keys/charge",
        &json!({ "key": ada, "cost": 1, "contract": "live", "id": "once" }),
    );
    assert_eq!(explain().json()["policies"][0]["remaining"], 1);
    server.post("/keys/reset", &json!({ "key": ada }));
    assert_eq!(explain().json()["policies"][0]["remaining"], 5);
    let nobody = server.post("/keys/reset", &json!({ "key": { "tenant": "x" } }));
    assert_eq!(nobody.json(), json!({ "applied": false }));

    let audit = server.get("/audit?limit=10").json().to_string();
    for said in ["refund key", "charge key", "reset key", "user=ada", "sorry"] {
        assert!(audit.contains(said), "{said} {audit}");
    }
}

#[test]
fn what_is_no_key_is_told_as_such() {
    let server = Server::start();
    server.get("/keys/explain").refuses(400, "malformed");
    server
        .get("/keys/explain?key=a&key=b%3Dc")
        .refuses(400, "malformed");
    server
        .get("/keys/explain?key=a&contract=none")
        .refuses(404, "not_found");
    server
        .get(&format!("/keys/explain?key=user%3D{}", "x".repeat(8000)))
        .refuses(422, "invalid");
    server
        .post("/keys/reset", &json!({ "kye": "a" }))
        .refuses(400, "malformed");
    let large = server.post("/keys/charge", &json!({ "key": "a", "cost": u64::MAX }));
    large.refuses(422, "invalid");
    assert!(
        large.message().contains("from 0 to 9223372036854775807"),
        "{}",
        large.body
    );
    server
        .post("/keys/charge", &json!({ "key": "a", "id": "" }))
        .refuses(422, "invalid");
}

#[test]
fn a_change_is_in_force_when_it_is_answered() {
    on_both("force", |server| {
        server.furnish();
        let limit = |user: &str| check(server, &json!({ "user": user }))["limit"].clone();
        assert_eq!(limit("ada"), 9);
        let put = server
            .ask("PUT", "/contracts/all")
            .line("If-Match", "\"1\"");
        let put = put.json(&contract("all", 90)).send();
        assert_eq!(put.json()["in_force"], true, "{}", put.body);
        assert_eq!(limit("ada"), 20);
        let own = json!({ "identity": "user=ada", "plan": "pro" });
        server.make("/assignments/user%3Dada", &own);
        assert_eq!(limit("ada"), 90);
        let why = server.get("/keys/explain?key=user%3Dada").json();
        let by = &why["assignments"][0];
        assert_eq!(
            (&by["contract"], &by["assignment"]),
            (&json!("users"), &json!("user=ada"))
        );
    });
}

#[test]
fn a_change_through_one_node_is_in_force_on_the_other() {
    let (_postgres, at) = postgres("nodes");
    let [one, other] = Server::two(&at);
    one.make("/contracts/all", &contract("all", 9));
    let limit = || check(&other, &json!({ "user": "ada" }))["limit"].clone();
    until("the other node decides by it", || limit() == json!(9));
    // Both accept the same sessions and links, and show each other's changes.
    let link = one.post("/identities/user%3Dada/link", &json!({})).json();
    let path = link["path"].as_str().unwrap();
    let opened = other.ask("GET", "").at(path).by_nobody().send();
    assert_eq!(opened.status, 200, "{}", opened.body);
    assert_eq!(other.get("/contracts/all").field("etag"), Some("\"1\""));
}

#[test]
fn whoever_is_banned_is_denied_until_the_ban_is_gone() {
    on_both("bans", |server| {
        server.furnish();
        let mallory = json!({ "user": "mallory" });
        assert_eq!(check(server, &mallory)["allowed"], true);
        let ban = json!({ "identity": "user=mallory", "reason": "scrapes" });
        server.make("/bans/user%3Dmallory", &ban);
        assert_eq!(check(server, &mallory)["allowed"], false);
        let listed = server.get("/bans?identity=user%3Dmallory").json();
        assert_eq!(listed["items"][0]["document"]["reason"], "scrapes");
        assert_eq!(
            server.get("/bans?contract=users").json()["items"],
            json!([])
        );
        bans_are_explained(server);
        let gone = server
            .ask("DELETE", "/bans/user%3Dmallory")
            .line("If-Match", "\"1\"")
            .send();
        assert_eq!(gone.json()["in_force"], true, "{}", gone.body);
        assert_eq!(check(server, &mallory)["allowed"], true);
    });
}

/// An explanation has every ban that covers the key.
fn bans_are_explained(server: &Server) {
    let why = server.get("/keys/explain?key=user%3Dmallory").json();
    assert_eq!(
        (&why["allowed"], &why["retry_after_ms"]),
        (&json!(false), &json!(null))
    );
    let summary = why["summary"].as_str().unwrap();
    let said = "denied: `user=mallory` is banned without an end: scrapes";
    assert_eq!(summary, said);
    assert_eq!(why["bans"][0]["identity"], "user=mallory");
    assert_eq!(why["policies"][0]["per_ns"], 1_000_000_000);
    let range =
        json!({ "id": "net", "identity": "ip=10.0.0.0/8", "until": "2500-01-01T00:00:00Z" });
    server.make("/bans/net", &range);
    let why = server.get("/keys/explain?key=user%3Dada&key=ip%3D10.1.2.3");
    let bans = why.json()["bans"].clone();
    assert_eq!((&bans[0]["id"], &bans[1]), (&json!("net"), &json!(null)));
    let bare = server
        .get("/keys/explain?key=mallory&contract=users")
        .json();
    assert_eq!(bare["bans"][0]["id"], "user=mallory", "{bare}");
    let free = server.get("/keys/explain?key=user%3Dada&key=ip%3D11.1.2.3");
    assert_eq!(free.json()["bans"], json!([]));
    let elsewhere = json!({ "id": "elsewhere", "identity": "user=ada", "contract": "all" });
    server.make("/bans/elsewhere", &elsewhere);
    let there = server
        .get("/keys/explain?key=user%3Dada&contract=users")
        .json();
    assert_eq!(there["bans"], json!([]));
    let here = server
        .get("/keys/explain?key=user%3Dada&contract=all")
        .json();
    assert_eq!(here["bans"][0]["id"], "elsewhere");
}

#[test]
fn the_server_is_told_of() {
    let server = Server::start();
    let status = server.get("/status").json();
    assert_eq!(
        (&status["ready"], &status["contracts"]),
        (&json!(true), &json!(0))
    );
    let catalogue = &status["catalogue"];
    assert_eq!(
        (&catalogue["source"], &catalogue["revision"]),
        (&json!("database"), &json!(0))
    );
    assert_eq!(server.get("/cluster").json()["on"], false);
    assert!(server.get("/now").json().is_object());
}
