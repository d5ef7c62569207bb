//! Queries the database for its time, at intervals.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep};
use tollgate_store::ClockComparison;

use super::pool::{PostgresPool, lock};

/// How often clocks are compared.
const EVERY: Duration = Duration::from_secs(10);
/// Deadline of a comparison.
const TIME: Duration = Duration::from_secs(1);
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT";

/// Compares clocks until the pool is gone.
pub(super) fn start(pool: &Arc<PostgresPool>) {
    let pool = Arc::downgrade(pool);
    tokio::spawn(async move {
        let mut wait = Duration::from_millis(100);
        loop {
            sleep(wait).await;
            wait = EVERY;
            if pool.strong_count() == 0 {
                return;
            }
            // The next round retries a failure.
            let _ = tokio::time::timeout(TIME, compare(&pool)).await;
        }
    });
}

async fn compare(pool: &Weak<PostgresPool>) -> Option<()> {
    let pool = pool.upgrade()?;
    let mut connection = pool.take(Instant::now() + TIME).await.ok()?;
    let (start, asked) = (Instant::now(), SystemTime::UNIX_EPOCH.elapsed().ok()?);
    let micros: i64 = sqlx::query_scalar(NOW)
        .fetch_one(&mut *connection)
        .await
        .ok()?;
    let theirs = Duration::from_micros(u64::try_from(micros).ok()?);
    let clock = ClockComparison::of(theirs, asked, start.elapsed());
    pool.give_back(connection);
    *lock(&pool.clock) = clock;
    Some(())
}
