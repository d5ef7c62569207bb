//! Attacks on authentication: guesses, replaced secrets and keys, files, forms of other sites.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ring::hmac;
use serde_json::json;
use tollgate_admin::SigningKey;
use tollgate_http::{ClientAddress, Trust};
use tollgate_kit::base64;
use tollgate_parts::until;
use tollgate_serve::settings::Settings;

use crate::access::{cookie, login};
use crate::kit::{ApiRefusal, PRESET, Server, settings, sqlite};

#[test]
fn guesses_are_counted_by_the_client_behind_a_trusted_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let behind_one = Settings {
        client_address: ClientAddress {
            trust: Trust::Hops(1),
            ..ClientAddress::default()
        },
        ..settings(&sqlite(folder.path()))
    };
    let server = Server::with(behind_one, Some(PRESET));
    let guess = |client: &str| {
        let ask = server
            .ask("GET", "/whoami")
            .by("a wrong token")
            .line("X-Forwarded-For", client);
        ask.send().status
    };
    until("one client made too many", || {
        guess("9.9.9.9, 203.0.113.9") == 429
    });
    assert_eq!(guess("203.0.113.9, 203.0.113.10"), 401);
    let audit = server.get("/audit").json();
    let origins: Vec<&str> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["origin"].as_str().unwrap())
        .collect();
    assert_eq!(origins, ["203.0.113.10", "203.0.113.9"]);
}

#[test]
fn every_sign_in_is_in_the_audit_and_a_flood_of_refused_ones_is_a_few_lines() {
    let server = Server::start();
    assert_eq!(login(&server, PRESET).status, 303);
    for n in 0..100 {
        let refused = login(&server, &format!("guess {n}")).status;
        assert!(matches!(refused, 401 | 429), "{refused}");
        server.ask("GET", "/whoami").by("a guess").send();
    }
    let audit = server.get("/audit").json();
    let lines: Vec<[&str; 4]> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| ["who", "what", "origin", "outcome"].map(|name| item[name].as_str().unwrap()))
        .collect();
    assert_eq!(
        lines.last(),
        Some(&["preset", "sign in", "127.0.0.1", "done"])
    );
    // Two lines a minute: the first refusal, and the number of later ones.
    assert!((2..=8).contains(&lines.len()), "{lines:?}");
    assert_eq!(
        lines[lines.len() - 2],
        ["unknown", "sign in", "127.0.0.1", "refused"]
    );
}

#[test]
fn a_session_ends_with_the_secret_it_was_begun_with() {
    let folder = tempfile::tempdir().unwrap();
    let at = sqlite(folder.path());
    let start = |secret: &str| Server::on(&at, Some(secret));
    let server = start(PRESET);
    let cookie = cookie(&login(&server, PRESET));
    let who = |server: &Server| {
        let ask = server.ask("GET", "/whoami").by_nobody();
        ask.line("Cookie", &cookie).send().status
    };
    assert_eq!(who(&server), 200);
    drop(server);
    // The same secret is the same session, also for another process.
    let server = start(PRESET);
    assert_eq!(who(&server), 200);
    drop(server);
    let server = start("another-secret-by-far");
    assert_eq!(who(&server), 401);
    drop(server);
    assert_eq!(who(&Server::on(&at, None)), 401);
}

/// A session that began and was last used so many seconds ago, forged with the key.
fn aged(cookie: &str, key: &Path, begun: u64, used: u64) -> String {
    let (name, value) = cookie.split_once('=').unwrap();
    let mut words = base64::decode(value.split_once('.').unwrap().0, 1024).unwrap();
    for (place, ago) in [(0, begun), (8, used)] {
        let time = words[place..place + 8].as_mut_array::<8>().unwrap();
        *time = (u64::from_be_bytes(*time) - ago * 1_000_000_000).to_be_bytes();
    }
    let text = std::fs::read_to_string(key).unwrap();
    let key = text.lines().last().unwrap().strip_prefix("key: ").unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &base64::decode(key, 32).unwrap());
    let tag = hmac::sign(&key, &[b"session\0", &*words].concat());
    let (words, tag) = (base64::encode(&words), base64::encode(tag.as_ref()));
    format!("{name}={words}.{tag}")
}

/// In seconds.
const HOUR: u64 = 3600;

