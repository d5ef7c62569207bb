//! The console of a running server, in a real browser: what a person does in a day.

use serde_json::json;
use tollgate_parts::{Browser, Viewport, until};

use crate::kit::{PRESET, Server};

pub(crate) struct Person {
    pub(crate) browser: Browser,
    base: String,
}

impl Person {
    /// The browser console has no errors except refusals of the server.
    #[track_caller]
    pub(crate) fn has_seen_no_faults(&self) {
        let mut said = self.browser.logs("browser");
        said.retain(|line| line["source"] != "network");
        assert!(said.is_empty(), "{said:?}");
    }

    /// On the sign-in page of a server.
    pub(crate) fn at(server: &Server) -> Self {
        let browser = Browser::start();
        browser.look(Viewport::new(1440, 900), false);
        let base = format!("http://{}", server.at);
        let person = Self { browser, base };
        person.go("/console/contracts");
        person
    }

    pub(crate) fn go(&self, path: &str) {
        self.browser.go(&format!("{}{path}", self.base));
    }

    #[track_caller]
    pub(crate) fn sees(&self, what: &str) {
        until(what, || self.browser.text("body").contains(what));
    }

    pub(crate) fn signs_in(&self, secret: &str) {
        self.browser.fill("[name=token]", secret);
        // Leaving the page before the answer would abort the sign-in.
        self.browser.follow("form button");
    }

    /// Opens an action, gives a reason, and submits it.
    pub(crate) fn does(&self, action: &str, fields: &[(&str, &str)]) {
        self.browser.click(&format!("{action} > summary"));
        for (name, value) in fields {
            self.browser.run(&format!(
                "document.querySelector('dialog[open] [name={name}]').value = '{value}'"
            ));
        }
        self.browser.fill("dialog[open] [name=reason]", "a test");
        self.browser.follow("dialog[open] .buttons button");
    }
}

#[test]
fn a_person_signs_in_edits_goes_back_and_assigns() {
    let server = Server::start();
    server.furnish();
    let person = Person::at(&server);
    person.signs_in("wrong");
    person.sees("nobody is known by this token");
    person.go("/console/contracts");
    person.signs_in(PRESET);
    // The page they asked for.
    person.sees("users");
    person.go("/console/contract?id=all");
    person.sees("version 1");
    person.browser.fill("[name='policy.0.limit']", "many");
    until("the complaint comes", || {
        person.browser.text(".messages").contains("many")
    });
    person.browser.fill("[name='policy.0.limit']", "12");
    person.sees("Nothing to complain about");
    person.browser.fill(".save [name=reason]", "more room");
    person.browser.click(".save .main");
    person.sees("/ version 2");
    person.sees("more room");
    assert_eq!(
        server.get("/contracts/all").json()["document"]["policies"][0]["limit"],
        12
    );
    person.does(".history li:last-child .action", &[]);
    person.sees("/ version 3");
    assert_eq!(
        server.get("/contracts/all").json()["document"]["policies"][0]["limit"],
        9
    );
    person.go("/console/why?key=user%3D42");
    person.sees("Passes p of all: 0 of 9 used");
    person.does(".panel > .buttons .action", &[("plan", "pro")]);
    person.sees("every contract");
    assert_eq!(
        server.get("/assignments/user%3D42").json()["document"]["plan"],
        "pro"
    );
    person.has_seen_no_faults();
}

#[test]
fn a_viewer_looks_and_an_admin_makes_tokens_that_are_shown_once() {
    let server = Server::start();
    server.furnish();
    let (_, secret) = server.token("viewer");
    let person = Person::at(&server);
    person.signs_in(&secret);
    person.sees("users");
    person.go("/console/contract?id=all");
    person.sees("version 1");
    let buttons = person
        .browser
        .run("return document.querySelectorAll('main button:enabled').length");
    assert_eq!(buttons, 0);
    person.browser.click(".side-bar .account button");
    person.sees("Sign in");
    person.signs_in(PRESET);
    person.go("/console/settings");
    person.browser.fill("[name=name]", "<b>deploy");
    person.browser.click(".filter .main");
    person.sees("only time its secret is shown");
    person.sees("<b>deploy");
    person.go("/console/settings");
    assert!(!person.browser.text("body").contains("only time"));
    person.go("/console/audit");
    person.sees("create token");
    person.go("/console/contract?id=none");
    person.sees("To the overview");
}

