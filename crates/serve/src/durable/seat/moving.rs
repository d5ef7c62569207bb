//! Moves rows of owned keys from the lease of a dead node to that of their new owner.
//!
//! A row leaves a lease only in the statement that sees it abandoned, and is a successor row of the other until its
//! count is in a row there. So it is counted once, whichever process stops in between. Not here: which keys go where
//! (`estate.rs`).

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::LeftCells;
use super::desk::WriteTarget;
use super::rows::{away, found, mine};
use super::standing::SILENT;
use crate::durable::StoreError;
use crate::durable::rows::{BATCH, CellRow, time};

/// Abandoned leases with cells of these contracts, under our secret; not those of `alive`.
pub(super) async fn left_seats(
    at: &mut WriteTarget,
    contracts: &[i64],
    alive: &[String],
    now_ns: u64,
) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar(
        "SELECT name FROM tollgate.seat
         WHERE name <> $1 AND NOT (name = ANY($2))
           AND (holder IS NULL OR seen < clock_timestamp() - make_interval(secs => $3))
           AND (EXISTS (SELECT FROM tollgate.cell
                        WHERE cell.seat = seat.name AND contract = ANY($4) AND fresh_ns > $5)
                OR EXISTS (SELECT FROM tollgate.heir
                           WHERE heir.seat = seat.name AND contract = ANY($4) AND fresh_ns > $5))
           AND (SELECT value FROM tollgate.secret s WHERE s.seat = $1 AND s.name = 'table')
             = (SELECT value FROM tollgate.secret s WHERE s.seat = seat.name AND s.name = 'table')
         ORDER BY name LIMIT 16",
    )
    .bind(&at.name)
    .bind(alive)
    .bind(SILENT.as_secs_f64())
    .bind(contracts)
    .bind(time(now_ns))
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))
}

/// Marks a lease as abandoned if it was silent for long enough; a live holder learns of it at its next write.
pub(super) async fn vacate(at: &mut WriteTarget, left: &str) -> Result<(), StoreError> {
    let vacate = sqlx::query(mine!(
        "UPDATE tollgate.seat SET fence = fence + 1, holder = NULL FROM mine
         WHERE seat.name = $3 AND holder IS NOT NULL
           AND seen < clock_timestamp() - make_interval(secs => $4)"
    ));
    let vacate = vacate.bind(&at.name).bind(at.fence).bind(left);
    let done = vacate.bind(SILENT.as_secs_f64());
    let done = done.execute(&mut at.connection).await;
    done.map(drop).map_err(|error| away(&error))
}

/// The next fingerprints of a contract under another lease.
pub(super) async fn prints_after(
    at: &mut WriteTarget,
    left: &LeftCells,
    now_ns: u64,
) -> Result<Vec<i64>, StoreError> {
    sqlx::query_scalar(
        "SELECT print FROM tollgate.cell
         WHERE seat = $1 AND contract = $2 AND ($3 OR print > $4) AND fresh_ns > $5 ORDER BY print LIMIT $6",
    )
    .bind(&left.seat)
    .bind(left.contract)
    .bind(left.after.is_none())
    .bind(left.after.unwrap_or(0))
    .bind(time(now_ns))
    .bind(BATCH)
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))
}

/// Moves cells of an abandoned lease to successor rows of ours. Returns how many.
pub(super) async fn take(
    at: &mut WriteTarget,
    left: &LeftCells,
    prints: &[i64],
) -> Result<u64, StoreError> {
    let take = sqlx::query(mine!(
        ", left_seat AS (SELECT seat.name FROM tollgate.seat, mine
                         WHERE seat.name = $3 AND seat.holder IS NULL FOR SHARE OF seat),
        taken AS (DELETE FROM tollgate.cell USING left_seat
                  WHERE cell.seat = left_seat.name AND contract = $4 AND print = ANY($5)
                  RETURNING contract, print, shape, fresh_ns, state)
        INSERT INTO tollgate.heir (seat, contract, print, shape, fresh_ns, state)
        SELECT $1, taken.* FROM taken"
    ));
    let take = take.bind(&at.name).bind(at.fence).bind(&left.seat);
    let done = take.bind(left.contract).bind(prints);
    let done = done.execute(&mut at.connection).await;
    done.map(|done| done.rows_affected())
        .map_err(|error| away(&error))
}

/// Successor rows of a lease, oldest first: number, contract and state.
pub(super) async fn heirs(
    at: &mut WriteTarget,
    seat: &str,
    contracts: &[i64],
) -> Result<Vec<(i64, i64, CellRow)>, StoreError> {
    let rows = sqlx::query(
        "SELECT print, shape, state, number, contract FROM tollgate.heir
         WHERE seat = $1 AND contract = ANY($2) ORDER BY number LIMIT $3",
    )
    .bind(seat)
    .bind(contracts)
    .bind(BATCH)
    .fetch_all(&mut at.connection)
    .await
    .map_err(|error| away(&error))?;
    let read = |row: &PgRow| {
        let read = || Ok((row.try_get(3)?, row.try_get(4)?));
        let (number, contract) = read().map_err(|error| away(&error))?;
        Ok((number, contract, found(row)?))
    };
    rows.iter().map(read).collect()
}

/// Moves successor rows of an abandoned lease to ours. Returns how many.
pub(super) async fn take_heirs(
    at: &mut WriteTarget,
    left: &str,
    numbers: &[i64],
) -> Result<u64, StoreError> {
    let take = sqlx::query(mine!(
        ", left_seat AS (SELECT seat.name FROM tollgate.seat, mine
                         WHERE seat.name = $3 AND seat.holder IS NULL FOR SHARE OF seat)
        UPDATE tollgate.heir SET seat = $1 FROM left_seat
        WHERE heir.seat = left_seat.name AND number = ANY($4)"
    ));
    let take = take.bind(&at.name).bind(at.fence).bind(left);
    let done = take.bind(numbers).execute(&mut at.connection).await;
    done.map(|done| done.rows_affected())
        .map_err(|error| away(&error))
}
