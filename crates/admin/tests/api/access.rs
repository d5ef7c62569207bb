//! Tokens, guesses, sessions and links.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tollgate_parts::until;
use tollgate_serve::settings::{ContractSource, Settings};

use crate::kit::{ApiRefusal, PRESET, Server, contract, on_both, postgres, sqlite};

#[test]
fn the_first_token_is_made_once_and_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::on(&sqlite(folder.path()), None);
    let told = first.told.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    let who = first.ask("GET", "/whoami").by(&told[0]).send().json();
    assert_eq!(
        (&who["name"], &who["role"]),
        (&json!("first"), &json!("admin"))
    );
    drop(first);
    let second = Server::on(&sqlite(folder.path()), None);
    assert!(second.told.lock().unwrap().is_empty());
    assert_eq!(second.ask("GET", "/whoami").by(&told[0]).send().status, 200);
    // The file has no secret.
    let bytes = std::fs::read(folder.path().join("catalogue.db")).unwrap();
    let secret = told[0].as_bytes();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    let log = std::fs::read(folder.path().join("catalogue.db-wal")).unwrap_or_default();
    assert!(!log.windows(secret.len()).any(|window| window == secret));
}

#[test]
fn tokens_end_by_themselves_and_when_they_are_revoked() {
    on_both("tokens", |server| {
        let (id, secret) = server.token("viewer");
        let who = || server.ask("GET", "/whoami").by(&secret).send();
        assert_eq!(who().json()["role"], "viewer");
        let soon = |seconds: i64| {
            let then = in_seconds(seconds);
            server.post(
                "/tokens",
                &json!({ "name": "short", "role": "viewer", "expires": then }),
            )
        };
        soon(-5).refuses(422, "invalid");
        let short = soon(2);
        let short = short.json()["secret"].as_str().unwrap().to_owned();
        let ask = || server.ask("GET", "/whoami").by(&short).send().status;
        until("the token ends", || ask() != 200);
        assert_eq!(ask(), 401);
        let listed = server.get("/tokens").json();
        let token = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|token| token["id"] == json!(id))
            .unwrap()
            .clone();
        assert_eq!(token["valid"], true);
        assert!(!listed.to_string().contains(&secret));
        assert_eq!(
            server.ask("DELETE", &format!("/tokens/{id}")).send().status,
            200
        );
        who().refuses(401, "unauthorized");
        server
            .ask("DELETE", &format!("/tokens/{id}"))
            .send()
            .refuses(404, "not_found");
        for body in [
            json!({ "name": "", "role": "viewer" }),
            json!({ "name": "a\nb", "role": "viewer" }),
            json!({ "name": "x".repeat(300), "role": "viewer" }),
            json!({ "name": "a", "role": "viewer", "expires": "tomorrow" }),
        ] {
            server.post("/tokens", &body).refuses(422, "invalid");
        }
        let role = server.post("/tokens", &json!({ "name": "a", "role": "admn" }));
        role.refuses(400, "malformed");
        assert!(role.message().contains("`admin`"), "{}", role.body);
    });
}

fn in_seconds(seconds: i64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let then = i64::try_from(now).unwrap() + seconds;
    jiff::Timestamp::from_second(then).unwrap().to_string()
}

#[test]
fn twenty_wrong_tokens_are_enough() {
    let server = Server::start();
    let guess = |n: usize| {
        server
            .ask("GET", "/whoami")
            .by(&format!("guess number {n}"))
            .send()
    };
    // The bound allows one more for every 15 seconds that this takes.
    let begun = Instant::now();
    let wrong = (0..400).take_while(|n| guess(*n).status == 401).count();
    let more = usize::try_from(begun.elapsed().as_secs() / 15).unwrap() + 1;
    assert!((20..=20 + more).contains(&wrong), "{wrong}");
    let limited = guess(0);
    limited.refuses(429, "too_many_attempts");
    let seconds: u64 = limited.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=15).contains(&seconds), "{seconds}");
    // A right one still passes, and a request without a token is not a guess.
    assert_eq!(server.get("/whoami").status, 200);
    let (_, fresh) = server.token("viewer");
    assert_eq!(server.ask("GET", "/whoami").by(&fresh).send().status, 200);
    assert_eq!(login(&server, PRESET).status, 303);
    login(&server, "guess").refuses(429, "too_many_attempts");
    server
        .ask("GET", "/whoami")
        .by_nobody()
        .send()
        .refuses(401, "unauthorized");
}

