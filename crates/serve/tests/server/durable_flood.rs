//! Durable counts under floods of keys: what leaves memory was written, and is read before its key is decided about.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_contract::Contracts;
use tollgate_limit::Cost;
use tollgate_node::{Answer, Key, NodeConfig, RefusedBy};
use tollgate_parts::Postgres;
use tollgate_serve::durable::{self, Store};
use tollgate_serve::engine::{
    Act, Engine, EngineError, EngineRequest, Op, OpOutcome, Secrets, Settle, Turn,
};
use tollgate_serve::settings::DatabaseSettings;
use tollgate_table::WhenFull;

use crate::durable::{DurableServer, on_database};

const FREE: &str = "
contracts:
  - { id: free, key: [ip], policies: [{ name: fast, limit: 100, per: 1h }] }
";
const FILE: &str = "
contracts:
  - { id: free, key: [ip], policies: [{ name: fast, limit: 100, per: 1h }] }
  - id: paid
    key: [user]
    policies:
      - { name: quota, limit: 3, per: 1000d, algorithm: fixed-window, durable: true }
";
const USERS: usize = 1_000;

/// A server with little memory, which evicts.
struct Small {
    server: DurableServer,
    runtime: tokio::runtime::Runtime,
}

impl Small {
    fn start(folder: &Path, bytes_max: u64) -> Self {
        let (store, secrets) = durable::open(folder).unwrap();
        Self::of(store, &secrets, FILE, bytes_max)
    }

    fn at(database: &Postgres, bytes_max: u64) -> Self {
        let settings = DatabaseSettings::new(database.url().parse().unwrap());
        let opened = durable::open_seat(&settings, "n1", None, None);
        let (store, secrets) = opened.unwrap();
        Self::of(store, &secrets, FILE, bytes_max)
    }

    fn of(store: Store, secrets: &Secrets, contracts: &str, bytes_max: u64) -> Self {
        let config = NodeConfig {
            bytes_max,
            when_full: WhenFull::Evict,
            ..NodeConfig::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            server: DurableServer::of(store, secrets, contracts, config).unwrap(),
            runtime: { runtime }.enable_all().build().unwrap(),
        }
    }

    fn engine(&self) -> &Engine {
        &self.server.shared.engine
    }

    /// Asks as a listener does.
    fn ask(&self, op: &Op<'_>) -> (Turn<'_>, Result<OpOutcome, EngineError>) {
        let turn = self.engine().turn();
        self.runtime.block_on(turn.decide(op))
    }

    fn check(&self, name: &str, value: &str) -> Answer {
        self.take(name, value, Cost::ONE)
    }

    fn take(&self, name: &str, value: &str, cost: Cost) -> Answer {
        let entries = [(name, value)];
        let ask = EngineRequest::new(Key::Entries(&entries), cost);
        self.ask(&Op::check(ask)).1.unwrap().answer().unwrap()
    }

    /// How many of the users pass.
    fn passing(&self) -> usize {
        let users = (0..USERS).map(|user| self.check("user", &format!("user {user}")));
        users.filter(Answer::is_allowed).count()
    }

    fn use_up(&self) {
        for user in 0..USERS {
            let user = format!("user {user}");
            // A row that a busy machine was late to read uses nothing up.
            let refused_by = || self.check("user", &user).refused_by;
            while matches!(refused_by(), None | Some(RefusedBy::Unread)) {}
            if self.engine().node().bytes() > self.engine().node().bytes_max() / 2 {
                self.flush();
            }
        }
        self.flush();
    }

    /// Made-up keys, each of which uses a quota up at once, with a flush now and then.
    fn flood(&self, name: &str, keys: usize) {
        for key in 0..keys {
            let _ = self.take(name, &format!("made up {key}"), Cost::from_u32(3));
            if key % 2_000 == 0 {
                self.flush();
            }
        }
        self.flush();
    }

    fn flush(&self) {
        self.server.flush().unwrap();
    }

    fn evicted(&self) -> u64 {
        self.engine().counters().evicted_live
    }

    fn stop(self) {
        self.server.stop();
    }
}

const MIB: u64 = 1 << 20;

#[test]
fn a_flood_of_another_contract_leaves_used_up_quotas_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), MIB);
    server.flood("ip", 60_000);
    assert!(
        server.evicted() > 1_000,
        "the flood needs more than there is"
    );
    server.use_up();
    server.flood("ip", 60_000);
    assert_eq!(server.passing(), 0);
    let reads = server.engine().meter().durable().figures().reads;
    assert_eq!(reads.found + reads.new, 0, "none had left memory");
}

