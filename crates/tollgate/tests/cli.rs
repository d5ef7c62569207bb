//! The command as a process: exit codes, messages, formats, and nothing half-written.

#![allow(clippy::expect_used, reason = "helpers of tests may fail them")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tollgate_parts::refused;

const GOOD: &str =
    "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 1, per: 1s }] }]";

/// A file of this test alone.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
    std::fs::write(&path, content).expect("the folder exists");
    path
}

fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    tollgate(arguments).output().expect("the command runs")
}

fn replay(contracts: &Path, trace: &Path, more: &[&str]) -> Output {
    let mut command = tollgate(&["replay", "--contracts"]);
    command.arg(contracts).arg("--trace").arg(trace).args(more);
    command.output().expect("the command runs")
}

fn check(contracts: &Path) -> Output {
    let output = tollgate(&["config", "check"]).arg(contracts).output();
    output.expect("the command runs")
}

#[test]
fn help_says_what_to_try() {
    let output = tollgate(&["help"]).output().expect("the command runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(
        text.contains("Try:") && text.contains("tollgate replay"),
        "{text}"
    );
}

#[test]
fn the_version_names_commit_and_target() {
    let output = tollgate(&["--version"]).output().expect("the command runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let git = ["rev-parse", "--short=12", "HEAD"];
    let head = Command::new("git").args(git).output().expect("git runs");
    let head = String::from_utf8_lossy(&head.stdout);
    assert!(text.starts_with("tollgate 0."), "{text}");
    assert!(text.contains(head.trim()), "{text} is not of {head}");
    assert!(text.contains(std::env::consts::ARCH), "{text}");
}

#[test]
fn completions_are_accepted_by_bash_and_name_the_commands() {
    let output = tollgate(&["completions", "bash"]).output();
    let output = output.expect("the command runs");
    assert!(output.status.success());
    let script = file("completions.bash", &output.stdout);
    let complete = "source \"$0\"; COMP_WORDS=(tollgate conf); COMP_CWORD=1; _tollgate tollgate conf tollgate; echo ${COMPREPLY[@]}";
    let bash = Command::new("bash")
        .args(["-c", complete])
        .arg(script)
        .output();
    let bash = bash.expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&bash.stdout).trim(), "config");
    refused(
        &run(&["completions", "cmd.exe"]),
        64,
        &["bash", "zsh", "fish"],
    );
}

#[test]
fn each_command_has_a_man_page() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-man");
    let folder = folder.to_str().expect("the path is text");
    assert!(run(&["man", folder]).status.success());
    for page in ["tollgate.1", "tollgate-serve.1", "tollgate-config-check.1"] {
        let text = std::fs::read_to_string(Path::new(folder).join(page));
        let text = text.unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    refused(&run(&["man", "/dev/null/no"]), 74, &["Not a directory"]);
}

#[test]
fn a_bad_contract_file_is_shown_with_its_place_and_ends_with_64() {
    let cases: [(&str, &[u8], &[&str]); 9] = [
        ("zero", b"contracts: [{ id: a, policies: [{ name: p, limit: 0, per: 1s }] }]", &[":1:51", "at least 1"]),
        ("negative", b"contracts: [{ id: a, policies: [{ name: p, limit: -1, per: 1s }] }]", &[":1:", "-1"]),
        ("huge", b"contracts: [{ id: a, policies: [{ name: p, limit: 99999999999999999999, per: 1s }] }]", &[":1:"]),
        ("divide", b"contracts: [{ id: a, policies: [{ name: p, limit: 1, per: 1s, algorithm: sliding-counters, slices: 7 }] }]", &["7 slices"]),
        ("twice", b"contracts: [{ id: a, policies: [{ name: p, limit: 1, per: 1s }, { name: p, limit: 1, per: 1s }] }]", &["`p`"]),
        ("unknown", b"contracts:\n  - id: a\n    policies:\n      - { name: p, limt: 1, per: 1s }\n", &[":4:", "did you mean `limit`"]),
        ("bytes", b"contracts: \xff\xfe", &["UTF-8"]),
        ("empty", b"", &[":1:1"]),
        ("matrix", b"contracts: [{ id: a, coordination: supply, policies: [{ name: p, limit: 1, per: 1s, algorithm: sliding-log }] }]", &["supply", "sliding-log", "lease"]),
    ];
    for (name, text, said) in cases {
        refused(&check(&file(&format!("bad-{name}.yaml"), text)), 64, said);
    }
}

#[test]
fn a_yaml_bomb_is_an_answer() {
    let mut lines = vec!["a: &a [x,x,x,x,x,x,x,x,x,x]".to_owned()];
    for (before, name) in ('a'..='i').zip('b'..='j') {
        let many = vec![format!("*{before}"); 10].join(",");
        lines.push(format!("{name}: &{name} [{many}]"));
    }
    refused(&check(&file("bomb.yaml", lines.join("\n"))), 64, &["error"]);
}

#[test]
fn a_key_of_ten_megabytes_is_refused_in_a_contract_and_counted_in_a_trace() {
    let long = "k".repeat(10 << 20);
    let text = format!(
        "contracts: [{{ id: a, key: [{long}], policies: [{{ name: p, limit: 1, per: 1s }}] }}]"
    );
    refused(&check(&file("long-key.yaml", text)), 64, &["256"]);
    let trace = file("long-key.csv", format!("time,user\n1,{long}\n1,{long}\n"));
    let output = replay(&file("long-ok.yaml", GOOD), &trace, &["--format", "json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(text.contains("\"denied\":{\"requests\":1,"), "{text}");
}

