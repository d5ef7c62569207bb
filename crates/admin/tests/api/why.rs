//! The console as an operator on call uses it: why a key is refused, forms that were mistyped, roll-outs, plans that
//! bind
//! no key, usage. Pictures of each page, wide and narrow, light and dark, go to `target/screenshots`.

use serde_json::{Value, json};
use tollgate_parts::{Viewport, until};
use tollgate_serve::settings::{ContractSource, Settings};

use crate::console::Person;
use crate::day::pictures;
use crate::kit::{ApiRequest, PRESET, Server};

/// Keeps pictures of a page, and checks that none scrolls sideways.
fn pictured(person: &Person, name: &str) {
    let (wide, narrow) = (Viewport::new(1280, 900), Viewport::new(380, 800));
    for (size, device) in [(wide, "wide"), (narrow, "narrow")] {
        for (is_dark, scheme) in [(false, "light"), (true, "dark")] {
            person.browser.look(size, is_dark);
            let file = format!("why-{name}-{device}-{scheme}.png");
            person.browser.picture(&pictures().join(file));
        }
        let widths =
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(person.browser.run(widths), 0, "{name}, {device}");
    }
    person.browser.look(wide, false);
}

fn check(server: &Server, key: &Value) -> Value {
    let ask = ApiRequest::new(server.at, "POST", "")
        .at("/v1/check")
        .by_nobody();
    ask.json(&json!({ "key": key })).send().json()
}

fn signed_in(server: &Server) -> Person {
    let person = Person::at(server);
    person.signs_in(PRESET);
    person.sees("Contracts");
    person
}

/// Three requests in a month for each on the plan, which requests name; one was refused.
fn denied() -> Server {
    let server = Server::start();
    let policy = json!({ "name": "burst", "limit": 3, "per": "30d", "max_debt": 50 });
    let free = json!({ "id": "free-users", "match": { "plan": "free" }, "key": ["user"], "policies": [policy] });
    server.make("/contracts/free-users", &free);
    let key = json!({ "user": "42", "plan": "free" });
    for _ in 0..3 {
        assert_eq!(check(&server, &key)["allowed"], true);
    }
    assert_eq!(check(&server, &key)["allowed"], false);
    server
}

#[test]
fn the_most_denied_key_is_told_why() {
    let server = denied();
    let person = signed_in(&server);
    until("the key is counted", || {
        person.go("/console/top?by=denied&window=hour");
        person.browser.text("#results").contains("user=42")
    });
    person.browser.follow("#results td a");
    person.sees("Denied by burst of free-users: 3 of 3 used; passes in");
    person.sees("A refund of 1 satisfies burst of free-users at once");
    until("usage is told", || {
        person.browser.text("#used").contains("free-users")
    });
    let charged = server.post(
        "/keys/charge",
        &json!({ "key": { "user": "42", "plan": "free" }, "cost": 7, "reason": "a test" }),
    );
    assert_eq!(charged.json()["applied"], true, "{}", charged.body);
    person.sees("owes 7");
    person.sees("A refund of 8 satisfies");
    pictured(&person, "denied");
    person.does(".head .action:has([action='/console/key/reset'])", &[]);
    person.sees("Passes burst of free-users: 0 of 3 used");
    person.does(".head .action:has([action='/console/identity/ban'])", &[]);
    person.sees("Denied: user=42 is banned without an end: a test");
    person.sees("Lift the ban of user=42");
    pictured(&person, "banned");
    person.has_seen_no_faults();
}

#[test]
fn a_key_that_no_contract_binds_leads_to_the_one_that_was_meant() {
    let server = denied();
    let person = signed_in(&server);
    // No contract binds one entry alone, but requests had more.
    person.go("/console/why?key=user%3D42");
    person.sees("Passes: no contract binds this key");
    until("the whole key is known", || {
        person.browser.text("#decisions").contains("plan=free")
    });
    until("usage is told", || {
        person.browser.text("#used").contains("free-users")
    });
    pictured(&person, "unbound");
    // The customer sees the limit of requests, too.
    let link = server
        .post("/identities/user%3D42/link", &json!({ "days": 1 }))
        .json();
    person.go(link["path"].as_str().unwrap());
    person.sees("Your limits");
    person.sees("3 / 30d");
    person.go("/console/why?key=user%3D42");
    person.browser.follow("#decisions td a");
    person.sees("Denied by burst of free-users");
    // One click fixes a typing error in a name.
    person.go("/console/why");
    person.browser.fill("[name=key]", "usr=42, plan=free");
    person.browser.follow("main .search button");
    person.sees("did you mean user by usr?");
    person
        .browser
        .follow("#state td a:not([href*='/console/contract'])");
    person.sees("Denied by burst of free-users");
    person.go("/console/why?key=user%3D42%2C+plan");
    person.sees("“plan” is no entry");
    assert_eq!(
        person
            .browser
            .run("return document.querySelector('[name=key]').value"),
        "user=42, plan"
    );
    person.go("/console/why?key=user%3D42%2Cplan%3Dfree&cost=many");
    person.sees("`cost` must be a whole number from 0 to 18446744073709551615");
    person.go("/console/why?key=user%3D42%2Cplan%3Dfree&cost=9");
    person.sees("burst of free-users holds 3 at most: ask for less, or raise its limit");
}

