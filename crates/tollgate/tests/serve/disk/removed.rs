//! Files that are removed, or replaced by others, under a running server.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tollgate_parts::SmallDisk;

use super::full::{fails, flushed, troubles};
use crate::kit::{CONTRACTS, Server, file, until};

const LOST: &str = "tollgate_database_files_lost_total";

/// A server with durable counts, and where it has them.
struct House {
    folder: TempDir,
    contracts: PathBuf,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
        Self { folder, contracts }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn database(&self) -> PathBuf {
        self.data().join("tollgate.db")
    }

    fn start(&self) -> Server {
        let contracts = self.contracts.to_str().unwrap();
        Server::start(&self.data(), &["--contracts", contracts])
    }

    /// Charges keys, lets `happen` happen to the files, and finds all of it again after `signal`.
    fn survives(&self, signal: &str, happen: impl FnOnce(&Path)) {
        let server = self.start();
        for user in 0..300 {
            assert_eq!(server.take(&format!("u{user}")), 99);
        }
        assert_eq!(server.take("ann"), 99);
        flushed(&server);
        happen(&self.database());
        if signal == "KILL" {
            until("it is noticed", || server.metric(LOST) > 0.0);
            assert!(troubles(&server).contains("tollgate.db"), "it is told");
            assert_eq!(server.take("ann"), 98);
            flushed(&server);
        } else {
            assert_eq!(server.take("ann"), 98);
        }
        server.signal(signal);
        let (code, errors) = server.end();
        assert_eq!(code, (signal == "TERM").then_some(0), "{errors}");
        assert!(errors.contains("tollgate.db"), "{errors}");
        let server = self.start();
        assert_eq!(server.take("ann"), 97);
        for user in 0..300 {
            assert_eq!(server.take(&format!("u{user}")), 98);
        }
        server.signal("TERM");
        assert_eq!(server.end().0, Some(0));
    }
}

#[test]
fn counts_survive_the_removal_of_their_database_while_the_disk_is_full() {
    let disk = SmallDisk::of(2048);
    let folder = tempfile::tempdir().unwrap();
    let contracts = file(folder.path(), "contracts.yaml", CONTRACTS);
    let flags = ["--contracts", contracts.to_str().unwrap()];
    let data = disk.path().join("data");
    let server = Server::start(&data, &flags);
    assert_eq!(server.take("first"), 99);
    flushed(&server);
    disk.fill();
    // Its connection is closed by then, so that nothing is left of the file but what is in memory.
    fails(&server, "u");
    std::fs::remove_file(data.join("tollgate.db")).unwrap();
    disk.free();
    until("it is written again", || server.metric(LOST) > 0.0);
    flushed(&server);
    server.signal("KILL");
    server.end();
    let server = Server::start(&data, &flags);
    assert_eq!(server.take("first"), 98);
    assert_eq!(server.take("u1"), 98);
    server.signal("TERM");
    assert_eq!(server.end().0, Some(0));
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", database.display()))
}

#[test]
fn counts_survive_the_removal_of_their_database() {
    for signal in ["KILL", "TERM"] {
        House::new().survives(signal, |database| {
            std::fs::remove_file(database).unwrap();
        });
    }
}

#[test]
fn counts_survive_the_removal_of_their_directory() {
    for signal in ["KILL", "TERM"] {
        House::new().survives(signal, |database| {
            std::fs::remove_dir_all(database.parent().unwrap()).unwrap();
        });
    }
}

#[test]
fn counts_survive_the_removal_of_the_log_of_their_database() {
    for signal in ["KILL", "TERM"] {
        House::new().survives(signal, |database| {
            std::fs::remove_file(beside(database, "-wal")).unwrap();
        });
    }
}

#[test]
fn counts_survive_another_file_in_the_place_of_their_database_and_that_is_kept() {
    for signal in ["KILL", "TERM"] {
        let house = House::new();
        house.survives(signal, |database| {
            let other = database.with_extension("other");
            std::fs::write(&other, "a diary, and a long one at that").unwrap();
            std::fs::rename(other, database).unwrap();
        });
        let kept = beside(&house.database(), ".found-1");
        assert!(
            std::fs::read_to_string(kept)
                .unwrap()
                .starts_with("a diary")
        );
    }
}

#[test]
fn counts_survive_an_old_backup_in_the_place_of_their_database() {
    for signal in ["KILL", "TERM"] {
        House::new().survives(signal, |database| {
            let other = database.with_extension("other");
            std::fs::copy(database, &other).unwrap();
            std::fs::rename(other, database).unwrap();
        });
    }
}
