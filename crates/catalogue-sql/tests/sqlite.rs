//! The catalogue in a file: the common suite, and failures of a file.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod suite;

use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use suite::{edit, furnish, make, open};
use tollgate_catalogue::{Kind, Seen};
use tollgate_catalogue_sql::{Config, Database, Error, Source};

struct File(tempfile::TempDir);

impl File {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn source(&self) -> Source {
        Source::Sqlite(self.0.path().join("catalogue.db"))
    }

    /// A second connection to the file.
    async fn beside(&self) -> sqlx::sqlite::SqliteConnection {
        let path = self.0.path().join("catalogue.db");
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true);
        options.connect().await.unwrap()
    }
}

macro_rules! in_a_file {
    ($($part:ident::$name:ident),* $(,)?) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let file = File::new();
            suite::$part::$name(&file.source()).await;
        })*
    };
}

in_a_file!(
    edits::a_thing_has_a_history,
    edits::a_database_is_founded_once,
    edits::of_two_editors_one_wins,
    edits::what_is_used_stays,
    edits::an_identity_has_one_assignment_at_a_time,
    lists::names_are_only_names,
    lists::lists_come_in_pages,
    lists::a_second_node_follows,
    lists::imports_are_repeated_safely,
    access::tokens_are_known_by_their_secrets,
    access::sessions_end_everywhere,
    access::several_open_at_once,
    killed::killed_writers_leave_whole_writes,
);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the part of a child that is killed"]
async fn writes_until_it_is_killed() {
    suite::killed::write_until_killed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_is_said_to_be_locked_and_can_be_read() {
    let file = File::new();
    let config = Config {
        time: Duration::from_secs(2),
        ..Config::new(file.source())
    };
    let database = Database::open(&config).await.unwrap();
    furnish(&database).await;
    let mut other = file.beside().await;
    sqlx::raw_sql("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();
    let text = "{ id: other, follows: free }";
    let made = database
        .put(&edit(Kind::Plan, "other", Seen::Nothing), text)
        .await;
    assert_eq!(made, Err(Error::Locked));
    assert_eq!(database.snapshot().await.unwrap().revision, 3);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    make(&database, Kind::Plan, "other", text).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_file_is_said_to_be_full_and_loses_nothing() {
    let file = File::new();
    let config = Config {
        bytes_max: Some(400_000),
        ..Config::new(file.source())
    };
    let database = Database::open(&config).await.unwrap();
    let mut made = 0;
    let full = loop {
        let id = format!("c{made}");
        let text = format!(
            "{{ id: {id}, match: {{ a: {} }}, policies: [{{ name: p, limit: 1, per: 1s }}] }}",
            "x".repeat(200)
        );
        match database
            .put(&edit(Kind::Contract, &id, Seen::Nothing), &text)
            .await
        {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        assert!(made < 10_000, "the file is never full");
    };
    assert_eq!(full, Error::Full);
    assert_eq!(database.revision().await.unwrap(), made);
    let larger = open(&file.source()).await;
    let snapshot = larger.snapshot().await.unwrap();
    assert_eq!(
        u64::try_from(snapshot.catalogue.contracts().count()).unwrap(),
        made
    );
    make(
        &larger,
        Kind::Plan,
        "free",
        "{ id: free, policies: [{ name: p, limit: 1, per: 1s }] }",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_is_broken_and_what_is_no_file_forbidden() {
    let file = File::new();
    std::fs::write(
        file.0.path().join("catalogue.db"),
        "not a database at all, by far",
    )
    .unwrap();
    let opened = Database::open(&Config::new(file.source())).await;
    assert!(matches!(opened, Err(Error::Broken(_))), "{opened:?}");
    let folder = Source::Sqlite(file.0.path().join("none").join("catalogue.db"));
    let opened = Database::open(&Config::new(folder)).await;
    assert!(matches!(opened, Err(Error::Forbidden(_))), "{opened:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_were_half_made_are_made_again() {
    let file = File::new();
    let mut other = file.beside().await;
    // A migration crashed in the middle of the first step.
    sqlx::raw_sql("BEGIN IMMEDIATE; CREATE TABLE catalogue_migration (step BIGINT PRIMARY KEY); CREATE TABLE catalogue_head (one BIGINT)")
        .execute(&mut other)
        .await
        .unwrap();
    other.close_hard().await.unwrap();
    suite::edits::a_thing_has_a_history(&file.source()).await;
    // Or between the steps.
    let mut other = file.beside().await;
    sqlx::raw_sql("DROP TABLE catalogue_ended; DROP TABLE catalogue_token; DROP TABLE catalogue_audit; DROP TABLE statistics_row; DROP TABLE statistics_writer; DELETE FROM catalogue_migration WHERE step >= 2")
        .execute(&mut other)
        .await
        .unwrap();
    let database = open(&file.source()).await;
    make(
        &database,
        Kind::Plan,
        "other",
        "{ id: other, follows: free }",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_newer_program_are_left_alone() {
    let file = File::new();
    open(&file.source()).await;
    let mut other = file.beside().await;
    sqlx::raw_sql("INSERT INTO catalogue_migration (step) VALUES (99)")
        .execute(&mut other)
        .await
        .unwrap();
    let opened = Database::open(&Config::new(file.source())).await;
    assert!(
        matches!(&opened, Err(Error::Broken(why)) if why.contains("newer")),
        "{opened:?}"
    );
}
