//! What cannot be divided is refused before a port opens, with what to change; what is decided otherwise than written
//! is told.

use std::process::Output;

use serde_json::Value;

use crate::kit;

const HUGE: &str = "contracts: [{ id: api, policies: [{ name: all, limit: 20000000000, per: 1s, coordination: supply }] }]";
const SMALL: &str = "contracts: [{ id: api, policies: [{ name: all, limit: 9, per: 1s, burst: 2, coordination: supply }] }]";

fn tollgate(arguments: &[&str]) -> Output {
    kit::tollgate(arguments).output().unwrap()
}

#[track_caller]
fn refused(output: &Output, said: &[&str]) {
    tollgate_parts::refused(output, 64, said);
}

/// Checks a server's file, with contracts beside it.
fn check(contracts: &str, cluster: &str, format: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("contracts.yaml"), contracts).unwrap();
    std::fs::write(path("contracts.alone"), contracts).unwrap();
    let server = format!("contracts: contracts.yaml\ncluster: {cluster}\n");
    std::fs::write(path("server.yaml"), server).unwrap();
    let file = if cluster.is_empty() {
        path("contracts.alone")
    } else {
        path("server.yaml")
    };
    tollgate(&["config", "check", &file, "--format", format])
}

#[test]
fn weights_and_limits_that_divide_nothing_are_refused() {
    let serve = [
        "serve",
        "--http",
        "127.0.0.1:0",
        "--cluster",
        "127.0.0.1:0",
        "--roster",
    ];
    let with = |roster| tollgate(&[&serve[..], &[roster]].concat());
    refused(&with("a=0,b=0"), &["--roster", "weight above zero"]);
    refused(&with("a,a"), &["twice"]);
    let zero = SMALL.replace("limit: 9", "limit: 0");
    refused(
        &check(&zero, "{ roster: [a] }", "human"),
        &["contracts.yaml:1:", "limit"],
    );
    for cluster in ["", "{ roster: [a, b] }"] {
        let said = ["contract `api`, policy `all`", "at most 9,223,372,036"];
        refused(&check(HUGE, cluster, "human"), &said);
    }
    // The same of a bucket that cannot be cut, which counted on each node alone.
    let deep = "limit: 11, burst: 9007199254740992, per: 36500d, coordination: split";
    let deep = HUGE.replace("limit: 20000000000, per: 1s, coordination: supply", deep);
    for cluster in ["", "{ roster: [a, b] }"] {
        let said = ["contract `api`, policy `all`", "too deep"];
        refused(&check(&deep, cluster, "human"), &said);
    }
    refused(
        &check(SMALL, "{ roster: { a: 0 } }", "human"),
        &["server.yaml:2:", "weight above zero"],
    );
    refused(
        &check(SMALL, "{ name: a }", "human"),
        &["contract `api`", "--roster a,b,c"],
    );
}

#[test]
fn a_limit_that_is_too_small_to_divide_is_told_of_with_what_to_change() {
    let few = check(SMALL, "{ roster: { a: 1, b: 1, idle: 0 } }", "human");
    let text = String::from_utf8_lossy(&few.stdout);
    assert!(few.status.success() && !text.contains("note"), "{text}");
    let many = check(SMALL, "{ roster: [a, b, c] }", "human");
    let text = String::from_utf8_lossy(&many.stdout);
    for word in [
        "note: contract `api`, policy `all`: a limit or burst of 2 is below one token for each of the 3 nodes",
        "the owner of each key decides",
        "raise both to at least 3, or write `coordination: owner`",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json = check(SMALL, "{ roster: [a, b, c] }", "json");
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["by_owner"][0]["nodes"], 3, "{json}");
    let alone = check(SMALL, "", "human");
    let text = String::from_utf8_lossy(&alone.stdout);
    assert!(
        text.contains("supply · by owners among more than 2 nodes"),
        "{text}"
    );
}
