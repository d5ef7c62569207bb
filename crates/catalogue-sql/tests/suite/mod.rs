//! The common suite of both databases: each function gets a source that opens the same empty one repeatedly.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    reason = "a test says what it expects, and every file uses a part of its own"
)]

pub(crate) mod access;
pub(crate) mod edits;
pub(crate) mod killed;
pub(crate) mod lists;

use tollgate_catalogue::{Edit, Kind, Refusal, Seen};
use tollgate_catalogue_sql::{Config, Database, Error, Source, WriteResult};

pub(crate) async fn open(source: &Source) -> Database {
    Database::open(&Config::new(source.clone())).await.unwrap()
}

pub(crate) fn edit(kind: Kind, id: &str, seen: Seen) -> Edit {
    Edit {
        kind,
        id: id.to_owned(),
        seen,
        author: "ana".into(),
        origin: "127.0.0.1".into(),
        reason: "because".into(),
    }
}

pub(crate) async fn make(database: &Database, kind: Kind, id: &str, text: &str) {
    let made = database.put(&edit(kind, id, Seen::Nothing), text).await;
    made.unwrap_or_else(|error| panic!("{error}"));
}

/// A plan that another follows, and a contract on it.
pub(crate) async fn furnish(database: &Database) {
    let free = "{ id: free, policies: [{ name: burst, limit: 20, per: 1s }] }";
    make(database, Kind::Plan, "free", free).await;
    let pro = "{ id: pro, follows: free, policies: [{ name: burst, limit: 200 }] }";
    make(database, Kind::Plan, "pro", pro).await;
    let users = "{ id: users, key: [user], plan: free }";
    make(database, Kind::Contract, "users", users).await;
}

pub(crate) fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

/// Changes something that was read at a version.
pub(crate) async fn change(
    database: &Database,
    kind: Kind,
    id: &str,
    version: u64,
    text: &str,
) -> Result<WriteResult, Error> {
    let edit = edit(kind, id, Seen::Version(version));
    database.put(&edit, text).await
}

/// Deletes something that was read at a version.
pub(crate) async fn delete(
    database: &Database,
    kind: Kind,
    id: &str,
    version: u64,
) -> Result<WriteResult, Error> {
    database
        .delete(&edit(kind, id, Seen::Version(version)))
        .await
}
