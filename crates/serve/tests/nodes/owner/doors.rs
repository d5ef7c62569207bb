//! Every protocol uses the owner, and together they admit exactly the limit.

use std::sync::Arc;

use tollgate_wire::native::{CheckManyRequest, CheckManyResponse, CheckRequest, CheckResponse};
use tollgate_wire::rls::{Code, RateLimitDescriptor, RateLimitRequest, RateLimitResponse};

use crate::owner::kit::{OwnerCluster, OwnerServer};

const ONE: &str = "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: p, limit: 120, per: 1d, algorithm: fixed-window}]}
";

async fn by_http(server: &OwnerServer, key: &str) -> usize {
    usize::from(server.check(key).await)
}

async fn by_list(server: &OwnerServer, key: &str) -> usize {
    let list = vec![format!("{{\"key\":\"{key}\"}}"); 10].join(",");
    let (_, _, body) = server.post("/v1/check", &format!("[{list}]")).await;
    body.matches("\"allowed\":true").count()
}

async fn by_pipeline(server: &OwnerServer, key: &str) -> usize {
    let commands = vec![vec!["TOLLGATE.CHECK", "KEY", key]; 10];
    let replies = server.pipeline(&commands).await;
    let allowed = replies.iter();
    allowed
        .filter(|reply| reply.starts_with("allowed :1"))
        .count()
}

fn asked(key: &str) -> CheckRequest {
    CheckRequest {
        key: key.to_owned().into(),
        ..CheckRequest::default()
    }
}

async fn by_grpc(server: &OwnerServer, key: &str) -> usize {
    let path = "/tollgate.v1.Tollgate/Check";
    let answer: CheckResponse = server.call(path, asked(key)).await;
    usize::from(answer.allowed)
}

async fn by_many(server: &OwnerServer, key: &str) -> usize {
    let request = CheckManyRequest {
        checks: vec![asked(key); 10],
        with_receipts: false,
    };
    let path = "/tollgate.v1.Tollgate/CheckMany";
    let many: CheckManyResponse = server.call(path, request).await;
    many.answers.iter().filter(|answer| answer.allowed).count()
}

async fn by_envoy(server: &OwnerServer, key: &str) -> usize {
    usize::from(envoy_asks(server, "user", key).await)
}

/// Whether a request with one descriptor of one entry may pass.
async fn envoy_asks(server: &OwnerServer, key: &str, value: &str) -> bool {
    let mut descriptor = RateLimitDescriptor::default();
    descriptor.entries.push(tollgate_wire::rls::Entry {
        key: key.into(),
        value: value.into(),
    });
    let request = RateLimitRequest {
        domain: "edge".to_owned(),
        descriptors: vec![descriptor],
        ..RateLimitRequest::default()
    };
    let path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    let answer: RateLimitResponse = server.call(path, request).await;
    answer.overall_code == i32::from(Code::Ok)
}

