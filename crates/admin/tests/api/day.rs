//! A day with the console, in a real browser: a plan is made and assigned, a live load is denied, a limit is
//! changed and changed back, an identity is banned, and a customer looks. Pictures of each page go to
//! `target/screenshots`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_catalogue_sql::{Config, Database, Source};
use tollgate_console::PAGE_BYTES_MAX;
use tollgate_parts::{Stalls, until};
use tollgate_serve::annex::{Delays, GatewayView};

use crate::console::Person;
use crate::kit::{ApiRequest, PRESET, Server};

/// Sends requests until dropped.
struct Load {
    shared: Arc<Counted>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counted {
    is_over: AtomicBool,
    allowed: AtomicU64,
    denied: AtomicU64,
}

impl Load {
    fn start(server: &Server, user: &'static str) -> Self {
        let (shared, at) = (Arc::new(Counted::default()), server.at);
        let counted = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            while !counted.is_over.load(Relaxed) {
                let ask = ApiRequest::new(at, "POST", "").at("/v1/check").by_nobody();
                let answer = ask.json(&json!({ "key": { "user": user } })).send().json();
                let count = if answer["allowed"] == true {
                    &counted.allowed
                } else {
                    &counted.denied
                };
                count.fetch_add(1, Relaxed);
                // Tens of requests per second, not the maximum.
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Waits for more such answers.
    #[track_caller]
    fn sees(&self, what: &str, count: impl Fn(&Counted) -> &AtomicU64) {
        let before = count(&self.shared).load(Relaxed);
        until(what, || count(&self.shared).load(Relaxed) > before + 2);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            // A load that failed while another assertion did is not a second failure.
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// The limit in force for a user.
fn limit(server: &Server, user: &str) -> Value {
    let why = server.get(&format!("/keys/explain?key=user%3D{user}"));
    why.json()["policies"][0]["limit"].clone()
}

/// Inside the build folder.
pub(crate) fn pictures() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists());
    let folder = target
        .unwrap_or_else(|| Path::new("target"))
        .join("screenshots");
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    folder
}

/// Checks that a page is small and that nothing in it was executed; saves a screenshot.
#[track_caller]
fn keep(person: &Person, name: &str) {
    let file = pictures().join(format!("live-{name}.png"));
    person.browser.picture(&file);
    println!("{}", file.display());
    let size = "return new TextEncoder().encode(document.documentElement.outerHTML).length";
    let size = person.browser.run(size).as_u64().expect("a size");
    assert!(size < PAGE_BYTES_MAX as u64, "{name} has {size} bytes");
    let harm = "return [document.images.length, document.scripts.length]";
    assert_eq!(person.browser.run(harm), json!([0, 1]), "{name}");
}

#[test]
fn limits_are_live() {
    let server = Server::start();
    server.make(
        "/plans/free",
        &json!({ "id": "free", "policies": [{ "name": "burst", "limit": 20, "per": "1s" }] }),
    );
    server.make(
        "/contracts/users",
        &json!({ "id": "users", "key": ["user"], "plan": "free" }),
    );
    let person = Person::at(&server);
    keep(&person, "login");
    person.signs_in(PRESET);
    person.sees("users");
    a_plan_is_made_and_given(&person);
    assert_eq!(limit(&server, "42"), 3);
    let load = Load::start(&server, "42");
    load.sees("requests are denied", |counted| &counted.denied);
    denials_are_seen(&person);
    a_gateway_is_seen(&person, &server);
    a_change_is_tried(&person);
    the_limit_is_changed_and_changed_back(&person, &server, &load);
    somebody_is_banned(&person, &load);
    drop(load);
    a_customer_looks(&person);
    names_are_only_names(&person);
    person.has_seen_no_faults();
}

fn a_plan_is_made_and_given(person: &Person) {
    person.go("/console/plan");
    keep(person, "plan-new");
    makes_a_plan(person, "bronze");
    person.sees("/ version 1");
    person.go("/console/why?key=user%3D42");
    person.sees("Passes burst of users");
    person.does(
        ".action:has([action='/console/identity/assign'])",
        &[("plan", "bronze")],
    );
    person.sees("plan bronze");
}

/// Three requests in a month.
fn makes_a_plan(person: &Person, id: &str) {
    person.browser.fill("[name=id]", id);
    person.browser.fill("[name='policy.0.limit']", "3");
    person.browser.fill("[name='policy.0.per']", "30d");
    person.browser.fill(".save [name=reason]", "for small ones");
    person.browser.click(".save .main");
}

/// The overview updates by itself, and every refused identity is found.
fn denials_are_seen(person: &Person) {
    person.go("/console");
    let legend = "#traffic .legend li:last-child b";
    until("denials are drawn", || {
        !matches!(&*person.browser.text(legend), "" | "0")
    });
    let before = person.browser.text(legend);
    until("the chart moves by itself", || {
        person.browser.text(legend) != before
    });
    until("times are drawn", || {
        person.browser.text("#latency").contains("99 of 100")
    });
    until("the contract is named", || {
        person.browser.text("#denying").contains("users")
    });
    keep(person, "overview");
    person.go("/console/top?by=denied&window=minute");
    person.sees("user=42");
    keep(person, "top");
    person.go("/console/why?key=user%3D42");
    person.sees("Denied by burst of users: 3 of 3 used; passes in");
    person.sees("A refund of 1 satisfies burst of users at once");
    until("decisions are told", || {
        person.browser.text("#decisions").contains("denied")
    });
    until("usage is told", || {
        person.browser.text("#used").contains("users")
    });
    keep(person, "why");
    for (page, name, said) in [
        ("/console/usage?q=user%3D42", "usage", "user=42"),
        ("/console/contracts", "contracts", "%"),
        ("/console/plans", "plans", "bronze"),
        ("/console/contract?id=users", "contract", "in the last hour"),
        ("/console/identities", "identities", "user=42"),
        ("/console/cluster", "cluster", "alone"),
        ("/console/audit", "audit", "bronze"),
        ("/console/settings", "settings", "Token"),
    ] {
        person.go(page);
        person.sees(said);
        keep(person, name);
    }
}

/// A server that is a gateway shows how long messages take.
fn a_gateway_is_seen(person: &Person, server: &Server) {
    let delays = Delays::default();
    (0..100).for_each(|_| delays.add(1_500_000));
    server.becomes(GatewayView {
        on: true,
        name: Some("gate <b>".to_owned()),
        upstream: "broker.example:1883".to_owned(),
        clients: 7,
        elsewhere: 2,
        access: delays.view(),
        ..GatewayView::default()
    });
    person.go("/console/cluster");
    for said in [
        "gate <b>",
        "broker.example:1883",
        "7, 2 not at theirs",
        "1.5",
        "–",
    ] {
        person.sees(said);
    }
    keep(person, "cluster-gateway");
}

/// The preview of a change is drawn, and changes nothing.
fn a_change_is_tried(person: &Person) {
    person.go("/console/plan?id=free");
    person.browser.fill("[name='policy.0.limit']", "1");
    person.browser.fill("[name='policy.0.per']", "30d");
    person.browser.click(".save .buttons button");
    person.sees("What you changed");
    person.sees("This change would deny");
    let drawn = "return document.querySelectorAll('.preview .drawing').length";
    assert_eq!(person.browser.run(drawn), 2);
    keep(person, "preview");
    person.go("/console/plan?id=free");
    person.sees("/ version 1");
}

fn the_limit_is_changed_and_changed_back(person: &Person, server: &Server, load: &Load) {
    person.go("/console/plan?id=bronze");
    person.browser.fill("[name='policy.0.limit']", "100000");
    person.browser.fill(".save [name=reason]", "they pay now");
    in_force_soon(server, 2, 100_000, || {
        person.browser.click(".save .main");
        person.sees("/ version 2");
    });
    load.sees("requests pass again", |counted| &counted.allowed);
    person.sees("they pay now");
    keep(person, "plan-history");
    in_force_soon(server, 3, 3, || {
        person.does(".history li:last-child .action", &[]);
        person.sees("/ version 3");
    });
    load.sees("requests are denied again", |counted| &counted.denied);
}

/// Changes the plan: its limit is in force within a second after its version is written. Time in which
/// the machine did not schedule the threads is subtracted.
fn in_force_soon(server: &Server, version: u64, by: u64, change: impl FnOnce()) {
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            until("the change is written", || {
                server.get("/plans/bronze").json()["version"] == version
            });
            let (stalls, written) = (Stalls::watch(), Instant::now());
            until("the limit is in force", || limit(server, "42") == by);
            written.elapsed().saturating_sub(stalls.end())
        });
        change();
        let took = watcher.join().expect("a limit that is in force");
        println!("in force after {took:?}");
        assert!(took < Duration::from_secs(1), "{took:?}");
    });
}

