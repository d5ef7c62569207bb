//! Servers that share a Redis: a real one, which is stopped, emptied and denied them.

use std::thread;

use tollgate_parts::{Redis, Setup};

use crate::kit::{Server, file, tollgate, until};

/// A Redis with a password.
fn redis() -> Redis {
    Redis::of(&Setup::default().password("secret"))
}

/// A server on a store, whose answers may take a while on a busy machine.
fn server(folder: &std::path::Path, url: &str, on_failure: &str) -> Server {
    let text = format!(
        "store: {{ url: \"{url}\", deadline: 500ms }}
contracts:
  - id: users
    key: [user]
    coordination: store
    policies: [{{ name: monthly, limit: 100, per: 30d, on_failure: {on_failure} }}]
"
    );
    let config = file(folder, &format!("{on_failure}.yaml"), &text);
    let mut command = tollgate(&["serve", "--format", "json"]);
    command.args(["--http", "127.0.0.1:0", "--resp", "127.0.0.1:0"]);
    Server::spawn(command.arg("--config").arg(config))
}

pub(crate) fn check(server: &Server, user: &str) -> String {
    let body = format!("{{\"key\":{{\"user\":\"{user}\"}}}}");
    server.request(&format!(
        "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    ))
}

pub(crate) fn passes(answer: &str) -> bool {
    answer.contains("\"allowed\":true") || answer.contains("\"allowed\": true")
}

pub(crate) fn fell_back(answer: &str) -> bool {
    answer.to_lowercase().contains("tollgate-fallback:")
}

/// Waits until the store decides.
pub(crate) fn ready(server: &Server) {
    until("the store answers", || !fell_back(&check(server, "probe")));
}

#[test]
fn two_servers_on_one_redis_admit_exactly_the_limit() {
    let (folder, redis) = (tempfile::tempdir().unwrap(), redis());
    let servers = ["deny", "local"].map(|wish| server(folder.path(), &redis.url(), wish));
    servers.iter().for_each(ready);
    let passed: usize = thread::scope(|scope| {
        let loads = (0..8).map(|load| {
            let server = &servers[load % 2];
            scope.spawn(move || (0..40).filter(|_| passes(&check(server, "anna"))).count())
        });
        let loads: Vec<_> = loads.collect();
        loads.into_iter().map(|load| load.join().unwrap()).sum()
    });
    assert_eq!(passed, 100);
    for server in &servers {
        assert!(server.metric("tollgate_store_fallback_total") < 1.0);
        assert!(server.metric("tollgate_store_asked_total") > 1.0);
    }
    assert!(
        !redis.cli(&["KEYS", "*"]).contains("anna"),
        "keys are not told"
    );
}

#[test]
fn a_redis_that_loses_its_scripts_or_everything_is_asked_on() {
    let (folder, redis) = (tempfile::tempdir().unwrap(), redis());
    let server = server(folder.path(), &redis.url(), "deny");
    ready(&server);
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
    let (folder, redis) = (tempfile::tempdir().unwrap(), redis());
    let servers = ["local", "deny"].map(|wish| server(folder.path(), &redis.url(), wish));
    servers.iter().for_each(ready);
    let [local, deny] = &servers;
    assert_eq!(local.take("anna"), 99);
    redis.pause();
    for _ in 0..20 {
        let answer = check(local, "anna");
        assert!(passes(&answer) && fell_back(&answer), "{answer}");
        let answer = check(deny, "anna");
        assert!(!passes(&answer) && fell_back(&answer), "{answer}");
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
    let (folder, redis) = (tempfile::tempdir().unwrap(), redis());
    let server = server(folder.path(), &redis.url_as(":wrong"), "deny");
    let answer = check(&server, "anna");
    assert!(fell_back(&answer) && !passes(&answer), "{answer}");
    until("it is counted as forbidden", || {
        let _ = check(&server, "anna");
        server.metric("tollgate_store_failures_total{kind=\"forbidden\"}") > 0.0
    });
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(0));
    assert!(
        !errors.contains("wrong@") && !errors.contains(":wrong"),
        "{errors}"
    );
}
