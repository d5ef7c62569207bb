//! Brings tables up to date, all steps that are missing or none.
//!
//! Where nothing is missing nothing is written, so that a database that takes no writes can be read. Not here: the
//! steps.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;

/// A connection on which statements without values are run.
#[allow(async_fn_in_trait, reason = "nobody else implements it")]
pub trait ScriptConnection {
    /// Runs statements.
    async fn script(&mut self, statements: String) -> Result<(), sqlx::Error>;
    /// The number that a statement says.
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

/// Steps from no tables to those of this version, and where it is noted which were taken.
#[derive(Debug)]
pub struct Steps {
    /// Says how many tables there are that note steps: none or one. Asked of the system itself, as what a name stands
    /// for may be remembered from before.
    pub is_noted: &'static str,
    /// Says the last step that is noted.
    pub last: &'static str,
    /// Begins a transaction that others wait for, and makes the table that notes steps where there is none.
    pub begin: &'static str,
    /// Notes a step, whose number takes the place of `{}`.
    pub note: &'static str,
    /// The steps, from the first.
    pub each: Vec<String>,
}

/// Why tables are not up to date.
#[derive(Debug)]
pub enum MigrateError {
    /// The database does not do what it is asked.
    Sql(sqlx::Error),
    /// Its tables were made by a later version.
    Later {
        /// The last step that is noted.
        found: i64,
        /// The last one that is known.
        known: i64,
    },
}

impl From<sqlx::Error> for MigrateError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

/// Takes the steps that are missing. After an error the connection is of no use.
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
    // Somebody else may have been first.
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
