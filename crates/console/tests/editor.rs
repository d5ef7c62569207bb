//! Forms and documents: everything that the contract file can express comes back from the form as it was, and from
//! the text too.

#![allow(clippy::expect_used, reason = "a broken set-up must stop the test")]

mod samples;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tollgate_catalogue::{Catalogue, Kind as Thing};
use tollgate_console::editor::{
    AssignmentDraft, Draft, DraftKind, Editor, Fields, PolicyDraft, editor, yaml,
};
use tollgate_console::{Element, PageFrame, Theme, el};

/// The fields that a browser would submit: typed, chosen and hidden.
fn sent(form: &str) -> Fields {
    let page = scraper::Html::parse_fragment(form);
    let select = |selector: &str| scraper::Selector::parse(selector).expect("a selector");
    let mut pairs = Vec::new();
    for control in page.select(&select("input, select, textarea")) {
        let Some(name) = control.attr("name") else {
            continue;
        };
        let value = match control.value().name() {
            "select" => {
                let chosen = control.select(&select("option[selected]")).next();
                let chosen = chosen.or_else(|| control.select(&select("option")).next());
                chosen
                    .and_then(|option| option.attr("value"))
                    .unwrap_or_default()
                    .to_owned()
            }
            "textarea" => control.text().collect(),
            _ => control.attr("value").unwrap_or_default().to_owned(),
        };
        pairs.push((name.to_owned(), value));
    }
    pairs.into_iter().collect()
}

fn through_the_form(kind: DraftKind, document: &Value) -> Option<Value> {
    let draft = Draft::from_document(kind, document)?;
    let id = draft.id.clone();
    let frame = samples::frame(&str::to_owned, Theme::System);
    let view = Editor {
        kind,
        id,
        version: 0,
        draft: Some(draft),
        ..Editor::default()
    };
    let fields = sent(&editor(&frame, &view).into_string());
    Some(Draft::from_fields(kind, &fields).document())
}

/// The document as the catalogue stores it.
fn kept(kind: Thing, text: &str) -> Value {
    let mut catalogue = Catalogue::default();
    let plan = json!({ "id": "free", "policies": [{ "name": "burst", "limit": 20, "per": "1s" }] });
    catalogue
        .put(Thing::Plan, "free", &plan.to_string())
        .expect("a plan");
    let id = match kind {
        Thing::Plan => "pro",
        _ => "c",
    };
    let (document, _) = catalogue
        .put(kind, id, text)
        .unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
    document
}

/// Every field of a policy with each kind of value that it takes, together with the fields that it needs.
fn policies() -> Vec<Value> {
    let base = |more: Value| {
        let mut policy = json!({ "name": "p", "limit": 60, "per": "1m" });
        let fields = policy.as_object_mut().expect("a policy");
        fields.extend(more.as_object().cloned().unwrap_or_else(Map::new));
        policy
    };
    [
        json!({}),
        json!({ "limit": 9_007_199_254_740_992_u64 }),
        json!({ "algorithm": "gcra" }),
        json!({ "algorithm": "leaky-bucket", "burst": 5 }),
        json!({ "algorithm": "sliding-counters", "slices": 6 }),
        json!({ "algorithm": "sliding-log" }),
        json!({ "algorithm": "sliding-weighted" }),
        json!({ "algorithm": "fixed-window", "offset": "6s" }),
        json!({ "algorithm": "fixed-window", "per": "month", "time_zone": "Europe/Ljubljana" }),
        json!({ "on_limit": "delay", "max_wait": "1m30s" }),
        json!({ "on_limit": "deny" }),
        json!({ "mode": "shadow" }),
        json!({ "mode": "enforce" }),
        json!({ "enforce_percent": 0 }),
        json!({ "max_debt": 0, "count_refused": true }),
        json!({ "count_refused": false, "durable": false }),
        json!({ "inherit": "proportional", "on_failure": "deny" }),
        json!({ "durable": true, "coordination": "gossip" }),
        json!({ "coordination": "gossip", "repay": "all" }),
        json!({ "coordination": "supply", "inherit": "reset" }),
        json!({ "coordination": "lease", "term": "2s", "timeout": "100ms", "recovery": "fresh", "safe_capacity": 5 }),
        json!({ "coordination": "lease", "min_depth": 3, "min_uses": 9, "pool_rate": 10, "pool_depth": 40, "max_lessees": 7, "spill": 50, "share": "client", "drift_ppm": 100 }),
        json!({ "coordination": "sync", "interval": "250ms", "debts": "forget" }),
    ]
    .into_iter()
    .map(base)
    .collect()
}

#[test]
fn every_field_of_a_policy_comes_back_from_form_and_text() {
    let mut seen = std::collections::BTreeSet::new();
    for policy in policies() {
        seen.extend(policy.as_object().expect("a policy").keys().cloned());
        let document = kept(
            Thing::Contract,
            &json!({ "id": "c", "key": ["user"], "policies": [policy] }).to_string(),
        );
        let back = through_the_form(DraftKind::Contract, &document).expect("a form can say it");
        assert_eq!(back, document);
        assert_eq!(kept(Thing::Contract, &back.to_string()), document);
        assert_eq!(
            kept(Thing::Contract, &yaml(&document)),
            document,
            "{}",
            yaml(&document)
        );
    }
    let known: std::collections::BTreeSet<String> =
        PolicyDraft::names().map(str::to_owned).collect();
    assert_eq!(seen, known, "a field is not tried");
}

