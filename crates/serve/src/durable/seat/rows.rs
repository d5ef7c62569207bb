//! Rows under a lease: secrets, contracts, shapes, cells and gossiped state, read and written.
//!
//! Every statement that writes rows begins with [`mine`]: if the fence is another's by now, it writes nothing, and
//! returns that. A statement that waits for a take-over sees the fence after it. Not here: what is written when.

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use tollgate_store_sql::failure_of;

use super::desk::WriteTarget;
use crate::durable::StoreError;
use crate::durable::rows::{BATCH, CellRow, CellWrite, RowTable, SavedRow, draw, time};

/// Begins a statement: renews the lease `$1` held under the fence `$2`; yields no row if it is not.
macro_rules! mine {
    ($rest:literal) => {
        concat!(
            "WITH mine AS (UPDATE tollgate.seat SET seen = clock_timestamp()
                           WHERE name = $1 AND fence = $2 RETURNING name) ",
            $rest
        )
    };
}
pub(super) use mine;

pub(super) fn away(error: &sqlx::Error) -> StoreError {
    StoreError::Away(failure_of(error))
}

/// Checks that the fence of a statement was valid.
fn fenced(rows: i64) -> Result<(), StoreError> {
    if rows == 0 {
        return Err(StoreError::Fenced);
    }
    Ok(())
}

/// The stored secret of this name; stores `drawn` if there is none.
pub(super) async fn secret<const N: usize>(
    connection: &mut PgConnection,
    seat: &str,
    name: &'static str,
    drawn: [u8; N],
) -> Result<[u8; N], StoreError> {
    sqlx::query("INSERT INTO tollgate.secret VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
        .bind(seat)
        .bind(name)
        .bind(drawn.as_slice())
        .execute(&mut *connection)
        .await
        .map_err(|error| away(&error))?;
    let kept: Vec<u8> =
        sqlx::query_scalar("SELECT value FROM tollgate.secret WHERE seat = $1 AND name = $2")
            .bind(seat)
            .bind(name)
            .fetch_one(connection)
            .await
            .map_err(|error| away(&error))?;
    kept.try_into()
        .map_err(|_| StoreError::Damaged("a secret of another length".into()))
}

/// The table's secret, which a cluster gives to all its nodes. A lease with another keeps it if anything was counted
/// under it; the caller must compare.
pub(super) async fn table_secret(
    connection: &mut PgConnection,
    seat: &str,
    given: Option<[u8; 16]>,
) -> Result<[u8; 16], StoreError> {
    if let Some(given) = given {
        sqlx::query(
            "INSERT INTO tollgate.secret VALUES ($1, 'table', $2)
             ON CONFLICT (seat, name) DO UPDATE SET value = excluded.value
             WHERE NOT EXISTS (SELECT FROM tollgate.cell WHERE seat = $1)
               AND NOT EXISTS (SELECT FROM tollgate.gossip WHERE seat = $1)
               AND NOT EXISTS (SELECT FROM tollgate.heir WHERE seat = $1)",
        )
        .bind(seat)
        .bind(given.as_slice())
        .execute(&mut *connection)
        .await
        .map_err(|error| away(&error))?;
    }
    secret(connection, seat, "table", draw()?).await
}

/// Renews the lease.
pub(super) async fn beat(at: &mut WriteTarget) -> Result<(), StoreError> {
    let beat = sqlx::query_scalar(mine!("SELECT count(*) FROM mine"));
    let beat = beat.bind(&at.name).bind(at.fence);
    fenced(
        beat.fetch_one(&mut at.connection)
            .await
            .map_err(|error| away(&error))?,
    )
}

/// Marks the lease as free.
pub(super) async fn release(at: &mut WriteTarget) -> Result<(), StoreError> {
    let release =
        "UPDATE tollgate.seat SET fence = fence + 1, holder = NULL WHERE name = $1 AND fence = $2";
    let release = sqlx::query(release).bind(&at.name).bind(at.fence);
    let done = release.execute(&mut at.connection).await;
    let done = done.map_err(|error| away(&error))?;
    fenced(done.rows_affected().cast_signed())
}

/// The numbers of a contract and its shape, assigned now if new; marks the contract as seen.
pub(in crate::durable) async fn number(
    at: &mut WriteTarget,
    id: &str,
    shape: &str,
    now_ms: i64,
) -> Result<(i64, i64), StoreError> {
    let numbers = async {
        let contract: i64 = sqlx::query_scalar(
            "INSERT INTO tollgate.contract AS old (id, seen_ms) VALUES ($1, $2)
             ON CONFLICT (id) DO UPDATE SET seen_ms = greatest(old.seen_ms, excluded.seen_ms) RETURNING number",
        )
        .bind(id)
        .bind(now_ms)
        .fetch_one(&mut at.connection)
        .await?;
        let shape: i64 = sqlx::query_scalar(
            "INSERT INTO tollgate.shape (contract, text) VALUES ($1, $2)
             ON CONFLICT (contract, md5(text)) DO UPDATE SET text = excluded.text RETURNING number",
        )
        .bind(contract)
        .bind(shape)
        .fetch_one(&mut at.connection)
        .await?;
        Ok((contract, shape))
    };
    numbers.await.map_err(|error| away(&error))
}

/// Every shape that a contract ever had, by number.
pub(in crate::durable) async fn shapes(
    at: &mut WriteTarget,
    contract: i64,
) -> Result<Vec<(i64, String)>, StoreError> {
    sqlx::query_as("SELECT number, text FROM tollgate.shape WHERE contract = $1")
        .bind(contract)
        .fetch_all(&mut at.connection)
        .await
        .map_err(|error| away(&error))
}

/// The next cells of a contract that are not fresh, ordered by fingerprint.
pub(in crate::durable) async fn cells_after(
    at: &mut WriteTarget,
    contract: i64,
    after: Option<u64>,
    now_ns: u64,
) -> Result<Vec<CellRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT print, shape, state FROM tollgate.cell
         WHERE seat = $1 AND contract = $2 AND ($3 OR print > $4) AND fresh_ns > $5 ORDER BY print LIMIT $6",
    )
    .bind(&at.name)
    .bind(contract)
    .bind(after.is_none())
    .bind(after.unwrap_or(0).cast_signed())
    .bind(time(now_ns))
    .bind(BATCH)
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))?;
    rows.iter().map(found).collect()
}

