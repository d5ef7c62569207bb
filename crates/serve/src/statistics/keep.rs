//! The thread that folds all threads' counts and writes them, once a second.
//!
//! A batch that failed is sent again unchanged, so that it is added once. Writing takes at most a twentieth of the
//! time: after a slow batch the next one waits, unless a reader wants everything. Not here: connections.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant as Moment};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tollgate_catalogue_sql::{Config, Database, Error, Source};
use tollgate_stats::Sheet;
use tollgate_stats_sql::{Batch, UsageBook};

use super::{Statistics, StatisticsReader};
use crate::catalogue::config;
use crate::settings::Settings;
use crate::shared::{ServerPhase, Shared, Stop};

pub struct Scribe {
    runtime: Option<Runtime>,
    stop: watch::Sender<ServerPhase>,
    /// Nothing is ever sent; the other end is dropped when all is done.
    ended: Mutex<mpsc::Receiver<()>>,
}

/// Statistics are kept in the catalogue's database. If there is none and settings enable them anyway, in the database
/// of durable counts, or else in a file in the data directory.
pub fn place(settings: &Settings) -> Option<Config> {
    let keeping = &settings.keeping;
    if let Some(catalogue) = &keeping.catalogue {
        return Some(config(catalogue));
    }
    if keeping.statistics.on != Some(true) {
        return None;
    }
    let Some(database) = &keeping.database else {
        let file = settings.data_dir.as_ref()?.join(FILE);
        return Some(Config::new(Source::Sqlite(file)));
    };
    Some(Config {
        ca: database.ca_file.clone(),
        ..Config::new(Source::Postgres(database.url.secret().to_owned()))
    })
}

/// Starts counting requests of a server, and writing the counts to a database, if there is one.
pub fn start(
    shared: &Arc<Shared>,
    database: Option<&Config>,
    node: &str,
) -> io::Result<Option<Scribe>> {
    let settings = &shared.settings.keeping.statistics;
    if !settings.on.unwrap_or(database.is_some()) {
        return Ok(None);
    }
    // Its own, as a connection belongs to the runtime that made it.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("statistics")
        .enable_all()
        .build()?;
    let shows_keys = shared.settings.telemetry.show_keys;
    let statistics = Arc::new(Statistics::new(settings, shows_keys));
    let database = database.map(|config| {
        Database::lazy(&Config {
            connections: 3,
            ..config.clone()
        })
    });
    let database = database.transpose().map_err(io::Error::other)?;
    if let Some(file) = database.as_ref().and_then(Database::file) {
        shared.state.databases.add(file);
    }
    let book = database.map(|database| UsageBook::new(database, node.to_owned()));
    let reader = StatisticsReader::new(
        Arc::clone(&statistics),
        book.clone(),
        runtime.handle().clone(),
        node.to_owned(),
    );
    shared.engine.set_statistics(Arc::clone(&statistics));
    let _ = shared.statistics.set(reader);
    let (stop, stopping) = Stop::new();
    let work = Work {
        shared: Arc::clone(shared),
        statistics,
        every: settings.every,
        spares: Vec::new(),
    };
    let writer = book.map(Writer::new).transpose()?;
    let (end, ended) = mpsc::channel::<()>();
    runtime.spawn(async move {
        work.run(writer, stopping).await;
        drop(end);
    });
    Ok(Some(Scribe {
        runtime: Some(runtime),
        stop,
        ended: Mutex::new(ended),
    }))
}

impl Drop for Scribe {
    /// Waits until the counts are written.
    fn drop(&mut self) {
        let _ = self.stop.send(ServerPhase::Stopping);
        if let Some(runtime) = self.runtime.take() {
            let _ = self.ended.lock().recv();
            runtime.shutdown_background();
        }
    }
}

struct Work {
    shared: Arc<Shared>,
    statistics: Arc<Statistics>,
    every: Duration,
    spares: Vec<Option<Sheet>>,
}

/// A batch being written.
type Writing = Pin<Box<dyn Future<Output = Writer> + Send>>;

