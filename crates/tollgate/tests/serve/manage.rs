//! `tollgate contract`, `plan`, `assign`, `key` and `token` against a server process.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::kit::{Server, file, patient, tollgate};

const TOKEN: &str = "a-token-for-the-tests";

const CONTRACTS: &str = "plans:
  - { id: free, policies: [{ name: burst, limit: 5, per: 30d, algorithm: token-bucket }] }
  - { id: pro, follows: free, policies: [{ name: burst, limit: 500 }] }
contracts:
  - { id: users, key: [user], plan: free }
";

fn serve(folder: &Path, preset: Option<&str>) -> Server {
    let contracts = file(folder, "contracts.yaml", CONTRACTS);
    let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command.args(["--resp", "127.0.0.1:0", "--config"]);
    command.arg(patient(folder, "catalogue.db"));
    command.arg("--contracts").arg(contracts);
    command.arg("--data-dir").arg(folder);
    command.envs(preset.map(|token| ("TOLLGATE_ADMIN_TOKEN", token)));
    Server::spawn(&mut command)
}

/// Runs a command with something on its standard input.
fn manage(server: &Server, arguments: &[&str], input: &str) -> Output {
    let at = format!("http://{}", server.http);
    let mut child = tollgate(arguments)
        .args(["--server", &at])
        .env("TOLLGATE_ADMIN_TOKEN", TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn done(server: &Server, arguments: &[&str], input: &str) -> String {
    let output = manage(server, arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(server: &Server, arguments: &[&str], input: &str, code: i32, said: &str) {
    let output = manage(server, arguments, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    assert!(errors.contains(said), "{said:?} is not in {errors}");
}

#[test]
fn contracts_and_plans_are_changed_from_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), Some(TOKEN));
    assert!(done(&server, &["contract", "list"], "").contains("users"));
    let more =
        "id: free\npolicies: [{ name: burst, limit: 7, per: 30d, algorithm: token-bucket }]\n";
    let tried = done(&server, &["plan", "put", "-", "--dry-run"], more);
    assert!(tried.contains("policies.burst.limit: 5 -> 7"), "{tried}");
    let put = done(
        &server,
        &["plan", "put", "-", "--reason", "more & <b>"],
        more,
    );
    assert!(put.contains("free: changed, version 2"), "{put}");
    assert!(done(&server, &["plan", "history", "free"], "").contains("more & <b>"));
    assert_eq!(server.take("ada"), 6);
    let diff = done(
        &server,
        &["plan", "diff", "free", "--from", "1", "--to", "2"],
        "",
    );
    assert!(diff.contains("5 -> 7"), "{diff}");
    refused(
        &server,
        &["plan", "put", "-", "--seen", "1"],
        more,
        1,
        "version 2",
    );
    refused(
        &server,
        &["plan", "put", "-"],
        "id: free\npolcies: []\n",
        64,
        "`policies`",
    );
    refused(&server, &["plan", "delete", "free"], "", 1, "still used");
    changes_are_tried(&server, folder.path());
    let back = done(
        &server,
        &["plan", "rollback", "free", "--to", "1", "--format", "json"],
        "",
    );
    let back: Value = serde_json::from_str(&back).unwrap();
    assert_eq!(back["version"], 3);
    done(
        &server,
        &[
            "contract", "rollout", "users", "shadow", "--policy", "burst",
        ],
        "",
    );
    assert!(done(&server, &["contract", "get", "users"], "").contains("\"shadow\""));
    whole_files_are_put(&server, folder.path());
}

fn changes_are_tried(server: &Server, folder: &Path) {
    let lines = (0..20).map(|n| {
        format!(
            "{{\"time\":{},\"user\":\"ada\"}}\n",
            1_700_000_000_000_u64 + n
        )
    });
    let lines = lines.collect::<Vec<_>>().concat();
    let trace = file(folder, "trace.jsonl", &lines).display().to_string();
    let less =
        "id: free\npolicies: [{ name: burst, limit: 2, per: 30d, algorithm: token-bucket }]\n";
    let tried = ["plan", "try", "-", "--trace", &trace];
    let said = done(server, &tried, less);
    for words in ["20 requests were tried", "denied", "13", "18", "user=ada"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let json = done(server, &[&tried[..], &["--format", "json"]].concat(), less);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (
            &json["sums"]["denied_before"],
            &json["sums"]["denied_after"]
        ),
        (&13.into(), &18.into())
    );
    let live = done(server, &["plan", "try", "-", "--minutes", "5"], less);
    assert!(live.contains("requests were tried"), "{live}");
    refused(
        server,
        &["assign", "try", "-"],
        "{ identity: user=1, plan: free }",
        64,
        "contracts and plans",
    );
    refused(
        server,
        &["plan", "try", "-", "--trace", "/nowhere"],
        less,
        66,
        "nowhere",
    );
}

fn whole_files_are_put(server: &Server, folder: &Path) {
    // A whole file: what is as it was is not changed.
    let path = folder.join("contracts.yaml").display().to_string();
    let all = done(server, &["contract", "put", &path], "");
    assert!(
        all.contains("pro: as it was") && all.contains("users: changed"),
        "{all}"
    );
    refused(
        server,
        &["contract", "get", "usres"],
        "",
        64,
        "there is no contract",
    );
    refused(
        server,
        &["contract", "put", "/nowhere.yaml"],
        "",
        66,
        "nowhere",
    );
}

#[test]
fn identities_and_keys_are_helped_from_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), Some(TOKEN));
    let lines = (0..2500).map(|n| format!("{{\"identity\":\"user=u{n}\",\"plan\":\"pro\"}}\n"));
    let lines = lines.collect::<Vec<_>>().concat();
    let imported = done(&server, &["assign", "import", "-"], &lines);
    assert_eq!(imported, "2500 made, 0 there before\n");
    let listed = done(
        &server,
        &["assign", "list", "--plan", "pro", "--format", "json"],
        "",
    );
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2500));
    assert_eq!(server.take("u7"), 499);
    done(
        &server,
        &["assign", "put", "-"],
        "{ identity: user=ada, overrides: [{ name: burst, limit: 50 }] }",
    );
    assert_eq!(server.take("ada"), 49);
    let why = done(&server, &["key", "explain", "user=ada"], "");
    assert!(
        why.contains("passes `burst` of `users`") && why.contains("user=ada"),
        "{why}"
    );
    done(
        &server,
        &["assign", "put", "-"],
        "{ identity: user=big, overrides: [{ name: burst, limit: 50, burst: 80 }] }",
    );
    let larger = done(&server, &["key", "explain", "user=big"], "");
    let cells = |first: &str| -> Vec<String> {
        let mut lines = larger
            .lines()
            .map(|line| line.split_whitespace().map(str::to_owned));
        let line =
            lines.find_map(|mut cells| (cells.next()? == first).then(|| cells.take(4).collect()));
        line.unwrap_or_else(|| panic!("{larger}"))
    };
    assert_eq!(cells("contract"), ["policy", "limit", "holds", "left"]);
    assert_eq!(cells("users"), ["burst", "50", "80", "80"]);
    done(&server, &["key", "charge", "user=ada", "--cost", "9"], "");
    assert_eq!(server.take("ada"), 39);
    done(&server, &["key", "refund", "user=ada", "--cost", "5"], "");
    assert_eq!(server.take("ada"), 43);
    done(&server, &["key", "reset", "user=ada"], "");
    assert_eq!(server.take("ada"), 49);
    done(
        &server,
        &["key", "ban", "user=ada", "--reason", "abuse"],
        "",
    );
    let why = done(&server, &["key", "explain", "user=ada"], "");
    assert!(
        why.contains("`user=ada` is banned without an end: abuse"),
        "{why}"
    );
    let denied = server.post("/v1/check", r#"{"key":{"user":"ada"}}"#);
    assert_eq!(denied.json()["allowed"], false, "{denied:?}");
    done(&server, &["key", "unban", "user=ada"], "");
    assert_eq!(server.take("ada"), 48);
    refused(
        &server,
        &["assign", "import", "-"],
        "{\"identity\":\"user=1\",\"plan\":\"none\"}\n",
        64,
        "none",
    );
}

