//! The migration steps of the tables.
//!
//! Not here: running them (`tollgate-sqlite`).

use tollgate_sqlite::Steps;

use crate::connection::Connection;
use crate::error::Error;

const STEPS: [&str; 5] = [
    include_str!("../migrations/1-objects.sql"),
    include_str!("../migrations/2-access.sql"),
    include_str!("../migrations/3-statistics.sql"),
    include_str!("../migrations/4-sessions.sql"),
    include_str!("../migrations/5-no-keys.sql"),
];

pub(crate) async fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let steps = Steps {
        is_noted: if connection.is_postgres() {
            "SELECT CAST(count(*) AS BIGINT) FROM pg_class
                WHERE relname = 'catalogue_migration' AND pg_table_is_visible(oid)"
        } else {
            "SELECT count(*) FROM sqlite_schema WHERE name = 'catalogue_migration'"
        },
        last: "SELECT coalesce(max(step), 0) FROM catalogue_migration",
        // Concurrent migrations take turns by this lock number.
        begin: if connection.is_postgres() {
            "BEGIN; SELECT pg_advisory_xact_lock(1952805228);
             CREATE TABLE IF NOT EXISTS catalogue_migration (step BIGINT PRIMARY KEY)"
        } else {
            "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS catalogue_migration (step BIGINT PRIMARY KEY)"
        },
        note: "INSERT INTO catalogue_migration (step) VALUES ({})",
        each: STEPS.map(|step| connection.worded(step)).into(),
    };
    match connection {
        Connection::Sqlite(opened) => tollgate_sqlite::migrate(&mut ***opened, &steps).await?,
        Connection::Postgres(connection) => {
            tollgate_sqlite::migrate(&mut **connection, &steps).await?;
        }
    }
    Ok(())
}
