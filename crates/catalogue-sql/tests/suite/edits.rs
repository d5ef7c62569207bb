//! Edits: their history, two at once, and objects in use.

use serde_json::json;
use tollgate_catalogue::{Catalogue, Kind, Refusal, Seen, differences};
use tollgate_catalogue_sql::{Database, Error, Source};
use tollgate_limit::Instant;

use super::{change, delete, edit, furnish, make, open, refusal};

/// Created, changed, deleted, restored: every step has a version, a revision, an author and a document.
pub(crate) async fn a_thing_has_a_history(source: &Source) {
    let database = open(source).await;
    furnish(&database).await;
    let text = "{ id: users, key: [user], plan: pro }";
    let made = change(&database, Kind::Contract, "users", 1, text)
        .await
        .unwrap();
    assert_eq!((made.version, made.revision, made.is_changed), (2, 4, true));
    let again = change(&database, Kind::Contract, "users", 2, text)
        .await
        .unwrap();
    assert_eq!(
        (again.version, again.revision, again.is_changed),
        (2, 4, false)
    );
    let deleted = delete(&database, Kind::Contract, "users", 2).await.unwrap();
    assert_eq!((deleted.version, deleted.revision), (3, 5));
    assert_eq!(database.get(Kind::Contract, "users").await.unwrap(), None);
    let back = edit(Kind::Contract, "users", Seen::Nothing);
    let back = database.rollback(&back, 1).await.unwrap();
    assert_eq!(
        (back.version, back.revision),
        (4, 6),
        "versions are never used again"
    );
    let item = database
        .get(Kind::Contract, "users")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        item.document,
        json!({ "id": "users", "key": ["user"], "plan": "free" })
    );
    let history = database
        .history(Kind::Contract, "users", None, 10)
        .await
        .unwrap();
    let versions: Vec<u64> = history.iter().map(|change| change.version).collect();
    assert_eq!(versions, [4, 3, 2, 1]);
    assert_eq!(
        (&*history[0].author, &*history[0].reason),
        ("ana", "because")
    );
    let shown = differences(history[2].before.as_ref(), history[2].after.as_ref());
    assert_eq!(shown[0].to_string(), r#"plan: "free" -> "pro""#);
    let none = database
        .rollback(&edit(Kind::Contract, "users", Seen::Version(4)), 9)
        .await;
    assert!(
        refusal(none.unwrap_err())
            .to_string()
            .contains("no version 9")
    );
    gone_again(&database).await;
}

async fn gone_again(database: &Database) {
    // Back to before it existed.
    database
        .rollback(&edit(Kind::Contract, "users", Seen::Version(4)), 3)
        .await
        .unwrap();
    assert_eq!(database.get(Kind::Contract, "users").await.unwrap(), None);
    let later = database.changes(4, 2).await.unwrap();
    let revisions: Vec<u64> = later.iter().map(|change| change.revision).collect();
    assert_eq!(revisions, [5, 6]);
    let audited = database.audited(None, 100).await.unwrap();
    assert_eq!(audited.len(), 7);
    assert_eq!(
        (&*audited[0].what, &*audited[0].origin),
        ("delete contract", "127.0.0.1")
    );
}

/// A write with an old version gets the present version.
pub(crate) async fn of_two_editors_one_wins(source: &Source) {
    let databases = [open(source).await, open(source).await];
    furnish(&databases[0]).await;
    for round in 1..=20 {
        let write = |limit: u64| {
            let database = databases[usize::from(limit == 1)].clone();
            let text = format!(
                "{{ id: free, policies: [{{ name: burst, limit: {}, per: 1s }}] }}",
                limit + 2 * round
            );
            tokio::spawn(async move {
                database
                    .put(&edit(Kind::Plan, "free", Seen::Version(round)), &text)
                    .await
            })
        };
        let (one, other) = (write(1), write(2));
        let (one, other) = (one.await.unwrap(), other.await.unwrap());
        let (won, lost) = if one.is_ok() {
            (one, other)
        } else {
            (other, one)
        };
        assert_eq!(won.unwrap().version, round + 1);
        assert_eq!(
            lost,
            Err(Error::Conflict {
                present: Some(round + 1)
            })
        );
    }
    let made = databases[0]
        .put(
            &edit(Kind::Plan, "free", Seen::Nothing),
            "{ id: free, follows: pro }",
        )
        .await;
    assert_eq!(made, Err(Error::Conflict { present: Some(21) }));
    let gone = databases[0]
        .delete(&edit(Kind::Plan, "gone", Seen::Version(1)))
        .await;
    assert_eq!(gone, Err(Error::Conflict { present: None }));
    assert_eq!(
        databases[0].revision().await.unwrap(),
        23,
        "nothing else was counted"
    );
}

