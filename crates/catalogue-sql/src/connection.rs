//! One connection to either database: the same statements, the same values, the same rows.
//!
//! Statements are written for `PostgreSQL`; the few words that differ in `SQLite` are replaced here. Not here:
//! statements.

use std::borrow::Cow;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use tollgate_sqlite::{OpenedConnection, ScriptConnection as _};

use crate::error::Error;

#[derive(Debug)]
pub enum Connection {
    Sqlite(Box<OpenedConnection>),
    Postgres(Box<PgConnection>),
}

#[derive(Clone, Debug)]
pub enum SqlValue {
    Number(Option<i64>),
    Text(Option<String>),
    /// For `= ANY($1)`.
    Texts(Vec<String>),
}

pub enum SqlRow {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

macro_rules! bound {
    ($query:expr, $values:expr, $texts:expr) => {{
        let mut query = $query;
        for value in $values {
            query = match value {
                SqlValue::Number(number) => query.bind(number),
                SqlValue::Text(text) => query.bind(text),
                SqlValue::Texts(texts) => query.bind($texts(texts)),
            };
        }
        query
    }};
}

impl Connection {
    /// Returns the number of changed rows.
    pub async fn execute(
        &mut self,
        statement: &'static str,
        values: Vec<SqlValue>,
    ) -> Result<u64, Error> {
        check(&values)?;
        match self {
            Self::Sqlite(connection) => {
                let query = sqlx::query(AssertSqlSafe(for_sqlite(statement).into_owned()));
                let done = bound!(query, values, json)
                    .execute(&mut ***connection)
                    .await?;
                Ok(done.rows_affected())
            }
            Self::Postgres(connection) => {
                let query = sqlx::query(AssertSqlSafe(for_postgres(statement).into_owned()));
                let done = bound!(query, values, |texts| texts);
                Ok(done.execute(&mut **connection).await?.rows_affected())
            }
        }
    }

    pub async fn rows(
        &mut self,
        statement: &'static str,
        values: Vec<SqlValue>,
    ) -> Result<Vec<SqlRow>, Error> {
        check(&values)?;
        match self {
            Self::Sqlite(connection) => {
                let query = sqlx::query(AssertSqlSafe(for_sqlite(statement).into_owned()));
                let rows = bound!(query, values, json)
                    .fetch_all(&mut ***connection)
                    .await?;
                Ok(rows.into_iter().map(SqlRow::Sqlite).collect())
            }
            Self::Postgres(connection) => {
                let query = sqlx::query(AssertSqlSafe(for_postgres(statement).into_owned()));
                let rows = bound!(query, values, |texts| texts);
                let rows = rows.fetch_all(&mut **connection).await?;
                Ok(rows.into_iter().map(SqlRow::Postgres).collect())
            }
        }
    }

    /// The first row of a statement.
    pub async fn row(
        &mut self,
        statement: &'static str,
        values: Vec<SqlValue>,
    ) -> Result<Option<SqlRow>, Error> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    pub async fn script(&mut self, statements: &str) -> Result<(), Error> {
        let statements = self.worded(statements);
        match self {
            Self::Sqlite(connection) => connection.script(statements).await?,
            Self::Postgres(connection) => connection.script(statements).await?,
        }
        Ok(())
    }

    /// Adapts statements to this database: texts are compared byte by byte, regardless of its locale.
    pub(crate) fn worded(&self, statements: &str) -> String {
        let text = match self {
            Self::Sqlite(_) => "TEXT",
            Self::Postgres(_) => "TEXT COLLATE \"C\"",
        };
        statements.replace("{text}", text)
    }

    /// Begins a read-write transaction.
    pub async fn begin(&mut self) -> Result<(), Error> {
        let begin = match self {
            // Writers wait here, not in the middle.
            Self::Sqlite(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        };
        self.script(begin).await
    }

    /// Begins a read transaction with a consistent snapshot.
    pub async fn begin_reading(&mut self) -> Result<(), Error> {
        let begin = match self {
            Self::Sqlite(_) => "BEGIN DEFERRED",
            Self::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        self.script(begin).await
    }

    pub async fn commit(&mut self) -> Result<(), Error> {
        self.script("COMMIT").await
    }

    pub async fn rollback(&mut self) -> Result<(), Error> {
        self.script("ROLLBACK").await
    }

    /// Whether the server answers. A file always does.
    pub(crate) async fn is_alive(&mut self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Postgres(connection) => connection.ping().await.is_ok(),
        }
    }

    pub const fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }
}

impl SqlRow {
    pub fn text(&self, column: usize) -> Result<String, Error> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub fn text_if_any(&self, column: usize) -> Result<Option<String>, Error> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }

    pub fn number(&self, column: usize) -> Result<u64, Error> {
        let number = self.number_if_any(column)?;
        number.ok_or_else(|| Error::Broken("a number is missing".into()))
    }

    pub fn number_if_any(&self, column: usize) -> Result<Option<u64>, Error> {
        let number: Option<i64> = match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        };
        let negative = |_| Error::Broken("a number is negative".into());
        number.map(u64::try_from).transpose().map_err(negative)
    }
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<Option<String>> for SqlValue {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for SqlValue {
    fn from(number: u64) -> Self {
        Some(number).into()
    }
}

impl From<Option<u64>> for SqlValue {
    fn from(number: Option<u64>) -> Self {
        Self::Number(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Vec<String>> for SqlValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

/// Refuses values that one of the databases would not store, so that both behave the same.
fn check(values: &[SqlValue]) -> Result<(), Error> {
    let has_nul = |value: &SqlValue| match value {
        SqlValue::Number(_) => false,
        SqlValue::Text(text) => text.as_ref().is_some_and(|text| text.contains('\0')),
        SqlValue::Texts(texts) => texts.iter().any(|text| text.contains('\0')),
    };
    if values.iter().any(has_nul) {
        return Err(Error::wrong("no database keeps the character NUL"));
    }
    Ok(())
}

fn json(texts: Vec<String>) -> String {
    serde_json::Value::from(texts).to_string()
}

fn for_postgres(statement: &str) -> Cow<'_, str> {
    if statement.contains(ROWS) {
        let rows = "json_array_elements($1::json) AS rows (value)";
        return statement.replace(ROWS, rows).into();
    }
    statement.into()
}

fn for_sqlite(statement: &str) -> Cow<'_, str> {
    let mut statement: Cow<'_, str> = statement.into();
    for (word, instead) in [
        (" FOR UPDATE", ""),
        (ROWS, "json_each($1)"),
        ("= ANY($1)", "IN (SELECT value FROM json_each($1))"),
        ("= ANY($2)", "IN (SELECT value FROM json_each($2))"),
        ("= ANY($3)", "IN (SELECT value FROM json_each($3))"),
    ] {
        if statement.contains(word) {
            statement = statement.replace(word, instead).into();
        }
    }
    statement
}

/// Placeholder for the rows in the first value.
const ROWS: &str = "{rows}";
