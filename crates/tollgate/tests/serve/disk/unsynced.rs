//! A disk that takes writes and does not keep them: what is said until it does.

use std::process::Command;

use super::full::{flushed, troubles};
use crate::kit::{CONTRACTS, Server, file, tollgate, until};

/// `fdatasync` fails while there is a file of a name; everything else is as ever.
const LIBRARY: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
int fdatasync(int descriptor) {
    const char *file = getenv("SYNC_FAILS_BESIDE");
    if (file && access(file, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_fdatasync, descriptor);
}
"#;

#[test]
fn a_disk_that_does_not_sync_is_told_of_until_the_log_is_in_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "sync.c", LIBRARY);
    let library = folder.path().join("sync.so");
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).arg(&library);
    assert!(built.arg(source).status().unwrap().success());
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let (data, fails) = (folder.path().join("data"), folder.path().join("fails"));
    let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command.arg("--data-dir").arg(&data);
    command.arg("--contracts").arg(contracts);
    command.env("LD_PRELOAD", &library);
    let server = Server::spawn(command.env("SYNC_FAILS_BESIDE", &fails));
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    std::fs::write(&fails, "").unwrap();
    assert_eq!(server.take("first"), 98);
    let told = "durable counts are written and would not survive a loss of power since ";
    until("the trouble is told", || troubles(&server).contains(told));
    flushed(&server);
    std::fs::remove_file(&fails).unwrap();
    // Nothing is charged meanwhile: it is tried again all the same.
    until("it is over", || troubles(&server).is_empty());
    let database = std::fs::metadata(data.join("tollgate.db")).unwrap();
    assert!(database.len() > 4_096, "the log is written back");
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}