pub(crate) fn login(server: &Server, secret: &str) -> tollgate_parts::HttpReply {
    let form = format!("token={}", secret.replace('%', "%25"));
    let ask = server.ask("POST", "").at("/console/login").by_nobody();
    ask.body("application/x-www-form-urlencoded", form).send()
}

#[test]
fn right_tokens_are_never_too_many() {
    let server = Server::start();
    let (_, secret) = server.token("viewer");
    let who = |secret: &str| server.ask("GET", "/whoami").by(secret).send().status;
    assert_eq!(who(&secret), 200);
    std::thread::scope(|scope| {
        for secret in [PRESET, &secret].repeat(25) {
            scope.spawn(move || assert_eq!(who(secret), 200));
        }
    });
}

pub(crate) fn cookie(answer: &tollgate_parts::HttpReply) -> String {
    let set = answer.field("set-cookie").unwrap();
    assert!(set.contains("; HttpOnly; SameSite=Strict"), "{set}");
    set.split(';').next().unwrap().to_owned()
}

#[test]
fn a_session_ends_with_its_token_and_changes_nothing_for_strangers() {
    on_both("sessions", |server| {
        let (id, secret) = server.token("admin");
        login(server, "wrong").refuses(401, "unauthorized");
        let begun = login(server, &secret);
        assert_eq!(begun.status, 303);
        let cookie = cookie(&begun);
        let ask = |method, path| {
            server
                .ask(method, path)
                .by_nobody()
                .line("Cookie", &format!("a=b; {cookie}; c=d"))
        };
        let who = ask("GET", "/whoami").send().json();
        assert_eq!(who["token"], json!(id));
        let csrf = who["csrf"].as_str().unwrap();
        // A change needs what only a page of this server has.
        let put = || ask("PUT", "/contracts/a").json(&contract("a", 1));
        put().send().refuses(403, "forbidden");
        put()
            .line("Tollgate-Csrf", "x.y")
            .send()
            .refuses(403, "forbidden");
        let other = login(server, PRESET);
        let other = server
            .ask("GET", "/whoami")
            .by_nobody()
            .line("Cookie", &self::cookie(&other))
            .send()
            .json();
        put()
            .line("Tollgate-Csrf", other["csrf"].as_str().unwrap())
            .send()
            .refuses(403, "forbidden");
        assert_eq!(put().line("Tollgate-Csrf", csrf).send().status, 201);
        // A changed cookie is refused.
        for place in [20, cookie.len() - 1] {
            let mut bytes = cookie.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let tampered = String::from_utf8(bytes).unwrap();
            server
                .ask("GET", "/whoami")
                .by_nobody()
                .line("Cookie", &tampered)
                .send()
                .refuses(401, "unauthorized");
        }
        server.ask("DELETE", &format!("/tokens/{id}")).send();
        ask("GET", "/whoami").send().refuses(401, "unauthorized");
    });
}

#[test]
fn whoever_logs_out_is_out() {
    let server = Server::start();
    let cookie = cookie(&login(&server, PRESET));
    let who = || {
        server
            .ask("GET", "/whoami")
            .by_nobody()
            .line("Cookie", &cookie)
            .send()
    };
    let csrf = who().json()["csrf"].as_str().unwrap().to_owned();
    let out = |csrf: &str| {
        let ask = server
            .ask("POST", "")
            .at("/console/logout")
            .by_nobody()
            .line("Cookie", &cookie);
        ask.body("application/x-www-form-urlencoded", format!("csrf={csrf}"))
            .send()
    };
    out("").refuses(403, "forbidden");
    let left = out(&csrf);
    assert_eq!(left.status, 303);
    assert!(left.field("set-cookie").unwrap().contains("Max-Age=0"));
    who().refuses(401, "unauthorized");
}

#[test]
fn whoever_logs_out_is_out_on_every_node() {
    let (_postgres, at) = postgres("logout");
    let [one, other] = Server::two(&at);
    let (_, secret) = one.token("viewer");
    for secret in [PRESET, &*secret] {
        let cookie = cookie(&login(&one, secret));
        let who = |server: &Server| {
            let ask = server.ask("GET", "/whoami").by_nobody();
            ask.line("Cookie", &cookie).send()
        };
        assert_eq!(who(&other).status, 200);
        let csrf = who(&one).json()["csrf"].as_str().unwrap().to_owned();
        let out = one.ask("POST", "").at("/console/logout").by_nobody();
        let out = out.line("Cookie", &cookie);
        let out = out.body("application/x-www-form-urlencoded", format!("csrf={csrf}"));
        assert_eq!(out.send().status, 303);
        assert_eq!(who(&one).status, 401);
        until("the other node knows", || who(&other).status == 401);
    }
}

