//! Brings the tables up to date, one step at a time, each whole or not at all.
//!
//! A step that was interrupted is done again by whoever comes next. Where all steps are done nothing is written, so
//! that a database that takes no writes can be read.

use crate::connection::Connection;
use crate::error::Error;

const STEPS: [&str; 5] = [
    include_str!("../migrations/1-objects.sql"),
    include_str!("../migrations/2-access.sql"),
    include_str!("../migrations/3-statistics.sql"),
    include_str!("../migrations/4-sessions.sql"),
    include_str!("../migrations/5-no-keys.sql"),
];

/// Whoever brings the tables up to date at once takes turns by this number.
const TURN: &str = "SELECT pg_advisory_xact_lock(1952805228)";

pub(crate) async fn migrate(connection: &mut Connection) -> Result<(), Error> {
    loop {
        let done = steps_done(connection).await?;
        if done > STEPS.len() {
            return Err(newer(done));
        }
        if done == STEPS.len() {
            return Ok(());
        }
        connection.begin().await?;
        if connection.is_postgres() {
            connection.script(TURN).await?;
        }
        // Somebody else may have been first.
        let done = steps_done(connection).await?;
        if let Some(step) = STEPS.get(done) {
            connection.script(RECORD).await?;
            connection.script(step).await?;
            let number = u64::try_from(done + 1).unwrap_or(u64::MAX);
            let record = "INSERT INTO catalogue_migration (step) VALUES ($1)";
            connection.execute(record, vec![number.into()]).await?;
        }
        connection.commit().await?;
    }
}

const RECORD: &str = "CREATE TABLE IF NOT EXISTS catalogue_migration (step BIGINT PRIMARY KEY)";

async fn steps_done(connection: &mut Connection) -> Result<usize, Error> {
    // Asked of the system itself: whether the table is there is not an error.
    let known = if connection.is_postgres() {
        "SELECT CAST(count(*) AS BIGINT) FROM pg_class
            WHERE relname = 'catalogue_migration' AND pg_table_is_visible(oid)"
    } else {
        "SELECT count(*) FROM sqlite_schema WHERE name = 'catalogue_migration'"
    };
    let known = connection.row(known, Vec::new()).await?;
    if known.map_or(Ok(0), |row| row.number(0))? == 0 {
        return Ok(0);
    }
    let steps = "SELECT coalesce(max(step), 0) FROM catalogue_migration";
    let steps = connection.row(steps, Vec::new()).await?;
    let steps = steps.map_or(Ok(0), |row| row.number(0))?;
    Ok(usize::try_from(steps).unwrap_or(usize::MAX))
}

fn newer(done: usize) -> Error {
    Error::Broken(format!(
        "a newer Tollgate made these tables (step {done}, this one knows {}); use that one",
        STEPS.len()
    ))
}
