//! Pages stay small for any number of objects and any names, and every object can be reached.

use serde_json::{Value, json};
use tollgate_console::PAGE_BYTES_MAX;
use tollgate_parts::{HttpReply, until};

use crate::kit::{PRESET, Server, contract};

/// Objects of each kind: more than a page shows.
const THINGS: usize = 55;

/// The name of object `n`.
type Called = fn(usize) -> String;

fn encoded(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    bytes.concat()
}

/// As long as the value of an identity may be, of letters that take the most bytes on a page.
fn longest(n: usize) -> String {
    format!("{n:04}{}", "\"".repeat(247))
}

fn usual(n: usize) -> String {
    format!("{n:04}{}", "<&>".repeat(4))
}

/// A reason as long as allowed.
fn reason(called: Called) -> String {
    called(0).chars().cycle().skip(4).take(500).collect()
}

struct Reader<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Reader<'a> {
    fn of(server: &'a Server) -> Self {
        let form = format!("token={PRESET}&next=/console/top");
        let login = server.ask("POST", "").at("/console/login").by_nobody();
        let login = login.body("application/x-www-form-urlencoded", form).send();
        assert_eq!(login.field("location"), Some("/console/top"));
        let cookie = login
            .field("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        Self {
            server,
            cookie: cookie.to_owned(),
        }
    }

    /// Checks that the page is small.
    #[track_caller]
    fn opens(&self, page: &str) -> HttpReply {
        let ask = self.server.ask("GET", "").at(page).by_nobody();
        let answer = ask
            .line("Cookie", &self.cookie)
            .line("Accept", "text/html")
            .send();
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        let size = answer.body.len();
        println!("{page:.60}: {size}");
        assert!(size < PAGE_BYTES_MAX, "{page} has {size} bytes");
        assert!(!answer.body.contains("<&>"), "{page}");
        answer
    }

    /// Counts the distinct addresses with this prefix on this page and all next pages.
    #[track_caller]
    fn reaches(&self, page: &str, link: &str) -> usize {
        let mut found = std::collections::BTreeSet::new();
        let mut page = page.to_owned();
        for _ in 0..2_000 {
            let body = self.opens(&page).body;
            let links = body.split("href=\"").filter(|rest| rest.starts_with(link));
            found.extend(links.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            let Some((_, more)) = body.split_once("<p class=\"more\"><a href=\"") else {
                break;
            };
            page = more.split_once('"').unwrap().0.replace("&amp;", "&");
        }
        found.len()
    }
}

fn fill(server: &Server, called: Called) {
    server.furnish();
    let path = |place: &str, id: &str| format!("/{place}/{}", encoded(id));
    for n in 0..THINGS {
        let id = called(n);
        let plan = json!({ "id": id, "follows": "free", "policies": [{ "name": "burst", "limit": n + 1 }] });
        server.make(&path("plans", &id), &plan);
        let mut bound = contract(&id, 5);
        bound["policies"][0]["name"] = json!(called(n));
        server.make(&path("contracts", &id), &bound);
        let identity = format!("user={}", called(7));
        let ban =
            json!({ "id": id, "identity": identity, "contract": id, "reason": reason(called) });
        server.make(&path("bans", &id), &ban);
        let token = json!({ "name": called(n), "role": "viewer" });
        assert_eq!(server.post("/tokens", &token).status, 201);
    }
    let assignment = |n| json!({ "identity": format!("user={}", called(n)), "plan": called(n % THINGS), "note": reason(called) });
    let assignments: Vec<Value> = (0..150).map(assignment).collect();
    let imported = server.post("/assignments/import", &json!(assignments));
    assert_eq!(imported.status, 200, "{}", imported.body);
    changes(server, &path("plans", "free"), called);
    let checks: Vec<Value> = (0..60)
        .map(|n| json!({ "key": { "user": called(n) } }))
        .collect();
    let asked = server.ask("POST", "").at("/v1/check").by_nobody();
    assert_eq!(asked.json(&json!(checks)).send().status, 200);
}

/// More changes than a history shows, each of many lines.
fn changes(server: &Server, path: &str, called: Called) {
    for version in 1..=25 {
        let policy = |n| json!({ "name": called(n), "limit": version, "per": "1s" });
        let burst = json!({ "name": "burst", "limit": 20, "per": "1s" });
        let policies: Vec<Value> = (0..12).map(policy).chain([burst]).collect();
        let plan = json!({ "id": "free", "policies": policies });
        let path = format!("{path}?reason={}", encoded(&reason(called)));
        let ask = server.ask("PUT", &path).json(&plan);
        let answer = ask.line("If-Match", &format!("\"{version}\"")).send();
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
}

fn pages_stay_small(called: Called) {
    let server = Server::start();
    fill(&server, called);
    let reader = Reader::of(&server);
    until("everybody is counted", || {
        let usage = server.get("/usage?limit=1000").json();
        usage["items"].as_array().unwrap().len() >= 60
    });
    let long = encoded(&called(7));
    for page in [
        "/console".to_owned(),
        format!("/console/contract?id={long}"),
        "/console/plan?id=free".to_owned(),
        format!("/console/plan?id={long}"),
        "/console/plan".to_owned(),
        "/console/identities?q=user%3D00".to_owned(),
        "/console/bans".to_owned(),
        "/console/top".to_owned(),
        "/console/tail".to_owned(),
        "/console/usage".to_owned(),
        "/console/cluster".to_owned(),
        "/console/audit".to_owned(),
        "/console/settings".to_owned(),
    ] {
        reader.opens(&page);
    }
    let identity = reader.opens(&format!("/console/why?key=user%3D{long}"));
    let link = server.post(
        &format!("/identities/user%3D{long}/link"),
        &json!({ "days": 1 }),
    );
    reader.opens(link.json()["path"].as_str().unwrap());
    let says_more = identity.body.contains("for which this page has no room");
    assert_eq!(says_more, called(0).len() > 100);
    for (page, link, count) in [
        ("/console/contracts", "/console/contract?id=", THINGS + 2),
        ("/console/identities", "/console/why?key=", 150),
    ] {
        assert_eq!(reader.reaches(page, link), count, "{page}");
    }
    the_theme_stays_on_its_page(&server);
}

#[test]
fn pages_are_small_however_much_there_is() {
    pages_stay_small(usual);
}

#[test]
fn pages_are_small_whatever_things_are_called() {
    pages_stay_small(longest);
}

fn the_theme_stays_on_its_page(server: &Server) {
    let theme = |next: &str| {
        let ask = server.ask("POST", "").at("/console/theme").by_nobody();
        let form = format!("theme=dark&next={next}");
        let answer = ask.body("application/x-www-form-urlencoded", form).send();
        answer.field("location").unwrap().to_owned()
    };
    assert_eq!(
        theme("%2Fconsole%2Fplan%3Fid%3Da%2520b"),
        "/console/plan?id=a%20b"
    );
    assert_eq!(theme("%2F%2Fevil.example"), "/console");
    let front = server.ask("GET", "").at("/").by_nobody().send();
    assert!(front.body.contains("href=\"/console\""), "{}", front.body);
}
