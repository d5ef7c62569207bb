//! A `PostgreSQL` that servers keep what must survive in: how it is reached, and how its tables come to be.
//!
//! All tables are in the schema `tollgate`, and all who keep something there share one list of migrations and one way
//! to connect. Not here: what is kept (`durable`), and engines that decide (`tollgate-store-sql`).

use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;
use tollgate_sqlite::{MigrateError, PostgresAddress, Steps};
use tollgate_store::Failure;
use tollgate_store_sql::failure_of;

use crate::settings::DatabaseSettings;

/// Each brings the tables to the next version, from version 0, where there is none.
const MIGRATIONS: &[&str] = &[include_str!("1-durable.sql")];

/// Why the database cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseError {
    /// It does not do what it is asked.
    Failure(Failure),
    /// Its tables were made by a later version.
    Later {
        /// Their version.
        found: i64,
        /// The last one that is known.
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

/// How the database is reached.
pub(crate) fn options(settings: &DatabaseSettings) -> Result<PgConnectOptions, DatabaseError> {
    let address = PostgresAddress {
        url: settings.url.secret(),
        ca: settings.ca_file.as_deref(),
        identity: None,
    };
    let options = address.options().map_err(Failure::Forbidden);
    Ok(options.map_err(DatabaseError::Failure)?.options(LIMITS))
}

/// A connection to a database whose tables are up to date.
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

/// Brings the tables up to date, all or nothing. Where they are, nothing is written.
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

/// All who bring the tables up to date at once take turns by this number. Who may not make a schema can be given it.
const BEGIN: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(1953459309);
    DO $$ BEGIN
        IF to_regnamespace('tollgate') IS NULL THEN CREATE SCHEMA tollgate; END IF;
    END $$;
    CREATE TABLE IF NOT EXISTS tollgate.migration (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL)";
/// How long a connection may take, migrations included.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long the database may take for a statement, and for a lock within it. To compile one takes longer than to run
/// it.
const LIMITS: [(&str, &str); 3] = [
    ("statement_timeout", "10s"),
    ("lock_timeout", "5s"),
    ("jit", "off"),
];
