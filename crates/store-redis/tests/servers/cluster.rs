//! A Cluster of three primaries and three replicas: the common suite, and the loss of a primary.

use std::sync::Arc;

use tollgate_conformance::{SuitePlan, all, ledgers};
use tollgate_parts::{RedisCluster, RedisSetup};
use tollgate_store::Book;
use tollgate_store_redis::{Redis, Servers};

use crate::failover::{TIME, exactly, much, survives};
use crate::kit::{FIVE, PATIENCE, book, check, counted, lingering, one, open, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_passes_whole_and_five_policies_are_one_call() {
    let cluster = RedisCluster::start(&RedisSetup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    let result = all(&engine, &SuitePlan::default()).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(engine.figures().disagreements(), 0);

    let lost = ledgers(&[Arc::clone(&engine)], &SuitePlan::default()).await;
    let lost = lost.unwrap_or_else(|fault| panic!("{fault}"));
    println!("512 counts, {lost} swaps lost");

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
    let mut cluster = RedisCluster::start(&RedisSetup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    kill_one(&mut cluster, &engine).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_on_request_loses_nothing() {
    let cluster = RedisCluster::start(&RedisSetup::default());
    let engine = open(&lingering(Servers::Cluster(cluster.addresses()))).await;
    let book = much();
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

/// Kills the primary of a key under load.
pub(crate) async fn kill_one(cluster: &mut RedisCluster, engine: &Arc<Redis>) {
    let owner = owner(cluster, &much(), 7);
    let (primaries, replicas) = cluster.nodes.split_at_mut(3);
    let kill = || primaries[owner].kill();
    survives(engine, 7, kill, || replicas[owner].is_primary()).await;
}

/// The index of the primary that has a key at the start.
fn owner(cluster: &RedisCluster, book: &Book, name: u128) -> usize {
    cluster.owner(&format!("{:016x}{name:032x}", book.tag()))
}
