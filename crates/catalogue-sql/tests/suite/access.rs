//! Tokens and sessions, and concurrent opening.

use tollgate_catalogue_sql::{AuditEntry, Error, Role, Source, digest_of};

use super::open;

/// Tokens are found by their secrets, which are not stored.
pub(crate) async fn tokens_are_known_by_their_secrets(source: &Source) {
    let database = open(source).await;
    let made = database
        .add_token("ops", Role::Operator, Some(u64::MAX / 4), None)
        .await
        .unwrap();
    assert!(!format!("{made:?}").contains(&made.secret));
    assert_eq!(made.secret.len(), 3 + 64);
    let found = database.token(&made.secret).await.unwrap().unwrap();
    assert_eq!(found, made.token);
    assert!(found.is_valid(found.created_ns) && !found.is_valid(u64::MAX / 4));
    assert_eq!(database.token("tg_guess").await.unwrap(), None);
    database.touch_token(&found.id).await.unwrap();
    assert!(database.tokens().await.unwrap()[0].used_ns.is_some());
    assert!(database.revoke_token(&found.id).await.unwrap());
    assert!(!database.revoke_token(&found.id).await.unwrap());
    let revoked = database.token(&made.secret).await.unwrap().unwrap();
    assert!(!revoked.is_valid(revoked.created_ns));
    let chosen = Some("a-secret-from-the-environment".to_owned());
    database
        .add_token("first", Role::Admin, None, chosen.clone())
        .await
        .unwrap();
    let twice = database
        .add_token("second", Role::Admin, None, chosen)
        .await;
    assert!(matches!(twice, Err(Error::Refused(_))));
    let short = database
        .add_token("short", Role::Admin, None, Some("short".into()))
        .await;
    assert!(matches!(short, Err(Error::Refused(_))));
    let valid = database.valid_tokens().await.unwrap();
    assert_eq!(valid.len(), 1, "{valid:?}");
    assert_eq!(valid[0].digest, digest_of("a-secret-from-the-environment"));
    let tried = AuditEntry {
        who: "mallory".into(),
        what: "log in".into(),
        outcome: "refused".into(),
        ..AuditEntry::default()
    };
    database.audit(&tried).await.unwrap();
    let audited = database.audited(None, 10).await.unwrap();
    assert_eq!((&*audited[0].who, audited.len()), ("mallory", 1));
    assert_eq!(database.forget_audit(u64::MAX / 2).await.unwrap(), 1);
}

/// A session that one node ended is ended on another, until it would expire anyway.
pub(crate) async fn sessions_end_everywhere(source: &Source) {
    let (one, other) = (open(source).await, open(source).await);
    assert!(other.ended_sessions().await.unwrap().is_empty());
    for _ in 0..2 {
        one.end_session("7", u64::MAX / 4).await.unwrap();
    }
    one.end_session("'; --", 1).await.unwrap();
    assert_eq!(other.ended_sessions().await.unwrap(), ["7"]);
}

/// Several nodes that create the tables concurrently create them once.
pub(crate) async fn several_open_at_once(source: &Source) {
    let opening: Vec<_> = (0..4)
        .map(|_| {
            let source = source.clone();
            tokio::spawn(async move { open(&source).await.revision().await })
        })
        .collect();
    for opened in opening {
        assert_eq!(opened.await.unwrap(), Ok(0));
    }
}
