//! `SQLite` passes the whole suite, and two engines on one file share its limits.

use std::sync::Arc;

use tollgate_conformance::{SuitePlan, all, crowd, ledgers};
use tollgate_store_sql::{Sqlite, SqliteConfig, Sweep};

use crate::kit::{SWEEP, sweeps, sweeps_ledgers};

async fn open(folder: &tempfile::TempDir) -> Arc<Sqlite> {
    Arc::new(swept(folder, None).await)
}

async fn swept(folder: &tempfile::TempDir, sweep: Option<Sweep>) -> Sqlite {
    let mut config = SqliteConfig::new(folder.path().join("tollgate.db"));
    (config.sync, config.sweep) = (false, sweep);
    Sqlite::open(&config).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder).await;
    all(&engine, &SuitePlan::default())
        .await
        .unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_ways_to_one_file_admit_exactly_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [open(&folder).await, open(&folder).await];
    crowd(&engines, &SuitePlan::default())
        .await
        .unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ledgers_of_two_ways_to_one_file_are_swapped_in_one_order() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [open(&folder).await, open(&folder).await];
    let lost = ledgers(&engines, &SuitePlan::default()).await;
    let lost = lost.unwrap_or_else(|fault| panic!("{fault}"));
    println!("512 counts, {lost} swaps lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_drops_ledgers_that_say_nothing_any_more() {
    let folder = tempfile::tempdir().unwrap();
    sweeps_ledgers(swept(&folder, Some(SWEEP)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_drops_what_is_fresh_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let still = swept(&folder, None).await;
    sweeps(still, async || swept(&folder, Some(SWEEP)).await).await;
}
