//! Rows: secrets, contracts, shapes and cells, read and written.
//!
//! Unsigned 64-bit numbers are stored as the signed ones with the same bits. Not here: what is dirty and when it is
//! written (`flush.rs`).

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row as _};

use super::StoreError;

#[derive(Clone, Debug)]
pub(super) struct CellWrite {
    /// Number of the contract in the database.
    pub(super) contract: i64,
    /// Number of the shape in the database.
    pub(super) shape: i64,
    pub(super) print: u64,
    /// `None` deletes the row.
    pub(super) state: SavedRow,
}

#[derive(Clone, Debug)]
pub(super) struct CellRow {
    pub(super) print: u64,
    pub(super) shape: i64,
    pub(super) state: Vec<u8>,
}

pub(super) fn draw<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut drawn = [0; N];
    getrandom::fill(&mut drawn)?;
    Ok(drawn)
}

/// The stored secret of this name; stores `drawn` if there is none.
pub(super) async fn secret<const N: usize>(
    connection: &mut SqliteConnection,
    name: &'static str,
    drawn: [u8; N],
) -> Result<[u8; N], StoreError> {
    sqlx::query("INSERT INTO secret VALUES (?, ?) ON CONFLICT DO NOTHING")
        .bind(name)
        .bind(drawn.as_slice())
        .execute(&mut *connection)
        .await?;
    let kept: Vec<u8> = sqlx::query_scalar("SELECT value FROM secret WHERE name = ?")
        .bind(name)
        .fetch_one(connection)
        .await?;
    kept.try_into()
        .map_err(|_| StoreError::Damaged("a secret of another length".into()))
}

/// The table's secret, which a cluster gives to all its nodes. A database with another keeps it if anything was counted
/// under it; the caller must compare.
pub(super) async fn table_secret(
    connection: &mut SqliteConnection,
    given: Option<[u8; 16]>,
) -> Result<[u8; 16], StoreError> {
    if let Some(given) = given {
        sqlx::query(
            "INSERT INTO secret VALUES ('table', ?) ON CONFLICT DO UPDATE SET value = excluded.value
             WHERE NOT EXISTS (SELECT 1 FROM cell) AND NOT EXISTS (SELECT 1 FROM gossip)",
        )
        .bind(given.as_slice())
        .execute(&mut *connection)
        .await?;
    }
    secret(connection, "table", draw()?).await
}

/// The numbers of a contract and its shape, assigned now if new; marks the contract as seen.
pub(super) async fn number(
    connection: &mut SqliteConnection,
    id: &str,
    shape: &str,
    now_ms: i64,
) -> Result<(i64, i64), StoreError> {
    let contract: i64 = sqlx::query_scalar(
        "INSERT INTO contract (id, seen_ms) VALUES (?, ?)
         ON CONFLICT (id) DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms) RETURNING number",
    )
    .bind(id)
    .bind(now_ms)
    .fetch_one(&mut *connection)
    .await?;
    let shape: i64 = sqlx::query_scalar(
        "INSERT INTO shape (contract, text) VALUES (?, ?)
         ON CONFLICT (contract, text) DO UPDATE SET text = excluded.text RETURNING number",
    )
    .bind(contract)
    .bind(shape)
    .fetch_one(connection)
    .await?;
    Ok((contract, shape))
}

/// Every shape that a contract ever had, by number.
pub(super) async fn shapes(
    connection: &mut SqliteConnection,
    contract: i64,
) -> Result<Vec<(i64, String)>, StoreError> {
    let shapes = sqlx::query_as("SELECT number, text FROM shape WHERE contract = ?")
        .bind(contract)
        .fetch_all(connection)
        .await?;
    Ok(shapes)
}