/// These cells of a contract, as far as they exist and are not fresh.
pub(in crate::durable) async fn cells_at(
    at: &mut WriteTarget,
    contract: i64,
    prints: &[u64],
    now_ns: u64,
) -> Result<Vec<CellRow>, StoreError> {
    let prints: Vec<_> = prints.iter().map(|print| print.cast_signed()).collect();
    let rows = sqlx::query(
        "SELECT print, shape, state FROM tollgate.cell
         WHERE seat = $1 AND contract = $2 AND print = ANY($3) AND fresh_ns > $4",
    )
    .bind(&at.name)
    .bind(contract)
    .bind(prints)
    .bind(time(now_ns))
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))?;
    rows.iter().map(found).collect()
}

pub(super) fn found(row: &PgRow) -> Result<CellRow, StoreError> {
    let read = || {
        let print: i64 = row.try_get(0)?;
        Ok(CellRow {
            print: print.cast_unsigned(),
            shape: row.try_get(1)?,
            state: row.try_get(2)?,
        })
    };
    read().map_err(|error| away(&error))
}

/// Writes cells, all or none, and releases these successor rows, which they include.
pub(in crate::durable) async fn write(
    at: &mut WriteTarget,
    cells: &[CellWrite],
    heirs: &[i64],
) -> Result<(), StoreError> {
    let (mut gone, mut put) = (Keys::default(), Keys::default());
    let (mut shapes, mut fresh, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for cell in cells {
        let Some((state, fresh_ns)) = &cell.state else {
            gone.push(cell);
            continue;
        };
        put.push(cell);
        shapes.push(cell.shape);
        fresh.push(time(*fresh_ns));
        states.push(state.as_slice());
    }
    let done = sqlx::query_scalar(mine!(
        ", gone AS (
            DELETE FROM tollgate.cell USING mine, unnest($3::BIGINT[], $4::BIGINT[]) AS old (contract, print)
            WHERE cell.seat = mine.name AND cell.contract = old.contract AND cell.print = old.print),
        done AS (DELETE FROM tollgate.heir USING mine WHERE heir.seat = mine.name AND heir.number = ANY($10)),
        put AS (
            INSERT INTO tollgate.cell (seat, contract, print, shape, fresh_ns, state)
            SELECT mine.name, new.* FROM mine,
                unnest($5::BIGINT[], $6::BIGINT[], $7::BIGINT[], $8::BIGINT[], $9::BYTEA[])
                AS new (contract, print, shape, fresh_ns, state)
            ON CONFLICT (seat, contract, print) DO UPDATE
            SET shape = excluded.shape, fresh_ns = excluded.fresh_ns, state = excluded.state)
        SELECT count(*) FROM mine"
    ))
    .bind(&at.name)
    .bind(at.fence)
    .bind(gone.groups)
    .bind(gone.prints)
    .bind(put.groups)
    .bind(put.prints)
    .bind(shapes)
    .bind(fresh)
    .bind(states)
    .bind(heirs)
    .fetch_one(&mut at.connection)
    .await;
    fenced(done.map_err(|error| away(&error))?)
}

