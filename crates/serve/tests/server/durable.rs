//! Durable counts: written, found again, and refused where they are not ours.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tempfile::TempDir;
use tollgate_contract::Contracts;
use tollgate_limit::Cost;
use tollgate_node::{Key, NodeConfig};
use tollgate_serve::durable::{self, Flusher, LoadSummary, Store, StoreError};
use tollgate_serve::engine::{Engine, Secrets};
use tollgate_serve::settings::{Keeping, Settings};
use tollgate_serve::shared::Shared;

const FILE: &str = "
contracts:
  - id: api
    key: [user]
    policies:
      - { name: hourly, limit: 100, per: 1h, algorithm: fixed-window, durable: true }
      - { name: log, limit: 100, per: 1h, algorithm: sliding-log, durable: true }
      - { name: lost, limit: 100, per: 1h, algorithm: fixed-window }
  - id: fast
    key: [ip]
    policies:
      - { name: bucket, limit: 1000, per: 1h, durable: true }
";

/// A server without listeners.
pub(crate) struct DurableServer {
    pub(crate) shared: Arc<Shared>,
    flusher: Option<Flusher>,
    pub(crate) loaded: LoadSummary,
}

impl DurableServer {
    fn start(folder: &Path, contracts: &str) -> Self {
        Self::try_start(folder, contracts).unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_start(folder: &Path, contracts: &str) -> Result<Self, StoreError> {
        let (store, secrets) = durable::open(folder)?;
        Self::of(store, &secrets, contracts, NodeConfig::default())
    }

    pub(crate) fn of(
        store: Store,
        secrets: &Secrets,
        contracts: &str,
        config: NodeConfig,
    ) -> Result<Self, StoreError> {
        let engine = Engine::new(Contracts::parse(contracts).unwrap(), config, secrets);
        let loaded = store.load_into(&engine.node())?;
        let settings = Settings {
            keeping: Keeping {
                flush_every: Duration::from_hours(1),
                ..Keeping::default()
            },
            ..Settings::default()
        };
        let shared = Arc::new(Shared::new(engine, settings));
        let flusher = Flusher::start(store, Arc::clone(&shared))?;
        Ok(Self {
            shared,
            flusher: Some(flusher),
            loaded,
        })
    }

    pub(crate) fn charge(&self, name: &str, value: &str, cost: u64) {
        let entries = [(name, value)];
        let engine = &self.shared.engine;
        let key = Key::Entries(&entries);
        assert!(
            engine
                .node()
                .charge(key, Cost::new(cost).unwrap(), engine.now())
        );
    }

    fn reset(&self, name: &str, value: &str) {
        let entries = [(name, value)];
        self.shared.engine.node().reset(Key::Entries(&entries));
    }

    /// What is left of each policy that binds a key.
    pub(crate) fn left(&self, name: &str, value: &str) -> Vec<u64> {
        let entries = [(name, value)];
        let engine = &self.shared.engine;
        let statuses = engine.node().status(Key::Entries(&entries), engine.now());
        let each = statuses.into_iter().flat_map(|(_, statuses)| statuses);
        each.map(|status| status.remaining).collect()
    }

    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        self.flusher.as_ref().unwrap().flush_now()
    }

