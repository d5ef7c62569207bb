//! The commands that ask a server: `check`, `top` and `bench`, as processes, against a server that runs.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests may fail them"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tollgate_parts::{Daemon, free_port};

/// A server on ports of its own.
struct Server {
    daemon: Daemon,
    http: String,
    resp: String,
    _folder: TempDir,
}

impl Server {
    fn start(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let contracts = folder.path().join("contracts.yaml");
        std::fs::write(&contracts, CONTRACTS).unwrap();
        let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
        command.args(["--resp", "127.0.0.1:0", "--contracts"]);
        command.arg(&contracts).arg("--data-dir");
        command.arg(folder.path().join("data"));
        let daemon = Daemon::spawn(command.envs(variables.iter().copied()));
        Self {
            http: daemon.address("http").to_string(),
            resp: daemon.address("resp").to_string(),
            daemon,
            _folder: folder,
        }
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = tollgate(arguments);
        command.args(["--server", &self.http]);
        command.output().unwrap()
    }
}

fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command
        .args(arguments)
        .env_remove("TOLLGATE_TOKEN")
        .env_remove("TOLLGATE_SERVER");
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const CONTRACTS: &str = "\
contracts:
  - id: users
    match: { plan: free }
    key: [user]
    policies:
      - { name: hourly, limit: 2, per: 1h }
";

#[test]
fn a_check_tells_its_verdict_by_the_exit_code() {
    let server = Server::start(&[]);
    let key = "user=42,plan=free";
    let peek = server.ask(&["check", key, "--cost", "0", "--format", "json"]);
    let decision: Value = serde_json::from_slice(&peek.stdout).unwrap();
    assert_eq!(
        (
            decision["allowed"].as_bool(),
            decision["remaining"].as_u64()
        ),
        (Some(true), Some(2))
    );
    for _ in 0..2 {
        let allowed = server.ask(&["check", key]);
        assert_eq!(allowed.status.code(), Some(0), "{}", text(&allowed));
        assert!(
            text(&allowed).starts_with("░ allowed  user=42,plan=free\n  hourly: "),
            "{}",
            text(&allowed)
        );
    }
    let denied = server.ask(&["check", key]);
    assert_eq!(denied.status.code(), Some(1));
    assert!(
        text(&denied).contains("█ denied  user=42,plan=free, again in "),
        "{}",
        text(&denied)
    );
    assert!(denied.stderr.is_empty());

    let top = server.ask(&["top", "--once"]);
    assert_eq!(top.status.code(), Some(0), "{}", text(&top));
    for part in ["tollgate 127.0.0.1:", "Top keys", "Top denied", "░ allowed"] {
        assert!(text(&top).contains(part), "no {part:?} in {}", text(&top));
    }
    let top = server.ask(&["top", "--format", "json"]);
    let told: Value = serde_json::from_slice(&top.stdout).unwrap();
    assert!(told.get("last_1s").is_some(), "{told}");
}