fn somebody_is_banned(person: &Person, load: &Load) {
    person.go("/console/why?key=user%3D42");
    let passed = load.shared.allowed.load(Relaxed);
    person.does(".action:has([action='/console/key/reset'])", &[]);
    person.sees("Done.");
    until("requests pass after a reset", || {
        load.shared.allowed.load(Relaxed) > passed
    });
    person.does(
        ".action:has([action='/console/identity/ban'])",
        &[("until", "2100-01-01T12:00")],
    );
    person.sees("Denied: user=42 is banned for another");
    person.sees("2100-01-01 12:00:00 UTC");
    person.sees("Lift the ban of user=42");
    load.sees("whoever is banned is denied", |counted| &counted.denied);
    keep(person, "banned");
    person.go("/console/bans");
    person.sees("user=42");
    keep(person, "bans");
    person.go("/console/why?key=user%3D42");
    person.does(".head .action:has([action='/console/identity/unban'])", &[]);
    person.sees("Done.");
    until("the ban is lifted", || {
        !person.browser.text("#state").contains("banned")
    });
}

fn a_customer_looks(person: &Person) {
    person.go("/console/why?key=user%3D42");
    person.does(".action:has([action='/console/identity/link'])", &[]);
    until("the link is shown", || {
        person.browser.text(".copy code").starts_with("/my/")
    });
    let link = person.browser.text(".copy code");
    person.go(&link);
    person.sees("Your limits");
    person.sees("bronze");
    let inside = person
        .browser
        .run("return document.querySelectorAll('a, form').length");
    assert_eq!(inside, 0, "no way into the console");
    keep(person, "customer");
    person.go(&link[..link.len() - 1]);
    person.sees("This link opens nothing");
    keep(person, "customer-closed");
}