#[test]
fn the_form_knows_every_field_of_the_contract_file() {
    let schema: Value = serde_json::from_str(&tollgate_contract::json_schema()).expect("a schema");
    let policy = &schema["$defs"]["Policy"]["properties"];
    let fields: std::collections::BTreeSet<&str> = policy
        .as_object()
        .expect("the fields of a policy")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(fields, PolicyDraft::names().collect());
}

#[test]
fn contracts_and_plans_come_back_whole() {
    let contract = json!({ "id": "c", "match": { "plan": "*", "a b": "1.10" }, "key": ["user", "route"], "coordination": "owner", "headers": "x-ratelimit-epoch", "plan": "free", "policies": [{ "name": "burst", "limit": 5 }] });
    let document = kept(Thing::Contract, &contract.to_string());
    assert_eq!(
        through_the_form(DraftKind::Contract, &document),
        Some(document.clone())
    );
    assert_eq!(kept(Thing::Contract, &yaml(&document)), document);
    let plan = kept(
        Thing::Plan,
        &json!({ "id": "pro", "follows": "free", "policies": [{ "name": "burst", "limit": 200 }] })
            .to_string(),
    );
    assert_eq!(through_the_form(DraftKind::Plan, &plan), Some(plan.clone()));
    assert_eq!(kept(Thing::Plan, &yaml(&plan)), plan);
}

#[test]
fn what_a_form_cannot_say_is_edited_as_text() {
    let newer = [
        json!({ "id": "c", "tomorrow": 1 }),
        json!({ "id": "c", "policies": [{ "name": "p", "limit": { "by": "day" } }] }),
        json!({ "id": "c", "policies": [{ "name": "p", "colour": "red" }] }),
        json!({ "id": "c", "policies": [] }),
        json!({ "id": "c", "key": [1] }),
        json!([]),
    ];
    for document in newer {
        assert_eq!(
            Draft::from_document(DraftKind::Contract, &document),
            None,
            "{document}"
        );
        let frame: PageFrame = samples::frame(&str::to_owned, Theme::System);
        let view = Editor {
            text: yaml(&document),
            version: 1,
            ..Editor::default()
        };
        let shown: Element = el("div").with(editor(&frame, &view));
        let shown = tollgate_console::Html::from(shown).into_string();
        assert_eq!(sent(&shown).get("text"), yaml(&document));
    }
}

#[test]
fn buttons_add_and_take_away_policies_without_a_script() {
    let typed = [("id", "c"), ("policy.0.name", "a"), ("policy.1.name", "b")];
    let press = |button| {
        let fields: Fields = typed
            .into_iter()
            .chain([("do", button)])
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Draft::from_fields(DraftKind::Contract, &fields).policies
    };
    assert_eq!(press("add-policy").len(), 3);
    let left = press("remove-policy-0");
    assert_eq!((left.len(), left[0].get("name")), (1, "b"));
    assert_eq!(press("remove-policy-9").len(), 2);
    assert_eq!(press("save").len(), 2);
}

#[test]
fn assignments_come_back_whole() {
    let mut catalogue = Catalogue::default();
    let plan = json!({ "id": "pro", "policies": [{ "name": "burst", "limit": 20, "per": "1s" }] });
    catalogue
        .put(Thing::Plan, "pro", &plan.to_string())
        .expect("a plan");
    let contract = json!({ "id": "c", "key": ["user"], "plan": "pro" });
    catalogue
        .put(Thing::Contract, "c", &contract.to_string())
        .expect("a contract");
    let typed = json!({ "identity": "user=42", "plan": "pro", "contract": "c", "from": "2026-11-16T07:00:00Z", "until": "2026-12-31T23:00:00Z", "then": "pro", "note": "trial: \"x\"", "overrides": [{ "name": "burst", "limit": 500 }] });
    let (_, document) = catalogue
        .assignment(&typed.to_string())
        .expect("an assignment");
    let draft = AssignmentDraft::from_document(&document).expect("a form can say it");
    let form =
        tollgate_console::editor::assignment_form(&draft, &["pro".to_owned()], &["c".to_owned()])
            .into_string();
    let carried = Fields::from([
        ("id", document["id"].as_str().expect("an id")),
        ("identity", "user=42"),
    ]);
    let fields = sent(&form);
    let both: Fields = ["id", "identity"]
        .into_iter()
        .map(|name| (name.to_owned(), carried.get(name).to_owned()))
        .chain(
            [
                "contract",
                "plan",
                "from",
                "until",
                "then",
                "note",
                "policy.0.name",
                "policy.0.limit",
            ]
            .into_iter()
            .map(|name| (name.to_owned(), fields.get(name).to_owned())),
        )
        .collect();
    assert_eq!(AssignmentDraft::from_fields(&both).document(), document);
    let (_, read) = catalogue
        .assignment(&yaml(&document))
        .expect("the text is an assignment");
    assert_eq!(read, document);
}

proptest! {
    #[test]
    fn names_of_any_kind_survive_text_and_form(name in "\\PC{1,24}", entry in "\\PC{1,12}", value in "\\PC{1,12}") {
        let document = json!({ "id": "c", "match": { entry.clone(): value }, "key": [entry], "policies": [{ "name": name, "limit": 1, "per": "1s" }] });
        let mut catalogue = Catalogue::default();
        // Some names are refused, as those with a line separator; this test skips them.
        if let Ok((document, _)) = catalogue.put(Thing::Contract, "c", &document.to_string()) {
            let (read, _) = catalogue.put(Thing::Contract, "c", &yaml(&document)).expect("the same text");
            prop_assert_eq!(&read, &document);
            prop_assert_eq!(through_the_form(DraftKind::Contract, &document), Some(document));
        }
    }
}