/// Keys as one array per column.
#[derive(Default)]
struct Keys {
    groups: Vec<i64>,
    prints: Vec<i64>,
}

impl Keys {
    fn push(&mut self, cell: &CellWrite) {
        self.groups.push(cell.contract);
        self.prints.push(cell.print.cast_signed());
    }
}

/// Drops some rows equal to keys never seen, after the last position; returns the new position (`None` at the end) and
/// how many were dropped.
pub(in crate::durable) async fn drop_fresh(
    at: &mut WriteTarget,
    from: RowTable,
    after: Option<(i64, i64)>,
    now_ns: u64,
) -> Result<(Option<(i64, i64)>, u64), StoreError> {
    let (table, of) = from.names();
    let (group, print) = after.unwrap_or((i64::MIN, i64::MIN));
    let find = format!(
        "SELECT {of}, print FROM tollgate.{table} WHERE seat = $1 AND ({of}, print) > ($2, $3)
         ORDER BY {of}, print LIMIT 1 OFFSET $4"
    );
    let until: Option<(i64, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(find))
        .bind(&at.name)
        .bind(group)
        .bind(print)
        .bind(BATCH)
        .fetch_optional(&mut at.connection)
        .await
        .map_err(|error| away(&error))?;
    let (last_group, last_print) = until.unwrap_or((i64::MAX, i64::MAX));
    let drop = format!(
        "{} DELETE FROM tollgate.{table} AS old USING mine WHERE old.seat = mine.name AND ({of}, print) > ($3, $4)
         AND ({of}, print) <= ($5, $6) AND fresh_ns <= $7",
        mine!("")
    );
    let done = sqlx::query(sqlx::AssertSqlSafe(drop))
        .bind(&at.name)
        .bind(at.fence)
        .bind(group)
        .bind(print)
        .bind(last_group)
        .bind(last_print)
        .bind(time(now_ns))
        .execute(&mut at.connection)
        .await
        .map_err(|error| away(&error))?;
    Ok((until, done.rows_affected()))
}

/// Drops contracts that no server loaded since then, their shapes and cells, and leases unused for as long.
pub(in crate::durable) async fn drop_unseen(
    at: &mut WriteTarget,
    since_ms: i64,
) -> Result<(), StoreError> {
    for statement in [
        mine!(
            ", gone AS (DELETE FROM tollgate.contract USING mine WHERE seen_ms < $3 RETURNING number),
            shapes AS (DELETE FROM tollgate.shape WHERE contract IN (SELECT number FROM gone)),
            heirs AS (DELETE FROM tollgate.heir WHERE contract IN (SELECT number FROM gone))
            DELETE FROM tollgate.cell WHERE contract IN (SELECT number FROM gone)"
        ),
        mine!(
            ", gone AS (DELETE FROM tollgate.seat USING mine
                        WHERE seat.name <> mine.name AND seen < to_timestamp($3 / 1000.0) RETURNING seat.name),
            secrets AS (DELETE FROM tollgate.secret WHERE seat IN (SELECT name FROM gone)),
            kept AS (DELETE FROM tollgate.supply WHERE seat IN (SELECT name FROM gone)),
            heirs AS (DELETE FROM tollgate.heir WHERE seat IN (SELECT name FROM gone)),
            together AS (DELETE FROM tollgate.gossip WHERE seat IN (SELECT name FROM gone))
            DELETE FROM tollgate.cell WHERE seat IN (SELECT name FROM gone)"
        ),
    ] {
        sqlx::query(statement)
            .bind(&at.name)
            .bind(at.fence)
            .bind(since_ms)
            .execute(&mut at.connection)
            .await
            .map_err(|error| away(&error))?;
    }
    Ok(())
}

