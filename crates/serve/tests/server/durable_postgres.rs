//! Durable counts in `PostgreSQL`: found again anywhere, and written by one process at a time.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::time::{Duration, Instant};

use tollgate_node::NodeConfig;
use tollgate_parts::{Papers, Postgres, until};
use tollgate_serve::durable::{self, LoadSummary, StoreError};
use tollgate_serve::settings::DatabaseSettings;

use crate::durable::DurableServer;

const FILE: &str = "
contracts:
  - id: api
    key: [user]
    policies:
      - { name: daily, limit: 1000, per: 100d, algorithm: fixed-window, durable: true }
      - { name: lost, limit: 1000, per: 100d, algorithm: fixed-window }
";

fn settings(url: &str) -> DatabaseSettings {
    DatabaseSettings::new(url.parse().unwrap())
}

impl DurableServer {
    fn seated(database: &Postgres, seat: &str) -> Self {
        Self::try_seated(&database.url(), seat, None).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_seated(url: &str, seat: &str, given: Option<[u8; 16]>) -> Result<Self, StoreError> {
        Self::at(&settings(url), seat, given)
    }

    fn at(
        database: &DatabaseSettings,
        seat: &str,
        given: Option<[u8; 16]>,
    ) -> Result<Self, StoreError> {
        let (store, secrets) = durable::open_seat(database, seat, given, None)?;
        Self::of(store, &secrets, FILE, NodeConfig::default())
    }

    /// What is used of each policy.
    fn used(&self, user: &str) -> Vec<u64> {
        let left = self.left("user", user).into_iter();
        left.map(|left| 1000 - left).collect()
    }

    fn refused(&self) -> u64 {
        self.shared.engine.meter().durable().figures().refused
    }
}

#[test]
fn charges_are_found_again_by_whoever_takes_the_seat() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 7);
    server.charge("user", "bob", 9);
    server.stop();
    let server = DurableServer::seated(&database, "n1");
    assert_eq!(server.loaded.cells, 2);
    assert_eq!(server.used("ann"), [7, 0]);
    assert_eq!(server.used("bob"), [9, 0]);
    server.charge("user", "ann", 1);
    server.flush().unwrap();
    // Never written: lost with the process.
    server.charge("user", "ann", 100);
    drop(server);
    assert_eq!(DurableServer::seated(&database, "n1").used("ann"), [8, 0]);
    assert_eq!(
        DurableServer::seated(&database, "n2").loaded,
        LoadSummary::default()
    );
    assert_eq!(database.sql("SELECT count(*) FROM tollgate.cell"), "2");
}

#[test]
fn a_database_whose_tables_are_dropped_is_written_again_with_its_secrets() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 7);
    server.flush().unwrap();
    database.sql("DROP SCHEMA tollgate CASCADE");
    server.charge("user", "bob", 9);
    until("it is written again", || server.flush().is_ok());
    drop(server);
    let server = DurableServer::seated(&database, "n1");
    assert_eq!(server.used("ann"), [7, 0]);
    assert_eq!(server.used("bob"), [9, 0]);
}

#[test]
fn a_database_that_went_back_in_time_is_given_every_key_again() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 7);
    server.flush().unwrap();
    // As a standby that missed the last changes: an older fence, and rows that are not there.
    database.sql("UPDATE tollgate.seat SET fence = fence - 1; DELETE FROM tollgate.cell");
    until("it is written again", || server.flush().is_ok());
    drop(server);
    assert_eq!(DurableServer::seated(&database, "n1").used("ann"), [7, 0]);
}

#[test]
fn an_older_process_is_refused_and_goes_on_deciding() {
    let database = Postgres::start();
    let old = DurableServer::seated(&database, "n1");
    old.charge("user", "ann", 5);
    old.flush().unwrap();
    old.charge("user", "ann", 100);
    let new = DurableServer::seated(&database, "n1");
    assert_eq!(new.used("ann"), [5, 0]);
    new.charge("user", "ann", 1);
    new.flush().unwrap();
    // Its statement finds another fence.
    let error = old.flush().unwrap_err();
    assert!(matches!(error, StoreError::TakenOver), "{error}");
    assert_eq!(old.used("ann"), [105, 105]);
    old.charge("user", "ann", 1);
    assert!(matches!(old.flush(), Err(StoreError::TakenOver)));
    assert!(old.refused() >= 2);
    assert_eq!(old.shared.engine.meter().durable().figures().waiting, 0);
    let trouble = old.shared.state.store_error().unwrap();
    assert!(trouble.contains("another process"), "{trouble}");
    // Not even its end releases another's lease.
    old.stop();
    new.charge("user", "ann", 1);
    new.flush().unwrap();
    assert_eq!((new.refused(), new.used("ann")), (0, vec![7, 2]));
    drop(new);
    assert_eq!(DurableServer::seated(&database, "n1").used("ann"), [7, 0]);
}

#[test]
fn a_seat_that_was_taken_for_left_is_taken_again() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 5);
    server.flush().unwrap();
    database.sql("UPDATE tollgate.seat SET fence = fence + 1, holder = NULL");
    server.charge("user", "ann", 1);
    server.flush().unwrap();
    // A database that forgot what was last committed, as after a failover.
    database.sql("UPDATE tollgate.seat SET fence = 1, holder = 77");
    server.charge("user", "ann", 1);
    until("it is written", || server.flush().is_ok());
    drop(server);
    assert_eq!(DurableServer::seated(&database, "n1").used("ann"), [7, 0]);
}

