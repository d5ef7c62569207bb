//! A primary behind Sentinels: the same, and another primary when it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tollgate_conformance::{Plan, all};
use tollgate_parts::{Sentinels, Setup};
use tollgate_store_redis::Servers;

use crate::kit::{PATIENCE, book, check, counted, lingering, load, one, open, until};

const TIME: Duration = Duration::from_millis(20);
/// Bounds a failure: how much later than its time an answer may come where everything runs at once.
const SLACK: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_behind_sentinels_passes_and_is_replaced_when_killed() {
    let mut servers = Sentinels::start(&Setup::default(), &Setup::default());
    let engine = open(&lingering(Servers::Sentinel {
        sentinels: servers.addresses(),
        primary: Sentinels::NAME.into(),
    }))
    .await;
    let result = all(&engine, &Plan::of(1, 4)).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(engine.figures().disagreements(), 0);

    let book = book(&["name: much, limit: 100000000, per: month, algorithm: fixed-window"]);
    let stop = Arc::new(AtomicBool::new(false));
    let calls = engine.figures().calls();
    let asking = tokio::spawn({
        let (engine, book, stop) = (Arc::clone(&engine), Arc::clone(&book), Arc::clone(&stop));
        async move { load(&engine, &book, 7, TIME, &stop).await }
    });
    until("there is load", async || {
        engine.figures().calls() > calls + 500
    })
    .await;
    let start = Instant::now();
    servers.primary.kill();
    until("the replica has taken over", async || {
        one(&engine, check(&book, 9, 1), TIME).await == Ok(true)
    })
    .await;
    let away = start.elapsed();
    stop.store(true, Ordering::Relaxed);
    let seen = asking.await.unwrap();
    let stored = counted(&engine, &book, 7).await;
    println!(
        "primary killed: {} admitted, {} failed, slowest answer {:?}, back after {away:?}, {} admitted and lost",
        seen.admitted,
        seen.failed,
        seen.slowest,
        seen.admitted.saturating_sub(stored)
    );
    assert!(seen.slowest < TIME + SLACK, "{:?}", seen.slowest);
    assert_eq!(seen.refused, 0);
    let before = counted(&engine, &book, 7).await;
    for _ in 0..20 {
        assert_eq!(one(&engine, check(&book, 7, 1), PATIENCE).await, Ok(true));
    }
    assert_eq!(counted(&engine, &book, 7).await, before + 20);
}
