//! Keys with terms of their own: they begin, change and end while requests are decided.

use serde_json::json;
use tollgate_catalogue::Kind;
use tollgate_parts::until;

use crate::catalogue::kit::{body, in_seconds, stage};

#[test]
fn an_assignment_comes_into_force_and_goes_and_what_was_spent_stays_spent() {
    let (_folder, mut server, editor) = stage();
    assert_eq!(server.ask("ann", 4), (true, 10, 6));
    editor.assign("user=ann", "plan: pro");
    server.until_limit("ann", 1000);
    assert_eq!(server.ask("ann", 1), (true, 1000, 995));
    assert_eq!(server.limit("bob"), 10);
    editor.assign(
        "user=ann",
        "plan: pro, overrides: [{ name: long, limit: 50 }]",
    );
    server.until_limit("ann", 50);
    editor.delete(Kind::Assignment, "user=ann");
    server.until_limit("ann", 10);
    assert_eq!(server.ask("ann", 0), (true, 10, 5));
}

#[test]
fn a_trial_begins_and_ends_by_itself() {
    let (_folder, mut server, editor) = stage();
    assert_eq!(server.limit("ann"), 10);
    let (from, until) = (in_seconds(2), in_seconds(4));
    editor.assign(
        "user=ann",
        &format!("plan: pro, from: \"{from}\", until: \"{until}\""),
    );
    let revision = editor.run(editor.database.revision()).unwrap();
    let live = server.running.shared().catalogue().clone();
    assert!(editor.run(live.reach(revision, crate::catalogue::kit::DEADLINE)));
    server.until_limit("ann", 1000);
    assert!(server.ask("ann", 3).0);
    server.until_limit("ann", 10);
    assert_eq!(
        server.ask("ann", 0),
        (true, 10, 7),
        "and nothing is forgotten"
    );
}

#[test]
fn a_changed_plan_changes_everybody_on_it() {
    let (_folder, mut server, editor) = stage();
    let mut import = editor.database.import("ana", "a start");
    editor.run(async {
        for user in 0..1_000 {
            let text = format!("{{ identity: user={user}, plan: pro }}");
            import.add(text).await.unwrap();
        }
        import.finish().await.unwrap();
    });
    server.until_limit("0", 1000);
    for user in 0..1_000 {
        assert_eq!(server.ask(&user.to_string(), 9), (true, 1000, 991));
    }
    let pro = "{ id: pro, follows: free, policies: [{ name: long, limit: 500 }] }";
    editor.put(Kind::Plan, "pro", pro);
    server.until_limit("0", 500);
    for user in 0..1_000 {
        assert_eq!(server.ask(&user.to_string(), 0), (true, 500, 491));
    }
    assert_eq!(server.limit("nobody"), 10);
}

#[test]
fn a_limit_below_what_is_spent_denies_until_it_is_raised() {
    let (_folder, mut server, editor) = stage();
    assert_eq!(server.ask("ann", 8), (true, 10, 2));
    let free = |limit: u32| {
        format!("{{ id: free, policies: [{{ name: long, limit: {limit}, per: 1000d }}] }}")
    };
    editor.put(Kind::Plan, "free", &free(5));
    server.until_limit("ann", 5);
    assert_eq!(server.ask("ann", 1), (false, 5, 0));
    editor.put(Kind::Plan, "free", &free(20));
    server.until_limit("ann", 20);
    assert!(server.ask("ann", 10).0);
}

#[test]
fn contracts_come_and_go() {
    let (_folder, mut server, editor) = stage();
    let key = [("user", "ann"), ("tenant", "acme")];
    assert_eq!(server.ask_for(&key, 0).1, 10);
    let tenants =
        "{ id: tenants, key: [tenant, user], plan: free, policies: [{ name: long, limit: 3 }] }";
    editor.put(Kind::Contract, "tenants", tenants);
    until("the key has its terms", || server.ask_for(&key, 0).1 == 3);
    editor.assign(
        "tenant=acme",
        "overrides: [{ name: long, limit: 2 }], contract: tenants, id: tenant=acme",
    );
    until("the key has its terms", || server.ask_for(&key, 0).1 == 2);
    editor.delete(Kind::Assignment, "tenant=acme");
    until("the key has its terms", || server.ask_for(&key, 0).1 == 3);
    editor.delete(Kind::Contract, "tenants");
    until("the key has its terms", || server.ask_for(&key, 0).1 == 10);
}

#[test]
fn receipts_of_own_terms_are_settled() {
    let (_folder, mut server, editor) = stage();
    editor.assign("user=ann", "plan: pro");
    server.until_limit("ann", 1000);
    let answer = server.post("/v1/check", &body(&[("user", "ann")], 10));
    let settle = json!({ "receipt": answer["receipt"], "cost": 4 });
    assert_eq!(server.post("/v1/settle", &settle)["applied"], json!(true));
    assert_eq!(server.ask("ann", 0), (true, 1000, 996));
}

#[test]
fn whoever_only_looks_is_told_of_the_terms_too() {
    let (_folder, mut server, editor) = stage();
    editor.assign("user=ann", "plan: pro");
    server.until_limit("ann", 1000);
    editor.assign("user=cold", "plan: pro");
    for user in ["ann", "cold"] {
        let peeked = server.post("/v1/peek", &json!({ "key": { "user": user } }));
        assert!(peeked.to_string().contains("\"limit\":1000"), "{peeked}");
    }
}
