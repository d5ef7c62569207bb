//! The journal in a shared database: each server has a *lease* there, and only its holder writes its rows.
//!
//! Taking the lease increments its fence, and a statement that writes names the fence it was made under. The database
//! compares in that statement, so that a process that was suspended and resumes cannot overwrite its successor's
//! writes. Each connection has its own fence, since the database may still execute statements of the one before. Not
//! here: rows (`rows.rs`), and what is written when.

mod desk;
mod moving;
pub(super) mod rows;
mod standing;

use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_table::Seed;

use super::folder::Folder;
use super::journal::Secrets as Kept;
use super::rows::{CellRow, CellWrite, draw};
use super::thread::Thread;
use super::{RowJournal, Store, StoreError};
use crate::database;
use crate::engine::Secrets;
use crate::settings::DatabaseSettings;
use desk::{WriteTarget, WriterState};

pub use standing::LeaseStanding;

/// Clones share one lease.
#[derive(Clone)]
pub struct DatabaseLease {
    thread: Arc<Thread<WriterState>>,
    standing: Arc<LeaseStanding>,
    name: Arc<str>,
    is_sure: bool,
    secrets: Kept,
}

/// A cell being moved: its number, its contract, and its state.
type Heir = (i64, i64, CellRow);

/// Cells of a contract under an abandoned lease.
#[derive(Clone)]
pub(super) struct LeftCells {
    pub(super) seat: String,
    pub(super) contract: i64,
    /// The fingerprint after which they come; `None` at the beginning.
    pub(super) after: Option<i64>,
}

/// Takes a lease in a database and returns its secrets, drawn the first time. In a cluster the table's secret is
/// `given`; a lease with counts under another is refused. A data directory tells whether the last holder has surely
/// ended.
pub fn open_seat(
    settings: &DatabaseSettings,
    name: &str,
    given: Option<[u8; 16]>,
    folder: Option<Folder>,
) -> Result<(Store, Secrets), StoreError> {
    let options = database::options(settings).map_err(StoreError::from)?;
    let holder = getrandom::u64()?.cast_signed();
    let before = folder.as_ref().and_then(Folder::holder);
    // Recorded before the take-over: a holder that never came to be does no harm.
    let noted = folder.as_ref().map(|folder| folder.set_holder(holder));
    noted.transpose()?;
    let standing = Arc::new(LeaseStanding::new());
    let (name_there, standing_there) = (name.to_owned(), Arc::clone(&standing));
    let away = settings.url.to_string();
    let thread = Thread::start(
        async move || WriterState::open(options, name_there, holder, standing_there, away).await,
        async move |desk: WriterState| {
            desk.leave().await;
            // Keep the lock until here.
            drop(folder);
        },
    )?;
    let seat = name.to_owned();
    let kept = thread.run(async move |desk| {
        let connection = desk.connection().await?;
        let table = rows::table_secret(connection, &seat, given).await?;
        if given.is_some_and(|given| given != table) {
            return Err(StoreError::OtherSecretOfSeat(seat));
        }
        let receipts = rows::secret(connection, &seat, "receipts", draw()?).await?;
        Ok(Kept { table, receipts })
    })?;
    let is_sure = thread.run(async move |desk| desk.take(before).await)?;
    let seat = DatabaseLease {
        thread: Arc::new(thread),
        standing,
        name: name.into(),
        is_sure,
        secrets: kept,
    };
    let secrets = Secrets {
        table: Seed::from_bytes(kept.table),
        receipts: kept.receipts,
    };
    Ok((Store::new(RowJournal::Seat(seat)), secrets))
}

impl DatabaseLease {
    /// The server whose rows these are.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the last holder had surely ended at the take-over.
    pub const fn is_sure(&self) -> bool {
        self.is_sure
    }

    pub const fn standing(&self) -> &Arc<LeaseStanding> {
        &self.standing
    }

