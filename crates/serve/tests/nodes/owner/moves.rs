//! Keys that move when members come and go.

use tollgate_gossip::NodeId;

use crate::owner::kit::{OwnerCluster, OwnerServer, eventually};

const TEN: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 10, per: 1d, algorithm: fixed-window}]}
";

const KEYS: usize = 200;

/// Asks for every key so often, by turns of all servers; how many passed for each.
async fn ask(cluster: &OwnerCluster, servers: &[usize], times: usize) -> Vec<usize> {
    let names: Vec<String> = (0..KEYS).map(|key| format!("key{key}")).collect();
    let mut passed = vec![0; KEYS];
    for turn in 0..times {
        let server = &cluster.servers[servers[turn % servers.len()]];
        let commands = names.iter().map(|name| vec!["TOLLGATE.CHECK", "KEY", name]);
        let replies = server.pipeline(&commands.collect::<Vec<_>>()).await;
        for (passed, reply) in passed.iter_mut().zip(replies) {
            *passed += usize::from(reply.starts_with("allowed :1"));
        }
    }
    passed
}

fn moved(cluster: &OwnerCluster) -> (u64, u64) {
    let counts = || cluster.servers.iter().map(OwnerServer::counts);
    let out = counts().map(|counts| counts.moved_out.get()).sum();
    (out, counts().map(|counts| counts.moved_in.get()).sum())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_gets_its_keys_and_no_others() {
    let mut cluster = OwnerCluster::of(TEN).await;
    let before = ask(&cluster, &[0, 1, 2], 6).await;
    assert_eq!(before, vec![6; KEYS]);
    let held: usize = cluster.servers.iter().map(OwnerServer::cells).sum();
    assert_eq!(held, KEYS);
    cluster.start(NodeId(20)).await;
    let mine = (0..KEYS).filter(|key| cluster.servers[3].owns(&format!("key{key}")));
    let mine = mine.count();
    assert!((20..90).contains(&mine), "{mine}");
    eventually("all moved", || cluster.servers[3].cells() == mine).await;
    assert_eq!(moved(&cluster), (mine as u64, mine as u64));
    let after = ask(&cluster, &[0, 1, 2, 3], 8).await;
    assert_eq!(after, vec![4; KEYS]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_leaves_hands_over_first() {
    let mut cluster = OwnerCluster::of(TEN).await;
    ask(&cluster, &[0, 1, 2], 6).await;
    let mine = cluster.servers[1].cells();
    assert!(mine > 0);
    cluster.leave(1).await;
    assert_eq!(cluster.servers[1].cells(), 0);
    assert_eq!(moved(&cluster), (mine as u64, mine as u64));
    let after = ask(&cluster, &[0, 2], 8).await;
    assert_eq!(after, vec![4; KEYS]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_takes_its_counts_along_and_nobody_elses() {
    let cluster = OwnerCluster::of(TEN).await;
    ask(&cluster, &[0, 1, 2], 6).await;
    let names = (0..KEYS).map(|key| format!("key{key}"));
    let lost: Vec<bool> = names.map(|name| cluster.servers[1].owns(&name)).collect();
    cluster.net.cut.lock().insert(cluster.servers[1].id);
    cluster.bury(cluster.servers[1].id);
    let after = ask(&cluster, &[0, 2], 12).await;
    for (after, lost) in after.into_iter().zip(lost) {
        assert_eq!(after, if lost { 10 } else { 4 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_new_owner_counted_before_the_state_came_is_kept() {
    let mut cluster = OwnerCluster::of(TEN).await;
    ask(&cluster, &[0, 1, 2], 4).await;
    // The new node takes nothing in at first.
    cluster.net.mute.lock().insert(NodeId(20));
    cluster.start(NodeId(20)).await;
    let new = &cluster.servers[3];
    let name = (0..KEYS).map(|key| format!("key{key}"));
    let name = name.clone().find(|name| new.owns(name)).unwrap();
    for _ in 0..3 {
        assert!(new.check(&name).await);
    }
    cluster.net.mute.lock().clear();
    eventually("the state came", || new.counts().moved_in.get() > 0).await;
    let others = || cluster.servers.iter().filter(|s| s.id != new.id);
    eventually("all of it", || {
        others().all(|s| (0..KEYS).all(|_| s.cells() < KEYS))
    })
    .await;
    eventually("the charges of both", || {
        let node = new.shared.engine.node();
        let status = node.status(name.as_str().into(), new.shared.engine.now());
        status[0].1[0].remaining == 3
    })
    .await;
    let mut admitted = 0;
    for _ in 0..8 {
        admitted += usize::from(cluster.servers[0].check(&name).await);
    }
    assert_eq!(admitted, 3);
}
