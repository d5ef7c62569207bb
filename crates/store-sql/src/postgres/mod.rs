//! `PostgreSQL`: one statement decides a batch, in the database.
//!
//! Checks, charges, refunds and settlements go through `tollgate_change`, with keys in one order, so that batches
//! never deadlock. Everything else is rare: rows are read, decided in this process, and written if they are still
//! the ones that were read. Every verdict of the database is checked by
//! [`Book::apply`](tollgate_store::Book::apply), and both must agree. Nothing is answered after the deadline:
//! statements
//! in flight then are finished, or given up, by a separate task.
//!
//! Not here: the circuit breaker, and fallback answers.

mod clock;
mod decide;
mod group;
mod ledger;
mod pool;
mod swap;
mod sweep;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_sqlite::PostgresAddress;
use tollgate_store::{
    ClockComparison, Engine, EngineAnswer, Failure, LedgerId, LoadedLedger, StoreRequest, Swap,
    Swapped,
};

use group::{Group, grouped};
use pool::PostgresPool;

use crate::failure;
use crate::sweep::Sweep;

#[derive(Clone, Debug)]
pub struct PostgresConfig {
    /// `postgres://user:password@host/database?sslmode=verify-full`; must not be logged.
    pub url: String,
    /// Certificate authorities in PEM, besides those of the system.
    pub ca: Option<PathBuf>,
    /// Client certificate and key, in PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The most connections.
    pub connections: usize,
    /// Deletion of expired rows; `None` leaves that to other nodes.
    pub sweep: Option<Sweep>,
}

impl PostgresConfig {
    /// Eight connections to a database, and a sweep each minute.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ca: None,
            identity: None,
            connections: 8,
            sweep: Some(Sweep::default()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Postgres {
    pool: Arc<PostgresPool>,
}

type Answers = Vec<Result<EngineAnswer, Failure>>;

/// How long the database may take for an abandoned statement, before its connection is dropped.
const GIVE_UP: Duration = Duration::from_secs(5);

impl Postgres {
    /// Connects in the background or on first use, and reconnects when needed.
    pub fn new(config: &PostgresConfig) -> Result<Self, Failure> {
        let identity = config.identity.as_ref();
        let address = PostgresAddress {
            url: &config.url,
            ca: config.ca.as_deref(),
            identity: identity.map(|(certificate, key)| (&**certificate, &**key)),
        };
        let options = address.options().map_err(Failure::Forbidden)?;
        let pool = Arc::new(PostgresPool::new(options, config.connections));
        if let Some(sweep) = config.sweep {
            sweep::start(&pool, sweep);
        }
        clock::start(&pool);
        Ok(Self { pool })
    }
}

impl Engine for Postgres {
    async fn ask(&self, batch: Vec<StoreRequest>, time: Duration) -> Answers {
        let asked = batch.len();
        if batch.is_empty() {
            return Vec::new();
        }
        let until = Instant::now() + time;
        let pool = Arc::clone(&self.pool);
        pool.now.hear(&batch);
        // A separate task, so that a statement is not aborted when the caller stops waiting.
        let work = tokio::spawn(async move { answer(&pool, batch, until).await });
        match tokio::time::timeout_at(until, work).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(_)) => vec![Err(Failure::Unreachable("the task is gone".into())); asked],
            Err(_) => vec![Err(Failure::Late); asked],
        }
    }

    async fn load(&self, id: LedgerId, time: Duration) -> Result<LoadedLedger, Failure> {
        ledger::load(&self.pool, id, time).await
    }

    async fn swap(&self, id: LedgerId, swap: Swap, time: Duration) -> Result<Swapped, Failure> {
        ledger::swap(&self.pool, id, swap, time).await
    }

    fn name(&self) -> &'static str {
        "postgres"
    }

    fn clock(&self) -> Option<ClockComparison> {
        *pool::lock(&self.pool.clock)
    }
}

async fn answer(pool: &PostgresPool, batch: Vec<StoreRequest>, until: Instant) -> Answers {
    let asked = batch.len();
    let mut groups = grouped(batch);
    let done = tokio::time::timeout_at(until + GIVE_UP, attempts(pool, &mut groups, until)).await;
    let failure = match done {
        Ok(Err(failure)) => failure,
        Ok(Ok(())) | Err(_) => Failure::Late,
    };
    let mut answers = vec![Err(failure); asked];
    for (place, said) in groups.into_iter().flat_map(Group::into_answers) {
        answers[place] = said;
    }
    answers
}

/// Retries until every group is decided or the deadline.
async fn attempts(
    pool: &PostgresPool,
    groups: &mut [Group],
    until: Instant,
) -> Result<(), Failure> {
    let mut connection = pool.take(until).await?;
    let mut result = Ok(());
    while Instant::now() < until && groups.iter().any(Group::is_open) {
        result = once(pool, &mut connection, groups).await;
        match &result {
            Ok(()) => {}
            Err(error) if failure::is_worth_retrying(error) => {}
            Err(_) => break,
        }
    }
    judged(pool, connection, result)
}

/// Maps the result, and returns a connection that is still usable to the pool.
fn judged<T>(
    pool: &PostgresPool,
    connection: pool::PooledPostgres,
    result: Result<T, sqlx::Error>,
) -> Result<T, Failure> {
    match result {
        Ok(done) => {
            pool.give_back(connection);
            Ok(done)
        }
        Err(error) => {
            if failure::is_of_a_statement(&error) {
                pool.give_back(connection);
            }
            if failure::is_of_the_schema(&error) {
                pool.forget_schema();
            }
            Err(failure::of(&error))
        }
    }
}

/// One attempt: plain checks in one statement, the rest by reading and writing.
async fn once(
    pool: &PostgresPool,
    connection: &mut pool::PooledPostgres,
    groups: &mut [Group],
) -> Result<(), sqlx::Error> {
    pool.remember_shapes(connection, groups).await?;
    decide::decide(connection, groups).await?;
    swap::swap(connection, groups).await
}
