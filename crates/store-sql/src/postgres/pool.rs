//! Connections: bounded in number, opened on demand, with a pause after failures.
//!
//! A connection that failed is dropped, never repaired. While none can be opened, callers fail at once, and
//! a caller retries from time to time. Not here: statements.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tollgate_store::{ClockComparison, Failure};

use super::group::Group;
use crate::failure;
use crate::sweep::Now;

/// Callers that wait for a connection.
const WAITING_MAX: usize = 1024;
/// Pauses between attempts to connect: the first, and the longest.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How long the database may take for a statement, and for a lock within it.
const LIMITS: [(&str, &str); 3] = [
    ("statement_timeout", "2s"),
    ("lock_timeout", "1s"),
    // Compiling these statements takes longer than running them.
    ("jit", "off"),
];
/// Numbers of shapes that are known to be stored.
const SHAPES_MAX: usize = 100_000;
/// Concurrent migrations take turns by this lock number.
const MIGRATING: i64 = 0x746f_6c6c;
const MIGRATIONS: [&str; 2] = [
    include_str!("../../migrations/1-tables.sql"),
    include_str!("../../migrations/2-postgres.sql"),
];

#[derive(Debug)]
pub(super) struct PostgresPool {
    options: PgConnectOptions,
    idle: Mutex<Vec<PgConnection>>,
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    down: Mutex<Option<Down>>,
    is_migrated: AtomicBool,
    /// Whether the table of ledgers exists.
    pub(super) has_ledgers: AtomicBool,
    /// The time for sweeping.
    pub(super) now: Now,
    shapes: Mutex<BTreeSet<u64>>,
    pub(super) clock: Mutex<Option<ClockComparison>>,
}

/// The last failure, and the time of the next attempt.
#[derive(Clone, Debug)]
struct Down {
    failure: Failure,
    until: Instant,
    pause: Duration,
}

/// A connection and its permit.
#[derive(Debug)]
pub(super) struct PooledPostgres {
    connection: PgConnection,
    _permit: OwnedSemaphorePermit,
}

impl Deref for PooledPostgres {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for PooledPostgres {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl PostgresPool {
    pub(super) fn new(options: PgConnectOptions, connections: usize) -> Self {
        Self {
            options: options.options(LIMITS),
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(connections.max(1))),
            waiting: AtomicUsize::new(0),
            down: Mutex::default(),
            is_migrated: AtomicBool::new(false),
            has_ledgers: AtomicBool::new(false),
            now: Now::start(),
            shapes: Mutex::default(),
            clock: Mutex::default(),
        }
    }

    pub(super) async fn take(&self, until: Instant) -> Result<PooledPostgres, Failure> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Failure::Busy);
        }
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout_at(until, permit).await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let Ok(Ok(permit)) = permit else {
            return Err(Failure::Late);
        };
        let idle = lock(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(PooledPostgres {
            connection,
            _permit: permit,
        })
    }

    /// Only for a connection that is still usable.
    pub(super) fn give_back(&self, taken: PooledPostgres) {
        lock(&self.idle).push(taken.connection);
    }

    /// The tables are missing: the next connection creates them.
    pub(super) fn forget_schema(&self) {
        self.is_migrated.store(false, Ordering::Relaxed);
        self.has_ledgers.store(false, Ordering::Relaxed);
        lock(&self.shapes).clear();
        lock(&self.idle).clear();
    }

    /// Stores the shapes that states will name.
    pub(super) async fn remember_shapes(
        &self,
        connection: &mut PgConnection,
        groups: &[Group],
    ) -> Result<(), sqlx::Error> {
        let mut missing = Vec::new();
        for ask in groups.iter().flat_map(|group| &group.asks) {
            if !lock(&self.shapes).contains(&ask.book.shape_id()) {
                missing.push(&ask.book);
            }
        }
        missing.sort_unstable_by_key(|book| book.shape_id());
        missing.dedup_by_key(|book| book.shape_id());
        for book in missing {
            let keep =
                "INSERT INTO tollgate_shape (id, text) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            let keep = sqlx::query(keep).bind(book.shape_id().cast_signed());
            keep.bind(book.shape()).execute(&mut *connection).await?;
            let mut shapes = lock(&self.shapes);
            if shapes.len() >= SHAPES_MAX {
                shapes.clear();
            }
            shapes.insert(book.shape_id());
        }
        Ok(())
    }

    async fn connect(&self) -> Result<PgConnection, Failure> {
        let down = lock(&self.down).clone();
        if let Some(down) = &down
            && Instant::now() < down.until
        {
            return Err(down.failure.clone());
        }
        match self.connect_now().await {
            Ok(connection) => {
                *lock(&self.down) = None;
                Ok(connection)
            }
            Err(error) => {
                let failure = failure::of(&error);
                // Idle connections are likely broken too.
                lock(&self.idle).clear();
                *lock(&self.down) = Some(Down::after(down.as_ref(), failure.clone()));
                Err(failure)
            }
        }
    }

    async fn connect_now(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if !self.is_migrated.load(Ordering::Relaxed) {
            migrate(&mut connection).await?;
            self.is_migrated.store(true, Ordering::Relaxed);
        }
        Ok(connection)
    }
}

impl Down {
    /// The next pause is twice as long, and between half and the whole of that, so that nodes do not retry in step.
    fn after(before: Option<&Self>, failure: Failure) -> Self {
        let pause = before.map_or(PAUSE, |before| (before.pause * 2).min(PAUSE_MAX));
        let chance = u32::try_from(RandomState::new().hash_one(0) % 512).unwrap_or(0);
        Self {
            failure,
            until: Instant::now() + pause / 2 + pause * chance / 1024,
            pause,
        }
    }
}

/// Migrates the tables. If they are up to date nothing is written, so that a standby answers and is recognized.
async fn migrate(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    // Queries the system catalogue: the meaning of a name may be cached from before the lock.
    const KNOWN: &str = "
        SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'tollgate_swap' AND pg_function_is_visible(oid))";
    const DECIDES: &str = "
        SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'tollgate_change' AND pg_function_is_visible(oid))";
    create(connection, KNOWN, &MIGRATIONS).await?;
    let decides = include_str!("../../migrations/4-change.sql");
    create(connection, DECIDES, &[decides]).await
}

/// Creates missing objects; nodes take turns.
pub(super) async fn create(
    connection: &mut PgConnection,
    known: &'static str,
    migrations: &[&'static str],
) -> Result<(), sqlx::Error> {
    if sqlx::query_scalar(known)
        .fetch_one(&mut *connection)
        .await?
    {
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    let turn = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(MIGRATING);
    turn.execute(&mut *transaction).await?;
    if !sqlx::query_scalar(known)
        .fetch_one(&mut *transaction)
        .await?
    {
        for migration in migrations {
            sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
        }
    }
    transaction.commit().await
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
