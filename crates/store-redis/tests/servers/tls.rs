//! TLS with a private authority, and users with few rights: authentication of both sides.

use std::fs;
use std::sync::Arc;

use tollgate_conformance::{SuitePlan, all};
use tollgate_parts::{Papers, Redis as Server, RedisCluster, RedisSetup, Sentinels};
use tollgate_store::StoreRequest;
use tollgate_store_redis::{Config, Servers, Tls};

use crate::cluster::kill_one;
use crate::failover::survives;
use crate::kit::{PATIENCE, USER, as_user, book, check, kind_of, lingering, one, open};
use crate::sentinel;

fn server(papers: &Arc<Papers>) -> Server {
    Server::of(&RedisSetup::default().papers(papers))
}

fn tls(papers: &Papers) -> Tls {
    let (certificate, key) = papers.client();
    Tls {
        authority: Some(fs::read(papers.ca()).unwrap()),
        identity: Some((fs::read(certificate).unwrap(), fs::read(key).unwrap())),
    }
}

fn config(papers: &Papers, server: &Server) -> Config {
    let mut config = lingering(Servers::Single(format!("localhost:{}", server.port)));
    config.tls = Some(tls(papers));
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls_is_asked_and_others_are_not() {
    let papers = Arc::new(Papers::new());
    let server = server(&papers);
    let ask = ask();
    let good = config(&papers, &server);
    let engine = open(&good).await;
    assert_eq!(one(&engine, ask.clone(), PATIENCE).await, Ok(true));

    let mut stranger = good.clone();
    stranger.tls = Some(Tls {
        authority: tls(&Papers::new()).authority,
        ..tls(&papers)
    });
    assert_eq!(kind_of(&stranger, &ask).await, "forbidden");
    let elsewhere = Arc::new(Papers::of(&["elsewhere"]));
    let misnamed = self::server(&elsewhere);
    let misnamed = config(&elsewhere, &misnamed);
    assert_eq!(kind_of(&misnamed, &ask).await, "forbidden");
    let mut nobody = good.clone();
    nobody.tls = Some(Tls {
        identity: None,
        ..tls(&papers)
    });
    // The server closes the connection, before its reason can reach the client.
    assert!(["forbidden", "unreachable"].contains(&kind_of(&nobody, &ask).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_tls_and_users_passes_and_others_are_forbidden() {
    let papers = Arc::new(Papers::of(&["127.0.0.1"]));
    let user = format!("{USER} +cluster|slots");
    let setup = RedisSetup::with(&[&user]).papers(&papers).password("root");
    let mut cluster = RedisCluster::start(&setup);
    let good = closed(&papers, Servers::Cluster(cluster.addresses()));
    let misnamed = cluster
        .nodes
        .iter()
        .map(|node| format!("localhost:{}", node.port));
    let misnamed = Servers::Cluster(misnamed.collect());
    let engine = open(&good).await;
    let result = all(&engine, &SuitePlan::of(1, 4)).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    forbidden(&good, misnamed).await;
    kill_one(&mut cluster, &engine).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_with_tls_and_users_pass_and_others_are_forbidden() {
    let papers = Arc::new(Papers::of(&["127.0.0.1"]));
    let user = format!("{USER} +role");
    let setup = RedisSetup::with(&[&user]).papers(&papers).password("root");
    let scout = "user scout on >eyes +sentinel|masters +role";
    let watching = RedisSetup::with(&[scout]).papers(&papers).password("watch");
    let mut of = Sentinels::start(&setup, &watching);
    let mut good = closed(&papers, sentinel::servers(&of));
    (good.sentinel_user, good.sentinel_password) = (Some("scout".into()), Some("eyes".into()));
    let engine = open(&good).await;
    let result = all(&engine, &SuitePlan::of(1, 4)).await;
    result.unwrap_or_else(|fault| panic!("{fault}"));
    let misnamed = of
        .sentinels
        .iter()
        .map(|node| format!("localhost:{}", node.port));
    let misnamed = Servers::Sentinel {
        sentinels: misnamed.collect(),
        primary: Sentinels::NAME.into(),
    };
    forbidden(&good, misnamed).await;
    let mut stranger = good;
    stranger.sentinel_password = Some("shut".into());
    assert_eq!(kind_of(&stranger, &ask()).await, "forbidden");
    let (primary, replica) = (&mut of.primary, &of.replica);
    survives(&engine, 7, || primary.kill(), || replica.is_primary()).await;
}

fn ask() -> StoreRequest {
    check(&book(&["name: few, limit: 2, per: 1h"]), 1, 1)
}

fn closed(papers: &Papers, servers: Servers) -> Config {
    let mut config = as_user(lingering(servers));
    config.tls = Some(tls(papers));
    config
}

/// A client with another authority, another expected name or another password sends no requests.
async fn forbidden(good: &Config, misnamed: Servers) {
    let mut config = good.clone();
    config.servers = misnamed;
    assert_eq!(kind_of(&config, &ask()).await, "forbidden", "another name");
    let mut config = good.clone();
    config.tls = Some(Tls {
        authority: tls(&Papers::new()).authority,
        ..config.tls.unwrap()
    });
    assert_eq!(
        kind_of(&config, &ask()).await,
        "forbidden",
        "another authority"
    );
    let mut config = good.clone();
    config.password = Some("wrong".into());
    assert_eq!(
        kind_of(&config, &ask()).await,
        "forbidden",
        "another password"
    );
}
