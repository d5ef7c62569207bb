//! The catalogue in `PostgreSQL`: the common suite, and failures of a server.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod suite;

use std::time::{Duration, Instant};

use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};
use suite::{edit, furnish, make, open};
use tollgate_catalogue::{Kind, Seen};
use tollgate_catalogue_sql::{Config, Database, Error, Source};
use tollgate_parts::{PATIENCE, Postgres};

/// Databases of one server, so that it starts once.
struct Server(Postgres);

impl Server {
    fn start() -> Self {
        Self(Postgres::start())
    }

    fn source(&self, name: &str) -> Source {
        self.0.sql(&format!("CREATE DATABASE {name}"));
        Source::Postgres(self.url(name))
    }

    fn url(&self, name: &str) -> String {
        self.0.url().replacen("/postgres?", &format!("/{name}?"), 1)
    }

    async fn beside(&self, name: &str) -> sqlx::postgres::PgConnection {
        let options: PgConnectOptions = self.url(name).parse().unwrap();
        options.connect().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_passes_the_suite() {
    let server = Server::start();
    suite::edits::a_thing_has_a_history(&server.source("history")).await;
    suite::edits::a_database_is_founded_once(&server.source("founded")).await;
    suite::edits::of_two_editors_one_wins(&server.source("editors")).await;
    suite::edits::what_is_used_stays(&server.source("used")).await;
    suite::edits::an_identity_has_one_assignment_at_a_time(&server.source("identity")).await;
    suite::lists::names_are_only_names(&server.source("names")).await;
    suite::lists::lists_come_in_pages(&server.source("pages")).await;
    suite::lists::a_second_node_follows(&server.source("second")).await;
    suite::lists::imports_are_repeated_safely(&server.source("imports")).await;
    suite::access::tokens_are_known_by_their_secrets(&server.source("tokens")).await;
    suite::access::sessions_end_everywhere(&server.source("sessions")).await;
    suite::access::several_open_at_once(&server.source("several")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_writers_leave_whole_writes() {
    let server = Server::start();
    suite::killed::killed_writers_leave_whole_writes(&server.source("killed")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the part of a child that is killed"]
async fn writes_until_it_is_killed() {
    suite::killed::write_until_killed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_may_do_is_a_typed_answer() {
    let server = Server::start();
    locked(&server).await;
    full(&server).await;
    read_only(&server).await;
    half_made(&server).await;
    let wrong = server.0.url_as("tollgate:wrong");
    let opened = Database::open(&Config::new(Source::Postgres(wrong))).await;
    assert!(matches!(opened, Err(Error::Forbidden(_))), "{opened:?}");
    let none = Source::Postgres(server.url("no_such_database"));
    let opened = Database::open(&Config::new(none)).await;
    assert!(matches!(opened, Err(Error::Forbidden(_))), "{opened:?}");
    away(server).await;
}

const OTHER: &str = "{ id: other, follows: free }";

async fn put_other(database: &Database) -> Result<u64, Error> {
    let put = database
        .put(&edit(Kind::Plan, "other", Seen::Nothing), OTHER)
        .await;
    put.map(|written| written.version)
}

async fn locked(server: &Server) {
    let config = Config {
        time: Duration::from_secs(2),
        ..Config::new(server.source("locked"))
    };
    let database = Database::open(&config).await.unwrap();
    furnish(&database).await;
    let mut other = server.beside("locked").await;
    sqlx::raw_sql("BEGIN; SELECT revision FROM catalogue_head FOR UPDATE")
        .execute(&mut other)
        .await
        .unwrap();
    assert_eq!(put_other(&database).await, Err(Error::Locked));
    assert_eq!(database.snapshot().await.unwrap().revision, 3);
    other.close().await.unwrap();
    assert_eq!(put_other(&database).await, Ok(1));
}

async fn full(server: &Server) {
    let database = open(&server.source("crowded")).await;
    furnish(&database).await;
    let mut other = server.beside("crowded").await;
    // The last table that a write touches, so that the rest is rolled back.
    let full = "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON catalogue_audit EXECUTE FUNCTION full_disk()";
    sqlx::raw_sql(full).execute(&mut other).await.unwrap();
    assert_eq!(put_other(&database).await, Err(Error::Full));
    assert_eq!(database.revision().await.unwrap(), 3);
    assert_eq!(database.get(Kind::Plan, "other").await.unwrap(), None);
    sqlx::raw_sql("DROP TRIGGER full_disk ON catalogue_audit")
        .execute(&mut other)
        .await
        .unwrap();
    assert_eq!(put_other(&database).await, Ok(1));
}

async fn read_only(server: &Server) {
    furnish(&open(&server.source("still")).await).await;
    server
        .0
        .sql("ALTER DATABASE still SET default_transaction_read_only = on");
    let database = open(&Source::Postgres(server.url("still"))).await;
    assert_eq!(database.snapshot().await.unwrap().revision, 3);
    assert_eq!(put_other(&database).await, Err(Error::ReadOnly));
}

/// A migration crashed in the middle of the first step, and another between steps.
async fn half_made(server: &Server) {
    let source = server.source("half");
    let mut other = server.beside("half").await;
    sqlx::raw_sql("BEGIN; CREATE TABLE catalogue_migration (step BIGINT PRIMARY KEY); CREATE TABLE catalogue_head (one BIGINT)")
        .execute(&mut other)
        .await
        .unwrap();
    drop(other);
    furnish(&open(&source).await).await;
    let mut other = server.beside("half").await;
    sqlx::raw_sql("DROP TABLE catalogue_ended, catalogue_token, catalogue_audit, statistics_row, statistics_writer; DELETE FROM catalogue_migration WHERE step >= 2")
        .execute(&mut other)
        .await
        .unwrap();
    assert_eq!(put_other(&open(&source).await).await, Ok(1));
}

/// Stopped and run again: an error meanwhile, and the same handle recovers.
async fn away(mut server: Server) {
    let config = Config {
        time: Duration::from_secs(2),
        ..Config::new(server.source("away"))
    };
    let database = Database::open(&config).await.unwrap();
    furnish(&database).await;
    server.0.pause();
    let begin = Instant::now();
    assert_eq!(put_other(&database).await, Err(Error::Late));
    assert!(begin.elapsed() < PATIENCE, "a call ends in time");
    server.0.resume();
    server.0.stop();
    let stopped = put_other(&database).await;
    assert!(matches!(stopped, Err(Error::Away(_))), "{stopped:?}");
    let lazy = Database::lazy(&config).unwrap();
    assert!(matches!(lazy.snapshot().await, Err(Error::Away(_))));
    server.0.run(&[]);
    for database in [&database, &lazy] {
        // The write that was late may have been made.
        assert!(database.snapshot().await.unwrap().revision >= 3);
    }
    make(&lazy, Kind::Plan, "last", "{ id: last, follows: free }").await;
    assert!(
        database
            .snapshot()
            .await
            .unwrap()
            .catalogue
            .plans()
            .has("last")
    );
}
