//! Servers that share a Redis: a real one, which is stopped, emptied and denied them.

use tollgate_parts::{Redis, RedisSetup};

use super::{PATIENT, check, do_without, exactly, ready, server, three};
use crate::kit::{Server, until};

/// A Redis with a password, and servers with these wishes on it.
fn start<const N: usize>(folder: &std::path::Path, wishes: [&str; N]) -> (Redis, [Server; N]) {
    let redis = Redis::of(&RedisSetup::default().password("secret"));
    let servers = wishes.map(|wish| server(folder, &redis.url(), PATIENT, wish));
    servers.iter().for_each(ready);
    (redis, servers)
}

#[test]
fn two_servers_on_one_redis_admit_exactly_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (redis, servers) = start(folder.path(), ["deny", "local"]);
    exactly(&servers.each_ref());
    let _ = check(&servers[0], "anna");
    for server in &servers {
        assert!(server.metric("tollgate_store_asked_total") > 1.0);
        until("the clocks were compared", || {
            server.metric("tollgate_store_clock_error_seconds") > 0.0
        });
        assert!(server.metric("tollgate_store_clock_offset_seconds").abs() < 1.0);
    }
    assert!(
        !redis.cli(&["KEYS", "*"]).contains("anna"),
        "keys are not told"
    );
}

#[test]
fn a_redis_that_loses_its_scripts_or_everything_is_asked_on() {
    let folder = tempfile::tempdir().unwrap();
    let (redis, [server]) = start(folder.path(), ["deny"]);
    assert_eq!(server.take("anna"), 99);
    redis.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(server.take("anna"), 98);
    redis.cli(&["FLUSHALL"]);
    assert_eq!(
        server.take("anna"),
        99,
        "whoever empties the store empties the counts"
    );
}

#[test]
fn a_stopped_redis_is_done_without_and_told_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let (redis, servers) = start(folder.path(), ["local", "deny"]);
    let [local, deny] = &servers;
    assert_eq!(local.take("anna"), 99);
    redis.pause();
    for _ in 0..20 {
        let answer = check(local, "anna");
        assert!(answer.passes() && answer.instead() == Some("local"));
        let answer = check(deny, "anna");
        assert!(!answer.passes() && answer.instead() == Some("deny"));
    }
    assert!(
        local.metric("tollgate_store_open") > 0.0,
        "it is not asked any more"
    );
    redis.resume();
    ready(local);
    ready(deny);
    until("what it admitted alone is paid", || {
        local.metric("tollgate_store_owing") == 0.0
    });
    let left = deny.take("anna");
    // The first asks of the silence may have been done when Redis went on, and are counted twice then.
    assert!(
        (60..=78).contains(&left),
        "{left} left of 100 after 1 + 20 + 1"
    );
}

#[test]
fn a_redis_that_does_not_let_us_in_is_a_failure_with_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let redis = Redis::of(&RedisSetup::default().password("secret"));
    let servers = three(folder.path(), &redis.url_as(":wrong"), PATIENT);
    do_without(&servers, &["forbidden"]);
    for server in servers {
        server.signal("TERM");
        let (code, errors) = server.end();
        assert_eq!(code, Some(0));
        assert!(
            !errors.contains("wrong@") && !errors.contains(":wrong"),
            "{errors}"
        );
    }
}