#[test]
fn links_are_pages_for_people_and_show_nothing_of_others() {
    let server = Server::start();
    server.furnish();
    server.make(
        "/assignments/user%3Dada",
        &json!({ "identity": "user=ada", "plan": "pro", "note": "owes us money" }),
    );
    let made = server
        .post("/identities/user%3Dada/link", &json!({}))
        .json();
    let path = made["path"].as_str().unwrap();
    let open = |path: &str| {
        let ask = server.ask("GET", "").at(path).by_nobody();
        ask.line("Accept", "text/html,*/*;q=0.8").send()
    };
    let page = open(path);
    assert_eq!(page.status, 200, "{}", page.body);
    assert_eq!(page.field("content-type"), Some("text/html; charset=utf-8"));
    for said in ["user=ada", "Plan", "pro", "200 / s", "Today", "This month"] {
        assert!(page.body.contains(said), "{said}: {}", page.body);
    }
    for kept in ["owes us money", "<form", "<a ", "/console/login"] {
        assert!(!page.body.contains(kept), "{kept}: {}", page.body);
    }
    let torn = open(&path[..path.len() - 2]);
    assert_eq!(torn.status, 403);
    assert!(torn.body.contains("This link opens nothing") && torn.body.contains("ask whoever"));
    assert!(!torn.body.contains("<a "), "{}", torn.body);
}

#[test]
fn links_are_made_for_identities_alone() {
    let server = Server::start();
    let link = |identity: &str, body| server.post(&format!("/identities/{identity}/link"), &body);
    let made = link("tenant%3Dacme", json!({ "days": 1 }));
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.json()["identity"], "tenant=acme");
    assert!(made.json()["path"].as_str().unwrap().starts_with("/my/"));
    let path = made.json()["path"].as_str().unwrap().to_owned();
    let open = |path: &str| server.ask("GET", "").at(path).by_nobody().send();
    assert_eq!(open(&path).json(), json!({ "identity": "tenant=acme" }));
    for place in 4..path.len() {
        let mut other = path.clone().into_bytes();
        other[place] = if other[place] == b'A' { b'B' } else { b'A' };
        open(std::str::from_utf8(&other).unwrap()).refuses(403, "forbidden");
    }
    link("acme", json!({})).refuses(422, "invalid");
    link("ip%3D10.1.2.3%2F8", json!({})).refuses(422, "invalid");
    link("tenant%3Dacme", json!({ "days": 0 })).refuses(422, "invalid");
    link("tenant%3Dacme", json!({ "day": 1 })).refuses(400, "malformed");
}

#[test]
fn where_a_file_is_the_source_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("contracts.yaml");
    let text = "plans: [{ id: free, policies: [{ name: p, limit: 3, per: 1s }] }]\ncontracts: [{ id: users, key: [user], plan: free }]\n";
    std::fs::write(&path, text).unwrap();
    let settings = Settings {
        contracts: ContractSource::File(path.clone()),
        ..Settings::default()
    };
    let server = Server::with(settings, Some(PRESET));
    assert!(server.told.lock().unwrap().is_empty());
    let status = server.get("/status").json();
    assert_eq!(status["catalogue"]["source"], "file");
    assert_eq!(status["catalogue"]["read_only"], true);
    assert_eq!(
        server.get("/contracts").json()["items"][0]["document"]["plan"],
        "free"
    );
    assert_eq!(
        server.get("/plans/free").json()["document"]["policies"][0]["limit"],
        3
    );
    let read = server.get("/contracts/users?compiled=true");
    assert_eq!(read.json()["compiled"]["policies"][0]["limit"], 3);
    assert_eq!(read.field("etag"), None);
    let put = server
        .ask("PUT", "/contracts/users")
        .json(&contract("users", 1))
        .send();
    put.refuses(409, "read_only");
    assert!(
        put.message().contains(path.to_str().unwrap()),
        "{}",
        put.body
    );
    for (method, path) in [
        ("DELETE", "/contracts/users"),
        ("POST", "/contracts/users/rollback"),
        ("POST", "/contracts/users/rollout"),
        ("GET", "/contracts/users/history"),
        ("GET", "/audit"),
        ("GET", "/tokens"),
        ("POST", "/tokens"),
    ] {
        server.ask(method, path).send().refuses(409, "read_only");
    }
}
