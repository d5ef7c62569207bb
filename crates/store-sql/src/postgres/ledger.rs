//! Ledgers in `PostgreSQL`: one statement loads one with the database's time, one swaps it by compare-and-swap.
//!
//! Their table is created on first use, so that a database without them needs no new rights. Not here: what
//! they mean.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Executor, Row};
use tokio::time::Instant;
use tollgate_store::{Failure, LedgerId, LedgerVersion, LoadedLedger, Swap, Swapped};

use super::pool::{PooledPostgres, PostgresPool, create};
use super::{GIVE_UP, judged};
use crate::failure;
use crate::ledger::{loaded, number, row_id, seconds};
use crate::sweep::PAGE;

const KNOWN: &str = "
    SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'tollgate_ledger' AND pg_table_is_visible(oid))";

const LOAD: &str = "
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT, ledger.version, ledger.bytes
        FROM (SELECT 1) AS one LEFT JOIN tollgate_ledger AS ledger ON ledger.tag = $1 AND ledger.name = $2";

const FIRST: &str = "
    INSERT INTO tollgate_ledger (tag, name, version, bytes, fresh_s, touched_s)
        SELECT $1, $2, $3, $4, now_s + $5, now_s FROM (SELECT extract(epoch FROM clock_timestamp())::BIGINT) AS clock (now_s)
        ON CONFLICT DO NOTHING";

const NEXT: &str = "
    UPDATE tollgate_ledger SET version = $3, bytes = $4, fresh_s = now_s + $5, touched_s = now_s
        FROM (SELECT extract(epoch FROM clock_timestamp())::BIGINT) AS clock (now_s)
        WHERE tag = $1 AND name = $2 AND version = $6";

/// One page in the order of the keys: deletes expired rows that are not locked, and returns where the next page begins.
const SWEEP: &str = "
    WITH page AS (
        SELECT tag, name FROM tollgate_ledger WHERE (tag, name) > ($1, $2) ORDER BY tag, name LIMIT $3
    ), stale AS (
        SELECT ledger.tag, ledger.name FROM tollgate_ledger AS ledger JOIN page USING (tag, name)
            WHERE greatest(ledger.fresh_s, ledger.touched_s) <= extract(epoch FROM now())::BIGINT - $4
            FOR UPDATE OF ledger SKIP LOCKED
    ), gone AS (
        DELETE FROM tollgate_ledger AS ledger USING stale WHERE ledger.tag = stale.tag AND ledger.name = stale.name
    )
    SELECT tag, name FROM page ORDER BY tag DESC, name DESC LIMIT 1";

/// The ledger of a key, and the database's time.
pub(super) async fn load(
    pool: &Arc<PostgresPool>,
    id: LedgerId,
    time: Duration,
) -> Result<LoadedLedger, Failure> {
    let of_task = Arc::clone(pool);
    within(time, async move |until| {
        let mut connection = of_task.take(until).await?;
        let result = load_now(&of_task, &mut connection, id).await;
        judged(&of_task, connection, result)
    })
    .await
}

/// Writes a ledger, if it is unchanged since.
pub(super) async fn swap(
    pool: &Arc<PostgresPool>,
    id: LedgerId,
    swap: Swap,
    time: Duration,
) -> Result<Swapped, Failure> {
    let of_task = Arc::clone(pool);
    within(time, async move |until| {
        let mut connection = of_task.take(until).await?;
        let result = match swap_now(&of_task, &mut connection, id, &swap).await {
            // Another node was first.
            Err(error) if failure::is_worth_retrying(&error) => Ok(Swapped::Lost),
            result => result,
        };
        judged(&of_task, connection, result)
    })
    .await
}

/// Deletes a page of expired ledgers; returns where the next page begins.
pub(super) async fn sweep(
    connection: &mut PooledPostgres,
    from: &(i64, String),
    grace_s: i64,
) -> Result<Option<(i64, String)>, sqlx::Error> {
    let page = sqlx::query(SWEEP).bind(from.0).bind(&from.1).bind(PAGE);
    let last = page.bind(grace_s);
    match last.fetch_optional(&mut **connection).await? {
        Some(row) => Ok(Some((row.try_get(0)?, row.try_get(1)?))),
        None => Ok(None),
    }
}

/// Runs in a separate task, so that a statement is not aborted when the caller stops waiting.
async fn within<T, W>(time: Duration, work: impl FnOnce(Instant) -> W) -> Result<T, Failure>
where
    T: Send + 'static,
    W: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let until = Instant::now() + time;
    let work = tokio::spawn(tokio::time::timeout_at(until + GIVE_UP, work(until)));
    match tokio::time::timeout_at(until, work).await {
        Ok(Ok(Ok(done))) => done,
        Ok(Ok(Err(_))) | Err(_) => Err(Failure::Late),
        Ok(Err(_)) => Err(Failure::Unreachable("the task is gone".into())),
    }
}

async fn load_now(
    pool: &PostgresPool,
    connection: &mut PgConnection,
    id: LedgerId,
) -> Result<LoadedLedger, sqlx::Error> {
    known(pool, connection).await?;
    let (tag, name) = row_id(id);
    let row = sqlx::query(LOAD).bind(tag).bind(name);
    let row = row.fetch_one(connection).await?;
    let found: (Option<i64>, Option<Vec<u8>>) = (row.try_get(1)?, row.try_get(2)?);
    Ok(loaded(found.0.zip(found.1), row.try_get(0)?))
}

async fn swap_now(
    pool: &PostgresPool,
    connection: &mut PgConnection,
    id: LedgerId,
    swap: &Swap,
) -> Result<Swapped, sqlx::Error> {
    known(pool, connection).await?;
    let (tag, name) = row_id(id);
    let is_first = swap.from == LedgerVersion::NONE;
    let query = sqlx::query(if is_first { FIRST } else { NEXT });
    let query = query.bind(tag).bind(name).bind(number(swap.to));
    let mut query = query.bind(&*swap.bytes).bind(seconds(swap.keep));
    if !is_first {
        query = query.bind(number(swap.from));
    }
    let done = connection.execute(query).await?;
    Ok(match done.rows_affected() {
        0 => Swapped::Lost,
        _ => Swapped::Done,
    })
}

/// Creates the table if it is missing.
async fn known(pool: &PostgresPool, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    if !pool.has_ledgers.load(Ordering::Relaxed) {
        create(
            connection,
            KNOWN,
            &[include_str!("../../migrations/3-ledger.sql")],
        )
        .await?;
        pool.has_ledgers.store(true, Ordering::Relaxed);
    }
    Ok(())
}