impl Work {
    async fn run(mut self, mut writer: Option<Writer>, mut stop: Stop) {
        let mut writing: Option<Writing> = None;
        let mut due = Moment::now();
        let mut tick = tokio::time::interval(self.every.min(FOLD_EVERY));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let statistics = Arc::clone(&self.statistics);
        let mut is_wanted = false;
        loop {
            let is_due = tokio::select! {
                _ = tick.tick() => {
                    self.fold();
                    Moment::now() >= due
                }
                () = statistics.wanted.notified() => {
                    self.fold();
                    is_wanted = true;
                    true
                }
                done = wait(&mut writing) => {
                    due = due.max(Moment::now() + done.took.min(TOOK_MAX) * SHARE);
                    (writing, writer) = (None, Some(done));
                    is_wanted
                }
                () = stop.given() => break,
            };
            if is_due && let Some(writer) = writer.take() {
                is_wanted = false;
                due = Moment::now() + self.every;
                writing = Some(self.write(writer));
            }
        }
        if let Some(writing) = writing {
            writer = Some(writing.await);
        }
        self.fold();
        if let Some(writer) = writer {
            let done = self.write(writer).await;
            if let Some(batch) = done.pending {
                let rows = batch.lines.len() + self.statistics.figures().waiting;
                tracing::error!(rows, "request statistics could not be written at the end");
            }
        }
    }

    fn fold(&mut self) {
        self.statistics
            .fold(&mut self.spares, self.shared.engine.now());
    }

    fn write(&self, writer: Writer) -> Writing {
        let (shared, statistics) = (Arc::clone(&self.shared), Arc::clone(&self.statistics));
        Box::pin(async move { writer.write(&shared, &statistics).await })
    }
}

async fn wait(writing: &mut Option<Writing>) -> Writer {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

struct Writer {
    book: UsageBook,
    name: String,
    sequence: u64,
    /// A batch that may or may not have been added.
    pending: Option<Batch>,
    took: Duration,
    pruned: u64,
}

impl Writer {
    fn new(book: UsageBook) -> io::Result<Self> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|why| io::Error::other(why.to_string()))?;
        Ok(Self {
            book,
            name: format!("{:032x}", u128::from_le_bytes(name)),
            sequence: 0,
            pending: None,
            took: Duration::ZERO,
            pruned: 0,
        })
    }

    /// Sends what waits, until nothing does or it fails.
    async fn write(mut self, shared: &Shared, statistics: &Statistics) -> Self {
        let began = Moment::now();
        loop {
            let now_s = shared.engine.now().as_nanos() / 1_000_000_000;
            let folded = statistics.figures.folded_until();
            let batch = self.pending.take();
            let Some(batch) = batch.or_else(|| self.next(statistics, now_s)) else {
                statistics.figures.written(folded);
                break;
            };
            match self.book.keep(&batch).await {
                Ok(_) => statistics.figures.wrote(nanos(began.elapsed())),
                Err(Error::Refused(why)) => {
                    tracing::error!(%why, "request statistics that no database takes are dropped");
                    statistics.figures.refused(batch.lines.len());
                }
                Err(error) => {
                    self.failed(&error, shared, statistics);
                    self.pending = Some(batch);
                    return self;
                }
            }
        }
        if shared.state.set_statistics_error(None) {
            tracing::info!("request statistics are written again");
        }
        self.took = began.elapsed();
        self.prune(shared).await;
        self
    }

    fn next(&mut self, statistics: &Statistics, now_s: u64) -> Option<Batch> {
        let lines = statistics.ledger.lock().take(now_s / 60, LINES_MAX);
        if lines.is_empty() {
            return None;
        }
        self.sequence += 1;
        Some(Batch {
            writer: self.name.clone(),
            sequence: self.sequence,
            at_s: now_s,
            lines,
        })
    }

    fn failed(&mut self, error: &Error, shared: &Shared, statistics: &Statistics) {
        statistics.figures.failed();
        self.took = Duration::ZERO;
        let why = error.to_string();
        if !shared.state.set_statistics_error(Some(why)) {
            tracing::warn!(%error, "request statistics are not written; they wait in memory");
        }
    }

    /// Once a minute.
    async fn prune(&mut self, shared: &Shared) {
        let now_s = shared.engine.now().as_nanos() / 1_000_000_000;
        if self.pruned == now_s / 60 {
            return;
        }
        match self.book.prune(now_s).await {
            Ok(false) => self.pruned = now_s / 60,
            // The rest is dropped after the next batch.
            Ok(true) => {}
            Err(error) => tracing::debug!(%error, "old request statistics are not dropped"),
        }
    }
}

fn nanos(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

/// The file in the data directory.
const FILE: &str = "statistics.db";
/// Sheets are folded at least this often.
const FOLD_EVERY: Duration = Duration::from_secs(1);
/// Lines of one batch.
const LINES_MAX: usize = 20_000;
/// The pause after a batch, as a multiple of the batch's duration.
const SHARE: u32 = 20;
const TOOK_MAX: Duration = Duration::from_secs(3);