#[test]
fn search_finds_who_was_only_seen() {
    let server = denied();
    let person = signed_in(&server);
    until("somebody who has no assignment is found", || {
        person.go("/console/identities?q=user%3D4");
        person.browser.text("#results").contains("user=42")
    });
    pictured(&person, "search");
    person.browser.follow("#results td a");
    person.sees("Denied by burst of free-users");
    person.go("/console/identities?q=nobody%3D1");
    person.sees("nobody came in the last week");
}

#[test]
fn a_mistyped_form_says_what_it_wants_and_keeps_what_was_typed() {
    let server = Server::start();
    server.furnish();
    let person = signed_in(&server);
    let assign = ".action:has([action='/console/identity/assign'])";
    person.go("/console/why?key=user%3D42");
    person.browser.click(&format!("{assign} > summary"));
    person
        .browser
        .fill("dialog[open] [name=until]", "31.12.2026");
    person.browser.fill("dialog[open] [name=reason]", "a trial");
    person.browser.click("dialog[open] .main");
    person.sees("“31.12.2026” is no time: write `until` in UTC, as 2026-12-31T23:00");
    let typed = "return [...document.querySelectorAll('dialog[open] [name=until], dialog[open] [name=reason]')].map(it => it.value)";
    assert_eq!(person.browser.run(typed), json!(["31.12.2026", "a trial"]));
    pictured(&person, "mistyped");
    person
        .browser
        .run("document.querySelector('dialog[open] [name=plan]').value = 'pro'");
    person
        .browser
        .fill("dialog[open] [name=until]", "2100-12-31 12:00");
    person.browser.follow("dialog[open] .main");
    person.sees("plan pro");
    let kept = server.get("/assignments/user%3D42").json();
    assert_eq!(kept["document"]["until"], "2100-12-31T12:00:00Z");
    // Without a script the page returns the fields.
    person.browser.allow_scripts(false);
    person.go("/console/settings");
    person.browser.fill("[name=name]", "deploy");
    person.browser.fill("[name=days]", "a month");
    person.browser.follow(".filter .main");
    person.sees("“a month” is no number of days");
    person.browser.fill(".problem [name=days]", "30");
    person.browser.follow(".problem .main");
    person.sees("only time its secret is shown");
    person.browser.allow_scripts(true);
    let tokens = server.get("/tokens").json();
    let made = tokens["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["name"] == "deploy");
    assert!(
        made.is_some_and(|made| made["expires"].is_string()),
        "{tokens}"
    );
    person.go("/console/usage?from=yesterday&q=user%3D42");
    person.sees("“yesterday” is no day: write `from` as 2026-11-16");
    assert_eq!(
        person
            .browser
            .run("return document.querySelector('[name=q]').value"),
        "user=42"
    );
}

#[test]
fn a_roll_out_asks_before_it_acts_and_keeps_edits() {
    let server = Server::start();
    server.furnish();
    let person = signed_in(&server);
    let policy = || server.get("/contracts/all").json()["document"]["policies"][0].clone();
    let typed = "return ['policy.0.limit', 'policy.0.enforce_percent'].map(name => document.querySelector(`[name='${name}']`).value)";
    for has_script in [true, false] {
        let percent = if has_script { 10 } else { 50 };
        person.browser.allow_scripts(has_script);
        person.go("/console/contract?id=all");
        person.browser.fill("[name='policy.0.limit']", "77");
        person
            .browser
            .follow(&format!(".steps [value='{percent}:p']"));
        person.sees("Roll out?");
        assert_eq!(policy()["limit"], 9);
        assert_ne!(policy()["enforce_percent"], percent, "nothing was done yet");
        if has_script {
            pictured(&person, "rollout");
        }
        person.browser.fill("[name='rollout.reason']", "carefully");
        person.browser.follow("[role=alert] .main");
        person.sees("Done. This node decides by it");
        assert_eq!(
            (&policy()["limit"], &policy()["enforce_percent"]),
            (&json!(9), &json!(percent))
        );
        person.browser.allow_scripts(true);
        assert_eq!(
            person.browser.run(typed),
            json!(["77", percent.to_string()])
        );
    }
    // The edit can be saved on top.
    person.browser.fill(".save [name=reason]", "more");
    person.browser.follow(".save .main");
    until("both are kept", || {
        policy()["limit"] == 77 && policy()["enforce_percent"] == 50
    });
}

#[test]
fn a_plan_that_no_contract_follows_is_told_and_mended() {
    let server = Server::start();
    let burst = |limit| json!([{ "name": "burst", "limit": limit, "per": "1s" }]);
    server.make(
        "/plans/pro",
        &json!({ "id": "pro", "policies": burst(200) }),
    );
    server.make(
        "/contracts/users",
        &json!({ "id": "users", "key": ["user"], "policies": burst(9) }),
    );
    let person = signed_in(&server);
    person.go("/console/why?key=user%3D42");
    person.does(
        ".action:has([action='/console/identity/assign'])",
        &[("plan", "pro")],
    );
    person.sees(
        "No contract that counts by user follows a plan, so that the assignment changes nothing",
    );
    pictured(&person, "unfollowed");
    person.browser.follow(".banner.bad a");
    assert_eq!(
        person
            .browser
            .run("return document.querySelector('[name=plan]').value"),
        "pro"
    );
    person
        .browser
        .fill(".save [name=reason]", "as it was meant");
    person.browser.follow(".save .main");
    person.sees("/ version 2");
    person.go("/console/why?key=user%3D42");
    person.sees("plan pro");
    assert!(!person.browser.text("body").contains("changes nothing"));
    let told = server.make(
        "/assignments/user%3D8",
        &json!({ "identity": "user=8", "plan": "pro" }),
    );
    assert!(told.json()["note"].is_null(), "{}", told.body);
}

#[test]
fn usage_is_drawn_summed_and_sorted() {
    let server = Server::start();
    server.furnish();
    for (user, count) in [("ada", 2), ("bob", 12)] {
        for _ in 0..count {
            check(&server, &json!({ "user": user }));
        }
    }
    let person = signed_in(&server);
    until("everything is counted", || {
        person.go("/console/usage?by=cost");
        // Two contracts bind each.
        person.browser.text(".tiles").contains("Allowed\n2")
    });
    let first = person.browser.text("#results tbody tr td:nth-child(2)");
    assert_eq!(
        person
            .browser
            .text(".panel:last-of-type tbody tr td:nth-child(2)"),
        "user=bob",
        "{first}"
    );
    let wide =
        "return document.querySelector('#results .drawing').getBoundingClientRect().width > 200";
    assert_eq!(person.browser.run(wide), true);
    pictured(&person, "usage");
    let links = "return [...document.querySelectorAll('.tabs a')].map(link => link.textContent)";
    let links = person.browser.run(links);
    for link in ["today", "30 days", "this month", "day", "denied", "cost"] {
        assert!(links.as_array().unwrap().contains(&json!(link)), "{links}");
    }
    person.browser.follow(".tabs a[href*='by=denied']");
    person.sees("user=bob");
}

#[test]
fn no_page_leads_to_a_console_that_nobody_can_open() {
    let settings = || Settings {
        contracts: ContractSource::Text(
            "contracts: [{ id: c, key: [user], policies: [{ name: p, limit: 9, per: 1s }] }]"
                .to_owned(),
        ),
        ..Settings::default()
    };
    let front = |server: &Server| server.ask("GET", "").at("/").by_nobody().send().body;
    let shut = Server::with(settings(), None);
    assert!(!front(&shut).contains("/console"));
    let login = shut
        .ask("GET", "")
        .at("/console/login")
        .by_nobody()
        .line("Accept", "text/html")
        .send();
    assert!(
        login
            .body
            .contains("start the server with TOLLGATE_ADMIN_TOKEN"),
        "{}",
        login.body
    );
    assert!(front(&Server::with(settings(), Some(PRESET))).contains("/console"));
    assert!(front(&Server::start()).contains("/console"));
}
