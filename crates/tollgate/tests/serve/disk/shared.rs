//! The files that servers share: a store that decides, a catalogue and its statistics, on disks that are full and
//! files that are lost.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tollgate_catalogue::{Edit, Kind, Seen};
use tollgate_catalogue_sql::{Config, Database, Error, Source};
use tollgate_parts::SmallDisk;

use super::full::troubles;
use crate::kit::{Server, file, tollgate, until};
use crate::store::{check, ready};

const LOST: &str = "tollgate_database_files_lost_total";

/// A server on a store in a file.
fn on_store(folder: &Path, store: &Path) -> Server {
    let text = format!(
        "store: {{ url: \"sqlite:{}\", deadline: 500ms }}
contracts:
  - id: users
    key: [user]
    coordination: store
    policies: [{{ name: monthly, limit: 100, per: 30d, on_failure: deny }}]
",
        store.display()
    );
    let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command.args(["--resp", "127.0.0.1:0", "--config"]);
    Server::spawn(command.arg(file(folder, "store.yaml", &text)))
}

fn end(server: Server) -> String {
    server.signal("TERM");
    let (code, errors) = server.end();
    assert_eq!(code, Some(0), "{errors}");
    errors
}

#[test]
fn a_store_on_a_full_disk_says_so_and_decides_again_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SmallDisk::of(1024);
    let store = disk.path().join("store.db");
    let server = on_store(folder.path(), &store);
    ready(&server);
    assert_eq!(check(&server, "ann").remaining(), 99);
    disk.fill();
    let mut user = 0;
    until("it is done without", || {
        user += 1;
        check(&server, &format!("u{user}")).instead().is_some()
    });
    until("it is told", || {
        check(&server, &format!("u{user}"));
        let troubles = troubles(&server);
        troubles.contains("the store does not decide since ") && troubles.contains("no room")
    });
    disk.free();
    // No request comes, and it is found to be back.
    until("it is over", || troubles(&server).is_empty());
    assert_eq!(check(&server, "ann").remaining(), 98);
    server.signal("KILL");
    server.end();
    let server = on_store(folder.path(), &store);
    ready(&server);
    assert_eq!(check(&server, "ann").remaining(), 97);
    end(server);
}

#[test]
fn a_store_whose_file_or_log_is_lost_decides_on_with_what_it_knew() {
    for lost in ["", "-wal", "/"] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let store = home.join("store.db");
        let server = on_store(folder.path(), &store);
        ready(&server);
        assert_eq!(check(&server, "ann").remaining(), 99);
        match lost {
            "/" => std::fs::remove_dir_all(&home).unwrap(),
            lost => std::fs::remove_file(format!("{}{lost}", store.display())).unwrap(),
        }
        // Though no request comes.
        until("it is noticed", || server.metric(LOST) > 0.0);
        assert_eq!(check(&server, "ann").remaining(), 98, "{lost:?}");
        assert!(troubles(&server).contains("store.db"), "{lost:?}");
        server.signal("KILL");
        let (_, errors) = server.end();
        assert!(errors.contains("store.db"), "{errors}");
        let server = on_store(folder.path(), &store);
        ready(&server);
        assert_eq!(check(&server, "ann").remaining(), 97, "{lost:?}");
        end(server);
    }
}

const PLANS: &str = "plans:
  - { id: free, policies: [{ name: hour, limit: 10, per: 1h }] }
  - { id: pro, policies: [{ name: hour, limit: 1000, per: 1h }] }
contracts: [{ id: users, key: [user], plan: free }]
";

/// A server on a catalogue in a file, and statistics beside it.
struct House {
    folder: TempDir,
    catalogue: PathBuf,
}

impl House {
    fn new(home: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = home.map_or_else(|| folder.path().join("home"), Path::to_owned);
        std::fs::create_dir_all(&home).unwrap();
        let catalogue = home.join("catalogue.db");
        Self { folder, catalogue }
    }

