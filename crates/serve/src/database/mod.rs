//! The `PostgreSQL` database for durable state: how to connect, and its migrations.
//!
//! All tables are in the schema `tollgate` and share one list of migrations. Not here: what is stored (`durable`), and
//! engines that decide (`tollgate-store-sql`).

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;
use tollgate_sqlite::{MigrateError, PostgresAddress, Steps};
use tollgate_store::Failure;
use tollgate_store_sql::failure_of;

use crate::settings::DatabaseSettings;

/// Each migrates the tables to the next version; version 0 has none.
const MIGRATIONS: &[&str] = &[include_str!("1-durable.sql")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseError {
    /// A query failed.
    Failure(Failure),
    /// The tables were made by a later version.
    Later {
        /// The version found.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failure(failure_of(&error))
    }
}

impl From<MigrateError> for DatabaseError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Sql(error) => error.into(),
            MigrateError::Later { found, known } => Self::Later { found, known },
        }
    }
}

pub(crate) fn options(settings: &DatabaseSettings) -> Result<PgConnectOptions, DatabaseError> {
    let address = PostgresAddress {
        url: settings.url.secret(),
        ca: settings.ca_file.as_deref(),
        identity: None,
    };
    let options = address.options().map_err(Failure::Forbidden);
    Ok(options.map_err(DatabaseError::Failure)?.options(LIMITS))
}

/// Connects and migrates the tables if needed.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, DatabaseError> {
    let connected = timeout(CONNECT_WITHIN, async {
        let mut connection = options.connect().await?;
        migrate(&mut connection).await?;
        Ok(connection)
    });
    connected
        .await
        .unwrap_or(Err(DatabaseError::Failure(Failure::Late)))
}

/// Migrates the tables in one transaction. Writes nothing if they are up to date.
async fn migrate(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let steps = Steps {
        is_noted:
            "SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                   WHERE nspname = 'tollgate' AND relname = 'migration'",
        last: "SELECT coalesce(max(version), 0) FROM tollgate.migration",
        begin: BEGIN,
        note: "INSERT INTO tollgate.migration VALUES ({}, now())",
        each: MIGRATIONS.iter().map(ToString::to_string).collect(),
    };
    Ok(tollgate_sqlite::migrate(connection, &steps).await?)
}

/// The number is that of an advisory lock: concurrent migrations run one after the other. The schema may exist already,
/// for users who may not create one.
const BEGIN: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(1953459309);
    DO $$ BEGIN
        IF to_regnamespace('tollgate') IS NULL THEN CREATE SCHEMA tollgate; END IF;
    END $$;
    CREATE TABLE IF NOT EXISTS tollgate.migration (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL)";
/// Includes migrations.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Timeouts of a statement, and of a lock within it. Just-in-time compilation takes longer than these statements run.
const LIMITS: [(&str, &str); 3] = [
    ("statement_timeout", "10s"),
    ("lock_timeout", "5s"),
    ("jit", "off"),
];
