//! `PostgreSQL` passes the whole suite, and two engines on one database share its limits.

use std::sync::Arc;

use tollgate_conformance::{SuitePlan, all, crowd, ledgers};
use tollgate_limit::{Cost, Lot};
use tollgate_parts::Postgres as Server;
use tollgate_store::{EngineAnswer, Verb};
use tollgate_store_sql::{Postgres, PostgresConfig};

use crate::kit::{EngineKey, PATIENT, SWEEP, sweeps, sweeps_ledgers};

fn engine(server: &Server) -> Arc<Postgres> {
    let config = PostgresConfig::new(server.url());
    Arc::new(Postgres::new(&config).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_passes_the_suite() {
    let server = Server::start();
    let engine = engine(&server);
    let result = all(&engine, &SuitePlan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_ways_to_one_database_admit_exactly_the_limit() {
    let server = Server::start();
    let engines = [engine(&server), engine(&server)];
    let result = crowd(&engines, &SuitePlan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn ledgers_of_two_ways_to_one_database_are_swapped_in_one_order() {
    let server = Server::start();
    let engines = [engine(&server), engine(&server)];
    let lost = ledgers(&engines, &SuitePlan::default()).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_decision_is_one_statement() {
    let mut server = Server::start();
    server.stop();
    server.run(&["log_statement=all", "logging_collector=on"]);
    let config = PostgresConfig::new(server.url());
    let key = EngineKey::new(Postgres::new(&config).unwrap());
    let (cost, lot) = (Cost::from_u32(3), Lot::ALWAYS);
    let Ok(EngineAnswer::Outcome { outcome, .. }) = key.said(Verb::Check { cost, lot }).await
    else {
        panic!("no decision");
    };
    // Statements of the engine, except the comparison of clocks.
    let log = "SELECT pg_read_file(pg_current_logfile())";
    let statements = || {
        let log = server.sql(log);
        log.lines()
            .filter(|line| line.contains("execute") && !line.contains("clock_timestamp"))
            .count()
    };
    let charge = outcome.receipt;
    let settle = |actual| Verb::Settle {
        charge,
        actual: Cost::from_u32(actual),
    };
    let two = Cost::from_u32(2);
    for verb in [settle(5), settle(1), Verb::Charge(two), Verb::Refund(two)] {
        let before = statements();
        assert_eq!(key.said(verb).await, Ok(EngineAnswer::Done), "{verb:?}");
        assert_eq!(statements() - before, 1, "{verb:?}: {}", server.sql(log));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_an_earlier_version_is_brought_up_to_date() {
    let server = Server::start();
    let config = PostgresConfig::new(server.url());
    let key = || EngineKey::new(Postgres::new(&config).unwrap());
    assert_eq!(key().ask(PATIENT).await, Ok(true));
    server.sql("DROP FUNCTION tollgate_change");
    assert_eq!(key().ask(PATIENT).await, Ok(true));
}
