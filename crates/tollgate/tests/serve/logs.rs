//! What a server's log says of its whole life, and that people can read it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::kit::{CONTRACTS, Server, file, serve, tollgate, until};

/// The first text of a line that is as Rust shows values, where there is one.
fn debug_text(line: &str) -> Option<&str> {
    let bytes = line.as_bytes();
    let opens = |at: usize| {
        let before = line[..at].trim_end();
        let name = before.len()
            - before
                .trim_end_matches(|c: char| c.is_ascii_alphanumeric())
                .len();
        let name = &before[before.len() - name..];
        let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase());
        let is_tight = bytes[at] == b'(' && before.len() == at;
        let is_struct = bytes[at] == b'{' && line[at..].contains(": ");
        is_type && (is_tight || is_struct)
    };
    let at = (0..bytes.len()).find(|at| matches!(bytes[*at], b'(' | b'{') && opens(*at));
    let at = at.or_else(|| line.find("None").filter(|_| line.contains("=None")));
    at.map(|at| &line[at.saturating_sub(20)..])
}

#[test]
fn debug_text_is_known_when_it_is_seen() {
    for bad in [
        "revision=Some(3)",
        "loaded=Loaded { cells: 3 }",
        "why=Io(Os { code: 2 })",
        "by=None",
    ] {
        assert!(debug_text(bad).is_some(), "{bad}");
    }
    for good in [
        "INFO Tollgate starts version=\"0.1.0\" commit=\"abc, x86_64\"",
        "cannot listen (HTTP) at 127.0.0.1:1",
        "{\"level\":\"INFO\",\"message\":\"ready\"}",
        "write for example { rate: 3 }",
    ] {
        assert_eq!(debug_text(good), None, "{good}");
    }
}

fn commands(folder: &Path, flags: &[&str]) -> Command {
    let mut command = serve();
    command.arg("--data-dir").arg(folder).args(flags);
    command.env("TOLLGATE_SHUTDOWN_DELAY", "100ms");
    command.env("TOLLGATE_ADMIN_TOKEN", "a-token-for-the-tests");
    command
}

/// A server that is set up, reloaded well and badly, and stopped: what it logged.
fn life(folder: &Path, format: &str) -> String {
    let path = file(folder, "mine.yaml", CONTRACTS);
    let flags = [
        "--contracts",
        path.to_str().unwrap(),
        "--log-format",
        format,
    ];
    let flags = [&flags[..], &["--log", "info,tollgate_serve=debug"]].concat();
    let server = Server::spawn(&mut commands(folder, &flags));
    server.take("a");
    let text = CONTRACTS.replace("100", "1000");
    let others = "  - { id: others, key: [nobody], policies: [{ name: a, limit: 7, per: 1h }] }\n";
    std::fs::write(&path, text + others).unwrap();
    server.signal("HUP");
    until("the new limit", || server.take("b") > 100);
    std::fs::write(&path, "contracts: [{ id: Some }]\n").unwrap();
    server.signal("HUP");
    until("the failure", || {
        server.get("/readyz").body.contains("reload failed")
    });
    server.signal("TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    log
}

/// The lines of a log in JSON.
fn lines(log: &str) -> Vec<Value> {
    let lines = log.lines();
    let read = lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
    read.collect()
}

#[track_caller]
fn said<'l>(lines: &'l [Value], part: &str) -> &'l Value {
    let is_it = |line: &&Value| {
        line["message"]
            .as_str()
            .is_some_and(|text| text.contains(part))
    };
    let found = lines.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no line says {part:?}: {lines:#?}"))
}

