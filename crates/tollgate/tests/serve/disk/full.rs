//! A disk that is full, fails, or is read-only for a while: what is decided meanwhile, what is said, what is there
//! afterwards.
//!
//! ENOSPC comes of a tmpfs that is filled, EFBIG (for `SQLite` the same as EIO and EPERM: a write that fails) of a
//! limit on the size of files, EROFS of a read-only mount over the directory.

use std::path::Path;
use std::process::Command;

use tollgate_parts::SmallDisk;

use super::start_with_room;
use crate::kit::{CONTRACTS, Server, file, refused, tollgate, until};

pub(super) const FAILED: &str = "tollgate_durable_flushes_total{result=\"failed\"}";
const WRITTEN: &str = "tollgate_durable_flushes_total{result=\"ok\"}";

/// What is said behind the first line of `/readyz`, which is to say that requests may come.
pub(super) fn troubles(server: &Server) -> String {
    let ready = server.get("/readyz");
    assert_eq!(ready.status, 200, "{ready:?}");
    ready.body.strip_prefix("ready\n").unwrap().to_owned()
}

/// Waits until everything charged so far is written.
pub(super) fn flushed(server: &Server) {
    let before = server.metric(WRITTEN);
    // One may have been under way.
    until("two flushes", || server.metric(WRITTEN) >= before + 2.0);
}

/// Charges new keys, whose names begin so, until a flush fails.
pub(super) fn fails(server: &Server, name: &str) {
    let before = server.metric(FAILED);
    let mut user = 0;
    until("a flush fails", || {
        for _ in 0..200 {
            user += 1;
            assert_eq!(
                server.take(&format!("{name}{user}")),
                99,
                "decided all the same"
            );
        }
        server.metric(FAILED) > before
    });
}

/// Waits until `/readyz` says since when and why, and nothing once `mend` is done.
fn tells(server: &Server, why: &str, mend: impl FnOnce()) {
    let told = "durable counts are not written since ";
    until("the trouble is told", || {
        let troubles = troubles(server);
        troubles.contains(told) && troubles.contains(why)
    });
    mend();
    until("it is over", || troubles(server).is_empty());
}

/// Starts again, where `first` must have been charged so often before.
fn found(data: &Path, contracts: &Path, charged: u64) {
    let server = Server::start(data, &["--contracts", contracts.to_str().unwrap()]);
    assert_eq!(server.take("first"), 99 - charged);
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn durability_resumes_within_a_flush_of_room_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let disk = SmallDisk::of(2048);
    let data = disk.path().join("data");
    let server = Server::start(&data, &["--contracts", contracts.to_str().unwrap()]);
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    disk.fill();
    fails(&server, "u");
    assert_eq!(server.take("first"), 98);
    tells(&server, "the disk is full", || disk.free());
    assert_eq!(server.take("first"), 97);
    flushed(&server);
    server.signal("KILL");
    server.end();
    found(&data, &contracts, 3);
    // The same, and an orderly end with the first flush that finds room.
    let server = Server::start(&data, &["--contracts", contracts.to_str().unwrap()]);
    disk.fill();
    fails(&server, "v");
    assert_eq!(server.take("first"), 95);
    disk.free();
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(0), "{errors}");
    found(&data, &contracts, 5);
}

#[test]
fn a_server_that_ends_while_its_disk_is_full_says_that_counts_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let disk = SmallDisk::of(2048);
    let data = disk.path().join("data");
    let server = Server::start(&data, &["--contracts", contracts.to_str().unwrap()]);
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    disk.fill();
    fails(&server, "u");
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(74), "{errors}");
    assert!(errors.contains("the disk is full"), "{errors}");
    disk.free();
    found(&data, &contracts, 1);
}

#[test]
fn a_write_that_fails_in_a_transaction_is_made_up_for_with_the_next_flush() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let data = folder.path().join("data");
    let server = start_with_room(&data, contracts.to_str().unwrap(), 300);
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    fails(&server, "u");
    assert_eq!(server.take("first"), 98);
    tells(&server, "disk I/O error", || {
        let pid = server.id().to_string();
        let mut lift = Command::new("prlimit");
        lift.args(["--pid", &pid, "--fsize=unlimited"]);
        assert!(lift.status().unwrap().success());
    });
    flushed(&server);
    server.signal("KILL");
    server.end();
    found(&data, &contracts, 2);
}

#[test]
fn a_disk_that_becomes_read_only_is_told_of_and_written_once_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let disk = SmallDisk::of(2048);
    let data = disk.path().join("data");
    let server = Server::start(&data, &["--contracts", contracts.to_str().unwrap()]);
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    // Files that are open could still be written; after an error they are opened again.
    disk.fill();
    disk.freeze();
    fails(&server, "u");
    assert_eq!(server.take("first"), 98);
    tells(&server, "may not be written", || {
        disk.thaw();
        disk.free();
    });
    flushed(&server);
    server.signal("KILL");
    server.end();
    found(&data, &contracts, 2);
    disk.freeze();
    let mut command = tollgate(&["serve", "--http", "127.0.0.1:0", "--data-dir"]);
    let output = command.arg(&data).output().unwrap();
    refused(&output, 74, &[data.to_str().unwrap()]);
}
