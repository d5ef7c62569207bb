//! Owners that are slow, gone, or cannot be reached.

use std::time::{Duration, Instant};

use tollgate_serve::owner::{Count, OwnerSettings};

use crate::owner::kit::OwnerCluster;

fn contract(on_failure: &str) -> String {
    format!(
        "contracts:
  - {{id: a, key: [user], coordination: owner, policies: [{{name: p, limit: 10, per: 1d, algorithm: fixed-window, on_failure: {on_failure}}}]}}
"
    )
}

async fn hasty(on_failure: &str) -> OwnerCluster {
    let deadline = Duration::from_millis(20);
    OwnerCluster::with(&contract(on_failure), OwnerSettings { deadline }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_does_not_answer_is_not_waited_for_and_policies_say_what_then() {
    for (on_failure, allowed) in [("allow", 15), ("deny", 0), ("local", 10)] {
        let cluster = hasty(on_failure).await;
        let (owner, other) = cluster.sides("anna");
        cluster.net.mute.lock().insert(owner.id);
        let mut passed = 0;
        for _ in 0..15 {
            let began = Instant::now();
            let (status, head, body) = other.post("/v1/check?status=1", r#"{"key":"anna"}"#).await;
            assert!(began.elapsed() < Duration::from_secs(5));
            passed += usize::from(status == 200);
            let told = format!("tollgate-fallback: {on_failure}");
            assert!(head.contains(&told), "{head} {body}");
            if on_failure == "deny" {
                assert_eq!(status, 503, "{body}");
                assert!(body.contains("temporary-reduced-capacity"), "{body}");
            }
        }
        assert_eq!(passed, allowed, "{on_failure}");
        assert_eq!(other.counts().late.get(), 15);
        let fell_back: u64 = other.counts().fell_back.iter().map(Count::get).sum();
        assert_eq!(fell_back, 15);
        cluster.net.mute.lock().clear();
        let (_, head, _) = other.post("/v1/check", r#"{"key":"anna"}"#).await;
        assert!(!head.contains("tollgate-fallback"), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_reach_nobody_say_so() {
    let cluster = hasty("allow").await;
    let (owner, other) = cluster.sides("anna");
    let (_, _, body) = other.post("/v1/check", r#"{"key":"anna","cost":4}"#).await;
    let receipt = body.split("\"receipt\":\"").nth(1).unwrap();
    let receipt = receipt.split('"').next().unwrap();
    let settle = format!("{{\"receipt\":\"{receipt}\",\"cost\":1}}");
    cluster.net.mute.lock().insert(owner.id);
    let write = r#"{"key":"anna","cost":1}"#;
    for (path, body) in [
        ("/v1/charge", write),
        ("/v1/refund", write),
        ("/v1/settle", &settle),
    ] {
        let (status, _, body) = other.post(path, body).await;
        assert_eq!(status, 503, "{body}");
    }
    assert_eq!(other.counts().writes_failed.get(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_owner_is_replaced_at_once_by_the_one_that_follows() {
    let cluster = OwnerCluster::of(&contract("deny")).await;
    let (owner, _) = cluster.sides("anna");
    cluster.net.cut.lock().insert(owner.id);
    let mut admitted = 0;
    for turn in 0..20 {
        let server = &cluster.servers[turn % 3];
        if server.id != owner.id {
            admitted += usize::from(server.check("anna").await);
        }
    }
    // The others agree who follows, before any node reports that the owner is gone.
    assert_eq!(admitted, 10);
    let retried = cluster.servers.iter().map(|s| s.counts().retried.get());
    assert!(retried.sum::<u64>() >= 1);
    cluster.bury(owner.id);
    for server in cluster.servers.iter().filter(|s| s.id != owner.id) {
        assert!(!server.check("anna").await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alone_a_node_decides_everything() {
    let cluster = OwnerCluster::of(&contract("deny")).await;
    cluster.bury(cluster.servers[0].id);
    cluster.bury(cluster.servers[1].id);
    let last = &cluster.servers[2];
    let forwarded = last.counts().forwarded.get();
    let mut admitted = 0;
    for _ in 0..15 {
        admitted += usize::from(last.check("anna").await);
    }
    assert_eq!((admitted, last.counts().forwarded.get()), (10, forwarded));
}
