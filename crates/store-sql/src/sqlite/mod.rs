//! `SQLite`: one connection, one writer; batches that wait together share a transaction.
//!
//! The task that has the connection reads a row, lets [`fold`](crate::fold) decide, and writes it, all within
//! `BEGIN IMMEDIATE`, so that other processes on the same file wait. Not here: what rows mean.

mod ledger;
mod sweep;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tollgate_sqlite::{DatabaseFile, File, FileError, file_options};
use tollgate_store::{
    Engine, EngineAnswer, Failure, LedgerId, LoadedLedger, Name, StoreRequest, Swap, Swapped,
};

use crate::failure;
use crate::fold::{RowChange, StoredRow, fold};
use crate::form;
use crate::sweep::Sweep;
use sweep::Broom;

#[derive(Clone, Debug)]
pub struct SqliteConfig {
    /// Created if missing.
    pub path: PathBuf,
    /// Whether a decision is on the disk when it is answered; otherwise a loss of power may lose the last ones.
    pub sync: bool,
    /// Deletion of expired rows; `None` leaves that to other processes.
    pub sweep: Option<Sweep>,
}

impl SqliteConfig {
    /// Every decision on the disk, and a sweep each minute.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            sync: true,
            sweep: Some(Sweep::default()),
        }
    }
}

#[derive(Debug)]
pub struct Sqlite {
    jobs: mpsc::Sender<Job>,
    file: Arc<File>,
}

type Answers = Vec<Result<EngineAnswer, Failure>>;

struct Job {
    task: Task,
    until: Instant,
    answer: oneshot::Sender<Result<Done, Failure>>,
}

enum Task {
    Ask(Vec<StoreRequest>),
    Load(LedgerId),
    Swap(LedgerId, Swap),
}

enum Done {
    Answers(Answers),
    Loaded(LoadedLedger),
    Swapped(Swapped),
}

/// Batches that wait for the connection.
const JOBS_MAX: usize = 1024;
/// Batches that share a transaction.
const JOBS_TOGETHER_MAX: usize = 64;
/// How often the file is checked without requests.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long another process may keep the database locked.
const BUSY: Duration = Duration::from_secs(5);

impl Sqlite {
    /// Opens the database; its task ends with the last request after this is dropped.
    pub async fn open(config: &SqliteConfig) -> Result<Self, Failure> {
        let options = file_options(&config.path, config.sync, BUSY);
        let mut held = DatabaseFile::new(File::shared(options));
        held.ready(migrate)
            .await
            .map_err(|error| failure::of_file(&error))?;
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        let file = Arc::clone(held.file());
        tokio::spawn(work(held, queue, config.sweep));
        Ok(Self { jobs, file })
    }

    pub const fn file(&self) -> &Arc<File> {
        &self.file
    }
}

impl Engine for Sqlite {
    async fn ask(&self, batch: Vec<StoreRequest>, time: Duration) -> Answers {
        let asked = batch.len();
        match self.done(Task::Ask(batch), time).await {
            Ok(Done::Answers(answers)) => answers,
            Ok(_) => vec![Err(gone()); asked],
            Err(failure) => vec![Err(failure); asked],
        }
    }

    async fn load(&self, id: LedgerId, time: Duration) -> Result<LoadedLedger, Failure> {
        match self.done(Task::Load(id), time).await? {
            Done::Loaded(loaded) => Ok(loaded),
            _ => Err(gone()),
        }
    }

    async fn swap(&self, id: LedgerId, swap: Swap, time: Duration) -> Result<Swapped, Failure> {
        match self.done(Task::Swap(id, swap), time).await? {
            Done::Swapped(swapped) => Ok(swapped),
            _ => Err(gone()),
        }
    }

    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn proves_writes(&self) -> bool {
        // After a failure the connection is new, and opening it writes.
        true
    }
}

