//! Operations by a caller's id: reservations, and writes that must happen once.
//!
//! Ids are remembered for a bounded time and in bounded number; past the number an operation is refused rather than
//! done twice. Not here: ids themselves, which callers choose.

use core::fmt;

use parking_lot::Mutex;
use tollgate_limit::{Cost, Instant, Ledger, LedgerError, OperationId, Span};

use crate::answer::{Answer, Receipt};
use crate::apart::Remembered;
use crate::key::Key;
use crate::node::Node;
use crate::scope::Within;
use crate::settled::Settled;

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

/// What an id stands for.
#[derive(Clone, Debug)]
enum Entry {
    /// A reservation: the answer it got, and what it was settled at.
    Reservation {
        answer: Answer,
        settled: Option<u64>,
    },
    /// A check or a write that was done, with the answer where it had one.
    Done(Option<Answer>),
}

/// The ids a node remembers.
#[derive(Debug)]
pub(crate) struct Ids(Mutex<Ledger<Entry>>, Mutex<Settled>);

impl Within<'_> {
    /// Decides one request and charges it, to be settled within `ttl` by [`Node::commit`] or [`Node::cancel`].
    ///
    /// A reservation that is neither keeps its full charge. Asking again with the same id gives the same answer.
    pub fn reserve(
        &self,
        id: &OperationId,
        (key, cost): (Key<'_>, Cost),
        ttl: Span,
        now: Instant,
    ) -> Result<Answer, IdError> {
        let expires = now.saturating_add(ttl);
        let entry = self
            .node
            .ids()
            .once(id, expires, now, || Entry::Reservation {
                answer: self.check(key, cost, now),
                settled: None,
            })?;
        match entry {
            Entry::Reservation { answer, .. } => Ok(answer),
            Entry::Done(_) => Err(IdError::OtherKind),
        }
    }

    /// Checks once: the same id gets the same answer while it is remembered.
    pub fn check_once(
        &self,
        id: &OperationId,
        (key, cost): (Key<'_>, Cost),
        now: Instant,
    ) -> Result<Answer, IdError> {
        let run = || {
            let answer = self.check(key, cost, now);
            Some(self.numbered(id, answer, now))
        };
        let done = self.node.ids().once_remembered(id, now, run)?;
        done.ok_or(IdError::OtherKind)
    }

    /// The answer to an operation: copies of its receipt are one receipt.
    pub(crate) fn numbered(&self, id: &OperationId, answer: Answer, now: Instant) -> Answer {
        let receipt = answer.receipt.once(self.number(id, now));
        Answer { receipt, ..answer }
    }

    /// A number for the receipt of an operation, far from those that are counted up.
    fn number(&self, id: &OperationId, now: Instant) -> u64 {
        let mut hasher = self.node.seed().hasher();
        hasher.bytes(id.as_bytes());
        hasher.word(now.as_nanos());
        hasher.finish().0 | 1 << 63
    }

    /// Charges once, however often it is called with the same id.
    pub fn charge_once(
        &self,
        id: &OperationId,
        (key, cost): (Key<'_>, Cost),
        now: Instant,
    ) -> Result<(), IdError> {
        let charge = || {
            self.charge(key, cost, now);
        };
        self.node.ids().write_once(id, now, charge)
    }

    /// Refunds once, however often it is called with the same id.
    pub fn refund_once(
        &self,
        id: &OperationId,
        (key, cost): (Key<'_>, Cost),
        now: Instant,
    ) -> Result<(), IdError> {
        let refund = || self.refund(key, cost, now);
        self.node.ids().write_once(id, now, refund)
    }

    /// Resets a key once, however often it is called with the same id.
    pub fn reset_once(&self, id: &OperationId, key: Key<'_>, now: Instant) -> Result<(), IdError> {
        self.node.ids().write_once(id, now, || self.reset(key))
    }
}

impl Node {
    /// Decides one request and charges it, to be settled within `ttl` by [`Self::commit`] or [`Self::cancel`].
    ///
    /// A reservation that is neither keeps its full charge. Asking again with the same id gives the same answer.
    pub fn reserve(
        &self,
        id: &OperationId,
        request: (Key<'_>, Cost),
        ttl: Span,
        now: Instant,
    ) -> Result<Answer, IdError> {
        self.whole().reserve(id, request, ttl, now)
    }

    /// Settles a reservation at its actual cost. Settling it again at the same cost does nothing.
    pub fn commit(&self, id: &OperationId, actual: Cost, now: Instant) -> Result<(), IdError> {
        let settle = |receipt: &Receipt| self.settle(receipt, actual, now);
        self.ids().commit(id, actual, now, settle)
    }

    /// Gives a reservation back in full.
    pub fn cancel(&self, id: &OperationId, now: Instant) -> Result<(), IdError> {
        self.commit(id, Cost::PEEK, now)
    }

    /// Checks once: the same id gets the same answer while it is remembered.
    pub fn check_once(
        &self,
        id: &OperationId,
        request: (Key<'_>, Cost),
        now: Instant,
    ) -> Result<Answer, IdError> {
        self.whole().check_once(id, request, now)
    }

    /// Charges once, however often it is called with the same id.
    pub fn charge_once(
        &self,
        id: &OperationId,
        request: (Key<'_>, Cost),
        now: Instant,
    ) -> Result<(), IdError> {
        self.whole().charge_once(id, request, now)
    }

    /// Refunds once, however often it is called with the same id.
    pub fn refund_once(
        &self,
        id: &OperationId,
        request: (Key<'_>, Cost),
        now: Instant,
    ) -> Result<(), IdError> {
        self.whole().refund_once(id, request, now)
    }

    /// Settles a receipt once, however often it is called with the same id.
    pub fn settle_once(
        &self,
        id: &OperationId,
        (receipt, actual): (&Receipt, Cost),
        now: Instant,
    ) -> Result<(), IdError> {
        let settle = || self.settle(receipt, actual, now);
        self.ids().write_once(id, now, settle)
    }

    /// Settles a receipt that was handed out under a number, which is done once.
    ///
    /// Settling it again at the same cost does nothing. The number is forgotten at `expires`: from then on the caller
    /// must know that the receipt is too old.
    pub fn settle_numbered(
        &self,
        number: u64,
        (receipt, actual): (&Receipt, Cost),
        expires: Instant,
        now: Instant,
    ) -> Result<(), IdError> {
        let settle = || self.settle(receipt, actual, now);
        self.ids().settle(number, actual, (expires, now), settle)
    }

    /// Resets a key once, however often it is called with the same id.
    pub fn reset_once(&self, id: &OperationId, key: Key<'_>, now: Instant) -> Result<(), IdError> {
        self.whole().reset_once(id, key, now)
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
        self.ids().0.lock().len()
    }
}

impl Ids {
    pub(crate) fn new(ids_max: usize) -> Self {
        Self(
            Mutex::new(Ledger::new(ids_max)),
            Mutex::new(Settled::new(ids_max)),
        )
    }

    /// Settles a reservation once: `settle` is called with its receipt.
    pub(crate) fn commit(
        &self,
        id: &OperationId,
        actual: Cost,
        now: Instant,
        settle: impl FnOnce(&Receipt),
    ) -> Result<(), IdError> {
        let mut ledger = self.0.lock();
        let tokens = actual.tokens();
        match ledger.get_mut(id, now) {
            None => Err(IdError::Unknown),
            Some(Entry::Done(_)) => Err(IdError::OtherKind),
            Some(Entry::Reservation { answer, .. }) if !answer.is_allowed() => {
                Err(IdError::Unknown)
            }
            Some(Entry::Reservation {
                settled: Some(before),
                ..
            }) if *before == tokens => Ok(()),
            Some(Entry::Reservation {
                settled: Some(before),
                ..
            }) => Err(IdError::SettledOtherwise { actual: *before }),
            Some(Entry::Reservation { answer, settled }) => {
                *settled = Some(tokens);
                settle(&answer.receipt);
                Ok(())
            }
        }
    }

    /// Settles a receipt by its number once.
    pub(crate) fn settle(
        &self,
        number: u64,
        actual: Cost,
        (expires, now): (Instant, Instant),
        settle: impl FnOnce(),
    ) -> Result<(), IdError> {
        let mut settled = self.1.lock();
        if settled.note(number, actual.tokens(), (expires, now))? {
            settle();
        }
        Ok(())
    }

    /// The answer that an id stands for.
    pub(crate) fn recall(&self, id: &OperationId, now: Instant) -> Option<Result<Answer, IdError>> {
        let mut ledger = self.0.lock();
        Some(match ledger.get_mut(id, now)? {
            Entry::Reservation { answer, .. } | Entry::Done(Some(answer)) => Ok(answer.clone()),
            Entry::Done(None) => Err(IdError::OtherKind),
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
        let entry = match ttl {
            None => Entry::Done(Some(answer)),
            Some(_) => Entry::Reservation {
                answer,
                settled: None,
            },
        };
        match self.0.lock().insert_with(id, expires, now, || entry) {
            Ok(_) => Ok(()),
            Err(LedgerError::Full) => Err(Remembered::Id(IdError::TooManyIds)),
            Err(LedgerError::Present(Entry::Done(None))) => Err(Remembered::Id(IdError::OtherKind)),
            Err(LedgerError::Present(
                Entry::Reservation { answer, .. } | Entry::Done(Some(answer)),
            )) => Err(Remembered::Before(Box::new(answer))),
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
        match self.once(id, now.saturating_add(REMEMBERED), now, || {
            Entry::Done(run())
        })? {
            Entry::Done(answer) => Ok(answer),
            Entry::Reservation { .. } => Err(IdError::OtherKind),
        }
    }

    /// Runs `run` unless the id is known, and returns what the id stands for.
    ///
    /// Ids are locked meanwhile, so that two callers with one id cannot both run; cells are locked after ids, never
    /// the other way round.
    fn once(
        &self,
        id: &OperationId,
        expires: Instant,
        now: Instant,
        run: impl FnOnce() -> Entry,
    ) -> Result<Entry, IdError> {
        let mut ledger = self.0.lock();
        let entered = ledger.insert_with(id, expires, now, run);
        entered.or_else(|refusal| match refusal {
            LedgerError::Present(entry) => Ok(entry),
            LedgerError::Full => Err(IdError::TooManyIds),
        })
    }
}

/// How long an id of anything but a reservation is remembered: ten minutes.
const REMEMBERED: Span = Span::from_nanos(600 * 1_000_000_000);
