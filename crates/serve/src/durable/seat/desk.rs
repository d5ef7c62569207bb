//! One connection at a time, and the fence under which it writes.
//!
//! A connection that failed is dropped, never repaired: the database may have executed the statement or do so later,
//! and a new fence makes sure that it does not do so after the next statement.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection, Row as _};
use tokio::time::{Instant, sleep, timeout};
use tollgate_store::Failure;

use super::standing::{LeaseStanding, SILENT};
use crate::database::{self, DatabaseError};
use crate::durable::StoreError;

/// Where to write, and under which lease.
pub(in crate::durable) struct WriteTarget {
    pub(in crate::durable) connection: PgConnection,
    pub(in crate::durable) name: String,
    pub(in crate::durable) fence: i64,
}

/// The state of the writer thread.
pub(in crate::durable) struct WriterState {
    options: PgConnectOptions,
    at: Option<WriteTarget>,
    name: String,
    /// The id of this process.
    holder: i64,
    /// The last fence of this process.
    fence: i64,
    standing: Arc<LeaseStanding>,
    /// Whether the database knows less under this lease than this process wrote.
    has_lost: bool,
    /// Why connecting is paused, and until when.
    down: Option<(StoreError, Instant)>,
}

impl WriterState {
    /// Connects, and waits a while for a database that is starting. `away` is its address for messages.
    pub(super) async fn open(
        options: PgConnectOptions,
        name: String,
        holder: i64,
        standing: Arc<LeaseStanding>,
        away: String,
    ) -> Result<Self, StoreError> {
        let until = Instant::now() + START_WITHIN;
        let connection = loop {
            match database::connect(&options).await {
                Ok(connection) => break connection,
                Err(DatabaseError::Failure(failure))
                    if is_passing(&failure) && Instant::now() < until =>
                {
                    sleep(START_PAUSE).await;
                }
                Err(DatabaseError::Failure(failure)) => {
                    return Err(StoreError::NotThere { away, failure });
                }
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Self {
            options,
            at: Some(WriteTarget {
                connection,
                name: name.clone(),
                fence: 0,
            }),
            name,
            holder,
            fence: 0,
            standing,
            has_lost: false,
            down: None,
        })
    }

    /// The connection, whether or not this process holds the lease.
    pub(super) async fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        if self.at.is_none() {
            let at = self.connect().await?;
            self.at = Some(at);
        }
        let at = self.at.as_mut().ok_or(StoreError::Gone)?;
        Ok(&mut at.connection)
    }

    /// Takes the lease from any holder. Returns whether the last holder had surely ended: it released the lease, was
    /// silent, or was `before`, which is known to have ended.
    pub(super) async fn take(&mut self, before: Option<i64>) -> Result<bool, StoreError> {
        let (name, holder, fence) = (self.name.clone(), self.holder, self.fence);
        let connection = self.connection().await?;
        let taken = timeout(WITHIN, taken(connection, &name, holder, fence, before)).await;
        let (fence, was_gone) = match taken {
            Ok(Ok(taken)) => taken,
            Ok(Err(error)) => {
                self.at = None;
                return Err(DatabaseError::from(error).into());
            }
            Err(_) => {
                self.at = None;
                return Err(late());
            }
        };
        self.fence = fence;
        if let Some(at) = &mut self.at {
            at.fence = fence;
        }
        Ok(was_gone)
    }

    /// Runs on a connection that may write.
    pub(super) async fn run<T>(
        &mut self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.at.is_none() {
            let mut at = self.connect().await?;
            at.fence = self.sit(&mut at.connection).await?;
            self.at = Some(at);
        }
        let at = self.at.as_mut().ok_or(StoreError::Gone)?;
        let done = timeout(WITHIN, job(at))
            .await
            .unwrap_or_else(|_| Err(late()));
        match done {
            Err(StoreError::Fenced) => {
                let at = self.at.take();
                if let Some(mut at) = at {
                    // The lease's current row says what became of it.
                    at.fence = self.sit(&mut at.connection).await?;
                    self.at = Some(at);
                }
                Err(StoreError::Fenced)
            }
            Err(error) => {
                self.at = None;
                Err(error)
            }
            Ok(done) => Ok(done),
        }
    }

    /// A new fence for a new connection, unless another process holds the lease.
    async fn sit(&mut self, connection: &mut PgConnection) -> Result<i64, StoreError> {
        let sat = timeout(WITHIN, sat(connection, &self.name, self.holder, self.fence));
        let sat = sat.await.map_err(|_| late())?;
        match sat.map_err(DatabaseError::from)? {
            Sat::Held { fence, has_lost } => {
                self.fence = fence;
                self.has_lost |= has_lost;
                Ok(fence)
            }
            Sat::Missing => {
                self.has_lost = true;
                Err(StoreError::Vacated)
            }
            Sat::Vacated => Err(StoreError::Vacated),
            Sat::Taken => {
                self.standing.lose();
                Err(StoreError::TakenOver)
            }
        }
    }

