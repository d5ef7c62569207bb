//! Every server starts, with and without TLS and passwords, and can be controlled.

use std::process::Command;
use std::sync::Arc;

use tollgate_parts::{
    Mosquitto, Papers, Postgres, Redis, RedisCluster, RedisSetup, Sentinels, until,
};

fn closed() -> RedisSetup {
    let papers = Arc::new(Papers::new());
    RedisSetup::default().papers(&papers).password("root")
}

#[test]
fn a_redis_is_held_and_killed_and_comes_back_empty() {
    let mut redis = Redis::of(&closed());
    assert_eq!(redis.cli(&["SET", "a", "1"]), "OK");
    redis.pause();
    redis.resume();
    assert_eq!(redis.cli(&["GET", "a"]), "1");
    redis.kill();
    assert!(redis.try_cli(&["PING"]).is_err());
    redis.restart();
    assert_eq!(redis.cli(&["DBSIZE"]), "0");
    assert!(redis.try_cli(&["NONSENSE"]).is_err());
}

#[test]
fn a_closed_cluster_has_an_owner_for_every_key() {
    let cluster = RedisCluster::start(&closed());
    let owner = cluster.owner("a");
    assert_eq!(cluster.nodes[owner].cli(&["SET", "a", "1"]), "OK");
    assert!(cluster.nodes[owner].is_followed(1));
    assert!(!cluster.nodes[owner + 3].is_primary());
}

#[test]
fn closed_sentinels_replace_their_primary() {
    let setup = closed();
    let mut servers = Sentinels::start(&setup, &setup.clone().password("watch"));
    servers.primary.kill();
    until("the replica is the primary", || {
        servers.replica.is_primary()
    });
}

#[test]
fn a_postgres_is_stopped_and_keeps_what_it_has() {
    let mut server = Postgres::with_tls(&Papers::new(), "scram-sha-256");
    server.sql("CREATE TABLE one AS SELECT 1");
    server.pause();
    server.resume();
    server.stop();
    server.run(&["work_mem=1MB"]);
    assert_eq!(server.sql("SELECT * FROM one"), "1");
    assert_eq!(server.sql("SHOW work_mem"), "1MB");
}

#[test]
fn a_mosquitto_keeps_what_it_must_when_it_is_stopped() {
    let mut broker = Mosquitto::start();
    let port = broker.port.to_string();
    let tool = |name: &str, more: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["30", name, "-p", &port, "-q", "1", "-t", "kept"]);
        let done = command.args(more).output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    tool("mosquitto_pub", &["-r", "-m", "words"]);
    broker.restart();
    assert_eq!(tool("mosquitto_sub", &["-C", "1"]), "words\n");
}