/// The next cells of a contract that are not fresh, ordered by fingerprint.
pub(super) async fn cells_after(
    connection: &mut SqliteConnection,
    contract: i64,
    after: Option<u64>,
    now_ns: u64,
) -> Result<Vec<CellRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT print, shape, state FROM cell
         WHERE contract = ? AND (? OR print > ?) AND fresh_ns > ? ORDER BY print LIMIT ?",
    )
    .bind(contract)
    .bind(after.is_none())
    .bind(after.unwrap_or(0).cast_signed())
    .bind(time(now_ns))
    .bind(BATCH)
    .fetch_all(connection)
    .await?;
    rows.iter().map(found).collect()
}

/// These cells of a contract, as far as they exist and are not fresh.
pub(super) async fn cells_at(
    connection: &mut SqliteConnection,
    contract: i64,
    prints: &[u64],
    now_ns: u64,
) -> Result<Vec<CellRow>, StoreError> {
    let prints: Vec<_> = prints
        .iter()
        .map(|print| print.cast_signed().to_string())
        .collect();
    let rows = sqlx::query(
        "SELECT print, shape, state FROM cell
         WHERE contract = ? AND print IN (SELECT value FROM json_each(?)) AND fresh_ns > ?",
    )
    .bind(contract)
    .bind(format!("[{}]", prints.join(",")))
    .bind(time(now_ns))
    .fetch_all(connection)
    .await?;
    rows.iter().map(found).collect()
}

fn found(row: &SqliteRow) -> Result<CellRow, StoreError> {
    let print: i64 = row.try_get(0)?;
    Ok(CellRow {
        print: print.cast_unsigned(),
        shape: row.try_get(1)?,
        state: row.try_get(2)?,
    })
}

/// Writes cells, all or none.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    cells: &[CellWrite],
) -> Result<(), StoreError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let kept: Vec<_> = cells.iter().filter(|cell| cell.state.is_some()).collect();
    for chunk in kept.chunks(ROWS_AT_ONCE) {
        let rows = vec!["(?,?,?,?,?)"; chunk.len()].join(",");
        let statement = format!(
            "INSERT INTO cell (contract, print, shape, fresh_ns, state) VALUES {rows}
             ON CONFLICT (contract, print) DO UPDATE
             SET shape = excluded.shape, fresh_ns = excluded.fresh_ns, state = excluded.state"
        );
        let mut query =
            sqlx::query(sqlx::AssertSqlSafe(statement)).persistent(chunk.len() == ROWS_AT_ONCE);
        for cell in chunk {
            let Some((state, fresh_ns)) = &cell.state else {
                continue;
            };
            query = query
                .bind(cell.contract)
                .bind(cell.print.cast_signed())
                .bind(cell.shape)
                .bind(time(*fresh_ns))
                .bind(state.as_slice());
        }
        query.execute(&mut *transaction).await?;
    }
    for cell in cells.iter().filter(|cell| cell.state.is_none()) {
        sqlx::query("DELETE FROM cell WHERE contract = ? AND print = ?")
            .bind(cell.contract)
            .bind(cell.print.cast_signed())
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Drops some rows equal to keys never seen, after the last position; returns the new position (`None` at the end) and
/// how many were dropped.
pub(super) async fn drop_fresh(
    connection: &mut SqliteConnection,
    from: RowTable,
    after: Option<(i64, i64)>,
    now_ns: u64,
) -> Result<(Option<(i64, i64)>, u64), StoreError> {
    let (table, of) = from.names();
    let (group, print) = after.unwrap_or((i64::MIN, i64::MIN));
    let find = format!(
        "SELECT {of}, print FROM {table} WHERE ({of}, print) > (?, ?) ORDER BY {of}, print LIMIT 1 OFFSET ?"
    );
    let until: Option<(i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(find))
        .bind(group)
        .bind(print)
        .bind(BATCH)
        .fetch_optional(&mut *connection)
        .await?;
    let (last_group, last_print) = until.unwrap_or((i64::MAX, i64::MAX));
    let drop = format!(
        "DELETE FROM {table}
         WHERE ({of}, print) > (?, ?) AND ({of}, print) <= (?, ?) AND fresh_ns <= ?"
    );
    let done = sqlx::query(sqlx::AssertSqlSafe(drop))
        .bind(group)
        .bind(print)
        .bind(last_group)
        .bind(last_print)
        .bind(time(now_ns))
        .execute(connection)
        .await?;
    Ok((until, done.rows_affected()))
}

/// Tables with rows of keys.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowTable {
    Cells,
    /// Keys of gossiped policies.
    Gossip,
}