impl Sqlite {
    async fn done(&self, task: Task, time: Duration) -> Result<Done, Failure> {
        let until = Instant::now() + time;
        let (answer, answered) = oneshot::channel();
        let job = Job {
            task,
            until,
            answer,
        };
        if self.jobs.try_send(job).is_err() {
            return Err(Failure::Busy);
        }
        match tokio::time::timeout_at(until, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(gone())),
            Err(_) => Err(Failure::Late),
        }
    }
}

fn gone() -> Failure {
    Failure::Unreachable("the task is gone".into())
}

/// Creates missing tables. Always writes: a full disk then fails the connection, not a
/// decision.
async fn migrate(connection: &mut SqliteConnection) -> Result<(), FileError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::raw_sql("PRAGMA user_version = 1")
        .execute(&mut *transaction)
        .await?;
    for (table, migration) in TABLES {
        let known = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = ?");
        let tables: i64 = known.bind(table).fetch_one(&mut *transaction).await?;
        if tables == 0 {
            sqlx::raw_sql(migration).execute(&mut *transaction).await?;
        }
    }
    Ok(transaction.commit().await?)
}

/// Tables, and their statements.
const TABLES: [(&str, &str); 2] = [
    (
        "tollgate_state",
        include_str!("../../migrations/1-tables.sql"),
    ),
    (
        "tollgate_ledger",
        include_str!("../../migrations/3-ledger.sql"),
    ),
];

/// Runs jobs until all senders are dropped, and sweeps a page when due.
async fn work(mut held: DatabaseFile, mut queue: mpsc::Receiver<Job>, sweep: Option<Sweep>) {
    let mut jobs = Vec::new();
    let mut broom = sweep.map(Broom::new);
    let mut look = Instant::now() + LOOK_EVERY;
    loop {
        let due = broom.as_ref().map_or(look, |broom| broom.due().min(look));
        let wait = tokio::time::sleep_until(due);
        tokio::select! {
            biased;
            count = queue.recv_many(&mut jobs, JOBS_TOGETHER_MAX) => if count == 0 { break },
            () = wait => {}
        }
        // Jobs without a waiting caller are skipped.
        jobs.retain(|job| job.until > Instant::now() && !job.answer.is_closed());
        for job in &jobs {
            if let (Task::Ask(asks), Some(broom)) = (&job.task, &broom) {
                broom.hear(asks);
            }
        }
        if !jobs.is_empty() {
            let answers = together(&mut held, &jobs).await;
            for (job, answers) in jobs.drain(..).zip(answers) {
                // The caller may have stopped waiting.
                let _ = job.answer.send(answers);
            }
        }
        if look <= Instant::now() {
            // The next request reports a failure; a removed file is saved even without requests.
            let _ = held.ready(migrate).await;
            look = Instant::now() + LOOK_EVERY;
        }
        // Even under constant load: jobs wait for one page, not for all.
        if let Some(broom) = broom.as_mut().filter(|broom| broom.due() <= Instant::now()) {
            // Without a connection, the next request opens one.
            let _ = held.run(async |open| broom.sweep(open).await).await;
        }
    }
    held.give_up().await;
}

/// Runs jobs in one transaction: all or none.
async fn together(held: &mut DatabaseFile, jobs: &[Job]) -> Vec<Result<Done, Failure>> {
    let done = async |connection: &mut SqliteConnection| {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut answers = Vec::new();
        for job in jobs {
            answers.push(Ok(one(&mut transaction, &job.task).await?));
        }
        transaction.commit().await?;
        Ok(answers)
    };
    let done = match held.ready(migrate).await {
        Err(error) => Err(error),
        Ok(_) => held.run(done).await.unwrap_or_else(|| Ok(Vec::new())),
    };
    done.unwrap_or_else(|error: FileError| {
        let failure = failure::of_file(&error);
        jobs.iter().map(|_| Err(failure.clone())).collect()
    })
}

async fn one(connection: &mut SqliteConnection, task: &Task) -> Result<Done, sqlx::Error> {
    Ok(match task {
        Task::Ask(asks) => Done::Answers(batch(connection, asks).await?),
        Task::Load(id) => Done::Loaded(ledger::load(connection, *id).await?),
        Task::Swap(id, swap) => Done::Swapped(ledger::swap(connection, *id, swap).await?),
    })
}

