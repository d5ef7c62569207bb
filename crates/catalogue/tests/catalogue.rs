//! Allowed changes of a catalogue, and the messages of refused ones.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

use serde_json::json;
use tollgate_catalogue::{
    Assignment, AssignmentShape, Catalogue, Kind, Refusal, differences, documents,
};
use tollgate_contract::{Contracts, ErrorKind};

/// Names that do harm if they are not treated as text.
const NASTY: [&str; 6] = [
    "<script>alert(1)</script>",
    "'; DROP TABLE catalogue_object; --",
    "\"}], \"x\": [{",
    "&amp;{{7*7}}${7}%s%00",
    "- a: &b *b # c",
    "\u{202e}ünïcødé\u{1f600}",
];

fn put(catalogue: &mut Catalogue, kind: Kind, id: &str, text: &str) {
    let put = catalogue.put(kind, id, text);
    put.unwrap_or_else(|refusal| panic!("{refusal}"));
}

fn catalogue() -> Catalogue {
    let mut all = Catalogue::default();
    put(
        &mut all,
        Kind::Plan,
        "free",
        "{ id: free, policies: [{ name: burst, limit: 20, per: 1s }] }",
    );
    put(
        &mut all,
        Kind::Plan,
        "pro",
        "{ id: pro, follows: free, policies: [{ name: burst, limit: 200 }] }",
    );
    put(
        &mut all,
        Kind::Contract,
        "users",
        "{ id: users, key: [user], plan: free }",
    );
    put(
        &mut all,
        Kind::Contract,
        "shared",
        "{ id: shared, key: [user], coordination: gossip, policies: [{ name: all, limit: 9, per: 1s }] }",
    );
    all
}

#[track_caller]
fn refused(catalogue: &Catalogue, text: &str, saying: &str) {
    let refusal = catalogue.assignment(text).unwrap_err();
    assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal}");
    assert!(refusal.to_string().contains(saying), "{refusal}");
}

#[test]
fn a_plan_changes_every_contract_that_follows_it() {
    let mut all = catalogue();
    let text = "{ id: free, policies: [{ name: burst, limit: 7, per: 1s }] }";
    let (document, affected) = all.put(Kind::Plan, "free", text).unwrap();
    assert_eq!(
        document,
        json!({ "id": "free", "policies": [{ "name": "burst", "limit": 7, "per": "1s" }] })
    );
    assert_eq!(affected.plans, ["free", "pro"]);
    assert_eq!(
        (affected.contracts, affected.entries),
        (vec!["users".into()], vec!["user".into()])
    );
    let users = all.contract("users").unwrap();
    assert_eq!(users.policies[0].policy.config().limit, 7);
    let compiled = all.compiled();
    assert_eq!(compiled.as_slice().len(), 2);
    assert!(compiled.plans().has("pro"));
}

#[test]
fn a_change_that_breaks_what_follows_is_refused_and_changes_nothing() {
    let mut all = catalogue();
    let other = "{ id: free, policies: [{ name: other, limit: 7, per: 1s }] }";
    let refusal = all.put(Kind::Plan, "free", other).unwrap_err();
    assert_eq!(
        refusal,
        Refusal::Breaks {
            count: 1,
            first: vec!["plan `pro`: a policy needs `per`".into()]
        }
    );
    assert_eq!(all.contract("users").unwrap().policies[0].name, "burst");
    let circle = "{ id: free, follows: pro }";
    assert!(matches!(
        all.put(Kind::Plan, "free", circle),
        Err(Refusal::Invalid(_))
    ));
    assert_eq!(all.plans().follows("free"), None);
}

#[test]
fn what_is_used_is_not_removed() {
    let mut all = catalogue();
    let refusal = all.remove(Kind::Plan, "free").unwrap_err();
    assert_eq!(
        refusal,
        Refusal::InUse {
            count: 2,
            first: vec!["plan `pro`".into(), "contract `users`".into()]
        }
    );
    all.remove(Kind::Plan, "pro").unwrap();
    all.remove(Kind::Contract, "users").unwrap();
    all.remove(Kind::Plan, "free").unwrap();
    assert_eq!(
        all.remove(Kind::Plan, "free"),
        Err(Refusal::NotFound(Kind::Plan, "free".into()))
    );
}

#[test]
fn an_id_never_changes() {
    let mut all = catalogue();
    let other = "{ id: other, key: [user], plan: free }";
    let refusal = all.put(Kind::Contract, "users", other).unwrap_err();
    assert!(refusal.to_string().contains("`other`"), "{refusal}");
    assert!(!all.has_contract("other"));
}