#[test]
fn no_used_up_quota_passes_after_a_flood_of_its_own_contract_nor_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), MIB);
    server.use_up();
    server.flood("user", 60_000);
    assert!(server.evicted() > 1_000);
    assert_eq!(server.passing(), 0);
    server.stop();
    // More was written than there is room for.
    let server = Small::start(folder.path(), MIB);
    assert_eq!(server.passing(), 0);
    server.flood("user", 10_000);
    assert_eq!(server.passing(), 0);
    server.stop();
    let server = Small::start(folder.path(), 64 * MIB);
    assert_eq!(
        server.passing(),
        0,
        "no row was overwritten by a lower count"
    );
}

#[test]
fn no_used_up_quota_passes_after_a_flood_where_a_database_of_many_keeps_it() {
    let database = Postgres::start();
    let server = Small::at(&database, MIB);
    server.use_up();
    server.flood("user", 42_000);
    assert!(server.evicted() > 1_000);
    let reads = || server.engine().meter().durable().figures().reads;
    // A busy machine may be late to read a row, and the key is denied for that: none of these was.
    tollgate_parts::until("all rows of users are read in time", || {
        let failed = reads().failed;
        assert_eq!(server.passing(), 0);
        reads().failed == failed
    });
    assert!(reads().new > 0, "{:?}", reads());
    server.stop();
    assert_eq!(Small::at(&database, MIB).passing(), 0);
}

#[test]
fn a_key_whose_row_cannot_be_read_is_denied_within_its_time_and_decided_once_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), MIB);
    server.flood("user", 60_000);
    on_database(folder.path(), "ALTER TABLE cell RENAME TO moved");
    let began = Instant::now();
    let answer = server.check("user", "never seen");
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(answer.refused_by, Some(RefusedBy::Unread));
    assert!(!answer.is_allowed());
    assert!(server.check("ip", "never seen").is_allowed());
    let reads = server.engine().meter().durable().figures().reads;
    assert!(reads.failed > 0, "{reads:?}");
    on_database(folder.path(), "ALTER TABLE moved RENAME TO cell");
    assert!(server.check("user", "never seen").is_allowed());
}

#[test]
fn what_was_not_written_stays_in_memory_and_new_keys_are_denied_instead() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), MIB);
    let users = |user: usize| server.check("user", &format!("user {user}"));
    let first_denied = (0..100_000).find(|user| !users(*user).is_allowed());
    let first_denied = first_denied.expect("memory ends");
    assert_eq!(server.evicted(), 0);
    assert_eq!(users(first_denied).refused_by, Some(RefusedBy::Unread));
    for user in 0..100 {
        let answer = users(user);
        assert_eq!((answer.is_allowed(), answer.remaining), (true, 1));
    }
    server.flush();
    assert!(users(first_denied).is_allowed());
    assert!(server.evicted() > 0);
}

#[test]
fn a_key_of_a_contract_that_comes_back_is_read_before_it_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), 64 * MIB);
    while server.check("user", "ann").is_allowed() {}
    server.stop();
    let (store, secrets) = durable::open(folder.path()).unwrap();
    let server = Small::of(store, &secrets, FREE, 64 * MIB);
    server.engine().load(Contracts::parse(FILE).unwrap());
    assert!(
        !server.check("user", "ann").is_allowed(),
        "before any flush"
    );
    assert!(server.check("user", "bob").is_allowed());
    server.flush();
    assert!(!server.engine().is_apart(), "all rows were read");
    assert!(!server.check("user", "ann").is_allowed());
}

#[test]
fn what_is_given_back_and_reset_reaches_keys_that_left_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Small::start(folder.path(), MIB);
    server.use_up();
    let ask = |id| {
        let entries = [("user", id)];
        let ask = EngineRequest::new(Key::Entries(&entries), Cost::ONE);
        let (turn, outcome) = server.ask(&Op::check(ask));
        let answer = outcome.and_then(OpOutcome::answer);
        answer.map(|answer| turn.receipt(&answer))
    };
    let receipt = ask("carl").unwrap().unwrap();
    while server.check("user", "carl").is_allowed() {}
    server.flood("user", 60_000);
    let (_, settled) = server.ask(&Op::Settle(Settle {
        receipt: &receipt,
        actual: Cost::PEEK,
        id: None,
    }));
    settled.unwrap();
    assert!(server.check("user", "carl").is_allowed(), "one came back");
    assert!(!server.check("user", "carl").is_allowed());
    let entries = [("user", "user 7")];
    let reset = EngineRequest::new(Key::Entries(&entries), Cost::PEEK);
    server.ask(&Op::Key(Act::Reset, reset)).1.unwrap();
    let again = (0..9).filter(|_| server.check("user", "user 7").is_allowed());
    assert_eq!(again.count(), 3);
    server.stop();
    let server = Small::start(folder.path(), MIB);
    assert!(!server.check("user", "user 7").is_allowed());
    assert!(!server.check("user", "carl").is_allowed());
}
