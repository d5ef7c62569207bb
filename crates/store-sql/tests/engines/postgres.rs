//! `PostgreSQL` passes the whole suite, and two ways to one database share its limits.

use std::sync::Arc;

use tollgate_conformance::{Plan, all, crowd, ledgers};
use tollgate_parts::Postgres as Server;
use tollgate_store_sql::{Postgres, PostgresConfig};

use crate::kit::{SWEEP, sweeps, sweeps_ledgers};

fn engine(server: &Server) -> Arc<Postgres> {
    let config = PostgresConfig::new(server.url());
    Arc::new(Postgres::new(&config).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_passes_the_suite() {
    let server = Server::start();
    let engine = engine(&server);
    let result = all(&engine, &Plan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_ways_to_one_database_admit_exactly_the_limit() {
    let server = Server::start();
    let engines = [engine(&server), engine(&server)];
    let result = crowd(&engines, &Plan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ledgers_of_two_ways_to_one_database_are_swapped_in_one_order() {
    let server = Server::start();
    let engines = [engine(&server), engine(&server)];
    let lost = ledgers(&engines, &Plan::default()).await;
    let lost = lost.unwrap_or_else(|fault| panic!("{fault}"));
    println!("512 counts, {lost} swaps lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_drops_ledgers_that_say_nothing_any_more() {
    let server = Server::start();
    let mut config = PostgresConfig::new(server.url());
    config.sweep = Some(SWEEP);
    sweeps_ledgers(Postgres::new(&config).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_drops_what_is_fresh_and_nothing_else() {
    let server = Server::start();
    let open = |sweep| {
        let mut config = PostgresConfig::new(server.url());
        config.sweep = sweep;
        Postgres::new(&config).unwrap()
    };
    sweeps(open(None), async || open(Some(SWEEP))).await;
}