#[test]
fn the_server_judges_the_age_of_a_session_and_notes_its_use() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(&sqlite(folder.path()), Some(PRESET));
    let cookie = cookie(&login(&server, PRESET));
    let key = folder.path().join("catalogue.db.key");
    let ask = |path: &str, begun, used| {
        let ask = server.ask("GET", "").at(path).by_nobody();
        ask.line("Cookie", &aged(&cookie, &key, begun, used)).send()
    };
    let who = |begun, used| ask("/admin/v1/whoami", begun, used);
    assert_eq!(who(0, 0).status, 200);
    assert_eq!(who(0, 0).field("set-cookie"), None);
    for path in ["/admin/v1/whoami", "/console"] {
        let used = ask(path, 11 * HOUR, HOUR / 2);
        assert_eq!(used.status, 200);
        let renewed = crate::access::cookie(&used);
        let again = server
            .ask("GET", "/whoami")
            .by_nobody()
            .line("Cookie", &renewed)
            .send();
        assert_eq!((again.status, again.field("set-cookie")), (200, None));
    }
    who(12 * HOUR, 0).refuses(401, "unauthorized");
    who(2 * HOUR, HOUR).refuses(401, "unauthorized");
}

#[test]
fn another_key_ends_sessions_and_links_and_a_key_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::on(&sqlite(folder.path()), Some(PRESET));
    let cookie = cookie(&login(&server, PRESET));
    let link = server
        .post("/identities/user%3Dada/link", &json!({}))
        .json();
    let link = link["path"].as_str().unwrap();
    let who = || {
        let ask = server.ask("GET", "/whoami").by_nobody();
        ask.line("Cookie", &cookie).send().status
    };
    let open = || server.ask("GET", "").at(link).by_nobody().send().status;
    assert_eq!((who(), open()), (200, 200));
    let file = folder.path().join("catalogue.db.key");
    SigningKey::draw().unwrap().replace(&file).unwrap();
    until("the key is read", || (who(), open()) == (401, 403));
    let mode = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    until("the mode is noticed", || who() == 503);
    assert_eq!(login(&server, PRESET).status, 503);
    mode(0o600);
    until("the key is good again", || {
        login(&server, PRESET).status == 303
    });
}

#[test]
fn nobody_else_can_read_files_of_the_catalogue_and_no_key_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = sqlite(folder.path());
    drop(Server::on(&at, Some(PRESET)));
    // As an earlier version left it.
    std::fs::set_permissions(&at, Permissions::from_mode(0o644)).unwrap();
    // As on a mounted volume that a group owns.
    let key = folder.path().join("catalogue.db.key");
    std::fs::set_permissions(&key, Permissions::from_mode(0o660)).unwrap();
    let server = Server::on(&at, Some(PRESET));
    assert_eq!(login(&server, PRESET).status, 303);
    server.furnish();
    let key = std::fs::read_to_string(key).unwrap();
    let key = key.lines().last().unwrap().strip_prefix("key: ").unwrap();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
        let bytes = std::fs::read(entry.path()).unwrap();
        let has_key = bytes
            .windows(key.len())
            .any(|window| window == key.as_bytes());
        assert_eq!(has_key, name == "catalogue.db.key", "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(
        names,
        [
            "catalogue.db",
            "catalogue.db-shm",
            "catalogue.db-wal",
            "catalogue.db.key"
        ]
    );
}

#[test]
fn forms_of_other_sites_are_refused() {
    let server = Server::start();
    let cookie = cookie(&login(&server, PRESET));
    let send = |path: &str, name: &str, value: &str| {
        let ask = server
            .ask("POST", "")
            .at(path)
            .by_nobody()
            .line("Cookie", &cookie);
        let ask = ask.line(name, value);
        let form = match path {
            "/console/login" => format!("token={PRESET}"),
            _ => "theme=dark".to_owned(),
        };
        ask.body("application/x-www-form-urlencoded", form).send()
    };
    for (name, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
    ] {
        for path in [
            "/console/login",
            "/console/theme",
            "/console/settings/token",
        ] {
            send(path, name, value).refuses(403, "forbidden");
        }
    }
    for (name, value) in [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://a")] {
        assert_eq!(send("/console/login", name, value).status, 303);
        assert_eq!(send("/console/theme", name, value).status, 303);
    }
}

#[test]
fn every_form_that_changes_something_must_come_from_a_page_of_the_console() {
    let server = Server::start();
    server.furnish();
    let cookie = cookie(&login(&server, PRESET));
    for path in [
        "logout",
        "contract",
        "contract/try",
        "contract/check",
        "contract/delete",
        "contract/rollback",
        "contract/rollout",
        "plan",
        "plan/delete",
        "plan/rollback",
        "identity/assign",
        "identity/unassign",
        "identity/ban",
        "identity/unban",
        "identity/reset",
        "identity/refund",
        "identity/charge",
        "identity/link",
        "settings/token",
        "settings/revoke",
    ] {
        let ask = server
            .ask("POST", "")
            .at(&format!("/console/{path}?id=users"));
        let ask = ask.by_nobody().line("Cookie", &cookie);
        let more = if path == "logout" {
            ""
        } else {
            "&identity=user%3D1&id=users"
        };
        let form = format!("csrf=a.b{more}");
        let sent = ask.body("application/x-www-form-urlencoded", form).send();
        sent.refuses(403, "forbidden");
    }
}