    fn start(&self) -> Server {
        let contracts = file(self.folder.path(), "contracts.yaml", PLANS);
        let text = format!(
            "catalogue: {{ path: {}, deadline: 30s }}\n",
            self.catalogue.display()
        );
        let settings = file(self.folder.path(), "settings.yaml", &text);
        let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
        command.args(["--resp", "127.0.0.1:0", "--config"]);
        command.arg(settings).arg("--contracts").arg(contracts);
        Server::spawn(&mut command)
    }

    fn on<T>(&self, what: impl AsyncFnOnce(&Database) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let config = Config::new(Source::Sqlite(self.catalogue.clone()));
            what(&Database::open(&config).await.unwrap()).await
        })
    }

    /// Puts a user on the larger plan, as an administrator does, in a process of its own.
    fn promote(&self, user: &str) -> Result<(), Error> {
        let edit = Edit {
            kind: Kind::Assignment,
            id: format!("user={user}"),
            seen: Seen::Nothing,
            author: "ana".into(),
            origin: String::new(),
            reason: String::new(),
        };
        let text = format!("{{ identity: user={user}, plan: pro }}");
        self.on(async |database| database.put(&edit, &text).await.map(drop))
    }
}

/// Waits until a user has so many tokens in all.
fn limited(server: &Server, user: &str, limit: u64) {
    until(&format!("{user} has {limit}"), || {
        check(server, user).limit() == limit
    });
}

#[test]
fn a_catalogue_whose_file_or_log_is_lost_is_written_again_and_followed_on() {
    for lost in ["", "-wal", "/"] {
        let house = House::new(None);
        let server = house.start();
        limited(&server, "ann", 10);
        house.promote("ann").unwrap();
        limited(&server, "ann", 1000);
        let path = format!("{}{lost}", house.catalogue.display());
        if lost == "/" {
            std::fs::remove_dir_all(house.catalogue.parent().unwrap()).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
        until("it is noticed", || server.metric(LOST) > 0.0);
        assert!(troubles(&server).contains("catalogue.db"), "{lost:?}");
        house.promote("bob").unwrap();
        limited(&server, "bob", 1000);
        server.signal("KILL");
        server.end();
        let server = house.start();
        limited(&server, "ann", 1000);
        limited(&server, "bob", 1000);
        limited(&server, "eve", 10);
        end(server);
    }
}

#[test]
fn a_backup_that_is_put_in_the_place_of_a_catalogue_is_in_force() {
    let house = House::new(None);
    let server = house.start();
    limited(&server, "ann", 10);
    let backup = house.catalogue.with_extension("backup");
    let statement = format!("VACUUM INTO '{}'", backup.display());
    let mut sqlite = std::process::Command::new("sqlite3");
    let done = sqlite
        .arg(&house.catalogue)
        .arg(statement)
        .status()
        .unwrap();
    assert!(done.success());
    house.promote("ann").unwrap();
    limited(&server, "ann", 1000);
    std::fs::rename(backup, &house.catalogue).unwrap();
    limited(&server, "ann", 10);
    assert!(server.metric(LOST) > 0.0);
    end(server);
}

#[test]
fn a_catalogue_on_a_full_disk_stays_in_force_and_statistics_wait_in_memory() {
    let disk = SmallDisk::of(2048);
    let house = House::new(Some(disk.path()));
    let server = house.start();
    limited(&server, "ann", 10);
    disk.fill();
    let mut user = 0;
    until("statistics are told not to be written", || {
        for _ in 0..100 {
            user += 1;
            check(&server, &format!("u{user}"));
        }
        troubles(&server).contains("request statistics are not written since ")
    });
    let refused = house.promote("ann");
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(check(&server, "ann").limit(), 10, "what was in force stays");
    disk.free();
    until("it is over", || troubles(&server).is_empty());
    house.promote("ann").unwrap();
    limited(&server, "ann", 1000);
    let errors = end(server);
    assert!(
        !errors.contains("could not be written at the end"),
        "{errors}"
    );
}
