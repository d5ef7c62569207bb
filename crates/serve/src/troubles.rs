//! What is wrong with databases and other files, and since when, in words for operators.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;
use tollgate_sqlite::File;

use crate::meter::Exposition;

#[derive(Debug)]
pub(crate) struct Databases {
    /// Why durable counts are not written.
    pub(crate) durable: Lasting,
    /// Why written counts do not reach the disk.
    pub(crate) synced: OnceLock<Arc<Lasting>>,
    /// Why the state of divided rates is not written.
    pub(crate) supply: Lasting,
    /// Why the list of members is not written.
    pub(crate) members: Lasting,
    /// Why the store of policies does not decide.
    pub(crate) engine: OnceLock<Arc<Lasting>>,
    /// Why request statistics are not written.
    pub(crate) statistics: Lasting,
    /// Files that this server has open.
    files: Mutex<Vec<Arc<File>>>,
}

impl Databases {
    pub(crate) const fn new() -> Self {
        Self {
            durable: Lasting::new(),
            synced: OnceLock::new(),
            supply: Lasting::new(),
            members: Lasting::new(),
            engine: OnceLock::new(),
            statistics: Lasting::new(),
            files: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn durable_error(&self) -> Option<String> {
        self.durable.told("durable counts are not written")
    }

    /// Watches this file for loss.
    pub(crate) fn add(&self, file: Arc<File>) {
        self.files.lock().push(file);
    }

    /// What is wrong, one sentence each, and for a minute which files were lost.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let (synced, engine) = (self.synced.get(), self.engine.get());
        let troubles = [
            self.durable_error(),
            synced.and_then(|error| {
                error.told("durable counts are written and would not survive a loss of power")
            }),
            self.supply
                .told("what must be kept of divided rates is not written"),
            self.members.told("the list of members is not written"),
            engine.and_then(|error| error.told("the store does not decide")),
            self.statistics.told("request statistics are not written"),
        ];
        let files = self.files.lock();
        let lost = files.iter().filter_map(|file| file.lately());
        troubles.into_iter().flatten().chain(lost).collect()
    }

    /// How many files were lost, for Prometheus.
    pub(crate) fn render(&self, text: &mut Exposition) {
        let lost: u64 = self.files.lock().iter().map(|file| file.lost()).sum();
        text.one("tollgate_database_files_lost_total", lost);
    }
}

/// What is wrong, and since when.
#[derive(Debug, Default)]
pub(crate) struct Lasting(Mutex<Option<(SystemTime, String)>>);

impl Lasting {
    const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Returns whether something was wrong before.
    pub(crate) fn set(&self, error: Option<String>) -> bool {
        let mut known = self.0.lock();
        let since = known.as_ref().map(|(since, _)| *since);
        *known = error.map(|error| (since.unwrap_or_else(SystemTime::now), error));
        since.is_some()
    }

    fn told(&self, what: &str) -> Option<String> {
        let known = self.0.lock();
        let told = |(since, why): &(SystemTime, String)| {
            format!("{what} since {}: {why}", httpdate::fmt_http_date(*since))
        };
        known.as_ref().map(told)
    }
}