#[test]
fn the_log_tells_a_life_from_start_to_end_without_debug_text() {
    let folder = tempfile::tempdir().unwrap();
    let log = life(folder.path(), "json");
    // The first life left counts and a folder behind.
    let text = life(folder.path(), "text");
    for line in log.lines().chain(text.lines()) {
        assert_eq!(debug_text(line), None, "{line}");
    }
    let lines = lines(&log);
    let start = said(&lines, "Tollgate starts");
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    let commit = start["commit"].as_str().unwrap();
    assert!(commit.contains(std::env::consts::ARCH), "{commit}");
    let settings = start["settings"].as_str().unwrap();
    for part in [
        "http=127.0.0.1:0",
        "contracts=",
        "mine.yaml",
        "limits.shutdown_delay=0.1s",
    ] {
        assert!(settings.contains(part), "no {part} in {settings}");
    }
    assert!(
        !settings.contains("limits.drain"),
        "as it comes: {settings}"
    );
    assert_eq!(said(&lines, "ready")["contracts"], 1);
    let reload = said(&lines, "other contracts are in force");
    assert_eq!(reload["added"], "others");
    assert_eq!(reload["changed"], "users");
    assert_eq!(reload.get("removed"), None);
    // The file is looked at as well.
    let by = reload["by"].as_str().unwrap();
    assert!(["SIGHUP", "a file that changed"].contains(&by), "{by}");
    assert_eq!(said(&lines, "cannot be used")["level"], "ERROR");
    let ends = [
        "told to stop",
        "stopping",
        "ended; durable counts are written",
    ];
    let places = ends.map(|end| lines.iter().position(|line| line == said(&lines, end)));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_log_names_who_changed_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::spawn(&mut commands(folder.path(), &["--log-format", "json"]));
    let more = "{ id: more, policies: [{ name: a, limit: 7, per: 1h }] }";
    let path = file(folder.path(), "more.yaml", more);
    let put = tollgate(&["contract", "put", path.to_str().unwrap(), "--server"])
        .arg(format!("http://{}", server.http))
        .env("TOLLGATE_ADMIN_TOKEN", "a-token-for-the-tests")
        .output()
        .unwrap();
    assert!(put.status.success(), "{put:?}");
    // It was answered once it was in force here.
    server.signal("TERM");
    let lines = lines(&server.end().1);
    let reload = said(&lines, "other contracts are in force");
    assert_eq!(reload["added"], "more");
    assert!(reload["revision"].as_u64() > said(&lines, "ready")["revision"].as_u64());
    assert_eq!(reload["by"], "preset", "the name of the token");
    for line in &lines {
        assert_eq!(debug_text(&line.to_string()), None, "{line}");
    }
}

#[test]
fn an_unmatched_rule_that_no_catalogue_keeps_is_told_loudly() {
    let folder = tempfile::tempdir().unwrap();
    let serve = || Server::spawn(&mut commands(folder.path(), &["--log-format", "json"]));
    let server = serve();
    let told = || server.get("/readyz").body;
    assert!(!told().contains("unmatched"), "{}", told());
    let sample = folder.path().join("contracts.yaml");
    let written = std::fs::read_to_string(&sample).unwrap();
    std::fs::write(&sample, format!("unmatched: deny\n{written}")).unwrap();
    until("the edit is told", || {
        told().contains("says `unmatched: deny`, which is not in force")
    });
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
    // At the start as well, which is where a new catalogue passes over it.
    for database in ["catalogue.db", "catalogue.db-wal", "catalogue.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(database));
    }
    let server = serve();
    server.signal("TERM");
    let lines = lines(&server.end().1);
    assert_eq!(said(&lines, "which is not in force")["level"], "WARN");
    let check = tollgate(&["config", "check", sample.to_str().unwrap()])
        .output()
        .unwrap();
    let check = String::from_utf8(check.stdout).unwrap();
    assert!(
        check.contains("a catalogue, as `tollgate serve` makes one, does not keep it"),
        "{check}"
    );
}

#[test]
fn an_edited_contract_file_that_is_not_in_force_is_told_loudly() {
    let folder = tempfile::tempdir().unwrap();
    let sample = folder.path().join("contracts.yaml");
    let serve = || Server::spawn(&mut commands(folder.path(), &["--log-format", "json"]));
    let server = serve();
    assert!(
        !server.get("/readyz").body.contains("contracts.yaml"),
        "as it was read"
    );
    let written = std::fs::read_to_string(&sample).unwrap();
    std::fs::write(&sample, written.replace("limit: 1000,", "limit: 2000,")).unwrap();
    let told = || server.get("/readyz").body;
    until("it is told", || {
        told().contains("contracts.yaml was edited and is not in force")
    });
    assert!(told().contains("it has changed free-users"), "{}", told());
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
    // It is told at the start as well, and until the catalogue has it.
    let server = serve();
    assert!(
        server
            .get("/readyz")
            .body
            .contains("was edited and is not in force")
    );
    let put = tollgate(&["contract", "put", sample.to_str().unwrap(), "--server"])
        .arg(format!("http://{}", server.http))
        .env("TOLLGATE_ADMIN_TOKEN", "a-token-for-the-tests")
        .output()
        .unwrap();
    assert!(put.status.success(), "{put:?}");
    until("it is in force", || {
        !server.get("/readyz").body.contains("was edited")
    });
    server.signal("TERM");
    let lines = lines(&server.end().1);
    assert_eq!(
        said(&lines, "was edited and is not in force")["level"],
        "WARN"
    );
    let check = tollgate(&["config", "check", sample.to_str().unwrap()])
        .output()
        .unwrap();
    let check = String::from_utf8(check.stdout).unwrap();
    assert!(
        check.contains("note: ") && check.contains("catalogue.db"),
        "{check}"
    );
}