/// HTML and SQL in names are text, on every page that shows them.
fn names_are_only_names(person: &Person) {
    let nasty = "<img src=x onerror=alert(1)>'; DROP TABLE catalogue_object; --";
    person.go("/console/plan");
    makes_a_plan(person, nasty);
    person.sees("/ version 1");
    person.go("/console/plans");
    person.sees(nasty);
    person.sees("bronze");
    keep(person, "names");
    person.go("/console/why?key=user%3D%3Cscript%3Ealert(1)%3C%2Fscript%3E'%3B--");
    person.sees("user=<script>alert(1)</script>';--");
    person.does(
        ".action:has([action='/console/identity/ban'])",
        &[("until", "")],
    );
    person.go("/console/bans");
    person.sees("<script>alert(1)</script>");
    keep(person, "names-bans");
}

/// Time to the first byte of each page with many identities.
///
/// `cargo test --release -p tollgate-admin --test api first_bytes -- --ignored --nocapture`, alone on the machine.
/// `CATALOGUE_COUNT` sets the number instead of a million.
#[test]
#[ignore = "takes minutes and prints figures; run it alone, in release"]
fn first_bytes_come_soon() {
    let count = std::env::var("CATALOGUE_COUNT").map_or(1_000_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let at = crate::kit::sqlite(folder.path());
    Server::on(&at, Some(PRESET)).furnish();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let config = Config {
            time: Duration::from_mins(1),
            ..Config::new(Source::Sqlite(at.clone().into()))
        };
        let database = Database::open(&config).await.unwrap();
        let mut import = database.import("ana", "all of them");
        for user in 0..count {
            let text = format!("{{\"identity\":\"user={user}\",\"plan\":\"pro\"}}");
            import.add(text).await.unwrap();
        }
        import.finish().await.unwrap();
    });
    let server = Server::on(&at, Some(PRESET));
    let form = format!("token={PRESET}");
    let login = server.ask("POST", "").at("/console/login").by_nobody();
    let login = login.body("application/x-www-form-urlencoded", form).send();
    let cookie = login
        .field("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let mut slow = Vec::new();
    for page in [
        "/console",
        "/console/contracts",
        "/console/contract?id=users",
        "/console/plans",
        "/console/plan?id=pro",
        "/console/identities",
        "/console/identities?q=user%3D77",
        "/console/why?key=user%3D424242",
        "/console/bans",
        "/console/top",
        "/console/tail",
        "/console/usage",
        "/console/cluster",
        "/console/audit",
        "/console/settings",
    ] {
        let mut times: Vec<Duration> = (0..20)
            .map(|_| {
                let begun = Instant::now();
                let ask = server.ask("GET", "").at(page).by_nobody();
                let answer = ask.line("Cookie", cookie).send();
                assert_eq!(answer.status, 200, "{page}");
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!("{page}: {:?} median, {:?} at most", times[10], times[19]);
        if times[10] >= Duration::from_millis(50) {
            slow.push(page);
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}
