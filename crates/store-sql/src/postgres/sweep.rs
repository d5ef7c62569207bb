//! Deletes expired rows, a page at a time, in the background.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::Row;
use tokio::time::Instant;

use super::ledger;
use super::pool::PostgresPool;
use crate::sweep::{PAGE, Sweep};

/// One page in the order of the keys: deletes expired rows that are not locked, and returns where the next page begins.
const SWEEP: &str = "
    WITH page AS (
        SELECT tag, name, fresh_s, touched_s FROM tollgate_state
            WHERE (tag, name) > ($1, $2) ORDER BY tag, name LIMIT $3
    ), stale AS (
        SELECT state.tag, state.name FROM tollgate_state AS state JOIN page USING (tag, name)
            WHERE state.fresh_s <= $4 AND state.touched_s <= extract(epoch FROM now())::BIGINT - $5
            FOR UPDATE OF state SKIP LOCKED
    ), gone AS (
        DELETE FROM tollgate_state AS state USING stale WHERE state.tag = stale.tag AND state.name = stale.name
    )
    SELECT tag, name FROM page ORDER BY tag DESC, name DESC LIMIT 1";

/// Sweeps until the pool is dropped.
pub(super) fn start(pool: &Arc<PostgresPool>, config: Sweep) {
    let pool = Arc::downgrade(pool);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(config.every).await;
            if pool.strong_count() == 0 {
                return;
            }
            // The next round retries a failure.
            let _ = sweep(&pool, config.grace_s()).await;
            let _ = sweep_ledgers(&pool, config.grace_s()).await;
        }
    });
}

async fn sweep(pool: &Weak<PostgresPool>, grace_s: i64) -> Option<()> {
    let mut from = (i64::MIN, String::new());
    loop {
        let pool = pool.upgrade()?;
        let until = Instant::now() + Duration::from_secs(1);
        let mut connection = pool.take(until).await.ok()?;
        let page = sqlx::query(SWEEP).bind(from.0).bind(&from.1).bind(PAGE);
        let page = page.bind(pool.now.second()).bind(grace_s);
        let last = page.fetch_optional(&mut *connection).await.ok()?;
        pool.give_back(connection);
        let last = last?;
        from = (last.try_get(0).ok()?, last.try_get(1).ok()?);
    }
}

async fn sweep_ledgers(pool: &Weak<PostgresPool>, grace_s: i64) -> Option<()> {
    let mut from = (i64::MIN, String::new());
    loop {
        let pool = pool.upgrade()?;
        if !pool.has_ledgers.load(Ordering::Relaxed) {
            return None;
        }
        let until = Instant::now() + Duration::from_secs(1);
        let mut connection = pool.take(until).await.ok()?;
        let last = ledger::sweep(&mut connection, &from, grace_s).await.ok()?;
        pool.give_back(connection);
        from = last?;
    }
}
