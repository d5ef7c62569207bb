//! `PostgreSQL`: one statement decides a batch, in the database.
//!
//! Checks, charges, refunds and settlements go through `tollgate_change`, key by key in one order, so that batches
//! never lock each other out. Everything else is rare: rows are read, decided over here, and written if they are still
//! the ones that were read. Whatever the database found is decided over again by
//! [`Book::apply`](tollgate_store::Book::apply), and both must agree. Nothing is answered after the time given: what is
//! under way then is finished, or given up, by a task of its own.
//!
//! Not here: when not to ask at all, and what is answered instead.

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

/// Where the database is, and how many connections to keep.
#[derive(Clone, Debug)]
pub struct PostgresConfig {
    /// `postgres://user:password@host/database?sslmode=verify-full`; never logged.
    pub url: String,
    /// Who may have signed the database's certificate, in PEM, besides those the system trusts.
    pub ca: Option<PathBuf>,
    /// Our certificate and its key, in PEM, where the database asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Connections at most.
    pub connections: usize,
    /// How rows that say nothing any more are dropped; `None` leaves that to others.
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

/// A `PostgreSQL` database that decides.
#[derive(Clone, Debug)]
pub struct Postgres {
    pool: Arc<PostgresPool>,
}

type Answers = Vec<Result<EngineAnswer, Failure>>;

/// How long the database may take for a statement that nobody waits for any more, before its connection is given up.
const GIVE_UP: Duration = Duration::from_secs(5);

impl Postgres {
    /// An engine that connects soon, or when it is first asked, and whenever it must again.
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
        // A task of its own, so that a statement is not cut off in the middle because nobody waits any more.
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

/// Decides until every group is decided or the time is up.
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

/// What came of a connection, which is given back where it is as good as before.
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

/// One attempt: plain checks in one statement, and what is left by reading and writing.
async fn once(
    pool: &PostgresPool,
    connection: &mut pool::PooledPostgres,
    groups: &mut [Group],
) -> Result<(), sqlx::Error> {
    pool.remember_shapes(connection, groups).await?;
    decide::decide(connection, groups).await?;
    swap::swap(connection, groups).await
}
