//! Operations by a caller's id: reservations, and writes that must happen once.
//!
//! Ids are remembered for a bounded time and in bounded number, by their fingerprints, in a part of the memory for
//! keys; past either bound an operation is refused rather than done twice. Not here: ids themselves, which callers
//! choose.

use core::fmt;
use std::sync::Arc;

use tollgate_limit::{Cost, Instant, OperationId, Span};
use tollgate_table::{Budget, CellRules, MemoryShare, Print, Seed, Table, TableConfig, WhenFull};

use crate::answer::{Answer, Receipt};
use crate::apart::Remembered;
use crate::key::{Debit, Key};
use crate::node::{Node, NodeConfig};
use crate::remembered::{IdRecord, StoredIdRecord};
use crate::scope::Within;
use crate::set_clock::walk;

/// Why an operation by id was not done. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdError {
    /// No reservation has this id: there never was one, it was refused, or it expired and so was settled as charged.
    Unknown,
    /// The reservation was settled before, at another cost.
    SettledOtherwise {
        /// The cost it was settled at.
        actual: u64,
    },
    /// The id belongs to an operation of another kind.
    OtherKind,
    /// Too many ids are remembered; the same call may work once some expire.
    TooManyIds,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no open reservation has this id; it may have expired"),
            Self::SettledOtherwise { actual } => {
                write!(f, "the reservation was settled at {actual} before")
            }
            Self::OtherKind => f.write_str("the id was used for another kind of operation"),
            Self::TooManyIds => f.write_str("too many ids are remembered; try again later"),
        }
    }
}

impl core::error::Error for IdError {}

/// The ids a node remembers, and the receipts that were settled by their numbers.
#[derive(Debug)]
pub(crate) struct Ids {
    operations: Table<Operation, Lasts>,
    settled: Table<Settled, Lasts>,
    most: usize,
    seed: Seed,
}

/// What an id stands for, and until when.
#[derive(Debug)]
struct Operation {
    expires: Instant,
    kept: StoredIdRecord,
}

/// What a receipt was settled at. Whoever brings it later than that must know that it is too old.
#[derive(Debug)]
struct Settled {
    expires: Instant,
    actual: u64,
}

/// Tells tables until when these matter. Until then none may be dropped: its operation would be done again.
#[derive(Debug)]
struct Lasts;

impl CellRules<Operation> for Lasts {
    fn fresh_at(&self, operation: &Operation) -> u64 {
        operation.expires.as_nanos()
    }

    fn heap_bytes(&self, operation: &Operation) -> usize {
        operation.kept.heap_bytes()
    }
}

impl CellRules<Settled> for Lasts {
    fn fresh_at(&self, settled: &Settled) -> u64 {
        settled.expires.as_nanos()
    }

    fn heap_bytes(&self, _: &Settled) -> usize {
        0
    }
}

/// A number under which a receipt was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiptNumber {
    /// The number itself.
    pub number: u64,
    /// When it is forgotten: from then on the caller must know that the receipt is too old.
    pub expires: Instant,
}

impl Within<'_> {
    /// Decides one request and charges it, to be settled within `ttl` by [`Node::commit`] or [`Node::cancel`].
    ///
    /// A reservation that is neither keeps its full charge. Asking again with the same id gives the same answer.
    pub fn reserve(
        &self,
        id: &OperationId,
        debit: Debit<'_>,
        ttl: Span,
        now: Instant,
    ) -> Result<Answer, IdError> {
        let expires = now.saturating_add(ttl);
        let run = || IdRecord::Reservation {
            answer: self.check(debit.key, debit.cost, now),
            settled: None,
        };
        match self.node.ids().once(id, expires, now, run)? {
            IdRecord::Reservation { answer, .. } => Ok(answer),
            IdRecord::Done(_) => Err(IdError::OtherKind),
        }
    }

    /// Checks once: the same id gets the same answer while it is remembered.
    pub fn check_once(
        &self,
        id: &OperationId,
        debit: Debit<'_>,
        now: Instant,
    ) -> Result<Answer, IdError> {
        let run = || {
            let answer = self.check(debit.key, debit.cost, now);
            Some(self.numbered(id, answer, now))
        };
        let done = self.node.ids().once_remembered(id, now, run)?;
        done.ok_or(IdError::OtherKind)
    }

    /// The answer to an operation: copies of its receipt are one receipt.
    pub(crate) fn numbered(&self, id: &OperationId, answer: Answer, now: Instant) -> Answer {
        let ids = self.node.ids();
        let number = ids.number(ids.print(id), now.saturating_add(REMEMBERED));
        Answer {
            receipt: answer.receipt.once(number),
            ..answer
        }
    }

    /// Charges once, however often it is called with the same id.
    pub fn charge_once(
        &self,
        id: &OperationId,
        debit: Debit<'_>,
        now: Instant,
    ) -> Result<(), IdError> {
        let charge = || {
            self.charge(debit.key, debit.cost, now);
        };
        self.node.ids().write_once(id, now, charge)
    }

    /// Refunds once, however often it is called with the same id.
    pub fn refund_once(
        &self,
        id: &OperationId,
        debit: Debit<'_>,
        now: Instant,
    ) -> Result<(), IdError> {
        let refund = || self.refund(debit.key, debit.cost, now);
        self.node.ids().write_once(id, now, refund)
    }

    /// Resets a key once, however often it is called with the same id.
    pub fn reset_once(&self, id: &OperationId, key: Key<'_>, now: Instant) -> Result<(), IdError> {
        self.node.ids().write_once(id, now, || self.reset(key))
    }
}