/// Objects in use are not deleted or broken; all users are counted and a few are named.
pub(crate) async fn what_is_used_stays(source: &Source) {
    let database = open(source).await;
    furnish(&database).await;
    for user in 0..7 {
        let text = format!(
            "{{ identity: user={user}, plan: pro, overrides: [{{ name: burst, burst: 9 }}] }}"
        );
        make(&database, Kind::Assignment, &format!("user={user}"), &text).await;
    }
    make(
        &database,
        Kind::Plan,
        "trial",
        "{ id: trial, follows: free }",
    )
    .await;
    let trial = "{ identity: user=8, plan: trial, until: 2026-01-01T00:00:00Z, then: pro }";
    make(&database, Kind::Assignment, "user=8", trial).await;

    let free = delete(&database, Kind::Plan, "free", 1).await.unwrap_err();
    assert!(matches!(refusal(free), Refusal::InUse { count: 3, .. }));
    let pro = delete(&database, Kind::Plan, "pro", 1).await.unwrap_err();
    let Refusal::InUse { count, first } = refusal(pro) else {
        panic!("in use")
    };
    assert_eq!((count, first.len()), (8, 5));
    assert!(first[0].starts_with("assignment `user="), "{first:?}");

    let window =
        "{ id: free, policies: [{ name: burst, limit: 20, per: 1s, algorithm: fixed-window }] }";
    let broken = change(&database, Kind::Plan, "free", 1, window)
        .await
        .unwrap_err();
    let Refusal::Breaks { count, first } = refusal(broken) else {
        panic!("breaks")
    };
    assert_eq!((count, first.len()), (7, 5));
    assert!(first[0].contains("burst"), "{first:?}");
    let tried = database
        .try_put(&edit(Kind::Plan, "free", Seen::Version(1)), window)
        .await;
    assert!(matches!(tried, Err(Error::Refused(Refusal::Breaks { .. }))));

    // Keys with terms of their own are not supported with gossip.
    let gossip = "{ id: users, key: [user], plan: free, coordination: gossip, policies: [{ name: burst, durable: true }] }";
    let shared = change(&database, Kind::Contract, "users", 1, gossip)
        .await
        .unwrap_err();
    assert!(matches!(refusal(shared), Refusal::Breaks { count: 8, .. }));

    // Once it is unused it can be deleted.
    for user in 0..7 {
        let gone = edit(Kind::Assignment, &format!("user={user}"), Seen::Version(1));
        database.delete(&gone).await.unwrap();
    }
    change(&database, Kind::Plan, "free", 1, window)
        .await
        .unwrap();
    let changed = "{ identity: user=8, plan: free }";
    change(&database, Kind::Assignment, "user=8", 1, changed)
        .await
        .unwrap();
    delete(&database, Kind::Plan, "pro", 1).await.unwrap();
    delete(&database, Kind::Plan, "trial", 1).await.unwrap();
}

/// Assignments of one identity do not overlap, and are few.
pub(crate) async fn an_identity_has_one_assignment_at_a_time(source: &Source) {
    let database = open(source).await;
    furnish(&database).await;
    for year in 2020..2028 {
        let text = format!(
            "{{ id: y{year}, identity: user=1, plan: pro, from: '{year}-01-01T00:00:00Z', until: '{}-01-01T00:00:00Z' }}",
            year + 1
        );
        make(&database, Kind::Assignment, &format!("y{year}"), &text).await;
    }
    let overlapping = "{ id: other, identity: user=1, plan: free, from: '2024-06-01T00:00:00Z' }";
    let refused = database
        .put(&edit(Kind::Assignment, "other", Seen::Nothing), overlapping)
        .await;
    assert!(
        refusal(refused.unwrap_err())
            .to_string()
            .contains("by `y2024`")
    );
    let ninth = "{ id: other, identity: user=1, plan: free, from: '2030-06-01T00:00:00Z' }";
    let refused = database
        .put(&edit(Kind::Assignment, "other", Seen::Nothing), ninth)
        .await;
    assert!(
        refusal(refused.unwrap_err())
            .to_string()
            .contains("at most 8")
    );
    // Moving one within its own time does not overlap with itself.
    let moved = "{ id: y2027, identity: user=1, plan: free, from: '2027-02-01T00:00:00Z' }";
    change(&database, Kind::Assignment, "y2027", 1, moved)
        .await
        .unwrap();

    let snapshot = database.snapshot().await.unwrap();
    let contract = snapshot.catalogue.contract("users").unwrap();
    let found = database
        .lookup(Catalogue::identities(contract, &["1"]))
        .await
        .unwrap();
    assert_eq!(found.len(), 8);
    let now = Instant::from_millis(1_767_225_600_000).unwrap();
    let ruling = snapshot.catalogue.ruling(contract, &["1"], &found, now);
    assert_eq!(ruling.by.as_deref(), Some("y2026"));
    let limit = ruling.terms.unwrap().policies[0].policy.config().limit;
    assert_eq!(limit, 200);
    let nobody = database
        .lookup(Catalogue::identities(contract, &["2"]))
        .await
        .unwrap();
    assert!(nobody.is_empty());
}

/// The first documents are put in all or none, and only into an unused database.
pub(crate) async fn a_database_is_founded_once(source: &Source) {
    let (one, two) = (open(source).await, open(source).await);
    let plan = |id: &str, more: &str| {
        let text = format!("{{ id: {id}, policies: [{{ name: a, limit: 1, per: 1s }}]{more} }}");
        (edit(Kind::Plan, id, Seen::Nothing), text)
    };
    let wrong = [plan("free", ""), plan("pro", ", follows: fre")];
    assert!(one.found(&wrong).await.is_err());
    assert_eq!(one.revision().await.unwrap(), 0, "all or none");
    let right = [plan("free", ""), plan("pro", ", follows: free")];
    let (first, second) = tokio::join!(one.found(&right), two.found(&right));
    assert!(first.unwrap() != second.unwrap(), "one of them was first");
    assert!(!two.found(&right).await.unwrap());
    assert_eq!(two.snapshot().await.unwrap().revision, 2);
    let ban = edit(Kind::Ban, "ip=10.0.0.0/8", Seen::Nothing);
    one.put(&ban, "{ identity: ip=10.0.0.0/8, reason: noise }")
        .await
        .unwrap();
    assert_eq!(
        two.bans().await.unwrap()[0].reason.as_deref(),
        Some("noise")
    );
    assert_eq!(two.snapshot().await.unwrap().catalogue.plans().len(), 2);
}