    /// Runs a read and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.standing.check()?;
        self.thread.run(async move |desk| desk.run(job).await)
    }

    /// Runs a write under the fence, which also renews the lease.
    pub(super) fn write<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let begun = self.standing.now();
        let done = self.run(job)?;
        self.standing.beat(begun);
        Ok(done)
    }

    /// Renews the lease.
    pub(super) fn beat(&self) -> Result<(), StoreError> {
        self.write(async |at| rows::beat(at).await)
    }

    /// Takes the lease back from processes that took it as abandoned. It is valid from the next beat.
    pub(super) fn take_again(&self) -> Result<(), StoreError> {
        self.standing.check()?;
        self.thread.run(async |desk| desk.take(None).await)?;
        Ok(())
    }

    /// Whether the database knows less than was written, as after it went back in time or its tables were dropped. Its
    /// secrets are restored by then, and every key must be written.
    pub(super) fn look(&self) -> Result<bool, StoreError> {
        let (name, secrets) = (Arc::clone(&self.name), self.secrets);
        let keep = async move |at: &mut WriteTarget| {
            let connection = &mut at.connection;
            let table = rows::secret(connection, &name, "table", secrets.table).await?;
            let receipts = rows::secret(connection, &name, "receipts", secrets.receipts).await?;
            if (table, receipts) != (secrets.table, secrets.receipts) {
                return Err(StoreError::OtherSecretOfSeat(name.to_string()));
            }
            Ok(())
        };
        self.thread.run(async move |desk| desk.make_up(keep).await)
    }

    /// Lets the next operation connect at once, without the pause after a failure.
    pub(super) fn hurry(&self) -> Result<(), StoreError> {
        self.thread.run(async |desk| {
            desk.hurry();
            Ok(())
        })
    }

    /// Marks the lease as free.
    pub(super) fn release(&self) -> Result<(), StoreError> {
        self.run(async |at| rows::release(at).await)
    }

    /// Abandoned leases with cells of these contracts, except those of `alive`.
    pub(super) fn left_seats(
        &self,
        contracts: Vec<i64>,
        alive: Vec<String>,
        now: Instant,
    ) -> Result<Vec<String>, StoreError> {
        let now = now.as_nanos();
        self.run(async move |at| moving::left_seats(at, &contracts, &alive, now).await)
    }

    /// Takes a silent lease as abandoned, and moves those of its next cells of a contract that are `mine`. Returns how
    /// many, and the position; `None` at the end.
    pub(super) fn take_cells(
        &self,
        left: &LeftCells,
        now: Instant,
        mine: impl Fn(u64) -> bool,
    ) -> Result<(u64, Option<i64>), StoreError> {
        let (from, now) = (left.clone(), now.as_nanos());
        let prints = self.run(async move |at| {
            moving::vacate(at, &from.seat).await?;
            moving::prints_after(at, &from, now).await
        })?;
        let until = prints.last().copied();
        let all = prints.into_iter();
        let mine: Vec<i64> = all.filter(|print| mine(print.cast_unsigned())).collect();
        if mine.is_empty() {
            return Ok((0, until));
        }
        let from = left.clone();
        let taken = async move |at: &mut WriteTarget| moving::take(at, &from, &mine).await;
        Ok((self.write(taken)?, until))
    }

    /// The same with successor rows that it had not counted.
    pub(super) fn take_heirs(
        &self,
        left: &LeftCells,
        mine: impl Fn(u64) -> bool,
    ) -> Result<u64, StoreError> {
        let heirs = self.heirs(&left.seat, &[left.contract])?;
        let mine = heirs.iter().filter(|(_, _, heir)| mine(heir.print));
        let mine: Vec<i64> = mine.map(|(number, ..)| *number).collect();
        let from = left.seat.clone();
        self.write(async move |at| moving::take_heirs(at, &from, &mine).await)
    }

    /// Successor rows of a lease, oldest first: their numbers, contracts and states.
    pub(super) fn heirs(&self, seat: &str, contracts: &[i64]) -> Result<Vec<Heir>, StoreError> {
        let (seat, contracts) = (seat.to_owned(), contracts.to_vec());
        self.run(async move |at| moving::heirs(at, &seat, &contracts).await)
    }

    /// Writes cells that include these successor rows and releases the latter, both or neither.
    pub(super) fn settle_heirs(
        &self,
        cells: Vec<CellWrite>,
        heirs: Vec<i64>,
    ) -> Result<(), StoreError> {
        self.write(async move |at| rows::write(at, &cells, &heirs).await)
    }

    /// The stored state of divided rates.
    pub(crate) fn supply(&self) -> Result<Option<String>, StoreError> {
        self.run(async |at| rows::supply(at).await)
    }

    pub(crate) fn keep_supply(&self, text: String) -> Result<(), StoreError> {
        self.write(async move |at| rows::keep_supply(at, &text).await)
    }
}
