//! A Redis that is full, read-only, loading, restarted, or not who it should be.

use std::sync::Arc;

use tollgate_parts::{Papers, Redis, RedisSetup};

use super::{PATIENT, check, do_without, exactly, failures, ready, server, three};
use crate::kit::until;

#[test]
fn a_full_redis_is_done_without_until_there_is_room() {
    let (folder, redis) = (tempfile::tempdir().unwrap(), Redis::start());
    let servers = three(folder.path(), &redis.url(), PATIENT);
    servers.iter().for_each(ready);
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    do_without(&servers, &["full"]);
    redis.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    servers.iter().for_each(ready);
    exactly(&servers.each_ref());
}

#[test]
fn a_replica_is_read_only() {
    let (folder, redis) = (tempfile::tempdir().unwrap(), Redis::start());
    let replica = redis.replica();
    let servers = three(folder.path(), &replica.url(), PATIENT);
    do_without(&servers, &["read-only"]);
    replica.cli(&["REPLICAOF", "NO", "ONE"]);
    servers.iter().for_each(ready);
    exactly(&servers.each_ref());
}

#[test]
fn a_redis_that_shows_the_certificate_of_another_is_not_asked() {
    let folder = tempfile::tempdir().unwrap();
    let with = |papers: Papers| {
        let papers = Arc::new(papers);
        let redis = Redis::of(
            &RedisSetup::default()
                .papers(&papers)
                .line("tls-auth-clients no"),
        );
        let settings = format!("{PATIENT}, ca_file: \"{}\"", papers.ca().display());
        (papers, redis, settings)
    };
    let (_papers, right, settings) = with(Papers::new());
    let trusted = server(folder.path(), &right.url(), &settings, "deny");
    ready(&trusted);
    let (_papers, wrong, settings) = with(Papers::of(&["elsewhere.example"]));
    let servers = three(folder.path(), &wrong.url(), &settings);
    do_without(&servers, &["forbidden"]);
}

#[test]
fn a_redis_that_is_gone_comes_back_loading_and_then_answers() {
    let folder = tempfile::tempdir().unwrap();
    // Two milliseconds for each of two thousand keys, and an ear for others in between.
    let mut redis = Redis::of(&RedisSetup::with(&[
        "rdbcompression no",
        "key-load-delay 2000",
        "loading-process-events-interval-bytes 1024",
    ]));
    let fill = "for i = 1, 2000 do redis.call('SET', i, string.rep('x', 200)) end";
    redis.cli(&["EVAL", fill, "0"]);
    let servers = three(folder.path(), &redis.url(), PATIENT);
    servers.iter().for_each(ready);
    let left = check(&servers[1], "anna").remaining();
    redis.cli(&["SAVE"]);
    redis.kill();
    do_without(&servers, &["unreachable"]);
    redis.restart();
    let loads = || redis.cli(&["INFO", "persistence"]).contains("loading:1");
    assert!(loads(), "it loads for four seconds");
    until("it is told that the store is starting", || {
        let _ = check(&servers[1], "anna");
        failures(&servers[1], "starting") > 0.0 || !loads()
    });
    assert!(failures(&servers[1], "starting") > 0.0);
    servers.iter().for_each(ready);
    until("what was admitted alone is paid", || {
        servers[2].metric("tollgate_store_owing") == 0.0
    });
    assert!(
        check(&servers[1], "anna").remaining() < left,
        "what was saved is counted"
    );
    exactly(&servers.each_ref());
}
