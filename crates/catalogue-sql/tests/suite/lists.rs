//! Lists: names of every kind, pages, followers, imports.

use serde_json::json;
use tollgate_catalogue::{Kind, Refusal, Seen};
use tollgate_catalogue_sql::{Database, Error, Filter, Role, Source};

use super::{edit, furnish, make, open, refusal};

/// Names that do harm if they are not treated as text.
const NASTY: [&str; 6] = [
    "<script>alert(1)</script>",
    "'; DROP TABLE catalogue_object; --",
    "\"}], \"x\": [{",
    "$1 ? :name @p %s {rows} = ANY($1)",
    "a\\' OR 1=1 /*",
    "\u{202e}ünïcødé\u{1f600}",
];

/// Names are text, regardless of their characters.
pub(crate) async fn names_are_only_names(source: &Source) {
    let database = open(source).await;
    for name in NASTY {
        let quoted = serde_json::to_string(name).unwrap();
        let plan = format!(
            "{{\"id\": {quoted}, \"policies\": [{{\"name\": {quoted}, \"limit\": 1, \"per\": \"1s\"}}]}}"
        );
        make(&database, Kind::Plan, name, &plan).await;
        let contract = format!(
            "{{\"id\": {quoted}, \"match\": {{{quoted}: {quoted}}}, \"key\": [{quoted}], \"plan\": {quoted}}}"
        );
        make(&database, Kind::Contract, name, &contract).await;
        let identity = format!("user={name}");
        let assignment = json!({ "id": name, "identity": identity, "plan": name, "note": name,
            "overrides": [{ "name": name, "limit": 2 }] });
        make(&database, Kind::Assignment, name, &assignment.to_string()).await;
        for kind in [Kind::Plan, Kind::Contract, Kind::Assignment] {
            let filter = Filter {
                prefix: name.to_owned(),
                ..Filter::default()
            };
            let listed = database.list(kind, &filter, 10).await.unwrap();
            assert_eq!(listed.len(), 1, "{name}");
            assert_eq!(listed[0].document["id"], name);
            let history = database.history(kind, name, None, 10).await.unwrap();
            assert_eq!(history.len(), 1);
        }
        let on_plan = Filter {
            plan: Some(name.to_owned()),
            ..Filter::default()
        };
        assert_eq!(
            database
                .list(Kind::Assignment, &on_plan, 10)
                .await
                .unwrap()
                .len(),
            1
        );
        assert_eq!(database.lookup(vec![identity]).await.unwrap().len(), 1);
        let mut odd = edit(Kind::Plan, "odd", Seen::Nothing);
        (odd.author, odd.reason, odd.origin) = (name.into(), name.into(), name.into());
        database
            .put(
                &odd,
                "{ id: odd, policies: [{ name: p, limit: 1, per: 1s }] }",
            )
            .await
            .unwrap();
        let history = database.history(Kind::Plan, "odd", None, 1).await.unwrap();
        assert_eq!((&*history[0].author, &*history[0].reason), (name, name));
        odd.seen = Seen::Version(history[0].version);
        database.delete(&odd).await.unwrap();
        let token = database
            .add_token(name, Role::Viewer, None, None)
            .await
            .unwrap();
        assert_eq!(token.token.name, name);
    }
    names_that_cannot_be(&database).await;
    let fresh = open(source).await.snapshot().await.unwrap();
    assert_eq!(fresh.catalogue.contracts().count(), NASTY.len());
}

async fn names_that_cannot_be(database: &Database) {
    let nul = "a\0b";
    let asked = database.get(Kind::Plan, nul).await;
    assert!(matches!(asked, Err(Error::Refused(_))), "{asked:?}");
    let keys = vec![
        format!("user={nul}"),
        format!("user={}", "x".repeat(100_000)),
    ];
    assert!(database.lookup(keys).await.unwrap().is_empty());
}

/// Lists come in pages, in the order of ids.
pub(crate) async fn lists_come_in_pages(source: &Source) {
    let database = open(source).await;
    furnish(&database).await;
    let mut import = database.import("ana", "a list");
    for user in 0..25 {
        let plan = if user % 5 == 0 { "pro" } else { "free" };
        import
            .add(format!("{{ identity: user={user:02}, plan: {plan} }}"))
            .await
            .unwrap();
    }
    import
        .add("{ identity: tenant=1, plan: free }".into())
        .await
        .unwrap();
    assert_eq!(import.finish().await.unwrap().made, 26);
    let mut filter = Filter {
        prefix: "user=".into(),
        ..Filter::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = database.list(Kind::Assignment, &filter, 10).await.unwrap();
        let Some(last) = page.last() else {
            break;
        };
        filter.after = Some(last.id.clone());
        seen.extend(page.into_iter().map(|item| item.id));
    }
    let expected: Vec<String> = (0..25).map(|user| format!("user={user:02}")).collect();
    assert_eq!(seen, expected);
    let on_plan = Filter {
        plan: Some("pro".into()),
        ..Filter::default()
    };
    let on_plan = database.list(Kind::Assignment, &on_plan, 10).await.unwrap();
    assert_eq!(on_plan.len(), 5);
    in_a_contract_and_when(&database).await;
    let plans = database
        .list(Kind::Plan, &Filter::default(), 10)
        .await
        .unwrap();
    assert_eq!(
        plans.iter().map(|item| &*item.id).collect::<Vec<_>>(),
        ["free", "pro"]
    );
}

