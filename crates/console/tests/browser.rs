//! The pages in a real Chromium: no request to another host, nothing the policy forbids, readable, reachable by
//! keyboard,
//! working without a script. Pictures of every page go to `target/screenshots`.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test of the real thing meets the world, and stops where it is broken"
)]

mod samples;
mod site;

use std::path::{Path, PathBuf};

use serde_json::Value;
use site::ConsoleSite;
use tollgate_parts::{Browser, Viewport, until};

const DESK: Viewport = Viewport::new(1440, 900);
const PHONE: Viewport = Viewport::new(390, 844);
const TAB: &str = "\u{e004}";
const ESCAPE: &str = "\u{e00c}";

/// Every request went to the site, and the console of the browser is empty.
#[track_caller]
fn check_quiet(browser: &Browser, site: &ConsoleSite, page: &str) {
    for url in browser.requests() {
        assert!(
            url.starts_with(&site.base) || url.starts_with("data:"),
            "{page} asks {url}"
        );
    }
    let said = browser.logs("browser");
    assert!(said.is_empty(), "{page}: {said:?}");
}

#[test]
fn every_page_is_readable_light_and_dark_on_desk_and_phone() {
    let (site, browser, folder) = (ConsoleSite::start(), Browser::start(), pictures());
    for name in ConsoleSite::names() {
        for (size, device) in [(DESK, "desk"), (PHONE, "phone")] {
            browser.look(size, false);
            browser.go(&format!("{}/sample/{name}", site.base));
            for (is_dark, scheme) in [(false, "light"), (true, "dark")] {
                browser.look(size, is_dark);
                let found = browser.run(READABLE);
                let nothing = Value::Array(Vec::new());
                assert_eq!(found["faint"], nothing, "{name}, {device}, {scheme}");
                assert_eq!(found["wide"], nothing, "{name}, {device}, {scheme}");
                browser.picture(&folder.join(format!("{name}-{device}-{scheme}.png")));
            }
            check_quiet(&browser, &site, name);
        }
    }
}

#[test]
fn tab_reaches_every_control() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    for (size, names) in [
        (DESK, ["login", "overview", "contract", "why", "settings"]),
        (PHONE, ["login", "overview", "contracts", "why", "cluster"]),
    ] {
        browser.look(size, false);
        for name in names {
            browser.go(&format!("{}/sample/{name}", site.base));
            let count = browser.run(MARK_CONTROLS).as_u64().expect("a count");
            assert!(count > 0, "{name} has nothing to reach");
            let turns = usize::try_from(count).expect("a small count") + 2;
            browser.press(&TAB.repeat(turns));
            assert_eq!(
                browser.run("return window.left()"),
                Value::Array(Vec::new()),
                "{name}"
            );
        }
    }
}

#[test]
fn the_theme_is_switched_with_and_without_a_script() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.look(DESK, false);
    let ground = "return [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]";
    for has_script in [true, false] {
        browser.allow_scripts(has_script);
        browser.go(&format!("{}/sample/overview", site.base));
        let [light, dark] = ["light", "dark"].map(|theme| {
            browser.click(&format!(".side-bar [value={theme}]"));
            until("the theme is another", || browser.run(ground)[0] == theme);
            browser.run(ground)
        });
        assert_ne!(light[1], dark[1], "script: {has_script}");
        browser.go(&format!("{}/sample/contracts", site.base));
        assert_eq!(browser.run(ground), dark, "the next page remembers it");
    }
    check_quiet(&browser, &site, "the switch");
}

#[test]
fn menus_actions_and_tables_open_without_a_script() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.allow_scripts(false);
    browser.look(PHONE, false);
    browser.go(&format!("{}/sample/why", site.base));
    browser.click(".menu > summary");
    assert!(browser.text(".sheet").contains("Contracts"));
    browser.click(".menu > summary");
    browser.look(DESK, false);
    browser.click(".head .action:nth-of-type(4) > summary");
    browser.fill(".head .action:nth-of-type(4) [name=reason]", "too loud");
    browser.click(".head .action:nth-of-type(4) form button");
    until("the form arrives", || {
        site.posted("/console/identity/ban").is_some()
    });
    let fields = site.posted("/console/identity/ban").expect("what was sent");
    assert_eq!(
        (
            fields.get("identity"),
            fields.get("reason"),
            fields.get("csrf")
        ),
        ("tenant=acme", "too loud", "c5f1e0")
    );
}

