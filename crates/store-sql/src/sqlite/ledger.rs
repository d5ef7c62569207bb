//! Ledgers in `SQLite`. Its clock is that of the machine, which all processes on the file share.

use std::time::SystemTime;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tollgate_store::{LedgerId, LedgerVersion, LoadedLedger, Swap, Swapped};

use crate::ledger::{loaded, number, row_id, seconds};

pub(super) async fn load(
    connection: &mut SqliteConnection,
    id: LedgerId,
) -> Result<LoadedLedger, sqlx::Error> {
    let (tag, name) = row_id(id);
    let row = sqlx::query("SELECT version, bytes FROM tollgate_ledger WHERE tag = ? AND name = ?");
    let row = row.bind(tag).bind(name).fetch_optional(connection).await?;
    let row = match row {
        Some(row) => Some((row.try_get(0)?, row.try_get(1)?)),
        None => None,
    };
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Ok(loaded(
        row,
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
    ))
}

/// Writes a ledger, if it is unchanged since.
pub(super) async fn swap(
    connection: &mut SqliteConnection,
    id: LedgerId,
    swap: &Swap,
) -> Result<Swapped, sqlx::Error> {
    let (tag, name) = row_id(id);
    let done = if swap.from == LedgerVersion::NONE {
        let first = sqlx::query(
            "INSERT INTO tollgate_ledger (version, bytes, fresh_s, touched_s, tag, name)
                VALUES (?, ?, unixepoch() + ?, unixepoch(), ?, ?) ON CONFLICT DO NOTHING",
        );
        let first = first.bind(number(swap.to)).bind(&*swap.bytes);
        first
            .bind(seconds(swap.keep))
            .bind(tag)
            .bind(name)
            .execute(connection)
            .await?
    } else {
        let next = sqlx::query(
            "UPDATE tollgate_ledger SET version = ?, bytes = ?, fresh_s = unixepoch() + ?, touched_s = unixepoch()
                WHERE tag = ? AND name = ? AND version = ?",
        );
        let next = next.bind(number(swap.to)).bind(&*swap.bytes);
        let next = next.bind(seconds(swap.keep)).bind(tag).bind(name);
        next.bind(number(swap.from)).execute(connection).await?
    };
    Ok(match done.rows_affected() {
        0 => Swapped::Lost,
        _ => Swapped::Done,
    })
}
