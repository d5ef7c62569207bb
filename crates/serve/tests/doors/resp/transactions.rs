//! `MULTI … EXEC`: as Redis words it, as redis-py asks it, and no more than fits.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tollgate_parts::{Redis, python_programs};

use crate::resp::kit::{RespServer, Wire, command};

/// The version that is installed, so that runs are reproducible.
const REDIS_PY: &str = "5.2.1";

const CONTRACTS: &str = "
contracts:
  - { id: users, key: [user], policies: [{ name: p, limit: 10, per: 1h }] }
";

#[test]
fn redis_py_pipelines_are_answered_and_charge_as_they_say() {
    let server = RespServer::by(CONTRACTS);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = python_programs(folder, "redis", REDIS_PY).join("python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors/resp/transactions.py");
    let mut command = Command::new(python);
    command.arg(script).arg(server.address.port().to_string());
    let out = command.output().unwrap();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
}

#[test]
fn transactions_are_worded_as_redis_words_them() {
    let server = RespServer::open();
    let redis = Redis::start();
    for lines in [
        "MULTI\nPING\nECHO a\nEXEC",
        "MULTI\nEXEC",
        "EXEC\nDISCARD\nUNWATCH",
        "MULTI\nMULTI\nPING\nEXEC",
        "MULTI\nPING\nDISCARD\nEXEC",
        "MULTI\nECHO\nPING\nEXEC\nEXEC",
        "MULTI\nPING\nWATCH a\nEXEC",
        "MULTI\nUNWATCH\nSELECT 0\nEXEC",
        "MULTI\nMULTI now\nPING\nEXEC",
        "MULTI\nPING\nRESET\nEXEC",
        "MULTI\nPING\nQUIT",
        "DISCARD now\nWATCH",
    ] {
        let asked = format!("{}\r\nQUIT\r\n", lines.replace('\n', "\r\n"));
        let said = |mut wire: Wire| {
            wire.send(&asked);
            String::from_utf8(wire.rest()).unwrap()
        };
        let theirs = said(Wire::to(redis.address()));
        assert_eq!(said(server.connect()), theirs, "{lines}");
    }
}

#[test]
fn keys_are_not_watched_and_what_answers_much_is_not_queued() {
    let server = RespServer::guarded("first-token");
    let mut wire = server.connect();
    let noauth = "-NOAUTH Authentication required.\r\n";
    wire.exchange("MULTI\r\nEXEC\r\n", format!("{noauth}{noauth}"));
    wire.exchange("AUTH first-token\r\n", "+OK\r\n");
    let error = "-ERR WATCH is not supported: keys have no values to watch\r\n";
    wire.exchange("WATCH a\r\n", error);
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    for much in ["INFO", "COMMAND", "HELLO 3", "AUTH first-token"] {
        let refused = "-ERR Command not allowed inside a transaction\r\n";
        wire.exchange(
            format!("MULTI\r\n{much}\r\nPING\r\nEXEC\r\n"),
            format!("+OK\r\n{refused}+QUEUED\r\n{aborted}"),
        );
    }
}

#[test]
fn a_transaction_has_bounded_commands_and_bytes_and_time() {
    let server = RespServer::limited(|limits| limits.slow = Duration::from_millis(600));
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    let mut wire = server.connect();
    wire.exchange("MULTI\r\n", "+OK\r\n");
    for _ in 0..100 {
        wire.exchange("PING\r\n".repeat(100), "+QUEUED\r\n".repeat(100));
    }
    let error = "-ERR a transaction must have at most 10000 commands\r\n";
    wire.exchange("PING\r\nPING\r\n", format!("{error}+QUEUED\r\n"));
    wire.exchange("EXEC\r\n", aborted);

    wire.exchange("MULTI\r\n", "+OK\r\n");
    let large = command::<&[u8]>(&[b"ECHO", &vec![b'a'; 60_000]]);
    let mut kept = 0;
    loop {
        wire.send(&large);
        let line = wire.line();
        if line != "+QUEUED" {
            assert_eq!(line, "-ERR no room for the commands of this transaction");
            break;
        }
        kept += large.len();
    }
    assert!((1 << 20..4 << 20).contains(&kept), "{kept}");
    wire.exchange(command(&["EXEC"]), aborted);

    // An abandoned transaction is ended.
    wire.exchange("MULTI\r\nPING\r\n", "+OK\r\n+QUEUED\r\n");
    assert_eq!(wire.rest(), b"");
}