/// Assignments to a contract alone are found by it; objects have times of changes, and plans have counts.
async fn in_a_contract_and_when(database: &Database) {
    let alone = "{ identity: user=07, contract: users, plan: pro }";
    make(database, Kind::Assignment, "user=07@users", alone).await;
    for (plan, count) in [(None, 1), (Some("pro"), 1), (Some("free"), 0)] {
        let filter = Filter {
            plan: plan.map(str::to_owned),
            contract: Some("users".into()),
            ..Filter::default()
        };
        let found = database.list(Kind::Assignment, &filter, 10).await.unwrap();
        assert_eq!(found.len(), count, "{plan:?}");
    }
    let both = Filter {
        identity: Some("user=07".into()),
        contract: Some("users".into()),
        ..Filter::default()
    };
    let both = database.list(Kind::Assignment, &both, 10).await;
    assert!(matches!(both, Err(Error::Refused(_))));
    let plans = vec!["free".to_owned(), "pro".to_owned(), "'".to_owned()];
    let mut counts = database.assigned(plans).await.unwrap();
    counts.sort();
    assert_eq!(counts, [("free".to_owned(), 21), ("pro".to_owned(), 6)]);
    let history = database.history(Kind::Plan, "pro", None, 1).await.unwrap();
    let asked =
        [("pro", 1), ("free", 2), ("none", 1)].map(|(id, version)| (id.to_owned(), version));
    let changed = database.changed_at(Kind::Plan, &asked).await.unwrap();
    assert_eq!(changed, [("pro".to_owned(), history[0].at_ns)]);
}

/// Following changes gives the same as reading everything.
pub(crate) async fn a_second_node_follows(source: &Source) {
    let (one, other) = (open(source).await, open(source).await);
    furnish(&one).await;
    assert_eq!(other.snapshot().await.unwrap().revision, 3);
    for round in 1..=30_u64 {
        let id = format!("c{}", round % 7);
        let seen = one.get(Kind::Contract, &id).await.unwrap();
        let seen = seen.map_or(Seen::Nothing, |item| Seen::Version(item.version));
        let change = edit(Kind::Contract, &id, seen);
        if round % 5 == 0 && seen != Seen::Nothing {
            one.delete(&change).await.unwrap();
        } else {
            let text = format!(
                "{{ id: {id}, key: [user], plan: pro, policies: [{{ name: p, limit: {round}, per: 1s }}] }}"
            );
            one.put(&change, &text).await.unwrap();
        }
        let plan = edit(Kind::Plan, "free", Seen::Version(round));
        let text = format!(
            "{{ id: free, policies: [{{ name: burst, limit: {}, per: 1s }}] }}",
            100 + round
        );
        one.put(&plan, &text).await.unwrap();
        let followed = other.snapshot().await.unwrap();
        let read = open(source).await.snapshot().await.unwrap();
        assert_eq!(
            (followed.revision, read.revision),
            (3 + 2 * round, 3 + 2 * round)
        );
        let (followed, read) = (followed.catalogue.compiled(), read.catalogue.compiled());
        assert_eq!(followed.as_slice(), read.as_slice());
    }
}

/// An import can be repeated after an interruption, and refuses conflicts.
pub(crate) async fn imports_are_repeated_safely(source: &Source) {
    let database = open(source).await;
    furnish(&database).await;
    let texts = |users: std::ops::Range<u32>| -> Vec<String> {
        users.map(|user| format!("{{ identity: user={user}, plan: pro, until: '2030-01-01T00:00:00Z', then: free }}")).collect()
    };
    let mut import = database.import("ana", "");
    for text in texts(0..2500) {
        import.add(text).await.unwrap();
    }
    // Only complete batches are stored.
    drop(import);
    let mut import = database.import("ana", "");
    for text in texts(0..2600) {
        import.add(text).await.unwrap();
    }
    let done = import.finish().await.unwrap();
    assert_eq!((done.made, done.same), (600, 2000));
    assert_eq!(done.revision, database.revision().await.unwrap());
    let pro = database
        .delete(&edit(Kind::Plan, "pro", Seen::Version(1)))
        .await
        .unwrap_err();
    assert!(matches!(refusal(pro), Refusal::InUse { count: 2600, .. }));
    // One of a batch is wrong: none of it is stored.
    for wrong in [
        "{ identity: user=1, plan: free }",
        "{ id: other, identity: user=1, plan: free }",
        "{ identity: user=9999, plan: fre }",
    ] {
        let before = database.revision().await.unwrap();
        let mut import = database.import("ana", "");
        import
            .add("{ identity: user=5000, plan: pro }".into())
            .await
            .unwrap();
        import.add(wrong.into()).await.unwrap();
        assert!(matches!(import.finish().await, Err(Error::Refused(_))));
        assert_eq!(database.revision().await.unwrap(), before);
        assert!(
            database
                .lookup(vec!["user=5000".into()])
                .await
                .unwrap()
                .is_empty()
        );
    }
    // An imported object has a history from its first edit on.
    let change = edit(Kind::Assignment, "user=7", Seen::Version(1));
    database
        .put(&change, "{ identity: user=7, plan: free }")
        .await
        .unwrap();
    let back = database
        .rollback(&edit(Kind::Assignment, "user=7", Seen::Version(2)), 1)
        .await
        .unwrap();
    assert_eq!(back.version, 3);
    let item = database
        .get(Kind::Assignment, "user=7")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(item.document["then"], "free");
}