impl Node {
    /// Settles a reservation at its actual cost. Settling it again at the same cost does nothing.
    pub fn commit(&self, id: &OperationId, actual: Cost, now: Instant) -> Result<(), IdError> {
        let settle = |receipt: &Receipt| self.settle(receipt, actual, now);
        self.ids().commit(id, actual, now, settle)
    }

    /// Gives a reservation back in full.
    pub fn cancel(&self, id: &OperationId, now: Instant) -> Result<(), IdError> {
        self.commit(id, Cost::PEEK, now)
    }

    /// Does something once, however often it is called with the same id. What it does must not use ids itself.
    pub fn do_once(
        &self,
        id: &OperationId,
        now: Instant,
        run: impl FnOnce(),
    ) -> Result<(), IdError> {
        self.ids().write_once(id, now, run)
    }

    /// How many ids are remembered.
    pub fn ids_count(&self) -> usize {
        self.ids().operations.len()
    }
}

impl Ids {
    /// No ids yet; those to come are charged to a share of `budget`, which they never exceed.
    pub(crate) fn new(config: &NodeConfig, seed: Seed, budget: &Arc<Budget>) -> Self {
        let share = MemoryShare::fixed(budget, config.bytes_max / BYTES_PART);
        let table = TableConfig {
            shards: Some(SHARDS),
            when_full: WhenFull::Refuse,
            sweep: config.sweep,
        };
        Self {
            operations: Table::new(Lasts, table, Arc::clone(&share)),
            settled: Table::new(Lasts, table, share),
            most: config.ids_max,
            seed,
        }
    }

    /// An id is its fingerprint, as a key is.
    fn print(&self, id: &OperationId) -> Print {
        self.seed.bytes(id.as_bytes())
    }

    /// A number for the receipt of an operation, far from those that are counted up.
    fn number(&self, print: Print, expires: Instant) -> u64 {
        let mut hasher = self.seed.hasher();
        hasher.word(print.0);
        hasher.word(expires.as_nanos());
        hasher.finish().0 | 1 << 63
    }

    fn entry(&self, print: Print, operation: &Operation) -> IdRecord {
        let number = self.number(print, operation.expires);
        operation.kept.entry(number)
    }

    /// Moves all expiries from one time to another.
    pub(crate) fn move_time(&self, from: Instant, to: Instant) {
        let later = |expires: &mut Instant| *expires = expires.shifted(from, to);
        walk(&self.operations, from, |_, kept| later(&mut kept.expires));
        walk(&self.settled, from, |_, kept| later(&mut kept.expires));
    }

    /// Settles a reservation once: `settle` is called with its receipt.
    pub(crate) fn commit(
        &self,
        id: &OperationId,
        actual: Cost,
        now: Instant,
        settle: impl FnOnce(&Receipt),
    ) -> Result<(), IdError> {
        let (print, tokens) = (self.print(id), actual.tokens());
        self.operations.drop_fresh_near(print, now.as_nanos());
        let committed = self.operations.update(print, now.as_nanos(), |operation| {
            let Some(operation) = operation.filter(|operation| operation.expires > now) else {
                return (Err(IdError::Unknown), None);
            };
            let (answer, settled) = match self.entry(print, operation) {
                IdRecord::Done(_) => return (Err(IdError::OtherKind), None),
                IdRecord::Reservation { answer, .. } if !answer.is_allowed() => {
                    return (Err(IdError::Unknown), None);
                }
                IdRecord::Reservation { answer, settled } => (answer, settled),
            };
            match settled {
                Some(before) if before == tokens => (Ok(()), None),
                Some(before) => (Err(IdError::SettledOtherwise { actual: before }), None),
                None => {
                    settle(&answer.receipt);
                    let settled = Some(tokens);
                    let entry = IdRecord::Reservation { answer, settled };
                    operation.kept = StoredIdRecord::new(entry);
                    (Ok(()), None)
                }
            }
        });
        committed.unwrap_or(Err(IdError::Unknown))
    }