#[test]
fn parts_are_kept_up_to_date_and_stay_open() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.look(DESK, false);
    browser.go(&format!("{}/sample/overview", site.base));
    browser.click("#traffic .behind > summary");
    let first = browser.text(".tile dd b");
    until("the number moves", || browser.text(".tile dd b") != first);
    assert_eq!(
        browser.run("return document.querySelector('#traffic .behind').open"),
        true
    );
    browser.run("document.querySelector('#traffic .drawing').dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 800 }))");
    let read = browser.text("#traffic .readout");
    assert!(
        read.contains("allowed") && read.contains("denied"),
        "{read}"
    );
    assert!(
        browser.text("#latency .readout").contains("median"),
        "one cursor for all charts"
    );
    check_quiet(&browser, &site, "overview");
}

#[test]
fn forms_are_checked_and_lists_searched_while_one_types() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.look(DESK, false);
    browser.go(&format!("{}/sample/contract", site.base));
    browser.fill("[name='policy.0.limit']", "many");
    until("the complaint comes", || {
        browser
            .text("[data-messages]")
            .contains("many is no number")
    });
    browser.go(&format!("{}/sample/identities", site.base));
    browser.press("/");
    assert_eq!(browser.run("return document.activeElement.type"), "search");
    browser.fill("[type=search]", "user=nobody");
    until("the list follows", || {
        browser.text("#results").contains("Nobody is assigned")
    });
    assert!(
        browser
            .run("return location.search")
            .as_str()
            .is_some_and(|search| search.contains("nobody"))
    );
    check_quiet(&browser, &site, "identities");
}

#[test]
fn actions_are_dialogs_and_keys_have_a_help() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.look(DESK, false);
    browser.go(&format!("{}/sample/why", site.base));
    browser.click(".head .action:nth-of-type(2) > summary");
    assert!(browser.text("dialog[open]").contains("Forgets everything"));
    browser.press(ESCAPE);
    until("the dialog is closed", || {
        browser
            .run("return document.querySelector('dialog[open]')")
            .is_null()
    });
    assert_eq!(
        browser.run("return document.activeElement.textContent"),
        "Reset"
    );
    browser.press("?");
    assert!(browser.text("dialog[open]").contains("Search"));
    browser.press(ESCAPE);
    browser.press("gt");
    until("a key leads on", || {
        browser.run("return location.pathname") == "/console/top"
    });
    check_quiet(&browser, &site, "why");
}

#[test]
fn a_policy_shows_the_fields_of_what_is_chosen_alone() {
    let (site, browser) = (ConsoleSite::start(), Browser::start());
    browser.look(DESK, false);
    browser.go(&format!("{}/sample/contract-new", site.base));
    browser.click(".policy .rest > summary");
    let seen = |name: &str| {
        let script = format!(
            "return document.querySelector(\"[name='policy.0.{name}']\").checkVisibility()"
        );
        browser.run(&script) == true
    };
    let choose = |name: &str, value: &str| {
        let script = format!(
            "const it = document.querySelector(\"[name='policy.0.{name}']\"); it.value = '{value}'; it.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        );
        browser.run(&script);
    };
    assert!(seen("burst") && seen("mode") && seen("on_limit"));
    assert!(
        !["slices", "offset", "max_wait", "term"]
            .into_iter()
            .any(seen)
    );
    choose("algorithm", "sliding-counters");
    assert!(!seen("on_limit"), "only a token bucket delays");
    choose("coordination", "lease");
    choose("on_limit", "delay");
    assert!(
        ["slices", "max_wait", "term", "on_failure"]
            .into_iter()
            .all(seen)
    );
    assert!(!["burst", "offset", "interval"].into_iter().any(seen));
    // A field with a value is shown, so that no hidden value is sent.
    browser.fill("[name='policy.0.slices']", "6");
    choose("algorithm", "fixed-window");
    assert!(seen("slices") && seen("offset"));
    browser.allow_scripts(false);
    browser.go(&format!("{}/sample/contract-new", site.base));
    browser.click(".scriptless");
    until("the form arrives", || {
        site.posted("/console/contract").is_some()
    });
    let sent = site.posted("/console/contract").expect("what was sent");
    assert_eq!(sent.get("do"), "fields");
}

fn pictures() -> PathBuf {
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

/// Texts whose contrast is below AA, and elements that make the page scroll sideways.
const READABLE: &str = include_str!("browser/readable.js");
/// Marks every control that can be seen, and remembers which had the focus.
const MARK_CONTROLS: &str = include_str!("browser/controls.js");
