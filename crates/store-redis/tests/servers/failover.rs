//! Requests during a failover, for Clusters and Sentinels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tollgate_store::Book;
use tollgate_store_redis::Redis;

use crate::kit::{PATIENCE, book, check, counted, one, until};

/// Deadline of a request.
pub(crate) const TIME: Duration = Duration::from_millis(20);
/// Bounds a failure: tolerance beyond the deadline on a busy machine.
pub(crate) const SLACK: Duration = Duration::from_secs(1);

/// A limit that is never reached.
pub(crate) fn much() -> Arc<Book> {
    book(&["name: much, limit: 100000000, per: month, algorithm: fixed-window"])
}

/// Kills the primary that has this key under load: answers stay in time, the replica takes over, and then
/// counts are exact. Prints the figures.
pub(crate) async fn survives(
    engine: &Arc<Redis>,
    name: u128,
    kill: impl FnOnce(),
    has_other: impl Fn() -> bool,
) {
    let book = much();
    assert_eq!(one(engine, check(&book, name, 1), PATIENCE).await, Ok(true));
    let stop = Arc::new(AtomicBool::new(false));
    let calls = engine.figures().calls();
    let asking = tokio::spawn({
        let (engine, book, stop) = (Arc::clone(engine), Arc::clone(&book), Arc::clone(&stop));
        async move { load(&engine, &book, name, &stop).await }
    });
    until("there is load", async || {
        engine.figures().calls() > calls + 500
    })
    .await;
    let start = Instant::now();
    kill();
    until("the replica has taken over", async || {
        has_other() && one(engine, check(&book, name, 1), TIME).await == Ok(true)
    })
    .await;
    let away = start.elapsed();
    stop.store(true, Ordering::Relaxed);
    let seen = asking.await.unwrap();
    let stored = counted(engine, &book, name).await;
    println!(
        "primary killed: {} admitted, {} failed, slowest answer {:?}, back after {away:?}, {} admitted and lost",
        seen.admitted,
        seen.failed,
        seen.slowest,
        (seen.admitted + 2).saturating_sub(stored)
    );
    assert!(seen.slowest < TIME + SLACK, "{:?}", seen.slowest);
    assert_eq!(seen.refused, 0);
    for _ in 0..20 {
        assert_eq!(one(engine, check(&book, name, 1), PATIENCE).await, Ok(true));
    }
    assert_eq!(counted(engine, &book, name).await, stored + 20);
    exactly(engine, 1_000).await;
}

/// Many callers on one key get what the limit says, and no more.
pub(crate) async fn exactly(engine: &Arc<Redis>, name: u128) {
    let book = book(&["name: few, limit: 100, per: month, algorithm: fixed-window"]);
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (engine, book) = (Arc::clone(engine), Arc::clone(&book));
            tokio::spawn(async move {
                let mut admitted = 0;
                for _ in 0..4 {
                    let said = one(&engine, check(&book, name, 1), PATIENCE).await;
                    admitted += u64::from(said.unwrap());
                }
                admitted
            })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        admitted += task.await.unwrap();
    }
    assert_eq!(admitted, 100);
}

/// Results of load during a fault.
#[derive(Debug, Default)]
struct Seen {
    admitted: u64,
    refused: u64,
    failed: u64,
    slowest: Duration,
}

/// Requests one key from several tasks until stopped.
async fn load(engine: &Arc<Redis>, book: &Arc<Book>, name: u128, stop: &Arc<AtomicBool>) -> Seen {
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (engine, book, stop) = (Arc::clone(engine), Arc::clone(book), Arc::clone(stop));
            tokio::spawn(async move {
                let mut seen = Seen::default();
                while !stop.load(Ordering::Relaxed) {
                    let start = Instant::now();
                    match one(&engine, check(&book, name, 1), TIME).await {
                        Ok(true) => seen.admitted += 1,
                        Ok(false) => seen.refused += 1,
                        Err(_) => {
                            seen.failed += 1;
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                    }
                    seen.slowest = seen.slowest.max(start.elapsed());
                }
                seen
            })
        })
        .collect();
    let mut all = Seen::default();
    for task in tasks {
        let seen = task.await.unwrap();
        all.admitted += seen.admitted;
        all.refused += seen.refused;
        all.failed += seen.failed;
        all.slowest = all.slowest.max(seen.slowest);
    }
    all
}
