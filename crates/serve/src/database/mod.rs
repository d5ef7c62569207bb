//! A `PostgreSQL` that servers keep what must survive in: how it is reached, and how its tables come to be.
//!
//! All tables are in the schema `tollgate`, and all who keep something there share one list of migrations and one way
//! to connect. Not here: what is kept (`durable`), and engines that decide (`tollgate-store-sql`).

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{ConnectOptions, Connection};
use tokio::time::timeout;
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

/// How the database is reached.
pub(crate) fn options(settings: &DatabaseSettings) -> Result<PgConnectOptions, DatabaseError> {
    let url = settings.url.secret();
    // What is wrong with it might show the password.
    let wrong = |_| Failure::Forbidden("the address of the database is malformed".to_owned());
    let mut options: PgConnectOptions = url
        .parse()
        .map_err(|error: sqlx::Error| DatabaseError::Failure(wrong(error)))?;
    if let Some(path) = &settings.ca_file {
        options = options.ssl_root_cert(path);
        if !url.contains("sslmode=") {
            options = options.ssl_mode(PgSslMode::VerifyFull);
        }
    }
    Ok(options
        .application_name("tollgate")
        .options(LIMITS)
        .disable_statement_logging())
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
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found = version(connection).await?;
    if found > known {
        return Err(DatabaseError::Later { found, known });
    }
    if found == known {
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    let turn = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATING);
    turn.execute(&mut *transaction).await?;
    // Somebody else may have had the turn before.
    let found = version(&mut transaction).await?;
    let has_schema: bool = sqlx::query_scalar("SELECT to_regnamespace('tollgate') IS NOT NULL")
        .fetch_one(&mut *transaction)
        .await?;
    if !has_schema {
        // Who may not make one can be given it.
        let make = sqlx::raw_sql("CREATE SCHEMA tollgate");
        make.execute(&mut *transaction).await?;
    }
    if found == 0 {
        let make = "CREATE TABLE tollgate.migration (version BIGINT PRIMARY KEY, applied TIMESTAMPTZ NOT NULL)";
        sqlx::raw_sql(make).execute(&mut *transaction).await?;
    }
    for (version, migration) in (1..)
        .zip(MIGRATIONS)
        .filter(|(version, _)| *version > found)
    {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
        sqlx::query("INSERT INTO tollgate.migration VALUES ($1, now())")
            .bind::<i64>(version)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// The version of the tables; 0 where there are none.
async fn version(connection: &mut PgConnection) -> Result<i64, DatabaseError> {
    // Asked of the catalogue itself: what a name stands for may be remembered from before our turn.
    const IS_THERE: &str = "
        SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                       WHERE nspname = 'tollgate' AND relname = 'migration')";
    let is_there: bool = sqlx::query_scalar(IS_THERE)
        .fetch_one(&mut *connection)
        .await?;
    if !is_there {
        return Ok(0);
    }
    let newest = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM tollgate.migration");
    Ok(newest.fetch_one(connection).await?)
}

/// How long a connection may take, migrations included.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long the database may take for a statement, and for a lock within it. To compile one takes longer than to run
/// it.
const LIMITS: [(&str, &str); 3] = [
    ("statement_timeout", "10s"),
    ("lock_timeout", "5s"),
    ("jit", "off"),
];
/// All who bring the tables up to date at once take turns by this number.
const MIGRATING: i64 = 0x746f_6c6d;
