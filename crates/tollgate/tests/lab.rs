//! `tollgate lab` as a process: bad input of every kind, degenerate clusters, formats, pages, and the same twice.

#![allow(clippy::expect_used, reason = "helpers of tests may fail them")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Ten requests of one user in a second.
const SMALL: &str =
    "time,user\n0,a\n100,a\n200,a\n300,a\n400,a\n500,a\n600,a\n700,a\n800,a\n900,a\n";

/// A file of this test alone.
fn file(name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}"));
    std::fs::write(&path, content).expect("the folder exists");
    path
}

fn lab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.arg("lab").args(arguments).stdin(Stdio::null());
    command.output().expect("the command runs")
}

fn trace(path: &Path, more: &[&str]) -> Output {
    let path = path.to_str().expect("a plain path");
    lab(&[&["trace", path], more].concat())
}

#[track_caller]
fn refused(output: &Output, code: i32, said: &[&str]) {
    tollgate_parts::refused(output, code, said);
    assert!(output.stdout.is_empty(), "nothing is printed");
}

/// The one object a command prints.
#[track_caller]
fn object(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[track_caller]
fn rows(output: &Output) -> Vec<Value> {
    let object = object(output);
    object["rows"].as_array().expect("rows").clone()
}

#[test]
fn the_list_names_what_can_be_run() {
    let output = lab(&["list"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for name in ["thesis-a", "figure-5.1 ", "figure-5.15", "faults", "bars"] {
        assert!(text.contains(name), "{name} is not in {text}");
    }
    let list = object(&lab(&["list", "--format", "json"]));
    assert!(list.as_array().is_some_and(|list| list.len() >= 30));
}

#[test]
fn help_has_examples() {
    for command in [
        &["--help"][..],
        &["list", "--help"],
        &["run", "--help"],
        &["trace", "--help"],
    ] {
        let output = lab(command);
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("Examples:") && text.contains("tollgate lab "),
            "{text}"
        );
    }
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest() {
    refused(
        &lab(&["run", "thesis-bb"]),
        64,
        &["thesis-bb", "did you mean thesis-b?"],
    );
    refused(&lab(&["run", "xyzzy"]), 64, &["xyzzy", "lab list"]);
    refused(&lab(&["run"]), 64, &["NAME"]);
    let designs = lab(&["run", "thesis-d", "--designs", "lnks"]);
    refused(&designs, 64, &["--designs", "did you mean links?"]);
    refused(&lab(&["run", "thesis-d", "--seeds", "0"]), 64, &["--seeds"]);
    refused(&lab(&["lst"]), 64, &["list"]);
}

#[test]
fn absurd_options_are_refused_by_name() {
    let small = file("absurd.csv", SMALL);
    let cases: [(&[&str], &str); 22] = [
        (&["--nodes", "0"], "--nodes"),
        (&["--nodes", "70000"], "--nodes"),
        (&["--nodes", "-1"], "--nodes"),
        (&["--capacity", "0"], "--capacity"),
        (&["--capacity", "9999999999999999"], "--capacity"),
        (&["--refill", "0"], "--refill"),
        (&["--refill", "-0.3"], "--refill"),
        (&["--refill", "fast"], "--refill"),
        (&["--refill", "1/0"], "--refill"),
        (&["--gossip", "300"], "--gossip"),
        (&["--gossip", "0s"], "--gossip"),
        (&["--gossip", "40d"], "--gossip"),
        (&["--delay", "-5ms"], "--delay"),
        (&["--delay", "3d"], "--delay"),
        (&["--loss", "101%"], "--loss"),
        (&["--loss", "5"], "5%"),
        (&["--duplication", "x"], "--duplication"),
        (&["--skew", "1y"], "--skew"),
        (&["--window", "0"], "--window"),
        (&["--beta", "1/0"], "--beta"),
        (&["--tree", "1"], "--tree"),
        (&["--seeds", "0"], "--seeds"),
    ];
    for (options, said) in cases {
        refused(&trace(&small, options), 64, &[said]);
    }
}

#[test]
fn a_bad_trace_names_its_line_and_ends_with_65() {
    let cases: [(&str, &str, &[&str]); 7] = [
        ("empty.csv", "", &["lab-empty.csv"]),
        ("bare.csv", "time,user\n", &["no requests"]),
        (
            "order.csv",
            "time,user\n5,a\n4,a\n",
            &["line 3", "before", "--sort"],
        ),
        (
            "node.csv",
            "time,user,node\n1,a,0\n2,a,30\n",
            &["line 3", "30", "0 to 29"],
        ),
        (
            "name.csv",
            "time,user,node\n1,a,left\n",
            &["line 2", "left"],
        ),
        ("cost.csv", "time,user,cost\n1,a,-1\n", &["line 2", "-1"]),
        ("long.csv", "time,user\n0,a\n2678400001,a\n", &["31"]),
    ];
    for (name, text, said) in cases {
        refused(&trace(&file(name, text), &[]), 65, said);
    }
}

#[test]
fn files_that_are_not_there_end_with_66_and_places_that_cannot_be_written_with_74() {
    refused(
        &trace(Path::new("not-there.csv"), &[]),
        66,
        &["not-there.csv"],
    );
    let small = file("out.csv", SMALL);
    refused(
        &trace(&small, &["--html", "/proc/nowhere"]),
        74,
        &["/proc/nowhere"],
    );
    let taken = small.to_str().expect("a plain path");
    refused(&lab(&["run", "thesis-d", "--html", taken]), 74, &[taken]);
}

#[test]
fn degenerate_clusters_give_degenerate_answers() {
    let small = file("small.csv", SMALL);
    let json = [
        "--format",
        "json",
        "--designs",
        "all",
        "--seeds",
        "1",
        "--capacity",
        "4",
        "--refill",
        "1/100",
    ];
    let cases: [&[&str]; 7] = [
        &["--nodes", "1"],
        &["--nodes", "2", "--gossip", "1h"],
        &["--nodes", "30"],
        &["--loss", "100%", "--nodes", "3"],
        &["--duplication", "100%", "--jitter", "50ms", "--nodes", "3"],
        &["--skew", "1h", "--nodes", "3"],
        &["--routing", "sticky"],
    ];
    for more in cases {
        let rows = rows(&trace(&small, &[&json[..], more].concat()));
        assert_eq!(rows.len(), 9, "{more:?}");
        let central = &rows[0];
        assert_eq!(central["design"], "central");
        assert_eq!(
            (central["total"].as_f64(), central["over"].as_f64()),
            (Some(100.0), Some(0.0))
        );
        let is_alone = more.contains(&"sticky") || more == ["--nodes", "1"];
        for row in rows.iter().filter(|_| is_alone) {
            assert_eq!(row["total"].as_f64(), Some(100.0), "{more:?} {row}");
        }
    }
}

#[test]
fn one_request_is_admitted_and_nothing_is_divided_by_zero() {
    let one = file("one.jsonl", "{\"time\":1700000000000,\"user\":\"a\"}\n");
    for row in rows(&trace(
        &one,
        &["--format", "json", "--designs", "all", "--seeds", "2"],
    )) {
        assert_eq!(
            (&row["total"], &row["area"]),
            (&Value::Null, &Value::Null),
            "{row}"
        );
        assert_eq!(
            (row["over"].as_f64(), row["under"].as_f64()),
            (Some(0.0), Some(0.0))
        );
    }
}

#[test]
fn the_formats_of_a_trace_agree_and_nodes_route() {
    let texts = [
        ("f.csv", "time,user,node\n0,a,0\n1,a,1\n2,a,1\n"),
        (
            "f.jsonl",
            "{\"time\":0,\"user\":\"a\",\"node\":\"0\"}\n{\"time\":1,\"user\":\"a\",\"node\":\"1\"}\n{\"time\":2,\"user\":\"a\",\"node\":\"1\"}\n",
        ),
        ("g.csv", "time,user,node\n2,a,1\n0,a,0\n1,a,1\n"),
    ];
    let options = [
        "--nodes",
        "2",
        "--capacity",
        "1",
        "--refill",
        "1/9",
        "--designs",
        "local",
        "--sort",
        "--format",
        "json",
        "--per-seed",
    ];
    let runs: Vec<Value> = texts
        .iter()
        .map(|(name, text)| rows(&trace(&file(name, text), &options))[0]["runs"].clone())
        .collect();
    assert_eq!((&runs[0], &runs[0]), (&runs[1], &runs[2]));
    // Alone, each of the two nodes admits one of the three; the central bucket admits one.
    let first = &runs[0][0];
    assert_eq!(
        (
            first["rejected"].as_u64(),
            first["central_rejected"].as_u64()
        ),
        (Some(1), Some(2))
    );
    assert_eq!(first["hash"].as_str().map(str::len), Some(16));
}

#[test]
fn a_row_has_every_column_and_a_seed_decides_it() {
    let small = file("twice.csv", SMALL);
    let options = [
        "--nodes",
        "4",
        "--capacity",
        "4",
        "--designs",
        "counter,links",
        "--seeds",
        "3",
        "--format",
        "json",
        "--per-seed",
        "--loss",
        "20%",
        "--delay",
        "5ms",
    ];
    let (one, two) = (
        object(&trace(&small, &options)),
        object(&trace(&small, &options)),
    );
    assert_eq!(one, two);
    assert_eq!(one["experiment"], "trace");
    assert_eq!(one["parameters"]["nodes"], 4);
    let row = &one["rows"][0];
    for column in [
        "set",
        "design",
        "seeds",
        "total",
        "total_sd",
        "total_min",
        "area",
        "area_sd",
        "area_min",
        "over",
        "over_sd",
        "over_max",
        "under",
        "under_sd",
        "under_max",
        "false",
        "bytes",
        "messages",
        "state_bytes",
        "local_bytes",
        "busiest_bytes",
        "quiet_s",
    ] {
        assert!(row.get(column).is_some(), "{column} is not in {row}");
    }
    assert_eq!(row["runs"].as_array().map(Vec::len), Some(3));
    let mut single = options.to_vec();
    single[7] = "1";
    single.extend(["--first", "2", "--threads", "1"]);
    let again = object(&trace(&small, &single));
    assert_eq!(again["rows"][0]["runs"][0], row["runs"][1]);
}

#[test]
fn several_experiments_come_as_an_array_a_line_per_row_or_tables() {
    let names = [
        "run",
        "figure-5.15",
        "figure-5.2",
        "--seeds",
        "1",
        "--designs",
        "counter+fixed",
    ];
    let all = object(&lab(&[&names[..], &["--format", "json"]].concat()));
    let experiments: Vec<&Value> = all
        .as_array()
        .expect("an array")
        .iter()
        .map(|one| &one["experiment"])
        .collect();
    assert_eq!(experiments, ["figure-5.15", "figure-5.2"]);
    let output = lab(&[&names[..], &["--format", "jsonl"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 2);
    assert!(
        text.lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
    let output = lab(&names);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("figure-5.15") && text.contains("counter+fixed") && text.contains("area %"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "no colour without a terminal");
}

#[test]
fn pages_are_whole_and_ask_for_nothing() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-pages");
    let path = folder.to_str().expect("a plain path");
    let small = file("<b>.csv", SMALL);
    let output = trace(
        &small,
        &[
            "--html",
            path,
            "--capacity",
            "4",
            "--nodes",
            "3",
            "--seeds",
            "2",
        ],
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for name in ["trace.html", "index.html"] {
        let page = std::fs::read_to_string(folder.join(name)).expect("it is there");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        for part in ["http:", "https:", "<script", "<link", "@import", "<b>.csv"] {
            assert!(!page.contains(part), "{part} in {name}");
        }
    }
    let page = std::fs::read_to_string(folder.join("trace.html")).expect("it is there");
    assert!(page.matches("<svg").count() > 5 && page.contains("The same as a table"));
    let left = std::fs::read_dir(&folder).expect("it is there");
    assert_eq!(left.count(), 2, "nothing is left beside the pages");
}

/// Runs an experiment about faults: what it says last, and that every row has these columns.
fn faults(name: &str, seeds: &str, columns: &str) -> Vec<serde_json::Value> {
    let output = lab(&["run", name, "--seeds", seeds]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("0 over-admitted, 0 invariant violations, ") && last.ends_with(" checks"),
        "{last}"
    );
    let rows = rows(&lab(&["run", name, "--seeds", seeds, "--format", "json"]));
    for row in &rows {
        for column in columns.split(' ') {
            assert!(row.get(column).is_some(), "{column} in {row}");
        }
    }
    rows
}

#[test]
fn faults_of_supply_end_with_what_was_never_seen_and_rows_have_every_column() {
    let columns = "scenario design nodes seeds checks violations over lost_percent rounds messages_per_node_s recovered";
    let rows = faults("supply-faults", "1", columns);
    assert!(
        rows.iter().all(|row| row["rounds"].is_null()),
        "nothing was counted in rounds"
    );
    let ours = |name: &str| rows.iter().any(|row| row["design"] == name);
    assert!(ours("loans") && ours("document as printed"));
}

#[test]
fn faults_of_leases_end_with_what_was_never_seen_and_rows_have_every_column() {
    let columns = "scenario design clients seeds checks violations over admitted messages_per_decision waited back_least expected";
    let rows = faults("lease-faults", "5", columns);
    let ours = |name: &str| rows.iter().any(|row| row["design"] == name);
    assert!(ours("lease") && ours("token") && ours("sync 100 ms, forgets"));
}

#[test]
fn designs_of_gossip_are_not_asked_of_supply() {
    let output = lab(&["run", "supply-flow", "--designs", "links"]);
    refused(&output, 64, &["supply-flow has its own"]);
}

#[test]
fn rows_of_cut_buckets_have_every_column_and_nothing_leaves_too_early() {
    let report = object(&lab(&[
        "run",
        "split-prop1",
        "--seeds",
        "1",
        "--format",
        "json",
    ]));
    let rows = report["rows"].as_array().expect("rows");
    for row in rows {
        for column in [
            "figure",
            "series",
            "x",
            "p50_ms",
            "p95_ms",
            "p99_ms",
            "p_wait",
            "k",
            "control_per_message",
            "violations",
        ] {
            assert!(row.get(column).is_some(), "{column} in {row}");
        }
        assert_eq!(row["violations"], 0, "{row}");
    }
    assert_eq!(rows.len(), 8);
    assert_eq!(report["bars"][0]["met"], true);
}