#[test]
fn the_first_token_is_shown_once_and_others_are_made_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), None);
    refused(&server, &["token", "list"], "", 77, "token");
    server.signal("TERM");
    let (_, errors) = server.end();
    let secret = errors
        .lines()
        .find_map(|line| line.trim().strip_prefix("tg_"));
    let secret = format!("tg_{}", secret.unwrap_or_else(|| panic!("{errors}")));
    let server = serve(folder.path(), None);
    let path = file(folder.path(), "token", &secret).display().to_string();
    let made = done(
        &server,
        &[
            "token",
            "create",
            "ci",
            "--role",
            "viewer",
            "--token-file",
            &path,
            "--format",
            "json",
        ],
        "",
    );
    let made: Value = serde_json::from_str(&made).unwrap();
    let (id, viewer) = (
        made["token"]["id"].as_str().unwrap(),
        made["secret"].as_str().unwrap(),
    );
    let viewer = file(folder.path(), "viewer", viewer).display().to_string();
    done(&server, &["contract", "list", "--token-file", &viewer], "");
    refused(
        &server,
        &["contract", "delete", "users", "--token-file", &viewer],
        "",
        77,
        "`admin`",
    );
    done(&server, &["token", "revoke", id, "--token-file", &path], "");
    refused(
        &server,
        &["contract", "list", "--token-file", &viewer],
        "",
        77,
        "revoked",
    );
    let listed = done(&server, &["token", "list", "--token-file", &path], "");
    assert!(
        listed.contains("first") && listed.contains("ci") && !listed.contains(&secret),
        "{listed}"
    );
    server.signal("TERM");
    let (_, errors) = server.end();
    assert!(!errors.contains("tg_"), "{errors}");
}
