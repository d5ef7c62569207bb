//! The handle of a database: its address, and the deadline of every call.
//!
//! Not here: the queries (`read`, `write`, `import`, `access`, `audit`).

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_sqlite::{File, PostgresAddress, file_options};

use crate::error::Error;
use crate::pool::{DatabaseOptions, DatabasePool, PooledConnection};
use crate::snapshot::Snapshot;

#[derive(Clone, Debug)]
pub enum Source {
    /// A file; created if missing.
    Sqlite(PathBuf),
    /// `postgres://user:password@host/database?sslmode=verify-full`; must not be logged.
    Postgres(String),
}

#[derive(Clone, Debug)]
pub struct Config {
    pub source: Source,
    /// Deadline of a call.
    pub time: Duration,
    /// The most connections.
    pub connections: usize,
    /// The largest size of a file, in bytes; `None` for no limit.
    pub bytes_max: Option<u64>,
    /// Certificate authorities in PEM; `None` for the usual ones.
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

#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) pool: Arc<DatabasePool>,
    pub(crate) last: Arc<Mutex<Arc<Snapshot>>>,
    time: Duration,
}

impl Database {
    /// Also migrates the tables.
    pub async fn open(config: &Config) -> Result<Self, Error> {
        let database = Self::lazy(config)?;
        database.in_time(database.take_once()).await?;
        Ok(database)
    }

    /// Connects on first use: the database may be unavailable at the start.
    pub fn lazy(config: &Config) -> Result<Self, Error> {
        // Waiting for a lock ends before the deadline of the call.
        let patience = config.time * 3 / 4;
        let options = options(config, patience)?;
        Ok(Self {
            pool: Arc::new(DatabasePool::new(options, config.connections, patience)),
            last: Arc::default(),
            time: config.time,
        })
    }

    /// For other tables in the same database.
    pub async fn take(&self) -> Result<PooledConnection<'_>, Error> {
        self.pool.take().await
    }

    /// `None` for a server.
    pub fn file(&self) -> Option<Arc<File>> {
        self.pool.file()
    }

    async fn take_once(&self) -> Result<(), Error> {
        self.pool.take().await?.done();
        Ok(())
    }

    /// Enforces the deadline. An open transaction is rolled back with its connection.
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
                // Statistics lag behind growing tables, which then look small to the planner, and every statement
                // here has an index.
                ("enable_seqscan", "off".to_owned()),
                // Statements without an index, as for the row of the revision, then look expensive enough to compile.
                ("jit", "off".to_owned()),
            ]);
            Ok(DatabaseOptions::Postgres(Box::new(options)))
        }
    }
}

pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// The size of a page of a file, unless another was chosen.
const PAGE_BYTES: u64 = 4096;