/// By key; requests of one key in order.
async fn batch(
    connection: &mut SqliteConnection,
    batch: &[StoreRequest],
) -> Result<Answers, sqlx::Error> {
    let mut keys: BTreeMap<(u64, Name), Vec<usize>> = BTreeMap::new();
    for (place, ask) in batch.iter().enumerate() {
        keys.entry((ask.book.tag(), ask.name))
            .or_default()
            .push(place);
    }
    let mut answers = vec![Err(Failure::Late); batch.len()];
    for ((tag, name), places) in keys {
        let id = Id {
            tag: tag.cast_signed(),
            name: format!("{:032x}", name.0),
        };
        let stored = read(connection, &id).await?;
        let stored = match stored {
            Ok(stored) => stored,
            Err(broken) => {
                for place in places {
                    answers[place] = Err(broken.clone());
                }
                continue;
            }
        };
        let (said, change) = fold(places.iter().map(|place| &batch[*place]), stored);
        write(connection, &id, change).await?;
        for (place, said) in places.into_iter().zip(said) {
            answers[place] = said;
        }
    }
    Ok(answers)
}

/// The primary key of a row.
#[derive(Clone)]
struct Id {
    tag: i64,
    name: String,
}

async fn read(
    connection: &mut SqliteConnection,
    Id { tag, name }: &Id,
) -> Result<Result<Option<StoredRow>, Failure>, sqlx::Error> {
    let row = sqlx::query(
        "SELECT state.shape, shape.text, state.charged, state.kept FROM tollgate_state AS state
            LEFT JOIN tollgate_shape AS shape ON shape.id = state.shape
            WHERE state.tag = ? AND state.name = ?",
    );
    let row = row.bind(tag).bind(name).fetch_optional(connection).await?;
    let Some(row) = row else {
        return Ok(Ok(None));
    };
    let (charged, kept): (String, String) = (row.try_get(2)?, row.try_get(3)?);
    let Some(found) = form::found(&charged, &kept) else {
        return Ok(Err(Failure::Broken(format!(
            "the row of {name} makes no sense"
        ))));
    };
    let shape: i64 = row.try_get(0)?;
    Ok(Ok(Some(StoredRow {
        shape: shape.cast_unsigned(),
        text: row.try_get(1)?,
        found,
    })))
}

async fn write(
    connection: &mut SqliteConnection,
    Id { tag, name }: &Id,
    change: RowChange,
) -> Result<(), sqlx::Error> {
    match change {
        RowChange::Nothing => {}
        RowChange::Forget => {
            let forget = sqlx::query("DELETE FROM tollgate_state WHERE tag = ? AND name = ?");
            forget.bind(tag).bind(name).execute(connection).await?;
        }
        RowChange::Keep {
            book,
            found,
            fresh_at,
        } => {
            let shape = book.shape_id().cast_signed();
            let shapes =
                sqlx::query("INSERT OR IGNORE INTO tollgate_shape (id, text) VALUES (?, ?)");
            shapes
                .bind(shape)
                .bind(book.shape())
                .execute(&mut *connection)
                .await?;
            let keep = sqlx::query(
                "INSERT INTO tollgate_state (tag, name, shape, charged, kept, fresh_s, touched_s)
                    VALUES (?, ?, ?, ?, ?, ?, unixepoch())
                    ON CONFLICT (tag, name) DO UPDATE SET shape = excluded.shape, charged = excluded.charged,
                        kept = excluded.kept, fresh_s = excluded.fresh_s, touched_s = excluded.touched_s",
            );
            let keep = keep.bind(tag).bind(name).bind(shape);
            let keep = keep
                .bind(found.at.as_nanos().to_string())
                .bind(form::text(&found.kept));
            keep.bind(form::second(fresh_at))
                .execute(connection)
                .await?;
        }
    }
    Ok(())
}
