//! `SQLite` passes the whole suite, and two ways to one file share its limits.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;

use tollgate_conformance::{Plan, all, crowd};
use tollgate_store_sql::{Sqlite, SqliteConfig};

async fn open(folder: &tempfile::TempDir) -> Arc<Sqlite> {
    let path = folder.path().join("tollgate.db");
    let config = SqliteConfig { path, sync: false };
    Arc::new(Sqlite::open(&config).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder).await;
    all(&engine, &Plan::default())
        .await
        .unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_ways_to_one_file_admit_exactly_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [open(&folder).await, open(&folder).await];
    crowd(&engines, &Plan::default())
        .await
        .unwrap_or_else(|fault| panic!("{fault}"));
}