    /// If the database knows less than was written, runs this first and returns that it did.
    pub(super) async fn make_up(
        &mut self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        if self.has_lost {
            self.run(job).await?;
        }
        Ok(std::mem::take(&mut self.has_lost))
    }

    /// Skips the pause after a failure for the next connection.
    pub(super) fn hurry(&mut self) {
        self.down = None;
    }

    async fn connect(&mut self) -> Result<WriteTarget, StoreError> {
        if let Some((error, until)) = &self.down
            && Instant::now() < *until
        {
            return Err(error.again());
        }
        match database::connect(&self.options).await {
            Ok(connection) => {
                self.down = None;
                Ok(WriteTarget {
                    connection,
                    name: self.name.clone(),
                    fence: self.fence,
                })
            }
            Err(error) => {
                let error = StoreError::from(error);
                self.down = Some((error.again(), Instant::now() + PAUSE));
                Err(error)
            }
        }
    }

    pub(super) async fn leave(self) {
        if let Some(at) = self.at {
            // Commits are durable; a connection that is not closed in order ends as well.
            let _ = timeout(CLOSE_WITHIN, at.connection.close()).await;
        }
    }
}

enum Sat {
    /// Held by this process; `has_lost` if the database knew an older fence.
    Held { fence: i64, has_lost: bool },
    /// The database has no such lease.
    Missing,
    /// Others took it as abandoned.
    Vacated,
    /// Another process holds it.
    Taken,
}

async fn sat(
    connection: &mut PgConnection,
    name: &str,
    holder: i64,
    fence: i64,
) -> Result<Sat, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let found = sqlx::query("SELECT fence, holder FROM tollgate.seat WHERE name = $1 FOR UPDATE")
        .bind(name)
        .fetch_optional(&mut *transaction)
        .await?;
    let Some(found) = found else {
        return Ok(Sat::Missing);
    };
    let (last, held): (i64, Option<i64>) = (found.try_get(0)?, found.try_get(1)?);
    // A database that went back in time, as after a failover, has an older fence than ours; the holder it names ended
    // long ago.
    let is_ours = held == Some(holder) || last < fence;
    match held {
        _ if is_ours => {}
        None => return Ok(Sat::Vacated),
        Some(_) => return Ok(Sat::Taken),
    }
    let next = last.max(fence).saturating_add(1);
    let statement = "UPDATE tollgate.seat SET fence = $2, holder = $3, seen = clock_timestamp() WHERE name = $1";
    let update = sqlx::query(statement).bind(name).bind(next).bind(holder);
    update.execute(&mut *transaction).await?;
    transaction.commit().await?;
    let has_lost = last < fence;
    Ok(Sat::Held {
        fence: next,
        has_lost,
    })
}

/// Takes a lease; returns the new fence, and whether the last holder had surely ended.
async fn taken(
    connection: &mut PgConnection,
    name: &str,
    holder: i64,
    fence: i64,
    before: Option<i64>,
) -> Result<(i64, bool), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let found = sqlx::query(
        "SELECT holder, seen < clock_timestamp() - make_interval(secs => $2)
         FROM tollgate.seat WHERE name = $1 FOR UPDATE",
    )
    .bind(name)
    .bind(SILENT.as_secs_f64())
    .fetch_optional(&mut *transaction)
    .await?;
    let was_gone = match found {
        None => true,
        Some(found) => {
            let (held, is_silent): (Option<i64>, bool) = (found.try_get(0)?, found.try_get(1)?);
            is_silent || held.is_none() || held == before
        }
    };
    let fence: i64 = sqlx::query_scalar(
        "INSERT INTO tollgate.seat AS old (name, fence, holder, seen) VALUES ($1, $2 + 1, $3, clock_timestamp())
         ON CONFLICT (name) DO UPDATE
         SET fence = greatest(old.fence, $2) + 1, holder = excluded.holder, seen = excluded.seen RETURNING fence",
    )
    .bind(name)
    .bind(fence)
    .bind(holder)
    .fetch_one(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok((fence, was_gone))
}

/// Whether the failure may pass soon: the database is unreachable or still starting.
const fn is_passing(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Late | Failure::Unreachable(_) | Failure::Starting | Failure::Busy
    )
}

const fn late() -> StoreError {
    StoreError::Away(Failure::Late)
}

/// How long a starting server waits for its database.
const START_WITHIN: Duration = Duration::from_secs(10);
const START_PAUSE: Duration = Duration::from_millis(200);
/// Timeout of an operation, after which its connection is dropped.
const WITHIN: Duration = Duration::from_secs(10);
/// Pause after a failed connection attempt.
const PAUSE: Duration = Duration::from_millis(500);
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
