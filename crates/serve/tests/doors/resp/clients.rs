//! Stock clients: the `redis` crate and redis-cli, which know nothing of this server.

use std::process::Command;

use redis::{Value, cmd};

use crate::resp::kit::RespServer;

#[test]
fn redis_cli_prints_what_redis_cell_documents() {
    let server = RespServer::open();
    let text = cli(&server, &["CL.THROTTLE", "user:1", "15", "30", "60", "1"]);
    assert_eq!(text, "0\n16\n15\n-1\n2\n");
    let text = cli(&server, &["THROTTLE", "user:2", "15", "30", "60", "1"]);
    assert_eq!(text, "1\n15\n14\n2\n0\n");
    let text = cli(
        &server,
        &["-3", "CL.THROTTLE", "user:1", "15", "30", "60", "1"],
    );
    assert_eq!(text, "0\n16\n14\n-1\n4\n");
}

/// What redis-cli prints.
#[track_caller]
fn cli(server: &RespServer, words: &[&str]) -> String {
    let port = server.address.port().to_string();
    let output = Command::new("redis-cli")
        .args(["-p", &port])
        .args(words)
        .output();
    // Of Debian's redis-tools.
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_redis_crate_speaks_both_versions() {
    let server = RespServer::open();
    for query in ["", "?protocol=resp3"] {
        let url = format!("redis://{}/{query}", server.address);
        let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
        let pong: String = cmd("PING").query(&mut connection).unwrap();
        assert_eq!(pong, "PONG");
        let key = format!("key{query}");
        let mut pipe = redis::pipe();
        for _ in 0..20 {
            pipe.cmd("CL.THROTTLE").arg(&[&key, "15", "1", "3600"]);
        }
        let replies: Vec<[i64; 5]> = pipe.query(&mut connection).unwrap();
        let limited = |reply: &&[i64; 5]| reply[0] == 1;
        assert_eq!(replies.iter().filter(limited).count(), 4);
        let refused: redis::RedisResult<Value> = cmd("GET").arg("x").query(&mut connection);
        assert_eq!(
            refused.unwrap_err().kind(),
            redis::ErrorKind::Server(redis::ServerErrorKind::ResponseError)
        );
    }
}

#[test]
fn the_redis_crate_authenticates_by_url() {
    let server = RespServer::guarded("first-token");
    let url = |secret: &str, query: &str| format!("redis://:{secret}@{}/{query}", server.address);
    for query in ["", "?protocol=resp3"] {
        let client = redis::Client::open(url("first-token", query)).unwrap();
        let mut connection = client.get_connection().unwrap();
        let reply: Vec<i64> = cmd("CL.THROTTLE")
            .arg(&["k", "0", "1", "1", "0"])
            .query(&mut connection)
            .unwrap();
        assert_eq!(reply, [0, 1, 1, -1, 0]);
        let client = redis::Client::open(url("wrong", query)).unwrap();
        assert!(client.get_connection().is_err());
    }
    let client = redis::Client::open(format!("redis://{}/", server.address)).unwrap();
    let refused: redis::RedisResult<Value> = client
        .get_connection()
        .and_then(|mut connection| cmd("PING").query(&mut connection));
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("Authentication required")
    );
}

#[test]
fn many_clients_at_once_share_one_count() {
    let server = RespServer::open();
    let allowed: usize = std::thread::scope(|scope| {
        let ask = || {
            let url = format!("redis://{}/", server.address);
            let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
            let mut pipe = redis::pipe();
            for _ in 0..500 {
                pipe.cmd("CL.THROTTLE")
                    .arg(&["shared", "999", "1", "86400"]);
            }
            let replies: Vec<[i64; 5]> = pipe.query(&mut connection).unwrap();
            replies.iter().filter(|reply| reply[0] == 0).count()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(allowed, 1_000);
}
