//! Every page: small enough, whole, and unbreakable by any text in its fields.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

mod samples;

use proptest::prelude::*;
use samples::{frame, pages};
use scraper::{ElementRef, Html, Node, Selector};
use tollgate_console::{PAGE_BYTES_MAX, Theme};

/// The elements and the names of their attributes, in order: markup inside a text would change it.
fn structure(page: &str) -> Vec<String> {
    let document = Html::parse_document(page);
    let mut shape = Vec::new();
    for node in document.tree.nodes() {
        match node.value() {
            Node::Element(element) => {
                let mut names: Vec<&str> = element.attrs().map(|(name, _)| name).collect();
                names.sort_unstable();
                shape.push(format!("{} {names:?}", element.name()));
            }
            Node::Comment(_) | Node::ProcessingInstruction(_) => shape.push("comment".to_owned()),
            _ => {}
        }
    }
    shape
}

/// Attributes that a browser follows lead to this server, and none is code.
fn check_attributes(name: &str, page: &str) {
    let document = Html::parse_document(page);
    for element in document.select(&Selector::parse("*").expect("a selector")) {
        for (attribute, value) in element.value().attrs() {
            assert!(
                !attribute.starts_with("on") && attribute != "style",
                "{name}: {attribute}"
            );
            if matches!(
                attribute,
                "href" | "src" | "action" | "formaction" | "data-live" | "data-check"
            ) {
                let is_here =
                    value.starts_with('#') || value.starts_with('/') && !value.starts_with("//");
                assert!(
                    is_here && !value.contains(['<', '"', ' ', '\\']),
                    "{name}: {attribute}={value}"
                );
            }
        }
    }
}

#[test]
fn pages_are_small_and_complete() {
    for (name, page) in pages(&str::to_owned, Theme::System) {
        assert!(
            page.len() < PAGE_BYTES_MAX,
            "{name} has {} bytes",
            page.len()
        );
        check_attributes(name, &page);
        let document = Html::parse_document(&page);
        assert!(document.errors.is_empty(), "{name}: {:?}", document.errors);
        let count = |selector: &str| {
            document
                .select(&Selector::parse(selector).expect("a selector"))
                .count()
        };
        assert_eq!(
            (count("h1"), count("main"), count("title")),
            (1, 1, 1),
            "{name}"
        );
        assert_eq!(
            count("[id]"),
            ids(&document).len(),
            "{name}: ids are not unique"
        );
        assert!(
            count("style") == 0 && count("script:not([src])") == 0,
            "{name}"
        );
    }
}

fn ids(document: &Html) -> std::collections::BTreeSet<String> {
    let with = Selector::parse("[id]").expect("a selector");
    document
        .select(&with)
        .filter_map(|element| element.attr("id").map(str::to_owned))
        .collect()
}

#[test]
fn forms_prove_where_they_come_from_and_which_version_they_saw() {
    let fields = Selector::parse("input, select, textarea").expect("a selector");
    let has = |form: ElementRef<'_>, name: &str| {
        form.select(&fields)
            .any(|field| field.attr("name") == Some(name))
    };
    for (name, page) in pages(&str::to_owned, Theme::System) {
        let document = Html::parse_document(&page);
        for form in document.select(&Selector::parse("form[method=post]").expect("a selector")) {
            let action = form.attr("action").unwrap_or_default();
            assert!(has(form, "csrf"), "{name}: {action}");
            let writes = [
                "/console/contract",
                "/console/plan",
                "/console/identity/assign",
                "/console/identity/unassign",
            ];
            if writes.iter().any(|path| action.starts_with(path)) {
                assert!(has(form, "version"), "{name}: {action}");
            }
            if form.attr("class") == Some("card") && name != "login" {
                assert!(has(form, "reason"), "{name}: {action}");
            }
        }
    }
}