#[test]
fn decisions_are_watched_as_they_are_made() {
    let server = Server::start(&[]);
    let mut command = tollgate(&["tail", "--verdict", "refused", "--key", "user=42"]);
    command.args(["--contract", "users", "--server", &server.http]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    notes.read_line(&mut note).unwrap();
    assert!(note.starts_with("decisions of this server"), "{note}");
    for _ in 0..3 {
        server.ask(&["check", "user=42,plan=free"]);
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(
        line.contains("█ denied") && line.contains("user=42,plan=free  users/hourly: 0 left"),
        "{line}"
    );
    server.daemon.signal("KILL");
    let gone = child.wait_with_output().unwrap();
    assert_eq!(gone.status.code(), Some(69));
    note.clear();
    notes.read_line(&mut note).unwrap();
    assert!(note.contains("broke off"), "{note}");

    let server = Server::start(&[]);
    for (arguments, said) in [
        (&["--contract", "usrs"][..], "Did you mean `users`?"),
        (&["--verdict", "refuse"], "Did you mean `refused`?"),
        (&["--key", "user"], "no entry of a key"),
    ] {
        let output = server.ask(&[&["tail"], arguments].concat());
        assert_eq!(output.status.code(), Some(64), "{}", text(&output));
        assert!(text(&output).contains(said), "{}", text(&output));
    }
}

#[test]
fn mistakes_have_exit_codes_of_their_own() {
    let server = Server::start(&[("TOLLGATE_TOKEN", "a-long-secret-token")]);
    let code = |output: &Output| output.status.code();
    let unknown = server.ask(&["check", "user=1"]);
    assert_eq!(code(&unknown), Some(77), "{}", text(&unknown));
    assert!(
        text(&unknown).contains("TOLLGATE_TOKEN"),
        "{}",
        text(&unknown)
    );
    let known = server.ask(&["check", "user=1", "--token", "a-long-secret-token"]);
    assert_eq!(code(&known), Some(0), "{}", text(&known));
    let contract = server.ask(&[
        "check",
        "user=1",
        "--contract",
        "nobody",
        "--token",
        "a-long-secret-token",
    ]);
    assert_eq!(code(&contract), Some(64), "{}", text(&contract));

    let free = format!("127.0.0.1:{}", free_port());
    for arguments in [&["check", "x"][..], &["top", "--once"], &["bench", "resp"]] {
        let nobody = tollgate(arguments)
            .args(["--server", &free])
            .output()
            .unwrap();
        assert_eq!(code(&nobody), Some(69), "{}", text(&nobody));
        assert!(
            text(&nobody).contains("nothing answers at"),
            "{}",
            text(&nobody)
        );
    }
    for arguments in [
        &["check", "a=1,b"][..],
        &["check", "x", "--server", "https://127.0.0.1"],
        &["bench", "resp", "--key", "no hole"],
        &["bench", "http", "--key-dist", "zipf:-1"],
        &["bench", "rls", "--rate", "0"],
    ] {
        let usage = tollgate(arguments).output().unwrap();
        assert_eq!(code(&usage), Some(64), "{arguments:?}: {}", text(&usage));
    }
}

#[test]
fn every_protocol_can_be_driven() {
    let server = Server::start(&[]);
    let short = [
        "--duration",
        "0.4",
        "--warm-up",
        "0.1",
        "-c",
        "2",
        "-P",
        "4",
        "--format",
        "json",
    ];
    let resp = ["--server", server.resp.as_str()];
    let http = ["--server", server.http.as_str()];
    for (arguments, address) in [
        (&["resp"][..], resp),
        (&["resp", "--command", "throttle", "--rate", "500"], resp),
        (&["resp", "--command", "check", "--key-dist", "zipf"], resp),
        (&["http"], http),
        (
            &[
                "http",
                "--batch",
                "10",
                "--arrivals",
                "even",
                "--rate",
                "100",
            ],
            http,
        ),
        (&["http", "--call", "throttle"], http),
        (&["rls"], http),
        (&["gubernator", "--batch", "7"], http),
        (&["throttlecrab"], http),
    ] {
        let mut command = tollgate(&["bench"]);
        let output = command
            .args(arguments)
            .args(short)
            .args(address)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            text(&output)
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(
            report["allowed"].as_u64() > Some(10),
            "{arguments:?}: {report}"
        );
        assert_eq!(report["errors"], Value::Array(Vec::new()), "{arguments:?}");
        assert!(report["latency"]["p999"].as_u64() >= report["latency"]["p50"].as_u64());
    }
}

#[test]
fn a_limit_that_is_too_small_is_seen_as_denials() {
    let server = Server::start(&[]);
    let mut command = tollgate(&[
        "bench",
        "http",
        "--duration",
        "0.4",
        "--warm-up",
        "0",
        "-c",
        "2",
    ]);
    command.args([
        "--keys",
        "3",
        "--key",
        "user={},plan=free",
        "--server",
        &server.http,
    ]);
    let output = command.output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("decisions/s") && text.contains("p99.9") && text.contains("█ denied 9"),
        "{text}"
    );
}
