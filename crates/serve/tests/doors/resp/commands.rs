//! Every command, byte for byte.

use crate::resp::kit::{RespServer, command};

#[test]
fn throttle_commands_answer_in_their_own_order() {
    let server = RespServer::open();
    let mut wire = server.connect();
    wire.exchange(
        command(&["CL.THROTTLE", "user:1", "15", "30", "60", "1"]),
        "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n",
    );
    // The same key, whose bucket holds one less by the other command: two of fifteen are gone.
    wire.exchange(
        command(&["THROTTLE", "user:1", "15", "30", "60"]),
        "*5\r\n:1\r\n:15\r\n:13\r\n:4\r\n:0\r\n",
    );
    wire.exchange(
        command(&["cl.throttle", "user:1", "15", "30", "60", "0"]),
        "*5\r\n:0\r\n:16\r\n:14\r\n:-1\r\n:4\r\n",
    );
}

#[test]
fn a_limited_request_is_told_when_to_retry() {
    let server = RespServer::open();
    let mut wire = server.connect();
    for left in [2, 1, 0] {
        wire.exchange(
            command(&["CL.THROTTLE", "k", "2", "1", "3600"]),
            format!(
                "*5\r\n:0\r\n:3\r\n:{left}\r\n:-1\r\n:{}\r\n",
                (3 - left) * 3_600
            ),
        );
    }
    wire.exchange(
        command(&["CL.THROTTLE", "k", "2", "1", "3600"]),
        "*5\r\n:1\r\n:3\r\n:0\r\n:3600\r\n:10800\r\n",
    );
    wire.exchange(
        command(&["THROTTLE", "k", "3", "1", "3600"]),
        "*5\r\n:0\r\n:3\r\n:0\r\n:10800\r\n:3600\r\n",
    );
    // A peek is never limited.
    wire.exchange(
        command(&["CL.THROTTLE", "k", "2", "1", "3600", "0"]),
        "*5\r\n:0\r\n:3\r\n:0\r\n:-1\r\n:10800\r\n",
    );
    // More than the bucket holds never passes.
    wire.exchange(
        command(&["CL.THROTTLE", "other", "2", "1", "3600", "4"]),
        "*5\r\n:1\r\n:3\r\n:3\r\n:-1\r\n:0\r\n",
    );
    wire.exchange(
        command(&["THROTTLE", "other", "2", "1", "3600", "4"]),
        "*5\r\n:0\r\n:2\r\n:2\r\n:0\r\n:2147483647\r\n",
    );
}

#[test]
fn numbers_that_make_no_sense_are_errors_and_charge_nothing() {
    let server = RespServer::open();
    let mut wire = server.connect();
    let most = i64::MAX.to_string();
    let table: [(&[&str], &str); 10] = [
        (
            &["1", "1"],
            "wrong number of arguments for 'cl.throttle' command",
        ),
        (
            &["1", "1", "1", "1", "1"],
            "wrong number of arguments for 'cl.throttle' command",
        ),
        (&["x", "1", "1"], "value is not an integer or out of range"),
        (&["-1", "1", "1"], "max_burst must be at least 0"),
        (&["1", "0", "1"], "count must be at least 1"),
        (&["1", "1", "0"], "period must be at least 1"),
        (&["1", "1", "1", "-1"], "quantity must be at least 0"),
        (
            &["1", "1", "3155760001"],
            "a period of 3155760001000000000 ns is above the longest, 3155760000000000000 ns (100 years)",
        ),
        (
            &["9007199254740992", "1", "1"],
            "9007199254740993 is above the largest limit, 9007199254740992 (2^53)",
        ),
        (
            &["1", &most, "1"],
            "9223372036854775807 is above the largest limit, 9007199254740992 (2^53)",
        ),
    ];
    for (numbers, text) in table {
        let words: Vec<_> = ["CL.THROTTLE", "k"]
            .iter()
            .chain(numbers)
            .copied()
            .collect();
        wire.exchange(command(&words), format!("-ERR {text}\r\n"));
    }
    // What is odd and no error: the largest of everything.
    wire.exchange(
        command(&[
            "CL.THROTTLE",
            "k",
            "9007199254740991",
            "9007199254740992",
            "3155760000",
            &most,
        ]),
        "*5\r\n:1\r\n:9007199254740992\r\n:9007199254740992\r\n:-1\r\n:0\r\n",
    );
}

