//! Primaries that are killed, or give way, while servers are asked: answers keep coming in time, and are exact
//! afterwards.

use std::time::{Duration, Instant};

use tollgate_parts::{Redis, RedisCluster, RedisSetup, Sentinels};

use super::{MANY, Seen, ask, exactly, server, under_load};
use crate::kit::{Server, until};

const SETTINGS: &str = "deadline: 100ms";
const TIME: Duration = Duration::from_millis(100);
/// What a busy machine adds to the deadline; less than any of these failovers takes.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Two servers on a store, both ready.
fn two(folder: &std::path::Path, url: &str) -> [Server; 2] {
    let servers = ["deny", "local"].map(|wish| server(folder, url, SETTINGS, wish));
    for server in &servers {
        until("the store answers", || is_stored(server));
    }
    servers
}

fn is_stored(server: &Server) -> bool {
    ask(server, "many", "anna").instead().is_none()
}

/// Kills or moves the primary under load; says what came of it.
fn fail_over(servers: &[Server; 2], what: &str, happens: impl FnOnce()) -> Seen {
    // One of them denies meanwhile, so that what it admits was counted by the store.
    let [deny, _] = servers;
    let before = until_told(deny);
    let begun = Instant::now();
    let mut away = Duration::ZERO;
    let seen = under_load(&[deny], "anna", || {
        happens();
        until("the store answers again", || is_stored(deny));
        away = begun.elapsed();
    });
    let admitted = seen.admitted;
    let after = until_told(deny);
    // Besides those of the load there are such as only looked, and such as came too late to be told.
    let counted = before.saturating_sub(after);
    println!(
        "{what}: {admitted} admitted, {} not decided by the store, slowest answer {:?}, back after {away:?}, \
         {} admitted and lost",
        seen.missed,
        seen.slowest,
        admitted.saturating_sub(counted)
    );
    assert_eq!(seen.refused, 0);
    assert!(seen.slowest < TIME + TOLERANCE, "{:?}", seen.slowest);
    for server in servers {
        until("the store answers", || is_stored(server));
    }
    exactly(&servers.each_ref());
    seen
}

/// How many tokens are left, told by the store.
fn until_told(server: &Server) -> u64 {
    let mut left = MANY;
    until("the store says what is left", || {
        let answer = ask(server, "many", "anna");
        left = if answer.instead().is_none() {
            answer.remaining()
        } else {
            MANY
        };
        left < MANY
    });
    left
}

/// The place of the primary that has a key.
fn holder(cluster: &RedisCluster) -> usize {
    let holds = |node: &Redis| !node.cli(&["KEYS", "tg:{*"]).is_empty();
    cluster.nodes[..3].iter().position(holds).unwrap()
}

#[test]
fn a_cluster_whose_primary_is_killed_is_exact_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = RedisCluster::start(&RedisSetup::default());
    let url = format!("redis-cluster://{}", cluster.addresses().join(","));
    let servers = two(folder.path(), &url);
    let primary = holder(&cluster);
    fail_over(&servers, "primary of a Cluster killed", || {
        cluster.nodes[primary].kill();
        let replica = &cluster.nodes[primary + 3];
        until("the replica has taken over", || replica.is_primary());
    });
}

#[test]
fn a_cluster_that_fails_over_on_request_is_exact_again() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = RedisCluster::start(&RedisSetup::default());
    let url = format!("redis-cluster://{}", cluster.addresses().join(","));
    let servers = two(folder.path(), &url);
    let replica = &cluster.nodes[holder(&cluster) + 3];
    fail_over(&servers, "CLUSTER FAILOVER", || {
        replica.cli(&["CLUSTER", "FAILOVER"]);
        until("the replica has taken over", || replica.is_primary());
    });
}

#[test]
fn a_primary_behind_sentinels_that_is_killed_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Sentinels::start(&RedisSetup::default(), &RedisSetup::default());
    let sentinels = all.addresses().join(",");
    let url = format!("redis-sentinel://{sentinels}/{}", Sentinels::NAME);
    let servers = two(folder.path(), &url);
    fail_over(&servers, "primary behind Sentinels killed", || {
        all.primary.kill();
        until("the replica has taken over", || all.replica.is_primary());
    });
}