#[test]
fn every_control_has_a_name() {
    for (name, page) in pages(&str::to_owned, Theme::System) {
        let document = Html::parse_document(&page);
        for control in document.select(
            &Selector::parse("input:not([type=hidden]), select, textarea").expect("a selector"),
        ) {
            let is_labelled = control.attr("aria-label").is_some()
                || control
                    .ancestors()
                    .filter_map(ElementRef::wrap)
                    .any(|parent| parent.value().name() == "label");
            assert!(is_labelled, "{name}: {}", control.html());
        }
        for image in document.select(&Selector::parse("svg").expect("a selector")) {
            let inside = image
                .ancestors()
                .filter_map(ElementRef::wrap)
                .any(|parent| parent.value().name() == "svg");
            assert!(
                inside || image.attr("aria-hidden").is_some() || image.attr("aria-label").is_some(),
                "{name}: {}",
                image.html()
            );
        }
    }
}

#[test]
fn viewers_see_no_way_to_write() {
    for (name, page) in pages(&str::to_owned, Theme::System) {
        if name == "contract-read" {
            assert!(
                !page.contains("/console/contract/delete")
                    && !page.contains("Roll back")
                    && !page.contains("Save<")
            );
        }
    }
}

#[test]
fn customers_see_no_form_and_no_way_into_the_console() {
    let ways = Selector::parse("form, a").expect("a selector");
    let all = pages(&str::to_owned, Theme::System);
    let theirs = all.iter().filter(|(name, _)| name.starts_with("customer"));
    let mut count = 0;
    for (name, page) in theirs {
        let document = Html::parse_document(page);
        assert_eq!(document.select(&ways).count(), 0, "{name}");
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn known_attacks_change_nothing_but_text() {
    let plain = pages(&|text| format!("{text}xx"), Theme::System);
    let attacks = [
        "x<script>alert(1)</script>",
        "x\" onload=\"alert(1)",
        "x' autofocus onfocus='alert(1)",
        "x</textarea><img src=x onerror=alert(1)>",
        "x</title><script>",
        "x--><script>",
        "x&lt;b&gt;&#x3c;b",
        "x\0\u{1b}[2J\r\n",
        "xjavascript:alert(1)",
        "x\u{202e}gnp.exe",
        "x]]></svg><a href=//evil>",
    ];
    for attack in attacks {
        for ((name, hostile), (_, plain)) in pages(&|text| format!("{text}{attack}"), Theme::System)
            .iter()
            .zip(&plain)
        {
            assert!(
                structure(hostile) == structure(plain),
                "{name} with {attack:?}"
            );
            check_attributes(name, hostile);
        }
    }
    let starts = pages(&|text| format!("javascript:x//{text}"), Theme::System);
    for (name, page) in &starts {
        check_attributes(name, page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_changes_the_structure_of_any_page(attack in "x(\\PC|[<>\"'&/=;:#\\x00-\\x20]|<[a-z]{1,8} |</?(script|style|textarea|title|svg|select|table|option|p)>){0,24}") {
        let plain = pages(&|text| format!("{text}xx"), Theme::System);
        for ((name, hostile), (_, plain)) in pages(&|text| format!("{text}{attack}"), Theme::System).iter().zip(&plain) {
            prop_assert!(structure(hostile) == structure(plain), "{} with {:?}", name, attack);
        }
    }
}

#[test]
fn a_text_is_shown_as_it_is() {
    let text = "<i>&amp; \"Šnuderl\" 'x'";
    let frame = frame(&|_| text.to_owned(), Theme::Dark);
    let page = tollgate_console::page::things(
        &frame,
        &tollgate_console::page::Things {
            query: text.to_owned(),
            ..Default::default()
        },
    );
    let document = Html::parse_document(&page);
    let shown: String = document
        .select(&Selector::parse(".empty").expect("a selector"))
        .flat_map(|element| element.text())
        .collect();
    assert!(shown.contains(text), "{shown}");
    let typed = document
        .select(&Selector::parse("[type=search]").expect("a selector"))
        .next()
        .and_then(|input| input.attr("value"));
    assert_eq!(typed, Some(text));
}