/// How many cells under this lease belong to contracts other than these.
pub(in crate::durable) async fn cells_of_others(
    at: &mut WriteTarget,
    contracts: &[i64],
) -> Result<u64, StoreError> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM tollgate.cell WHERE seat = $1 AND NOT (contract = ANY($2))",
    )
    .bind(&at.name)
    .bind(contracts)
    .fetch_one(&mut at.connection)
    .await
    .map_err(|error| away(&error))?;
    Ok(count.cast_unsigned())
}

/// The next keys of a gossiped policy, ordered by fingerprint, and their states.
pub(in crate::durable) async fn saved_after(
    at: &mut WriteTarget,
    tag: u64,
    after: Option<u64>,
    now_ns: u64,
) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT print, state FROM tollgate.gossip
         WHERE seat = $1 AND tag = $2 AND ($3 OR print > $4) AND fresh_ns > $5 ORDER BY print LIMIT $6",
    )
    .bind(&at.name)
    .bind(tag.cast_signed())
    .bind(after.is_none())
    .bind(after.unwrap_or(0).cast_signed())
    .bind(time(now_ns))
    .bind(BATCH)
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|(print, state)| (print.cast_unsigned(), state))
        .collect())
}

/// Writes states of gossiped keys, all or none.
pub(in crate::durable) async fn write_saved(
    at: &mut WriteTarget,
    tag: u64,
    keys: &[(u64, SavedRow)],
) -> Result<(), StoreError> {
    let (mut gone, mut put, mut fresh, mut states) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (print, state) in keys {
        let Some((state, fresh_ns)) = state else {
            gone.push(print.cast_signed());
            continue;
        };
        put.push(print.cast_signed());
        fresh.push(time(*fresh_ns));
        states.push(state.as_slice());
    }
    let done = sqlx::query_scalar(mine!(
        ", gone AS (
            DELETE FROM tollgate.gossip USING mine
            WHERE gossip.seat = mine.name AND gossip.tag = $3 AND gossip.print = ANY($4)),
        put AS (
            INSERT INTO tollgate.gossip (seat, tag, print, fresh_ns, state)
            SELECT mine.name, $3, new.* FROM mine,
                unnest($5::BIGINT[], $6::BIGINT[], $7::BYTEA[]) AS new (print, fresh_ns, state)
            ON CONFLICT (seat, tag, print) DO UPDATE SET fresh_ns = excluded.fresh_ns, state = excluded.state)
        SELECT count(*) FROM mine"
    ))
    .bind(&at.name)
    .bind(at.fence)
    .bind(tag.cast_signed())
    .bind(gone)
    .bind(put)
    .bind(fresh)
    .bind(states)
    .fetch_one(&mut at.connection)
    .await;
    fenced(done.map_err(|error| away(&error))?)
}

/// The stored state of divided rates.
pub(super) async fn supply(at: &mut WriteTarget) -> Result<Option<String>, StoreError> {
    sqlx::query_scalar("SELECT text FROM tollgate.supply WHERE seat = $1")
        .bind(&at.name)
        .fetch_optional(&mut at.connection)
        .await
        .map_err(|error| away(&error))
}

pub(super) async fn keep_supply(at: &mut WriteTarget, text: &str) -> Result<(), StoreError> {
    let keep = sqlx::query(mine!(
        "INSERT INTO tollgate.supply (seat, text) SELECT name, $3 FROM mine
         ON CONFLICT (seat) DO UPDATE SET text = excluded.text"
    ));
    let keep = keep.bind(&at.name).bind(at.fence).bind(text);
    let done = keep.execute(&mut at.connection).await;
    let done = done.map_err(|error| away(&error))?;
    fenced(done.rows_affected().cast_signed())
}