impl RowTable {
    /// The table's name, and the column of what its rows belong to.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Cells => ("cell", "contract"),
            Self::Gossip => ("gossip", "tag"),
        }
    }
}

/// Drops contracts that no server loaded since then, with their shapes and cells.
pub(super) async fn drop_unseen(
    connection: &mut SqliteConnection,
    since_ms: i64,
) -> Result<(), StoreError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for statement in [
        "DELETE FROM cell WHERE contract IN (SELECT number FROM contract WHERE seen_ms < ?)",
        "DELETE FROM shape WHERE contract IN (SELECT number FROM contract WHERE seen_ms < ?)",
        "DELETE FROM contract WHERE seen_ms < ?",
    ] {
        let query = sqlx::query(statement).bind(since_ms);
        query.execute(&mut *transaction).await?;
    }
    // Every change of a key's own terms leaves a shape behind; it is made again when cells of it are written.
    sqlx::query("DELETE FROM shape WHERE number NOT IN (SELECT shape FROM cell)")
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// How many cells belong to contracts other than these.
pub(super) async fn cells_of_others(
    connection: &mut SqliteConnection,
    contracts: &[i64],
) -> Result<u64, StoreError> {
    let known = vec!["?"; contracts.len()].join(",");
    let statement = format!("SELECT count(*) FROM cell WHERE contract NOT IN ({known})");
    let mut query = sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).persistent(false);
    for contract in contracts {
        query = query.bind(contract);
    }
    let count: i64 = query.fetch_one(connection).await?;
    Ok(count.cast_unsigned())
}

/// The next keys of a gossiped policy, ordered by fingerprint, and their states.
pub(super) async fn saved_after(
    connection: &mut SqliteConnection,
    tag: u64,
    after: Option<u64>,
    now_ns: u64,
) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT print, state FROM gossip
         WHERE tag = ? AND (? OR print > ?) AND fresh_ns > ? ORDER BY print LIMIT ?",
    )
    .bind(tag.cast_signed())
    .bind(after.is_none())
    .bind(after.unwrap_or(0).cast_signed())
    .bind(time(now_ns))
    .bind(BATCH)
    .fetch_all(connection)
    .await?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|(print, state)| (print.cast_unsigned(), state))
        .collect())
}

/// The state of a key and its expiry; `None` deletes the row.
pub(super) type SavedRow = Option<(Vec<u8>, u64)>;

/// Writes states of gossiped keys, all or none.
pub(super) async fn write_saved(
    connection: &mut SqliteConnection,
    tag: u64,
    keys: &[(u64, SavedRow)],
) -> Result<(), StoreError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for (print, state) in keys {
        let query = if let Some((state, fresh_ns)) = state {
            sqlx::query(
                "INSERT INTO gossip (tag, print, fresh_ns, state) VALUES (?, ?, ?, ?)
                 ON CONFLICT (tag, print) DO UPDATE SET fresh_ns = excluded.fresh_ns, state = excluded.state",
            )
            .bind(tag.cast_signed())
            .bind(print.cast_signed())
            .bind(time(*fresh_ns))
            .bind(state.as_slice())
        } else {
            sqlx::query("DELETE FROM gossip WHERE tag = ? AND print = ?")
                .bind(tag.cast_signed())
                .bind(print.cast_signed())
        };
        query.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// A time as a comparable number, saturating.
pub(super) fn time(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// Rows read or examined at once.
pub(super) const BATCH: i64 = 10_000;
/// Rows in one statement: five numbers each, of the 32,766 that a statement may have.
const ROWS_AT_ONCE: usize = 500;