#[test]
fn a_bad_trace_names_its_line_and_ends_with_65() {
    let cases: [(&str, &str, &[&str]); 8] = [
        (
            "cost.csv",
            "time,user,cost\n1,a,9223372036854775808\n",
            &["line 2", "9223372036854775807"],
        ),
        ("time.csv", "time,user\n1,a\n-5,a\n", &["line 3"]),
        ("header.csv", "user\na\n", &["line 1", "time"]),
        ("short.csv", "time,user\n1\n", &["line 2"]),
        (
            "cut.jsonl",
            "{\"time\":1,\"user\":\"a\"}\n{\"time\":2,\"us",
            &["line 2"],
        ),
        ("cut.json", "[{\"time\":1,\"user\":\"a\"}", &["line"]),
        (
            "twice.jsonl",
            "{\"time\":1,\"time\":2}\n",
            &["line 1", "time"],
        ),
        ("log.log", "not a log line at all\n", &["line 1"]),
    ];
    let contracts = file("trace.yaml", GOOD);
    for (name, text, said) in cases {
        refused(&replay(&contracts, &file(name, text), &[]), 65, said);
    }
    let bytes = file("bytes.csv", b"time,user\n1,\xff\xfe\n");
    refused(&replay(&contracts, &bytes, &[]), 65, &["line 2", "UTF-8"]);
}

#[test]
fn lenient_skips_bad_lines_and_says_how_many() {
    let trace = file("lenient.csv", "time,user\n1,a\nx,a\n2,a\n");
    let output = replay(
        &file("lenient.yaml", GOOD),
        &trace,
        &["--lenient", "--format", "json"],
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(
        text.contains("\"requests\":2") && text.contains("\"skipped\":1"),
        "{text}"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 bad record was skipped"));
}

#[test]
fn files_that_are_not_there_end_with_66_and_bad_usage_with_64() {
    let contracts = file("there.yaml", GOOD);
    let missing = Path::new("not-there.csv");
    refused(&replay(&contracts, missing, &[]), 66, &["not-there.csv"]);
    refused(&check(missing), 66, &["not-there.csv"]);
    let output = tollgate(&["replay"]).output().expect("the command runs");
    refused(&output, 64, &["--contracts"]);
    let trace = file("usage.csv", "time,user\n1,a\n");
    refused(
        &replay(&contracts, &trace, &["--format", "xml"]),
        64,
        &["xml"],
    );
}

#[test]
fn a_report_is_written_whole_or_not_at_all() {
    let contracts = file("whole.yaml", GOOD);
    let report = file("whole.html", "the report before");
    let path = report.to_str().expect("a plain path");
    let bad = file("whole-bad.csv", "time,user\n1,<i7>\nx,a\n");
    refused(
        &replay(&contracts, &bad, &["--html", path]),
        65,
        &["line 3"],
    );
    assert_eq!(
        std::fs::read_to_string(&report).expect("it is there"),
        "the report before"
    );
    let good = file("whole-good.csv", "time,user\n1,<i7>\n1,<i7>\n");
    assert!(
        replay(&contracts, &good, &["--html", path])
            .status
            .success()
    );
    let page = std::fs::read_to_string(&report).expect("it is there");
    assert!(
        page.contains("&lt;i7&gt;") && !page.contains("<i7>"),
        "keys are escaped"
    );
    assert!(
        !page.contains("http://") || page.contains("www.w3.org"),
        "nothing is fetched"
    );
    let nowhere = replay(&contracts, &good, &["--html", "/nowhere/at/all.html"]);
    refused(&nowhere, 74, &["/nowhere/at/all.html"]);
}

#[test]
fn standard_input_and_all_formats_agree() {
    let contracts = file("formats.yaml", GOOD);
    let traces = [
        ("f.csv", "time,user,cost\n5,a,1\n6,a,1\n4,b,0\n"),
        (
            "f.jsonl",
            "{\"time\":5,\"user\":\"a\"}\n{\"time\":6,\"user_id\":\"a\",\"cost\":1}\n{\"time\":4,\"user\":\"b\",\"cost\":0}\n",
        ),
        (
            "f.json",
            "[{\"time\":5,\"user\":\"a\"},{\"time\":6,\"user\":\"a\"},\n{\"time\":4,\"user\":\"b\",\"cost\":0}]",
        ),
    ];
    let lines = concat!(
        r#"{"time":5,"key":"user=a","cost":1,"allowed":true,"policy":null,"remaining":0,"retry_after_ns":null,"wait_ns":0}"#,
        "\n",
        r#"{"time":6,"key":"user=a","cost":1,"allowed":false,"policy":"p","remaining":0,"retry_after_ns":999000000,"wait_ns":0}"#,
        "\n",
        r#"{"time":4,"key":"user=b","cost":0,"allowed":true,"policy":null,"remaining":1,"retry_after_ns":null,"wait_ns":0}"#,
        "\n",
    );
    for (name, text) in traces {
        let output = replay(&contracts, &file(name, text), &["--format", "jsonl"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), lines, "{name}");
        let mut command = tollgate(&["replay", "--format", "jsonl", "--trace", "-", "--contracts"]);
        command
            .arg(&contracts)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(text.as_bytes()).expect("it reads");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            lines,
            "{name} by standard input"
        );
    }
}

#[test]
fn an_envoy_descriptor_file_is_replayed_as_it_is() {
    let contracts = file(
        "envoy.yaml",
        "domain: web\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: 2 }\n",
    );
    let trace = file("envoy.csv", "time,user\n0,a\n1,a\n2,a\n3,b\n60000,a\n");
    let output = replay(&contracts, &trace, &["--format", "json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\"denied\":{\"requests\":1,"), "{text}");
    assert!(text.contains("\"allowed\":{\"requests\":4,"), "{text}");
}
