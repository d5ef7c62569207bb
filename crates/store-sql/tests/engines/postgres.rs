//! `PostgreSQL` passes the whole suite, and two ways to one database share its limits.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;

use tollgate_conformance::{Plan, all, crowd};
use tollgate_parts::Postgres as Server;
use tollgate_store_sql::{Postgres, PostgresConfig};

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
