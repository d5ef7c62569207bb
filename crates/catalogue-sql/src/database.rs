//! The handle of a database: where it is, and that every call ends in time.
//!
//! Not here: what is asked (`read`, `write`, `import`, `access`, `audit`).

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_sqlite::{File, PostgresAddress, file_options};

use crate::error::Error;
use crate::pool::{DatabaseOptions, DatabasePool, PooledConnection};
use crate::snapshot::Snapshot;

/// Where the database is.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file; it is made where there is none.
    Sqlite(PathBuf),
    /// `postgres://user:password@host/database?sslmode=verify-full`; never logged.
    Postgres(String),
}

/// A database and what may be asked of it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it is.
    pub source: Source,
    /// How long a call may take.
    pub time: Duration,
    /// Connections at most.
    pub connections: usize,
    /// The most bytes a file may have; `None` leaves that to the disk.
    pub bytes_max: Option<u64>,
    /// Who must have signed the certificate of a server, in PEM; the usual authorities where absent.
    pub ca: Option<PathBuf>,
}

impl Config {
    /// Five seconds for a call, four connections.
    pub const fn new(source: Source) -> Self {
        Self {
            source,
            time: Duration::from_secs(5),
            connections: 4,
            bytes_max: None,
            ca: None,
        }
    }
}

/// Contracts, plans, assignments, their history, and who may change them.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) pool: Arc<DatabasePool>,
    pub(crate) last: Arc<Mutex<Arc<Snapshot>>>,
    time: Duration,
}

impl Database {
    /// Opens a database and brings its tables up to date.
    pub async fn open(config: &Config) -> Result<Self, Error> {
        let database = Self::lazy(config)?;
        database.in_time(database.take_once()).await?;
        Ok(database)
    }

    /// A database that is connected to when it is first asked: it may be away at the start.
    pub fn lazy(config: &Config) -> Result<Self, Error> {
        // Whoever waits for a lock is told so before the whole call is late.
        let patience = config.time * 3 / 4;
        let options = options(config, patience)?;
        Ok(Self {
            pool: Arc::new(DatabasePool::new(options, config.connections, patience)),
            last: Arc::default(),
            time: config.time,
        })
    }

    /// A connection, for those who keep other tables beside these.
    pub async fn take(&self) -> Result<PooledConnection<'_>, Error> {
        self.pool.take().await
    }

    /// The file, where it is one.
    pub fn file(&self) -> Option<Arc<File>> {
        self.pool.file()
    }

    async fn take_once(&self) -> Result<(), Error> {
        self.pool.take().await?.done();
        Ok(())
    }

    /// Ends a call when its time is up. What it had begun is undone with its connection.
    pub async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let ended = tokio::time::timeout(self.time, call).await;
        ended.unwrap_or(Err(Error::Late))
    }
}

fn options(config: &Config, patience: Duration) -> Result<DatabaseOptions, Error> {
    match &config.source {
        Source::Sqlite(path) => {
            let mut options = file_options(path, true, patience);
            if let Some(bytes) = config.bytes_max {
                options = options.pragma("max_page_count", (bytes / PAGE_BYTES).max(1).to_string());
            }
            Ok(DatabaseOptions::Sqlite(Arc::new(File::shared(options))))
        }
        Source::Postgres(url) => {
            let ca = config.ca.as_deref();
            let identity = None;
            let address = PostgresAddress { url, ca, identity };
            let options = address.options().map_err(Error::Forbidden)?;
            let options = options.options([
                (
                    "statement_timeout",
                    format!("{}ms", config.time.as_millis()),
                ),
                ("lock_timeout", format!("{}ms", patience.as_millis())),
                // Tables that just grew look small to the planner, and every statement here has an index.
                ("enable_seqscan", "off".to_owned()),
                // What has none, as the row of the revision, then seems worth compiling.
                ("jit", "off".to_owned()),
            ]);
            Ok(DatabaseOptions::Postgres(Box::new(options)))
        }
    }
}

/// Nanoseconds since the epoch.
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// The size of a page of a file, unless somebody chose another.
const PAGE_BYTES: u64 = 4096;
