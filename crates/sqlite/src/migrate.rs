//! Migrates tables: all missing steps or none.
//!
//! Without missing steps nothing is written, so that a read-only database can be used. Not here: the
//! steps.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

/// A connection that runs statements without values.
#[allow(async_fn_in_trait, reason = "nobody else implements it")]
pub trait ScriptConnection {
    async fn script(&mut self, statements: String) -> Result<(), sqlx::Error>;
    /// The number that a statement returns.
    async fn number(&mut self, statement: &'static str) -> Result<i64, sqlx::Error>;
}

macro_rules! session {
    ($connection:ty) => {
        impl ScriptConnection for $connection {
            async fn script(&mut self, statements: String) -> Result<(), sqlx::Error> {
                let script = sqlx::raw_sql(AssertSqlSafe(statements));
                script.execute(self).await.map(drop)
            }

            async fn number(&mut self, statement: &'static str) -> Result<i64, sqlx::Error> {
                sqlx::query_scalar(statement).fetch_one(self).await
            }
        }
    };
}
session!(SqliteConnection);
session!(PgConnection);

/// Steps from no tables to those of this version, and statements about the table that records them.
#[derive(Debug)]
pub struct Steps {
    /// Returns how many tables record steps: none or one. Queries the system's tables, as the meaning of a name
    /// may be cached.
    pub is_noted: &'static str,
    /// Returns the last recorded step.
    pub last: &'static str,
    /// Begins a transaction that excludes others, and creates the table that records steps if missing.
    pub begin: &'static str,
    /// Records a step; its number replaces `{}`.
    pub note: &'static str,
    /// In order.
    pub each: Vec<String>,
}

#[derive(Debug)]
pub enum MigrateError {
    /// A statement failed.
    Sql(sqlx::Error),
    /// The tables are of a later version.
    Later { found: i64, known: i64 },
}

impl From<sqlx::Error> for MigrateError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// After an error the connection cannot be used.
pub async fn migrate(
    connection: &mut impl ScriptConnection,
    steps: &Steps,
) -> Result<(), MigrateError> {
    let known = i64::try_from(steps.each.len()).unwrap_or(i64::MAX);
    let found = last(connection, steps).await?;
    if found > known {
        return Err(MigrateError::Later { found, known });
    }
    if found == known {
        return Ok(());
    }
    connection.script(steps.begin.to_owned()).await?;
    // Another process may have been first.
    let found = last(connection, steps).await?;
    for (number, step) in (1..).zip(&steps.each).filter(|(number, _)| *number > found) {
        connection.script(step.clone()).await?;
        let note = steps.note.replace("{}", &i64::to_string(&number));
        connection.script(note).await?;
    }
    connection.script("COMMIT".to_owned()).await?;
    Ok(())
}

async fn last(connection: &mut impl ScriptConnection, steps: &Steps) -> Result<i64, sqlx::Error> {
    match connection.number(steps.is_noted).await? {
        0 => Ok(0),
        _ => connection.number(steps.last).await,
    }
}