#[test]
fn an_assignment_has_one_form() {
    let all = catalogue();
    let text = "
identity: ip=2001:DB8::1
contract: users
plan: pro
";
    let refusal = all.assignment(text).unwrap_err();
    assert!(
        refusal.to_string().contains("does not count by `ip`"),
        "{refusal}"
    );
    let text = "
identity: user=42
plan: pro
overrides: [{ name: burst, limit: 50, count_refused: true }]
from: 2026-01-01T01:00:00+01:00
until: 2026-02-01T00:00:00Z
then: free
note: trial
";
    let (assignment, document) = all.assignment(text).unwrap();
    assert_eq!(
        document,
        json!({ "id": "user=42", "identity": "user=42", "plan": "pro",
            "overrides": [{ "name": "burst", "limit": 50, "count_refused": true }],
            "from": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z", "then": "free", "note": "trial" })
    );
    assert_eq!(
        assignment.from.unwrap().as_nanos(),
        1_767_225_600_000_000_000
    );
    let again = Assignment::read(&document.to_string()).unwrap();
    assert_eq!(again.shapes(), assignment.shapes());
    let (shape, then) = assignment.shapes();
    assert_eq!(
        (all.suits(&shape), all.suits(&then.unwrap())),
        (Ok(()), Ok(()))
    );
}

#[test]
fn mistakes_of_assignments_have_places_and_hints() {
    let all = catalogue();
    refused(
        &all,
        "{ identity: user=1 }",
        "needs a `plan`, or `overrides`",
    );
    refused(&all, "{ identity: user, plan: pro }", "as `user=42`");
    refused(
        &all,
        "{ identity: user=1, plan: por }",
        "did you mean `pro`?",
    );
    refused(
        &all,
        "{ identity: user=1, paln: pro }",
        "did you mean `plan`?",
    );
    refused(
        &all,
        "{ identity: user=1, plan: pro, contract: user }",
        "did you mean `users`?",
    );
    refused(
        &all,
        "{ identity: user=1, plan: pro, from: tomorrow }",
        "`2026-12-31T23:00:00Z`",
    );
    refused(
        &all,
        "{ identity: user=1, plan: pro, then: free }",
        "which is not given",
    );
    refused(
        &all,
        "{ identity: user=1, plan: pro, from: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }",
        "`until` must be after `from`",
    );
    refused(
        &all,
        "{ identity: user=1, overrides: [{ name: brust, limit: 1 }] }",
        "did you mean `burst`?",
    );
    refused(
        &all,
        "{ identity: user=1, overrides: [{ name: burst, slices: 2 }] }",
        "only sliding-counters",
    );
    refused(
        &all,
        "{ identity: tenant=1, overrides: [{ name: burst, limit: 2 }] }",
        "counts by `tenant`",
    );
    let note = format!(
        "{{ identity: user=1, plan: pro, note: {} }}",
        "x".repeat(501)
    );
    refused(&all, &note, "more than 500 bytes");
}

#[test]
fn keys_that_nodes_count_together_may_have_terms_that_are_not_durable() {
    let mut all = catalogue();
    for mode in [
        "gossip", "supply", "split", "sync", "lease", "owner", "store",
    ] {
        let text = format!("{{ id: {mode}, key: [user], coordination: {mode}, plan: free }}");
        put(&mut all, Kind::Contract, mode, &text);
        let text = format!(
            "{{ identity: user=7, contract: {mode}, overrides: [{{ name: burst, limit: 2 }}] }}"
        );
        all.assignment(&text)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
    }
    let durable = "{ id: kept, key: [user], coordination: gossip, plan: free, policies: [{ name: burst, durable: true }] }";
    put(&mut all, Kind::Contract, "kept", durable);
    refused(
        &all,
        "{ identity: user=8, contract: kept, overrides: [{ name: burst, limit: 2 }] }",
        "is durable, and its counts are kept with the numbers that all keys share",
    );
}

#[test]
fn terms_that_would_be_counted_elsewhere_are_refused() {
    let all = catalogue();
    refused(
        &all,
        "{ identity: user=1, contract: shared, overrides: [{ name: all, limit: 2 }] }",
        "follows no plan, so that all its keys have its policies",
    );
    for (field, said) in [
        ("coordination: owner", "would be by `owner` for these keys"),
        ("coordination: store", "would be by `store` for these keys"),
        (
            "coordination: supply",
            "would be by `supply` for these keys",
        ),
        (
            "durable: true",
            "make one of those durable, or this one not",
        ),
    ] {
        let overrides = format!("{{ identity: user=1, overrides: [{{ name: burst, {field} }}] }}");
        refused(&all, &overrides, said);
    }
    let mut all = all;
    let alone = "{ id: alone, key: [user], policies: [{ name: one, limit: 9, per: 1s }] }";
    put(&mut all, Kind::Contract, "alone", alone);
    refused(
        &all,
        "{ identity: user=1, contract: alone, overrides: [{ name: one, limit: 2 }] }",
        "follows no plan",
    );
    // It changes nothing, so it is valid.
    all.assignment("{ identity: user=1, contract: shared, overrides: [{ name: all, limit: 9 }] }")
        .unwrap();
    let gossip = AssignmentShape {
        plan: None,
        entry: "user".into(),
        contract: None,
        overrides: Some(r#"[{"name":"burst","coordination":"gossip"}]"#.into()),
    };
    assert!(
        all.suits(&gossip)
            .unwrap_err()
            .contains("would be by `gossip`")
    );
}

#[test]
fn keys_that_an_owner_or_a_store_counts_or_that_are_kept_have_terms() {
    for field in ["owner", "store"] {
        let mut all = catalogue();
        let text = format!("{{ id: far, key: [tenant], plan: free, coordination: {field} }}");
        put(&mut all, Kind::Contract, "far", &text);
        all.assignment("{ identity: tenant=1, plan: pro }").unwrap();
        refused(
            &all,
            "{ identity: tenant=1, overrides: [{ name: burst, coordination: local }] }",
            &format!("is counted by `coordination: {field}`, and would be by `local`"),
        );
    }
    let mut all = catalogue();
    let kept =
        "{ id: kept, key: [tenant], plan: free, policies: [{ name: burst, durable: true }] }";
    put(&mut all, Kind::Contract, "kept", kept);
    for plan in [
        "plan: pro",
        "plan: pro, overrides: [{ name: burst, durable: false }]",
    ] {
        let text = format!("{{ identity: tenant=1, {plan} }}");
        all.assignment(&text).unwrap();
    }
}

#[test]
fn assignments_overlap_only_in_one_contract_at_one_time() {
    let read =
        |rest: &str| Assignment::read(&format!("{{ identity: user=1, plan: pro{rest} }}")).unwrap();
    let always = read("");
    let january = read(", from: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z'");
    let february = read(", from: '2026-02-01T00:00:00Z', until: '2026-03-01T00:00:00Z'");
    let trial = read(", until: '2026-01-01T00:00:00Z', then: free");
    let elsewhere = read(", contract: other");
    assert!(always.overlaps(&january) && january.overlaps(&always));
    assert!(!january.overlaps(&february) && !february.overlaps(&january));
    assert!(trial.overlaps(&january), "what holds afterwards has no end");
    assert!(!always.overlaps(&elsewhere));
}

#[test]
fn names_that_would_do_harm_are_only_names() {
    for name in NASTY {
        let quoted = serde_json::to_string(name).unwrap();
        let mut all = Catalogue::default();
        let plan = format!(
            "{{\"id\": {quoted}, \"policies\": [{{\"name\": {quoted}, \"limit\": 1, \"per\": \"1s\"}}]}}"
        );
        let (plan, _) = all.put(Kind::Plan, name, &plan).unwrap();
        assert_eq!(plan["id"], name);
        let contract = format!(
            "{{\"id\": {quoted}, \"match\": {{{quoted}: {quoted}}}, \"key\": [\"user\"], \"plan\": {quoted}}}"
        );
        let (contract, _) = all.put(Kind::Contract, name, &contract).unwrap();
        let identity = serde_json::to_string(&format!("user={name}")).unwrap();
        let text = format!("{{\"identity\": {identity}, \"plan\": {quoted}, \"note\": {quoted}}}");
        let (_, assignment) = all.assignment(&text).unwrap();
        // Stored documents read back unchanged.
        let mut again = Catalogue::default();
        let (plan_text, contract_text) = (plan.to_string(), contract.to_string());
        assert_eq!(again.put(Kind::Plan, name, &plan_text).unwrap().0, plan);
        assert_eq!(
            again.put(Kind::Contract, name, &contract_text).unwrap().0,
            contract
        );
        assert_eq!(
            again.assignment(&assignment.to_string()).unwrap().1,
            assignment
        );
        assert_eq!(again.contract(name), all.contract(name));
        let loaded = Catalogue::load([(name, &*plan_text)], [(name, &*contract_text)]).unwrap();
        assert_eq!(loaded.contract(name), all.contract(name));
    }
}

#[test]
fn documents_load_in_any_order_and_broken_ones_are_named() {
    let plans = [
        ("c", r#"{"id":"c","follows":"b"}"#),
        ("b", r#"{"id":"b","follows":"a"}"#),
        (
            "a",
            r#"{"id":"a","policies":[{"name":"p","limit":1,"per":"1s"}]}"#,
        ),
    ];
    let loaded = Catalogue::load(plans, [("x", r#"{"id":"x","plan":"c"}"#)]).unwrap();
    assert_eq!(loaded.contract("x").unwrap().policies.len(), 1);
    let (kind, id, _) = Catalogue::load(plans[..2].to_vec(), []).unwrap_err();
    assert_eq!((kind, &*id), (Kind::Plan, "c"));
    let (kind, id, refusal) = Catalogue::load([], [("x", "{\"id\":\"x\"")]).unwrap_err();
    assert_eq!((kind, &*id), (Kind::Contract, "x"));
    let Refusal::Invalid(errors) = refusal else {
        panic!("{refusal}")
    };
    assert_eq!(errors.errors()[0].kind(), ErrorKind::Syntax);
}

#[test]
fn a_change_is_shown_by_its_fields() {
    let mut all = catalogue();
    let (before, _) = all
        .put(
            Kind::Contract,
            "users",
            "{ id: users, key: [user], plan: free }",
        )
        .unwrap();
    let text = "{ id: users, key: [user], plan: pro, policies: [{ name: burst, burst: 9 }] }";
    let (after, _) = all.put(Kind::Contract, "users", text).unwrap();
    let shown: Vec<String> = differences(Some(&before), Some(&after))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        shown,
        [
            r#"plan: "free" -> "pro""#,
            r#"policies: added [{"burst":9,"name":"burst"}]"#
        ]
    );
}

#[test]
fn a_contract_file_is_documents_that_can_be_put_one_by_one() {
    let text = "
plans:
  c: { follows: b }
  b: { follows: a, policies: [{ name: p, limit: 2 }] }
  a: { policies: [{ name: p, limit: 1, per: 1s }] }
contracts:
  - { id: z, key: [user], plan: c }
  - { id: y, match: { v: 1.10 }, policies: [{ name: q, limit: 3, per: 1m, durable: true }] }
";
    let documents = documents(text).unwrap();
    let ids: Vec<&str> = documents.iter().map(|(_, id, _)| &**id).collect();
    assert_eq!(ids, ["a", "b", "c", "z", "y"]);
    let mut all = Catalogue::default();
    for (kind, id, document) in documents {
        let (kept, _) = all.put(kind, &id, &document.to_string()).unwrap();
        assert_eq!(kept, document);
    }
    let file = Catalogue::of(&Contracts::parse(text).unwrap());
    assert_eq!(all.compiled().as_slice(), file.compiled().as_slice());
    assert_eq!(file.contract("z"), all.contract("z"));
    file.assignment("{ identity: user=1, plan: b }").unwrap();
}

#[test]
fn a_change_below_that_makes_a_chain_too_long_is_refused() {
    let mut all = Catalogue::default();
    let policies = "policies: [{ name: p, limit: 1, per: 1s }]";
    put(
        &mut all,
        Kind::Plan,
        "p1",
        &format!("{{ id: p1, {policies} }}"),
    );
    for depth in 2..=8 {
        let (id, below) = (format!("p{depth}"), depth - 1);
        put(
            &mut all,
            Kind::Plan,
            &id,
            &format!("{{ id: {id}, follows: p{below} }}"),
        );
    }
    put(
        &mut all,
        Kind::Plan,
        "p0",
        &format!("{{ id: p0, {policies} }}"),
    );
    let refusal = all
        .put(Kind::Plan, "p1", "{ id: p1, follows: p0 }")
        .unwrap_err();
    assert!(
        matches!(&refusal, Refusal::Breaks { count: 1, .. }),
        "{refusal}"
    );
    assert!(
        refusal
            .to_string()
            .contains("`p8`: a plan follows at most 7"),
        "{refusal}"
    );
}