#[test]
fn a_key_that_is_too_long_is_refused_and_the_connection_stays() {
    let server = RespServer::limited(|limits| limits.key_bytes_max = 100);
    let mut wire = server.connect();
    let (fits, long) = ("k".repeat(100), "k".repeat(101));
    wire.exchange(
        command(&["CL.THROTTLE", &fits, "0", "1", "60"]),
        "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n",
    );
    let refusal = "-ERR a key must have at most 100 bytes\r\n";
    wire.exchange(command(&["CL.THROTTLE", &long, "0", "1", "60"]), refusal);
    wire.exchange(command(&["TOLLGATE.CHECK", "KEY", &long]), refusal);
    wire.exchange(command(&["TOLLGATE.CHECK", "KEY", "name", &fits]), refusal);
    wire.lives();
}

#[test]
fn keys_are_any_bytes() {
    let server = RespServer::open();
    let mut wire = server.connect();
    for key in [&b""[..], b"\0", b"\r\n", b"\xff\xfe", b"*5\r\n"] {
        wire.exchange(
            command::<&[u8]>(&[b"CL.THROTTLE", key, b"0", b"1", b"60"]),
            "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n",
        );
    }
}

const CONTRACTS: &str = "\
contracts:
  - id: api
    key: [user]
    policies:
      - name: minute
        limit: 2
        per: 1m
  - id: slow
    key: [queue]
    policies:
      - name: shaped
        limit: 1
        per: 1h
        on_limit: delay
";

#[test]
fn a_check_answers_by_contract() {
    let server = RespServer::by(CONTRACTS);
    let mut wire = server.connect();
    wire.send(command(&["HELLO", "3"]));
    wire.expect("%7\r\n$6\r\nserver\r\n$8\r\ntollgate\r\n$7\r\nversion\r\n");
    while wire.line() != "*0" {}
    let ask = command(&["TOLLGATE.CHECK", "KEY", "user", "42"]);
    wire.exchange(
        &ask,
        "%11\r\n$7\r\nallowed\r\n:1\r\n$7\r\nmatched\r\n:1\r\n$6\r\npolicy\r\n$6\r\nminute\r\n$5\r\nlimit\r\n:2\r\n\
         $8\r\ncapacity\r\n:2\r\n$9\r\nremaining\r\n:1\r\n$4\r\ndebt\r\n:0\r\n$14\r\nretry_after_ms\r\n_\r\n$14\r\nreset_after_ms\r\n:30000\r\n\
         $7\r\nwait_ms\r\n:0\r\n$7\r\nreceipt\r\n",
    );
}

#[test]
fn a_delayed_check_tells_the_wait_and_does_not_sleep() {
    let server = RespServer::by(CONTRACTS);
    let mut connection = client(&server);
    let mut check = |words: &[&str]| -> std::collections::BTreeMap<String, redis::Value> {
        let mut command = redis::cmd("TOLLGATE.CHECK");
        command.arg(words);
        command.query(&mut connection).unwrap()
    };
    let first = check(&["KEY", "queue", "a"]);
    assert_eq!(first["allowed"], redis::Value::Int(1));
    assert_eq!(first["wait_ms"], redis::Value::Int(0));
    let second = check(&["KEY", "queue", "a"]);
    assert_eq!(second["allowed"], redis::Value::Int(1));
    let redis::Value::Int(wait) = second["wait_ms"] else {
        panic!("{second:?}")
    };
    assert!((3_590_000..=3_600_000).contains(&wait), "{wait}");
    let peek = check(&["COST", "0", "KEY", "user", "7"]);
    assert_eq!(peek["remaining"], redis::Value::Int(2));
    let none = check(&["KEY", "color", "blue"]);
    assert_eq!(none["allowed"], redis::Value::Int(1));
    assert_eq!(none["policy"], redis::Value::Nil);
}

#[test]
fn a_check_with_an_id_is_charged_once() {
    let server = RespServer::by(CONTRACTS);
    let mut connection = client(&server);
    for _ in 0..5 {
        let reply: std::collections::BTreeMap<String, redis::Value> = redis::cmd("TOLLGATE.CHECK")
            .arg(&["ID", "op-1", "KEY", "user", "1"])
            .query(&mut connection)
            .unwrap();
        assert_eq!(reply["remaining"], redis::Value::Int(1));
    }
}