#[test]
fn two_editors_at_once_lose_nothing() {
    let server = Server::start();
    server.furnish();
    let person = Person::at(&server);
    person.signs_in(PRESET);
    person.go("/console/contract?id=all");
    person.browser.fill("[name='policy.0.limit']", "77");
    let theirs = crate::kit::contract("all", 55);
    let put = server
        .ask("PUT", "/contracts/all")
        .line("If-Match", "\"1\"")
        .json(&theirs)
        .send();
    assert_eq!(put.status, 200, "{}", put.body);
    person.browser.fill(".save [name=reason]", "mine");
    person.browser.click(".save .main");
    person.sees("Somebody else was first");
    assert!(
        person
            .browser
            .run("return document.querySelector('textarea').value")
            .as_str()
            .unwrap()
            .contains("77")
    );
    assert_eq!(
        server.get("/contracts/all").json()["document"]["policies"][0]["limit"],
        55
    );
}

fn session(server: &Server) -> String {
    let login = server.ask("POST", "").at("/console/login").by_nobody();
    let login = login.body(FORM, format!("token={PRESET}")).send();
    assert_eq!(login.status, 303, "{}", login.body);
    let cookie = login
        .field("set-cookie")
        .and_then(|line| line.split(';').next());
    cookie.expect("a session").to_owned()
}

fn overview(server: &Server, cookie: &str) -> String {
    let page = server.ask("GET", "").at("/console").by_nobody();
    page.line("Cookie", cookie).send().body
}

#[test]
fn the_overview_counts_requests_that_no_contract_binds() {
    let server = Server::start();
    server.furnish();
    let cookie = session(&server);
    let told = || {
        let body = overview(&server, &cookie);
        let (_, rest) = body
            .split_once("requests that no contract binds")
            .expect("the line");
        let mut numbers = rest.split(|letter: char| !letter.is_ascii_digit());
        numbers.find(|digits| !digits.is_empty()).map(str::to_owned)
    };
    assert_eq!(told().as_deref(), Some("0"));
    for key in [
        json!({"usr": "ada"}),
        json!({"user": "ada"}),
        json!({"usr": "eve"}),
    ] {
        let check = server.ask("POST", "").at("/v1/check").by_nobody();
        let answer = check.json(&json!({ "key": key })).send();
        assert_eq!(answer.json()["allowed"], true, "{}", answer.body);
    }
    assert_eq!(told().as_deref(), Some("2"));
}

#[test]
fn a_cost_that_is_no_number_is_told_which_there_are() {
    let server = Server::start();
    server.furnish();
    let cookie = session(&server);
    let page = overview(&server, &cookie);
    let (_, csrf) = page.split_once("name=\"csrf\" value=\"").expect("a form");
    let (csrf, _) = csrf.split_once('"').expect("a value");
    let charge = server
        .ask("POST", "")
        .at("/console/identity/charge")
        .by_nobody();
    let form = format!("csrf={csrf}&key=user%3D1&cost=many&reason=why");
    let refused = charge.line("Cookie", &cookie).body(FORM, form).send();
    let said = "is no cost: write a whole number from 0 to 9223372036854775807";
    assert!(refused.body.contains(said), "{}", refused.body);
}

#[test]
fn forms_of_strangers_and_programs_are_refused() {
    let server = Server::start();
    let stranger = server
        .ask("GET", "")
        .at("/console/contracts")
        .by_nobody()
        .send();
    assert_eq!(stranger.status, 401, "{}", stranger.body);
    let page = server
        .ask("GET", "")
        .at("/console/contracts")
        .by_nobody()
        .line("Accept", "text/html")
        .send();
    assert_eq!(page.status, 303);
    // A token alone is for the API: pages need a session.
    let token = server.ask("POST", "").at("/console/settings/token").send();
    assert_eq!(token.status, 401, "{}", token.body);
}

const FORM: &str = "application/x-www-form-urlencoded";