    pub(crate) fn stop(mut self) {
        self.flusher.take().unwrap().stop().unwrap();
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Does something to the database behind the server's back.
pub(crate) fn on_database(folder: &Path, statement: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let path = format!("sqlite://{}", folder.join("tollgate.db").display());
        let mut connection = SqliteConnection::connect(&path).await.unwrap();
        sqlx::raw_sql(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
}

#[test]
fn charges_are_found_again_and_those_of_other_policies_are_not() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.charge("user", "bob", 150);
    server.charge("ip", "10.0.0.1", 1);
    server.stop();

    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!(server.loaded.cells, 3);
    assert_eq!(server.left("user", "ann"), [93, 93, 100]);
    assert_eq!(server.left("user", "bob"), [0, 0, 100]);
    assert_eq!(server.left("ip", "10.0.0.1"), [999]);
    assert_eq!(server.left("user", "eve"), [100, 100, 100]);
    server.charge("user", "ann", 3);
    server.stop();

    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!(server.left("user", "ann"), [90, 90, 100]);
}

#[test]
fn a_key_that_was_reset_stays_reset() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.flush().unwrap();
    server.reset("user", "ann");
    server.stop();
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!((server.loaded.cells, server.loaded.fresh), (0, 0));
}

#[test]
fn secrets_stay_and_nobody_else_can_read_them() {
    let folder = folder();
    let data = folder.path().join("data/deep");
    let (store, first) = durable::open(&data).unwrap();
    for file in ["tollgate.db", "lock"] {
        let mode = data.join(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    drop(store);
    let (_store, second) = durable::open(&data).unwrap();
    assert_eq!(first.receipts, second.receipts);
    assert_eq!(first.table.bytes(b"key"), second.table.bytes(b"key"));
    let (_store, other) = durable::open(&folder.path().join("other")).unwrap();
    assert_ne!(first.receipts, other.receipts);
    assert_ne!(first.table.bytes(b"key"), other.table.bytes(b"key"));
}

#[test]
fn a_second_server_is_refused_and_told_who_was_first() {
    let folder = folder();
    let _server = DurableServer::start(folder.path(), FILE);
    let error = DurableServer::try_start(folder.path(), FILE).err().unwrap();
    assert!(matches!(error, StoreError::Taken { .. }));
    let text = error.to_string();
    assert!(
        text.contains(&format!("process {}", std::process::id())),
        "{text}"
    );
}

#[test]
fn a_changed_policy_inherits_and_a_changed_key_does_not() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 60);
    server.charge("ip", "10.0.0.1", 400);
    server.stop();

    let doubled = FILE.replace("name: hourly, limit: 100", "name: hourly, limit: 200");
    let server = DurableServer::start(folder.path(), &doubled);
    assert_eq!(server.left("user", "ann"), [140, 40, 100]);
    // Another order of policies is another shape, too; names say which is which.
    server.charge("user", "ann", 1);
    server.stop();
    let swapped = FILE.replace(
        "name: bucket, limit: 1000, per: 1h, durable: true }",
        "name: new, limit: 5, per: 1h, durable: true }\n      - { name: bucket, limit: 1000, per: 1h, durable: true }",
    );
    let server = DurableServer::start(folder.path(), &swapped);
    assert_eq!(server.left("user", "ann"), [39, 39, 100]);
    assert_eq!(server.left("ip", "10.0.0.1")[0], 5);
    assert!((600..605).contains(&server.left("ip", "10.0.0.1")[1]));
    server.stop();

    let server = DurableServer::start(folder.path(), &FILE.replace("[user]", "[account]"));
    assert_eq!(server.loaded.changed, 1);
    assert_eq!(server.left("account", "ann"), [100, 100, 100]);
}

#[test]
fn contracts_that_are_gone_for_a_while_find_their_counts_again() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.charge("ip", "10.0.0.1", 400);
    server.stop();
    let without = FILE.split("  - id: fast").next().unwrap();
    let server = DurableServer::start(folder.path(), without);
    assert_eq!((server.loaded.cells, server.loaded.unknown), (1, 1));
    server.stop();
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!((server.loaded.cells, server.loaded.unknown), (2, 0));
    server.stop();
    // Thirty-one days later all of it is expired.
    on_database(
        folder.path(),
        "UPDATE contract SET seen_ms = seen_ms - 31 * 86400000 WHERE id = 'fast'",
    );
    let server = DurableServer::start(folder.path(), without);
    assert_eq!((server.loaded.cells, server.loaded.unknown), (1, 0));
}

#[test]
fn a_contract_that_comes_back_while_the_server_runs_finds_its_counts() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.charge("ip", "10.0.0.1", 400);
    server.flush().unwrap();
    let load = |text: &str| server.shared.engine.load(Contracts::parse(text).unwrap());
    let without = FILE.split("  - id: fast").next().unwrap();
    server.charge("user", "ann", 1);
    load(without);
    server.flush().unwrap();
    assert_eq!(server.left("user", "ann"), [92, 92, 92]);
    load(FILE);
    server.flush().unwrap();
    assert!((600..605).contains(&server.left("ip", "10.0.0.1")[0]));
    server.stop();
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!(server.left("user", "ann"), [92, 92, 100]);
    assert!((600..605).contains(&server.left("ip", "10.0.0.1")[0]));
}

#[test]
fn rows_that_say_nothing_any_more_are_dropped() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.charge("user", "bob", 7);
    server.stop();
    on_database(folder.path(), "UPDATE cell SET fresh_ns = 5");
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!((server.loaded.cells, server.loaded.fresh), (0, 2));
}

#[test]
fn broken_rows_are_counted_and_the_rest_is_loaded() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    for user in 0..100 {
        server.charge("user", &user.to_string(), 1);
    }
    server.stop();
    on_database(
        folder.path(),
        "UPDATE cell SET state = x'ff00' WHERE print IN (SELECT print FROM cell ORDER BY print LIMIT 40);
         UPDATE cell SET shape = 999 WHERE print IN (SELECT print FROM cell ORDER BY print DESC LIMIT 10)",
    );
    let server = DurableServer::start(folder.path(), FILE);
    let LoadSummary {
        cells,
        broken,
        changed,
        ..
    } = server.loaded;
    assert_eq!((cells, broken, changed), (50, 40, 10));
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let folder = folder();
    let path = folder.path().join("tollgate.db");
    std::fs::write(&path, "a diary, and a long one at that".repeat(200)).unwrap();
    let error = durable::open(folder.path()).err().unwrap();
    assert!(matches!(error, StoreError::Foreign(_)), "{error}");
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("a diary")
    );

    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    on_database(folder.path(), "CREATE TABLE recipes (name TEXT)");
    let error = durable::open(folder.path()).err().unwrap();
    assert!(matches!(error, StoreError::Foreign(_)), "{error}");

    let plain = folder.path().join("file");
    std::fs::write(&plain, "").unwrap();
    let error = durable::open(&plain).err().unwrap();
    assert!(matches!(error, StoreError::File(..)), "{error}");
}

