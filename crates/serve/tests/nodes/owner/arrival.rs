//! Nodes that join: they decide about no key before the counts of others have come.

use tollgate_gossip::NodeId;

use crate::owner::kit::{OwnerCluster, OwnerServer, eventually};

const TEN: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 10, per: 1d, algorithm: fixed-window}]}
";

/// Asks for keys of a name so often at each server in turn; how many requests passed in all.
async fn ask(cluster: &OwnerCluster, name: &str, times: usize) -> usize {
    ask_at(&cluster.servers, name, times).await
}

async fn ask_at(servers: &[OwnerServer], name: &str, times: usize) -> usize {
    let keys: Vec<String> = (0..KEYS).map(|key| format!("{name}{key}")).collect();
    let mut passed = 0;
    for _ in 0..times {
        for server in servers {
            let commands = keys.iter().map(|key| vec!["TOLLGATE.CHECK", "KEY", key]);
            let replies = server.pipeline(&commands.collect::<Vec<_>>()).await;
            let allowed = replies
                .iter()
                .filter(|reply| reply.starts_with("allowed :1"));
            passed += allowed.count();
        }
    }
    passed
}

const KEYS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_decides_about_no_key_before_its_counts_have_come() {
    let mut cluster = OwnerCluster::of(TEN).await;
    assert_eq!(ask(&cluster, "known", 4).await, 10 * KEYS);
    cluster.start_arriving(NodeId(20)).await;
    let new = &cluster.servers[3];
    // Not all others know it: it takes nothing over, and none asks it in vain.
    assert_eq!(ask(&cluster, "known", 2).await, 0);
    assert_eq!(ask(&cluster, "new", 4).await, 10 * KEYS);
    assert_eq!((new.cells(), new.counts().moved_in.get()), (0, 0));
    let passes: Vec<u64> = cluster.servers[..3]
        .iter()
        .map(OwnerServer::next_pass)
        .collect();
    new.arrival.set_known();
    assert_eq!(ask(&cluster, "known", 1).await, 0);
    let others = || cluster.servers.iter().zip(&passes);
    eventually("all passed", || {
        others().all(|(is, pass)| is.has_passed(*pass, new.id))
    })
    .await;
    assert!(new.cells() > KEYS / 5, "{}", new.cells());
    new.arrival.end();
    for name in ["known", "new"] {
        assert_eq!(ask(&cluster, name, 2).await, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_all_join_decide_as_owners_do() {
    let cluster = OwnerCluster::arriving(TEN).await;
    assert_eq!(ask(&cluster, "new", 5).await, 10 * KEYS);
    for server in &cluster.servers {
        assert!(server.cells() > KEYS / 6, "{}", server.cells());
    }
    let held: usize = cluster.servers.iter().map(OwnerServer::cells).sum();
    assert_eq!(held, KEYS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_dies_while_all_join_is_followed_by_one_node() {
    let cluster = OwnerCluster::arriving(TEN).await;
    assert_eq!(ask(&cluster, "new", 4).await, 10 * KEYS);
    let lost = cluster.servers[2].cells();
    cluster.net.cut.lock().insert(cluster.servers[2].id);
    assert_eq!(ask_at(&cluster.servers[..2], "new", 12).await, 10 * lost);
}