    /// Settles a receipt by its number once.
    pub(crate) fn settle(
        &self,
        ReceiptNumber { number, expires }: ReceiptNumber,
        actual: Cost,
        now: Instant,
        settle: impl FnOnce(),
    ) -> Result<(), IdError> {
        let actual = actual.tokens();
        let print = self.seed.word(number);
        let is_full = self.is_full(&self.settled, print, now);
        let settled = self
            .settled
            .update(print, now.as_nanos(), |before| match before {
                Some(before) if before.actual == actual => (Ok(()), None),
                Some(Settled { actual, .. }) => {
                    (Err(IdError::SettledOtherwise { actual: *actual }), None)
                }
                None if is_full => (Err(IdError::TooManyIds), None),
                None => {
                    settle();
                    (Ok(()), Some(Settled { expires, actual }))
                }
            });
        settled.unwrap_or(Err(IdError::TooManyIds))
    }

    /// The answer that an id stands for.
    pub(crate) fn recall(&self, id: &OperationId, now: Instant) -> Option<Result<Answer, IdError>> {
        let print = self.print(id);
        let entry =
            |operation: &Operation| (operation.expires > now).then(|| self.entry(print, operation));
        Some(match self.operations.get(print, entry)?? {
            IdRecord::Reservation { answer, .. } | IdRecord::Done(Some(answer)) => Ok(answer),
            IdRecord::Done(None) => Err(IdError::OtherKind),
        })
    }

    /// Remembers an answer under an id.
    pub(crate) fn remember(
        &self,
        id: &OperationId,
        answer: Answer,
        ttl: Option<Span>,
        now: Instant,
    ) -> Result<(), Remembered> {
        let expires = now.saturating_add(ttl.unwrap_or(REMEMBERED));
        let mut is_first = false;
        let entry = self.once(id, expires, now, || {
            is_first = true;
            match ttl {
                None => IdRecord::Done(Some(answer)),
                Some(_) => IdRecord::Reservation {
                    answer,
                    settled: None,
                },
            }
        });
        match entry.map_err(Remembered::Id)? {
            _ if is_first => Ok(()),
            IdRecord::Done(None) => Err(Remembered::Id(IdError::OtherKind)),
            IdRecord::Reservation { answer, .. } | IdRecord::Done(Some(answer)) => {
                Err(Remembered::Before(Box::new(answer)))
            }
        }
    }

    fn write_once(
        &self,
        id: &OperationId,
        now: Instant,
        write: impl FnOnce(),
    ) -> Result<(), IdError> {
        let done = self.once_remembered(id, now, || {
            write();
            None
        })?;
        done.map_or(Ok(()), |_| Err(IdError::OtherKind))
    }

    fn once_remembered(
        &self,
        id: &OperationId,
        now: Instant,
        run: impl FnOnce() -> Option<Answer>,
    ) -> Result<Option<Answer>, IdError> {
        let expires = now.saturating_add(REMEMBERED);
        match self.once(id, expires, now, || IdRecord::Done(run()))? {
            IdRecord::Done(answer) => Ok(answer),
            IdRecord::Reservation { .. } => Err(IdError::OtherKind),
        }
    }

    /// Runs `run` unless the id is known, and returns what the id stands for.
    ///
    /// The page of the id is locked meanwhile, so that two callers with one id cannot both run; cells are locked after
    /// ids, never the other way round. What was not decided for want of room is not remembered: the same id may be
    /// tried again.
    fn once(
        &self,
        id: &OperationId,
        expires: Instant,
        now: Instant,
        run: impl FnOnce() -> IdRecord,
    ) -> Result<IdRecord, IdError> {
        let print = self.print(id);
        let is_full = self.is_full(&self.operations, print, now);
        let entered = self.operations.update(print, now.as_nanos(), |operation| {
            match operation.filter(|operation| operation.expires > now) {
                Some(operation) => (Ok(self.entry(print, operation)), None),
                None if is_full => (Err(IdError::TooManyIds), None),
                None => {
                    let entry = run();
                    let kept = entry
                        .is_decided()
                        .then(|| StoredIdRecord::new(entry.clone()));
                    (Ok(entry), kept.map(|kept| Operation { expires, kept }))
                }
            }
        });
        entered.unwrap_or(Err(IdError::TooManyIds))
    }

    /// Whether there are as many as may be. What has expired near `print` is dropped, and some more for want of room.
    fn is_full<C>(&self, table: &Table<C, Lasts>, print: Print, now: Instant) -> bool
    where
        Lasts: CellRules<C>,
    {
        table.drop_fresh_near(print, now.as_nanos());
        if table.len() >= self.most {
            table.drop_fresh(now.as_nanos(), SWEPT_PAGES);
        }
        table.len() >= self.most
    }
}

/// How long an id of anything but a reservation is remembered: ten minutes.
const REMEMBERED: Span = Span::from_nanos(600 * 1_000_000_000);
/// Ids may take this part of all memory.
const BYTES_PART: u64 = 4;
/// Pages of ids from the start.
const SHARDS: usize = 16;
/// Pages that are swept by an operation for which there is no room.
const SWEPT_PAGES: usize = 16;