async fn by_proxy(server: &OwnerServer, key: &str) -> usize {
    let path = format!("/v1/auth?user={key}");
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    let (status, _, _) = crate::owner::kit::raw_http(server.http, &request).await;
    usize::from(status == 200)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_doors_of_all_nodes_together_admit_the_limit_and_not_one_more() {
    let cluster = Arc::new(OwnerCluster::of(ONE).await);
    let mut tasks = Vec::new();
    for key in ["anna", "ben", "carl"] {
        for node in 0..3 {
            for door in 0..14 {
                let cluster = Arc::clone(&cluster);
                tasks.push(tokio::spawn(async move {
                    let server = &cluster.servers[node];
                    let count = match door % 7 {
                        0 => by_http(server, key).await,
                        1 => by_list(server, key).await,
                        2 => by_pipeline(server, key).await,
                        3 => by_grpc(server, key).await,
                        4 => by_many(server, key).await,
                        5 => by_envoy(server, key).await,
                        _ => by_proxy(server, key).await,
                    };
                    (key, count)
                }));
            }
        }
    }
    let mut admitted = std::collections::BTreeMap::new();
    for task in tasks {
        let (key, count) = task.await.unwrap();
        *admitted.entry(key).or_insert(0) += count;
    }
    for (key, admitted) in admitted {
        assert_eq!(admitted, 120, "{key}");
    }
    let forwarded: u64 = cluster
        .servers
        .iter()
        .map(|s| s.counts().forwarded.get())
        .sum();
    assert!(forwarded > 100, "{forwarded}");
}

const RULES: &str = "domain: edge
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 20 } }
  - { key: user, value: bot-*, share_threshold: true, rate_limit: { unit: day, requests_per_unit: 10 } }
  - { key: quiet, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 3 } }
  - { key: shut, rate_limit: { unit: day, requests_per_unit: 0 } }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn imported_rules_are_decided_by_owners_so_that_nodes_together_admit_the_limit() {
    let cluster = OwnerCluster::of(RULES).await;
    let admitted = async |key: &str, values: &[&str]| {
        let mut admitted = 0;
        for turn in 0..45 {
            let value = values[turn % values.len()];
            let server = &cluster.servers[turn % 3];
            admitted += usize::from(envoy_asks(server, key, value).await);
        }
        admitted
    };
    for user in ["anna", "ben", "carl"] {
        assert_eq!(admitted("user", &[user]).await, 20, "{user}");
    }
    assert_eq!(admitted("user", &["bot-1", "bot-2"]).await, 10);
    assert_eq!(admitted("quiet", &["x"]).await, 45);
    assert_eq!(admitted("shut", &["x"]).await, 0);
    let forwarded = cluster.servers.iter().map(|s| s.counts().forwarded.get());
    assert!(forwarded.sum::<u64>() > 60);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_keep_the_order_of_their_commands() {
    let cluster = OwnerCluster::of(ONE).await;
    let server = &cluster.servers[0];
    let names: Vec<String> = (0..40).map(|n| format!("key{n}")).collect();
    let mut commands = Vec::new();
    for name in &names {
        commands.push(vec!["ECHO", name]);
        commands.push(vec!["TOLLGATE.CHECK", "COST", "5", "KEY", name]);
        commands.push(vec!["CL.THROTTLE", name, "9", "10", "60"]);
    }
    commands.push(vec!["QUIT"]);
    let replies = server.pipeline(&commands).await;
    for (at, name) in names.iter().enumerate() {
        let three = &replies[3 * at..3 * at + 3];
        assert_eq!(&three[0], name);
        assert!(three[1].contains("remaining :115"), "{}", three[1]);
        assert_eq!(three[2], ":0 :10 :9 :-1 :6");
    }
    assert_eq!(replies.last().unwrap(), "+OK");
    // Whatever came in one read went in one batch to each owner.
    assert!(
        cluster
            .net
            .requests
            .load(std::sync::atomic::Ordering::Relaxed)
            <= 6
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_of_several_owners_takes_from_all_or_from_none() {
    let cluster = OwnerCluster::of(
        "contracts:
  - {id: a, key: [user], coordination: owner, policies: [{name: a, limit: 100, per: 1d, algorithm: fixed-window}]}
  - {id: b, key: [user], coordination: owner, policies: [{name: b, limit: 10, per: 1d, algorithm: fixed-window}]}
  - {id: c, key: [user], coordination: owner, policies: [{name: c, limit: 200, per: 1d, algorithm: fixed-window}]}
  - {id: d, key: [user], policies: [{name: d, limit: 300, per: 1d, algorithm: fixed-window}]}
",
    )
    .await;
    for key in ["anna", "ben", "carl", "dora", "emil"] {
        let mut admitted = 0;
        for turn in 0..30 {
            admitted += usize::from(cluster.servers[turn % 3].check(key).await);
        }
        assert_eq!(admitted, 10, "{key}");
        for server in &cluster.servers {
            let left = server.remaining(key).await;
            assert_eq!(left[..3], [90, 0, 190], "{key}");
        }
        let here: u64 = {
            let mut left = Vec::new();
            for server in &cluster.servers {
                left.push(300 - server.remaining(key).await[3]);
            }
            left.iter().sum()
        };
        // What counts on each node alone was given back as well.
        assert_eq!(here, 10, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_denied_is_denied_again_without_asking() {
    let cluster = OwnerCluster::of(ONE).await;
    let (_, other) = cluster.sides("hot");
    for _ in 0..13 {
        by_list(other, "hot").await;
    }
    let before = other.counts().forwarded.get();
    let denied = other.counts().denied_here.get();
    for _ in 0..20 {
        assert_eq!(by_pipeline(other, "hot").await, 0);
    }
    assert_eq!(other.counts().forwarded.get(), before);
    assert_eq!(other.counts().denied_here.get(), denied + 200);
    // A refund goes to the owner too.
    let (status, _, _) = other.post("/v1/refund", r#"{"key":"hot","cost":1}"#).await;
    assert_eq!(status, 200);
    assert!(other.check("hot").await);
}
