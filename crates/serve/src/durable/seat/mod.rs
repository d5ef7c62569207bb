//! The journal in a database that many servers use: each has a *seat*, and only who holds a seat writes its rows.
//!
//! Whoever starts under a seat holds it from then on: the seat's fence grows, and a statement that writes names the
//! fence it was made under. The database compares in that statement, so that a process which stood still and goes on
//! cannot overwrite what its successor wrote. Each connection has a fence of its own, since the database may still work
//! on what came by the one before. Not here: rows (`rows.rs`), and what is written when.

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

/// A seat in the database. Copies are of the same seat.
#[derive(Clone)]
pub struct DatabaseLease {
    thread: Arc<Thread<WriterState>>,
    standing: Arc<LeaseStanding>,
    name: Arc<str>,
    is_sure: bool,
    secrets: Kept,
}

/// A cell on its way: its number, its contract, and what was kept.
type Heir = (i64, i64, CellRow);

/// Cells of a contract at a seat that was left.
#[derive(Clone)]
pub(super) struct LeftCells {
    pub(super) seat: String,
    pub(super) contract: i64,
    /// The print after which they come; `None` at the beginning.
    pub(super) after: Option<i64>,
}

/// Takes a seat in a database and hands out its secrets, drawn at the first time. In a cluster the secret of the table
/// is `given`; a seat with counts under another is refused. Where there is a data directory, it tells whether who had
/// the seat before is surely gone.
pub fn open_seat(
    settings: &DatabaseSettings,
    name: &str,
    given: Option<[u8; 16]>,
    folder: Option<Folder>,
) -> Result<(Store, Secrets), StoreError> {
    let options = database::options(settings).map_err(StoreError::from)?;
    let holder = getrandom::u64()?.cast_signed();
    let before = folder.as_ref().and_then(Folder::holder);
    // Before it is so: what is written and never came to be is as good as nothing.
    let noted = folder.as_ref().map(|folder| folder.set_holder(holder));
    noted.transpose()?;
    let standing = Arc::new(LeaseStanding::new());
    let (name_there, standing_there) = (name.to_owned(), Arc::clone(&standing));
    let away = settings.url.to_string();
    let thread = Thread::start(
        async move || WriterState::open(options, name_there, holder, standing_there, away).await,
        async move |desk: WriterState| {
            desk.leave().await;
            // Nobody else may have it before.
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
    /// Whose rows these are.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether who had the seat before was surely gone when it was taken.
    pub const fn is_sure(&self) -> bool {
        self.is_sure
    }

    /// How it stands.
    pub const fn standing(&self) -> &Arc<LeaseStanding> {
        &self.standing
    }

    /// Does something that reads, and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.standing.check()?;
        self.thread.run(async move |desk| desk.run(job).await)
    }

    /// Does something that writes under the fence, and so tells that this seat is held.
    pub(super) fn write<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut WriteTarget) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let begun = self.standing.now();
        let done = self.run(job)?;
        self.standing.beat(begun);
        Ok(done)
    }

    /// Tells that the seat is held.
    pub(super) fn beat(&self) -> Result<(), StoreError> {
        self.write(async |at| rows::beat(at).await)
    }

    /// Takes the seat again that others took for left. It is counted on from the next beat.
    pub(super) fn take_again(&self) -> Result<(), StoreError> {
        self.standing.check()?;
        self.thread.run(async |desk| desk.take(None).await)?;
        Ok(())
    }

    /// Whether the database was found to know less than was written, as after it went back in time or its tables were
    /// dropped. It has the secrets again then, and every key must be written.
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

    /// Lets whatever comes next connect at once, however short ago that failed.
    pub(super) fn hurry(&self) -> Result<(), StoreError> {
        self.thread.run(async |desk| {
            desk.hurry();
            Ok(())
        })
    }

    /// Tells that the seat is free.
    pub(super) fn release(&self) -> Result<(), StoreError> {
        self.run(async |at| rows::release(at).await)
    }

    /// Seats that nobody holds any more and that have cells of these contracts; not those of `alive`.
    pub(super) fn left_seats(
        &self,
        contracts: Vec<i64>,
        alive: Vec<String>,
        now: Instant,
    ) -> Result<Vec<String>, StoreError> {
        let now = now.as_nanos();
        self.run(async move |at| moving::left_seats(at, &contracts, &alive, now).await)
    }

    /// Takes a seat for left that is silent, and of its next cells of a contract those that are `mine` for heirs. Says
    /// how many, and how far it came; `None` at the end.
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

    /// The same with heirs that it had not counted.
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

    /// Heirs of a seat, the oldest first: their numbers and contracts, and what was kept.
    pub(super) fn heirs(&self, seat: &str, contracts: &[i64]) -> Result<Vec<Heir>, StoreError> {
        let (seat, contracts) = (seat.to_owned(), contracts.to_vec());
        self.run(async move |at| moving::heirs(at, &seat, &contracts).await)
    }

    /// Writes cells in which these heirs are counted, and lets go of the heirs, both or neither.
    pub(super) fn settle_heirs(
        &self,
        cells: Vec<CellWrite>,
        heirs: Vec<i64>,
    ) -> Result<(), StoreError> {
        self.write(async move |at| rows::write(at, &cells, &heirs).await)
    }

    /// What is kept of divided rates.
    pub(crate) fn supply(&self) -> Result<Option<String>, StoreError> {
        self.run(async |at| rows::supply(at).await)
    }

    /// Keeps it.
    pub(crate) fn keep_supply(&self, text: String) -> Result<(), StoreError> {
        self.write(async move |at| rows::keep_supply(at, &text).await)
    }
}
