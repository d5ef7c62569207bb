//! A disk that is full, and a data directory that cannot be used.

mod full;
mod postgres;
mod removed;
mod shared;
mod unsynced;

use std::process::{Command, Stdio};

use crate::kit::{CONTRACTS, Server, file, refused, tollgate, until};

/// Serves with files that may not grow beyond that many blocks of 512 bytes, which is what a full disk looks like
/// from here.
fn start_with_room(folder: &std::path::Path, contracts: &str, blocks: u32) -> Server {
    let serve = tollgate(&["serve"]);
    let binary = serve.get_program().to_string_lossy().into_owned();
    let script = format!(
        "trap '' XFSZ; ulimit -S -f {blocks}; exec '{binary}' serve --format json --http 127.0.0.1:0 \
         --resp 127.0.0.1:0 --data-dir '{}' --contracts '{contracts}'",
        folder.display()
    );
    let mut command = Command::new("sh");
    Server::spawn(command.arg("-c").arg(script))
}

#[test]
fn a_full_disk_is_told_of_costs_no_decision_and_loses_nothing_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let contracts = contracts.to_str().unwrap();
    let data = folder.path().join("data");
    let server = start_with_room(&data, contracts, 300);
    assert_eq!(server.take("first"), 99);
    until("the first flush", || {
        server.metric("tollgate_durable_rows_total") > 0.0
    });
    let mut users = 0;
    until("the disk is full", || {
        for user in users..users + 200 {
            assert_eq!(server.take(&format!("u{user}")), 99, "decided all the same");
        }
        users += 200;
        server.metric("tollgate_durable_flushes_total{result=\"failed\"}") > 0.0
    });
    until("the trouble is told", || {
        server.get("/readyz").body.contains("durable")
    });
    assert_eq!(server.take("first"), 98);
    server.signal("KILL");
    assert_eq!(server.end().0, None);

    let server = Server::start(&data, &["--contracts", contracts]);
    assert_eq!(server.take("first"), 98, "what was written is there");
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_data_directory_that_cannot_be_one_is_refused_before_a_port_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "data", "no directory");
    let mut command = tollgate(&["serve", "--http", "127.0.0.1:0", "--data-dir"]);
    let output = command.arg(&path).output().unwrap();
    refused(&output, 74, &[path.to_str().unwrap()]);
}

#[test]
fn a_node_that_finds_no_room_does_not_start_and_keeps_its_identity() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("cluster.key");
    let mut made = tollgate(&["cluster", "key", "new"]);
    assert!(made.arg(&key).status().unwrap().success());
    let text = "contracts: [{ id: c, key: [user], policies: [{ name: p, limit: 9, per: 1h, coordination: gossip }] }]";
    let contracts = file(folder.path(), "contracts.yaml", text);
    let data = folder.path().join("data");
    let serve = tollgate(&["serve"]);
    let run = |room: &str| {
        let script = format!(
            "{room} exec '{}' serve --http 127.0.0.1:0 --cluster 127.0.0.1:0 --cluster-key '{}' \
             --data-dir '{}' --contracts '{}'",
            serve.get_program().to_string_lossy(),
            key.display(),
            data.display(),
            contracts.display()
        );
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).stdout(Stdio::null());
        command
    };
    // What finds no room at all, and leaves nothing behind.
    let output = run("trap '' XFSZ; ulimit -f 0;").output().unwrap();
    refused(&output, 74, &[data.to_str().unwrap()]);
    let identity = data.join("node.id");
    assert!(!identity.exists(), "no half of it is left");
    // One that has an identity, and cannot raise its generation.
    let mut server = run("").spawn().unwrap();
    until("it has an identity", || identity.exists());
    let before = std::fs::read(&identity).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let output = run("trap '' XFSZ; ulimit -f 0;").output().unwrap();
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    assert_eq!(std::fs::read(&identity).unwrap(), before);
}