#[test]
fn charges_wait_while_the_database_is_away() {
    let mut database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 5);
    server.flush().unwrap();
    database.stop();
    server.charge("user", "ann", 1);
    server.charge("user", "bob", 1);
    let error = server.flush().unwrap_err();
    assert!(matches!(error, StoreError::Away(_)), "{error}");
    let figures = server.shared.engine.meter().durable().figures();
    assert_eq!((figures.waiting, figures.refused), (2, 0));
    server.charge("user", "ann", 1);
    database.run(&[]);
    until("it is written", || server.flush().is_ok());
    drop(server);
    let server = DurableServer::seated(&database, "n1");
    assert_eq!(
        (server.used("ann"), server.used("bob")),
        (vec![7, 0], vec![1, 0])
    );
}

#[test]
fn what_a_connection_asked_before_it_was_given_up_never_comes_after_what_is_asked_next() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 1);
    server.flush().unwrap();
    // The statement is in the socket; the database reads it when it goes on.
    server.charge("user", "ann", 1);
    database.pause();
    assert!(server.flush().is_err());
    server.charge("user", "ann", 1);
    database.resume();
    until("it is written", || server.flush().is_ok());
    let kept = || database.sql("SELECT encode(state, 'hex') FROM tollgate.cell");
    let newest = kept();
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tollgate'";
    until("only the last connection is left", || {
        database.sql(busy) == "1"
    });
    assert_eq!(kept(), newest);
    drop(server);
    assert_eq!(DurableServer::seated(&database, "n1").used("ann"), [3, 0]);
}

#[test]
fn rows_that_make_no_sense_are_counted_and_left_out() {
    let database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    for user in ["ann", "bob", "cid"] {
        server.charge("user", user, 5);
    }
    server.stop();
    database.sql(
        "UPDATE tollgate.cell SET state = '\\xffff' WHERE print = (SELECT min(print) FROM tollgate.cell)",
    );
    database.sql(
        "UPDATE tollgate.cell SET shape = -5 WHERE print = (SELECT max(print) FROM tollgate.cell)",
    );
    let server = DurableServer::seated(&database, "n1");
    let LoadSummary {
        cells,
        broken,
        changed,
        ..
    } = server.loaded;
    assert_eq!((cells, broken, changed), (1, 1, 1));
}

#[test]
fn tables_come_whole_or_not_at_all() {
    let database = Postgres::start();
    let open = || DurableServer::try_seated(&database.url(), "n1", None);
    // Stops the migration half way.
    database.sql("CREATE SCHEMA tollgate; CREATE TABLE tollgate.gossip (x INT)");
    let error = open().err().unwrap();
    assert!(matches!(error, StoreError::NotThere { .. }), "{error}");
    let tables =
        "SELECT string_agg(relname, ' ') FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
                  WHERE nspname = 'tollgate' AND relkind = 'r'";
    assert_eq!(database.sql(tables), "gossip");
    database.sql("DROP TABLE tollgate.gossip");
    let servers: Vec<_> = ["a", "b", "c"]
        .map(|seat| {
            let url = database.url();
            std::thread::spawn(move || DurableServer::try_seated(&url, seat, None).is_ok())
        })
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(servers, [true; 3]);
    database.sql("INSERT INTO tollgate.migration VALUES (99, now())");
    let error = open().err().unwrap();
    assert!(
        matches!(error, StoreError::Later { found: 99, .. }),
        "{error}"
    );
}

#[test]
fn a_database_that_cannot_be_used_keeps_a_server_from_starting_and_says_why() {
    let database = Postgres::start();
    let begun = Instant::now();
    let wrong = database.url_as("tollgate:wr0ng");
    let error = DurableServer::try_seated(&wrong, "n1", None).err().unwrap();
    let said = error.to_string();
    assert!(matches!(error, StoreError::NotThere { .. }), "{said}");
    assert!(
        said.contains("--database") && !said.contains("wr0ng"),
        "{said}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "not worth waiting for"
    );
    let nowhere = "postgres://tollgate@localhost/postgres?host=/nowhere";
    let error = DurableServer::try_seated(nowhere, "n1", None)
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::NotThere { .. }), "{error}");
    // Another cluster's node takes over no writer identity.
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 1);
    server.flush().unwrap();
    let error = DurableServer::try_seated(&database.url(), "n1", Some([9; 16]))
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::OtherSecretOfSeat(_)), "{error}");
    server.charge("user", "ann", 1);
    server.flush().unwrap();
}

#[test]
fn counts_are_told_only_to_the_database_that_was_meant() {
    let papers = Papers::of(&["localhost"]);
    let database = Postgres::with_tls(&papers, "scram-sha-256");
    let by = |authority: &Papers| DatabaseSettings {
        ca_file: Some(authority.ca()),
        ..settings(&database.url())
    };
    let first =
        DurableServer::at(&by(&papers), "n1", None).unwrap_or_else(|error| panic!("{error}"));
    first.charge("user", "u", 3);
    first.stop();
    let again =
        DurableServer::at(&by(&papers), "n1", None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.used("u"), [3, 0], "found again");
    again.stop();

    let others = Papers::of(&["localhost"]);
    let error = DurableServer::at(&by(&others), "n1", None).err().unwrap();
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn a_server_that_stops_writes_all_although_its_database_was_started_anew() {
    let mut database = Postgres::start();
    let server = DurableServer::seated(&database, "n1");
    server.charge("user", "ann", 1);
    server.flush().unwrap();
    database.stop();
    // Once by a connection that has ended, once because there is no other.
    server.flush().unwrap_err();
    server.flush().unwrap_err();
    database.run(&[]);
    server.charge("user", "ann", 2);
    server.stop();
    let again = DurableServer::seated(&database, "n1");
    assert_eq!(again.used("ann"), [3, 0]);
}
