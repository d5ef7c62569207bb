//! Servers on `PostgreSQL` and on `SQLite`: exact, after a restart as before, and without them.

use tollgate_parts::Postgres;

use super::{PATIENT, check, do_without, exactly, ready, server, three};
use crate::kit::{Server, until};

/// Ends a server as an operator does.
fn end(server: Server) {
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn two_servers_on_one_postgres_admit_exactly_the_limit_and_remember_it() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = Postgres::start();
    let start = |wish| {
        let server = server(folder.path(), &postgres.url(), PATIENT, wish);
        ready(&server);
        server
    };
    let [one, other] = ["deny", "local"].map(start);
    exactly(&[&one, &other]);
    until("the clocks were compared", || {
        one.metric("tollgate_store_clock_error_seconds") > 0.0
    });
    assert!(one.metric("tollgate_store_clock_offset_seconds").abs() < 1.0);
    assert_eq!(check(&one, "anna").remaining(), 99);
    end(one);
    assert_eq!(check(&start("deny"), "anna").remaining(), 98);
    let named = "SELECT count(*) FROM tollgate_state WHERE name LIKE '%anna%'";
    assert_eq!(postgres.sql(named), "0", "keys are not told");
}

#[test]
fn a_postgres_that_is_held_still_read_only_or_gone_is_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let mut postgres = Postgres::start();
    let servers = three(folder.path(), &postgres.url(), PATIENT);
    servers.iter().for_each(ready);
    postgres.pause();
    do_without(&servers, &["late"]);
    postgres.resume();
    servers.iter().for_each(ready);
    postgres.stop();
    do_without(&servers, &["unreachable", "starting"]);
    postgres.run(&["default_transaction_read_only=on"]);
    do_without(&servers, &["read-only"]);
    postgres.stop();
    postgres.run(&[]);
    servers.iter().for_each(ready);
    exactly(&servers.each_ref());
}

#[test]
fn a_postgres_that_does_not_let_us_in_is_a_failure_with_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = Postgres::start();
    let url = postgres.url_as("tollgate:wrong");
    let servers = three(folder.path(), &url, PATIENT);
    do_without(&servers, &["forbidden"]);
    for server in servers {
        server.signal("TERM");
        let (code, errors) = server.end();
        assert_eq!(code, Some(0));
        assert!(!errors.contains(":wrong"), "{errors}");
    }
}

#[test]
fn a_server_on_sqlite_counts_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("counts.db").display());
    let start = || {
        let server = server(folder.path(), &url, PATIENT, "deny");
        ready(&server);
        server
    };
    let first = start();
    assert_eq!(check(&first, "anna").remaining(), 99);
    exactly(&[&first]);
    end(first);
    assert_eq!(check(&start(), "anna").remaining(), 98);
}