fn client(server: &RespServer) -> redis::Connection {
    let url = format!("redis://{}/", server.address);
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

#[test]
fn what_contracts_see_must_be_text() {
    let server = RespServer::by(CONTRACTS);
    let mut wire = server.connect();
    let refusal = "-ERR names, values and ids must be UTF-8\r\n";
    wire.exchange(
        command::<&[u8]>(&[b"TOLLGATE.CHECK", b"KEY", b"user", b"\xff"]),
        refusal,
    );
    wire.exchange(
        command::<&[u8]>(&[b"TOLLGATE.CHECK", b"ID", b"\xff", b"KEY", b"user", b"1"]),
        refusal,
    );
    wire.exchange(
        command(&["TOLLGATE.CHECK", "ID", "", "KEY", "user", "1"]),
        "-ERR an id must have 1 to 128 bytes\r\n",
    );
    wire.exchange(
        command(&["TOLLGATE.CHECK", "user", "1"]),
        "-ERR syntax error\r\n",
    );
}

#[test]
fn commands_about_the_connection_answer_as_redis_does() {
    let server = RespServer::open();
    let mut wire = server.connect();
    let table: [(&[&str], &str); 16] = [
        (&["PING"], "+PONG\r\n"),
        (&["ping", "hi there"], "$8\r\nhi there\r\n"),
        (&["ECHO", ""], "$0\r\n\r\n"),
        (&["SELECT", "0"], "+OK\r\n"),
        (&["SELECT", "1"], "-ERR DB index is out of range\r\n"),
        (&["CLIENT", "GETNAME"], "$-1\r\n"),
        (&["CLIENT", "SETNAME", "worker-1"], "+OK\r\n"),
        (&["CLIENT", "GETNAME"], "$8\r\nworker-1\r\n"),
        (&["CLIENT", "SETINFO", "LIB-NAME", "x"], "+OK\r\n"),
        (&["CLIENT", "NO-EVICT", "on"], "+OK\r\n"),
        (&["CLIENT", "ID"], ":1\r\n"),
        (&["COMMAND", "COUNT"], ":24\r\n"),
        (&["GET", "x"], "-ERR unknown command 'GET'\r\n"),
        (
            &["CONFIG", "GET", "save"],
            "-ERR unknown command 'CONFIG'\r\n",
        ),
        (&["RESET"], "+RESET\r\n"),
        (&["CLIENT", "GETNAME"], "$-1\r\n"),
    ];
    for (words, expected) in table {
        wire.exchange(command(words), expected);
    }
    wire.exchange(
        command(&["HELLO", "4"]),
        "-NOPROTO unsupported protocol version\r\n",
    );
    let long = "n".repeat(129);
    let refusal = "-ERR a name must have at most 128 bytes\r\n";
    wire.exchange(command(&["CLIENT", "SETNAME", &long]), refusal);
    wire.exchange(command(&["HELLO", "3", "SETNAME", &long]), refusal);
    wire.exchange(
        command(&["AUTH", "x"]),
        "-ERR AUTH <password> called without any password configured for the default user\r\n",
    );
    wire.exchange(command(&["AUTH", "default", "x"]), "+OK\r\n");
    wire.send(command(&["QUIT"]));
    assert_eq!(wire.rest(), b"+OK\r\n");
}

#[test]
fn info_has_sections_that_can_be_asked_for() {
    let server = RespServer::open();
    let mut connection = client(&server);
    let _: Vec<i64> = redis::cmd("CL.THROTTLE")
        .arg(&["k", "15", "30", "60"])
        .query(&mut connection)
        .unwrap();
    let all: String = redis::cmd("INFO").query(&mut connection).unwrap();
    for section in ["# Server", "# Clients", "# Memory", "# Stats", "# Keyspace"] {
        assert!(all.contains(section), "{all}");
    }
    let keys: String = redis::cmd("INFO")
        .arg("keyspace")
        .query(&mut connection)
        .unwrap();
    assert!(keys.starts_with("# Keyspace\r\n"), "{keys}");
    assert!(keys.contains("throttle_keys:1\r\n"), "{keys}");
    assert!(!keys.contains("# Server"), "{keys}");
}
