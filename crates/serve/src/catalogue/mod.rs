//! The catalogue of a running server: which contracts and plans are in force, and whose keys have terms of their own.
//!
//! Where settings name a database, contracts are live data: `open` reads them at the start, `watch` follows every
//! change, and `clerk` looks up the terms of keys when they are first asked for. Otherwise a contract file is the
//! source, and nobody can change anything here. Not here: what documents mean (`tollgate-catalogue`), tables
//! (`tollgate-catalogue-sql`), and who may change them.

mod clerk;
mod counts;
mod error;
mod open;
mod touched;
mod watch;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tokio::sync::{Notify, watch as seen};
use tollgate_catalogue::Catalogue;
use tollgate_catalogue_sql::{Database, Snapshot};
use tollgate_contract::Contracts;

pub use counts::CatalogueCounts;
pub use error::CatalogueError;

use crate::meter::Exposition;
use clerk::Clerk;
pub(crate) use open::{CatalogueRuntime, Imported, OpenedCatalogue, config, open};
pub(crate) use watch::Watcher;

/// What of the catalogue is in force on this server, and the way to change it.
pub struct Live {
    database: Option<Database>,
    /// The contract file that a new database was initialized from.
    imported: Option<Imported>,
    force: ArcSwap<Snapshot>,
    /// Incremented when a new state comes into force; read-locked during look-ups so that their result is not outdated.
    turn: RwLock<u64>,
    touch: Mutex<Touch>,
    /// Wakes the watcher.
    nudge: Notify,
    reached: seen::Sender<u64>,
    counts: CatalogueCounts,
}

/// Origin of a change of contracts, for the log.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The author, or the cause.
    pub(crate) by: String,
    /// Its revision; files have none.
    pub(crate) revision: Option<u64>,
}

impl Origin {
    /// An origin outside the catalogue.
    pub(crate) fn of(by: &str) -> Self {
        Self {
            by: by.to_owned(),
            revision: None,
        }
    }
}

/// Outcome of the last query.
struct Touch {
    /// When the database last reported its newest revision.
    at: Instant,
    trouble: Option<String>,
}

impl Live {
    /// The catalogue of a database at a revision, and the file it was initialized from.
    pub(crate) fn new(database: Database, snapshot: Arc<Snapshot>, imported: Imported) -> Self {
        Self {
            imported: Some(imported),
            ..Self::of(Some(database), snapshot)
        }
    }

    /// The contracts of a file: read-only, and without terms of single keys.
    pub fn of_file(contracts: &Contracts) -> Self {
        Self::of(None, file(contracts))
    }

    fn of(database: Option<Database>, snapshot: Arc<Snapshot>) -> Self {
        Self {
            database,
            imported: None,
            reached: seen::Sender::new(snapshot.revision),
            force: ArcSwap::new(snapshot),
            turn: RwLock::new(1),
            touch: Mutex::new(Touch {
                at: Instant::now(),
                trouble: None,
            }),
            nudge: Notify::new(),
            counts: CatalogueCounts::default(),
        }
    }

    /// `None` if a file is the source, so that nothing can be changed.
    pub const fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The contract file that the database was initialized from; `None` if a file is the source.
    pub(crate) const fn imported(&self) -> Option<Imported> {
        self.imported
    }

    /// The contracts and plans in force; those of a file have revision 0.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.force.load_full()
    }

    /// Waits until this server decides by this revision or a later one; returns whether it does.
    pub async fn reach(&self, revision: u64, within: Duration) -> bool {
        let mut reached = self.reached.subscribe();
        self.nudge.notify_one();
        let there = reached.wait_for(|reached| *reached >= revision);
        tokio::time::timeout(within, there)
            .await
            .is_ok_and(|there| there.is_ok())
    }

    /// How long ago the database last confirmed that nothing newer exists. A file is never stale.
    pub fn staleness(&self) -> Duration {
        match self.database {
            None => Duration::ZERO,
            Some(_) => self.touch.lock().at.elapsed(),
        }
    }

    /// Why changes do not come into force, if so.
    pub fn trouble(&self) -> Option<String> {
        self.touch.lock().trouble.clone()
    }

    pub const fn counts(&self) -> &CatalogueCounts {
        &self.counts
    }

    /// Adds the metrics of the catalogue; none if a file is the source.
    pub(crate) fn render(&self, text: &mut Exposition) {
        if self.database.is_some() {
            let (revision, staleness) = (self.snapshot().revision, self.staleness());
            self.counts.render(text, revision, staleness);
        }
    }

    /// After the file was read again.
    pub(crate) fn set_file(&self, contracts: &Contracts) {
        if self.database.is_none() {
            self.force.store(file(contracts));
        }
    }

    /// What is in force, and its number.
    fn in_force(&self) -> (u64, Arc<Snapshot>) {
        let turn = self.turn.read();
        (*turn, self.force.load_full())
    }

    /// The number of the state in force, which cannot change while the guard is held.
    fn turn(&self) -> RwLockReadGuard<'_, u64> {
        self.turn.read()
    }

    /// Puts a new state in force. `forget` runs before any look-up can use it.
    fn advance(&self, snapshot: Arc<Snapshot>, forget: impl FnOnce()) {
        let revision = snapshot.revision;
        let mut turn = self.turn.write();
        *turn += 1;
        self.force.store(snapshot);
        forget();
        drop(turn);
        self.reached.send_replace(revision);
    }

    /// Records the outcome of a query started at `since`.
    fn touched(&self, since: Instant, outcome: Result<(), String>) {
        let mut touch = self.touch.lock();
        if outcome.is_ok() {
            touch.at = since;
        }
        touch.trouble = outcome.err();
    }
}

fn file(contracts: &Contracts) -> Arc<Snapshot> {
    Arc::new(Snapshot {
        revision: 0,
        catalogue: Catalogue::of(contracts),
    })
}