#[test]
fn a_database_of_a_later_version_is_refused() {
    let folder = folder();
    drop(durable::open(folder.path()).unwrap());
    on_database(folder.path(), "INSERT INTO migration VALUES (7, 0)");
    let error = durable::open(folder.path()).err().unwrap();
    assert!(
        matches!(error, StoreError::Later { found: 7, known: 2 }),
        "{error}"
    );
}

#[test]
fn a_damaged_database_is_an_error_and_no_panic() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    for user in 0..5_000 {
        server.charge("user", &user.to_string(), 1);
    }
    server.stop();
    let path = folder.path().join("tollgate.db");
    let good = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for page in 1..good.len() / 4_096 {
        let mut bad = good.clone();
        bad[page * 4_096..page * 4_096 + 64].fill(0xA5);
        std::fs::write(&path, &bad).unwrap();
        match DurableServer::try_start(folder.path(), FILE) {
            Ok(server) => drop(server),
            Err(StoreError::Damaged(_)) => refused += 1,
            Err(error) => panic!("page {page}: {error:?}"),
        }
    }
    assert!(refused > 10, "{refused} of {}", good.len() / 4_096);
    std::fs::write(&path, &good[..good.len() / 2]).unwrap();
    assert!(matches!(
        DurableServer::try_start(folder.path(), FILE),
        Err(StoreError::Damaged(_))
    ));
}

#[test]
fn a_flush_that_fails_is_told_and_made_up_for() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.flush().unwrap();
    on_database(folder.path(), "ALTER TABLE cell RENAME TO elsewhere");
    server.charge("user", "ann", 1);
    server.charge("user", "bob", 2);
    assert!(server.flush().is_err());
    let state = &server.shared.state;
    assert!(state.store_error().is_some());
    let figures = server.shared.engine.meter().durable().figures();
    assert_eq!((figures.failures, figures.waiting), (1, 2));
    on_database(folder.path(), "ALTER TABLE elsewhere RENAME TO cell");
    server.flush().unwrap();
    assert!(state.store_error().is_none());
    server.stop();
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!(server.left("user", "ann"), [92, 92, 100]);
    assert_eq!(server.left("user", "bob"), [98, 98, 100]);
}

#[test]
fn a_file_that_is_lost_is_written_again_by_the_next_flush_also_where_nothing_changed() {
    for lost in ["tollgate.db", "tollgate.db-wal", "lock"] {
        let folder = folder();
        let server = DurableServer::start(folder.path(), FILE);
        server.charge("user", "ann", 7);
        server.flush().unwrap();
        std::fs::remove_file(folder.path().join(lost)).unwrap();
        server.flush().unwrap();
        for file in ["tollgate.db", "tollgate.db-wal", "lock"] {
            let mode = folder.path().join(file).metadata().unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600, "{file} after {lost}");
        }
        let error = DurableServer::try_start(folder.path(), FILE).err().unwrap();
        assert!(matches!(error, StoreError::Taken { .. }), "{error}");
        // As it is without another write: a copy has all of it.
        let copy = tempfile::tempdir().unwrap();
        for file in ["tollgate.db", "tollgate.db-wal"] {
            std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
        }
        let found = DurableServer::start(copy.path(), FILE);
        assert_eq!(found.left("user", "ann"), [93, 93, 100], "{lost}");
        server.stop();
    }
}

#[test]
fn a_database_of_a_wider_mode_is_made_private_with_its_log() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    server.charge("user", "ann", 7);
    server.flush().unwrap();
    let copy = tempfile::tempdir().unwrap();
    for file in ["tollgate.db", "tollgate.db-wal"] {
        let to = copy.path().join(file);
        std::fs::copy(folder.path().join(file), &to).unwrap();
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let found = DurableServer::start(copy.path(), FILE);
    assert_eq!(found.loaded.cells, 1);
    for file in ["tollgate.db", "tollgate.db-wal", "tollgate.db-shm"] {
        let mode = copy.path().join(file).metadata().unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{file}");
    }
    server.stop();
}

#[test]
fn a_hundred_thousand_keys_are_written_and_read() {
    let folder = folder();
    let server = DurableServer::start(folder.path(), FILE);
    for ip in 0..100_000 {
        server.charge("ip", &ip.to_string(), 500);
    }
    server.flush().unwrap();
    let figures = server.shared.engine.meter().durable().figures();
    assert_eq!(figures.rows, 100_000);
    let wrote = Duration::from_nanos(figures.took_ns);
    server.stop();
    let begun = std::time::Instant::now();
    let server = DurableServer::start(folder.path(), FILE);
    assert_eq!(server.loaded.cells, 100_000);
    println!(
        "100,000 cells: written in {wrote:?}, read in {:?}",
        begun.elapsed()
    );
    assert!((500..510).contains(&server.left("ip", "4711")[0]));
}
