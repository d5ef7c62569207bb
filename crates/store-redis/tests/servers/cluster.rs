//! A Cluster of three primaries and three replicas: the same, and what becomes of it when a primary goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tollgate_conformance::{Plan, all};
use tollgate_parts::{Cluster, Setup};
use tollgate_store_redis::Servers;

use crate::kit::{FIVE, PATIENCE, book, check, counted, lingering, load, one, open, owner, until};

const TIME: Duration = Duration::from_millis(20);
/// Bounds a failure: how much later than its time an answer may come where everything runs at once.
const SLACK: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_passes_whole_and_five_policies_are_one_call() {
    let cluster = Cluster::start(&Setup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    let result = all(&engine, &Plan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(engine.figures().disagreements(), 0);

    let book = book(&FIVE);
    let names = 1..=30;
    for name in names.clone() {
        assert_eq!(
            one(&engine, check(&book, name, 1), PATIENCE).await,
            Ok(true)
        );
    }
    for node in &cluster.nodes {
        node.cli(&["CONFIG", "RESETSTAT"]);
    }
    for name in names {
        assert_eq!(
            one(&engine, check(&book, name, 1), PATIENCE).await,
            Ok(true)
        );
    }
    let calls = |command: &str| {
        cluster.nodes[..3]
            .iter()
            .map(|node| node.calls(command))
            .collect::<Vec<_>>()
    };
    let (by_name, whole) = (calls("evalsha"), calls("eval"));
    println!("30 decisions of five policies: {by_name:?} EVALSHA, {whole:?} EVAL");
    assert_eq!(
        (by_name.iter().sum::<u64>(), whole.iter().sum::<u64>()),
        (30, 0)
    );
    assert!(
        by_name.iter().all(|calls| *calls > 0),
        "all primaries have part"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_keep_coming_when_a_primary_is_killed() {
    let mut cluster = Cluster::start(&Setup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    let book = book(&["name: much, limit: 100000000, per: month, algorithm: fixed-window"]);
    assert_eq!(one(&engine, check(&book, 7, 1), PATIENCE).await, Ok(true));
    let owner = owner(&cluster, &book, 7);
    let stop = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn({
        let (engine, book, stop) = (Arc::clone(&engine), Arc::clone(&book), Arc::clone(&stop));
        async move { load(&engine, &book, 7, TIME, &stop).await }
    });
    until("there is load", async || engine.figures().calls() > 500).await;
    let start = Instant::now();
    cluster.nodes[owner].kill();
    until("the replica has taken over", async || {
        cluster.nodes[owner + 3].is_primary()
            && one(&engine, check(&book, 7, 1), TIME).await == Ok(true)
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
        (seen.admitted + 2).saturating_sub(stored)
    );
    assert!(seen.slowest < TIME + SLACK, "{:?}", seen.slowest);
    assert_eq!(seen.refused, 0);
    exactly(&engine, 1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_on_request_loses_nothing() {
    let cluster = Cluster::start(&Setup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    let book = book(&["name: much, limit: 100000000, per: month, algorithm: fixed-window"]);
    let owner = owner(&cluster, &book, 8);
    let replica = &cluster.nodes[owner + 3];
    for _ in 0..50 {
        assert_eq!(one(&engine, check(&book, 8, 1), PATIENCE).await, Ok(true));
    }
    replica.cli(&["CLUSTER", "FAILOVER"]);
    until("the replica is the primary", async || replica.is_primary()).await;
    until("asks are answered", async || {
        one(&engine, check(&book, 8, 1), TIME).await.is_ok()
    })
    .await;
    let stored = counted(&engine, &book, 8).await;
    assert!(stored > 50, "{stored} of more than 50 are left");
    until("the old primary follows", async || replica.is_followed(1)).await;
    exactly(&engine, 2_000).await;
}

/// Many callers on one key get what the limit says, and no more.
async fn exactly(engine: &Arc<tollgate_store_redis::Redis>, name: u128) {
    let book = book(&["name: few, limit: 100, per: month, algorithm: fixed-window"]);
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (engine, book) = (Arc::clone(engine), Arc::clone(&book));
            tokio::spawn(async move {
                let mut admitted = 0;
                for _ in 0..4 {
                    admitted +=
                        u64::from(one(&engine, check(&book, name, 1), PATIENCE).await.unwrap());
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
