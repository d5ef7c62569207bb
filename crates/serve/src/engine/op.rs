//! What is asked of the engine, and what comes of it: at once, or later.
//!
//! Whoever answers a request reads its bytes into an [`Op`], starts it, and writes the [`OpOutcome`]. Where somebody
//! else has a part in the decision there is a ticket instead, which owns what it needs (`later`). Not here: how
//! operations are carried out (`turn`).

use smallvec::SmallVec;
use tollgate_limit::{Cost, Span};
use tollgate_node::{Answer, Key, LendAnswer, Receipt, Scope};

use super::later::Ticket;
use super::{EngineError, EngineRequest, RemoteAnswer};

/// One operation.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// Something about a key.
    Key(Act, EngineRequest<'a>),
    /// Settles a reservation by its id, at its actual cost.
    Commit(&'a str, Cost),
    /// Charges the difference between the actual cost and what was charged, by a sealed receipt.
    Settle(Settle<'a>),
    /// Gives what an answer took back in full, before its receipt is known to a client.
    GiveBack(&'a Receipt),
    /// Takes what a client holds of a key, and says what it is lent.
    Lend(Key<'a>, &'a [u8]),
}

/// What is to be done about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Decide and charge.
    Check,
    /// The same, but a wait longer than this is a refusal, and what it took is given back.
    CheckWithin(Span),
    /// The same, but what is refused is charged all the same.
    CheckAndTake,
    /// Decide and charge, to be settled in this time under the id.
    Reserve(Span),
    /// Charge without asking.
    Charge,
    /// Give tokens back, the last taken first.
    Refund,
    /// Forget the key; the cost does not matter.
    Reset,
    /// Read how policies stand; cost and id do not matter.
    Status,
    /// Read what policies would say; the id does not matter.
    Foresee,
}

/// What is settled.
#[derive(Clone, Copy, Debug)]
pub struct Settle<'a> {
    /// The sealed receipt.
    pub receipt: &'a str,
    /// What it really cost.
    pub actual: Cost,
    /// The caller's id of the operation, where it must happen once.
    pub id: Option<&'a str>,
}

/// What comes of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are answers")]
pub enum OpOutcome {
    /// A decision.
    Answer(Answer),
    /// It was done; whether there was room for the key everywhere.
    Done(bool),
    /// What the node that counts the key read; `None` where that is this node, which reads when it is written.
    Read(Option<RemoteAnswer>),
    /// What a client is lent, and whether this node is the lender.
    Lent(LendAnswer, bool),
}

/// An operation that was started.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all are done")]
pub enum StartedOp {
    /// It is done.
    Done(Result<OpOutcome, EngineError>),
    /// It waits.
    Later(Box<Ticket>),
}

impl<'a> Op<'a> {
    /// Decides and charges.
    pub const fn check(ask: EngineRequest<'a>) -> Self {
        Self::Key(Act::Check, ask)
    }

    /// What is asked about a key.
    pub const fn ask(&self) -> Result<&EngineRequest<'a>, EngineError> {
        match self {
            Self::Key(_, ask) => Ok(ask),
            _ => Err(EngineError::Unreachable),
        }
    }
}

impl StartedOp {
    /// Whether it waits.
    pub const fn waits(&self) -> bool {
        matches!(self, Self::Later(_))
    }

    /// What it waits for.
    pub(super) fn ticket(&mut self) -> Option<&mut Ticket> {
        match self {
            Self::Done(_) => None,
            Self::Later(ticket) => Some(ticket),
        }
    }

    /// What came of it.
    #[inline]
    pub fn outcome(self) -> Result<OpOutcome, EngineError> {
        self.finish(|_, outcome| outcome)
    }

    /// Makes something of what came of it, and of the operation where that waited.
    #[inline]
    pub(super) fn finish<T>(
        self,
        run: impl FnOnce(&Op<'_>, Result<OpOutcome, EngineError>) -> T,
    ) -> T {
        match self {
            Self::Done(outcome) => run(&Op::Commit("", Cost::PEEK), outcome),
            Self::Later(ticket) => ticket.finish(run),
        }
    }
}

impl Default for StartedOp {
    fn default() -> Self {
        Self::Done(Err(EngineError::Unreachable))
    }
}

impl OpOutcome {
    /// The decision.
    #[inline]
    pub fn answer(self) -> Result<Answer, EngineError> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Done(_) | Self::Read(_) | Self::Lent(..) => Err(EngineError::Unreachable),
        }
    }

    /// Whether there was room for the key everywhere.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done(true))
    }

    /// What the node that counts the key read, where that is another.
    pub fn read(self) -> Option<RemoteAnswer> {
        match self {
            Self::Read(said) => said,
            Self::Answer(_) | Self::Done(_) | Self::Lent(..) => None,
        }
    }
}

/// An operation that outlives the bytes it was read from.
#[derive(Debug)]
pub(super) enum OwnedOp {
    Key(Act, OwnedKey, Cost, OwnedScope, Option<String>),
    Commit(String, Cost),
    Settle(String, Cost, Option<String>),
    GiveBack(Receipt),
    Lend(OwnedKey, Vec<u8>),
}

#[derive(Debug)]
pub(super) enum OwnedKey {
    Word(u64),
    Text(Vec<u8>),
    /// Names and values by turns, one behind the other, and where each ends.
    Entries(String, SmallVec<[usize; 4]>),
}

#[derive(Debug)]
pub(super) enum OwnedScope {
    All,
    Domain(String),
    Contract(String),
}

impl OwnedOp {
    pub(super) fn of(op: &Op<'_>) -> Self {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        match *op {
            Op::Key(act, ask) => {
                let scope = match ask.scope {
                    Scope::All => OwnedScope::All,
                    Scope::Domain(name) => OwnedScope::Domain(name.to_owned()),
                    Scope::Contract(id) => OwnedScope::Contract(id.to_owned()),
                };
                Self::Key(act, OwnedKey::of(ask.key), ask.cost, scope, owned(ask.id))
            }
            Op::Commit(id, actual) => Self::Commit(id.to_owned(), actual),
            Op::Settle(of) => Self::Settle(of.receipt.to_owned(), of.actual, owned(of.id)),
            Op::GiveBack(receipt) => Self::GiveBack(receipt.clone()),
            Op::Lend(key, inquiry) => Self::Lend(OwnedKey::of(key), inquiry.to_vec()),
        }
    }

    /// Lends the operation to `run`.
    pub(super) fn with<T>(&self, run: impl FnOnce(&Op<'_>) -> T) -> T {
        match self {
            Self::Key(act, key, cost, scope, id) => {
                let scope = match scope {
                    OwnedScope::All => Scope::All,
                    OwnedScope::Domain(name) => Scope::Domain(name),
                    OwnedScope::Contract(id) => Scope::Contract(id),
                };
                let (cost, id) = (*cost, id.as_deref());
                key.with(|key| {
                    let ask = EngineRequest {
                        key,
                        cost,
                        scope,
                        id,
                    };
                    run(&Op::Key(*act, ask))
                })
            }
            Self::Commit(id, actual) => run(&Op::Commit(id, *actual)),
            Self::Settle(receipt, actual, id) => run(&Op::Settle(Settle {
                receipt,
                actual: *actual,
                id: id.as_deref(),
            })),
            Self::GiveBack(receipt) => run(&Op::GiveBack(receipt)),
            Self::Lend(key, inquiry) => key.with(|key| run(&Op::Lend(key, inquiry))),
        }
    }
}

impl OwnedKey {
    fn of(key: Key<'_>) -> Self {
        match key {
            Key::Word(word) => Self::Word(word),
            Key::Text(text) => Self::Text(text.to_vec()),
            Key::Entries(entries) => {
                let bytes = entries.iter().map(|(name, value)| name.len() + value.len());
                let mut text = String::with_capacity(bytes.sum());
                let words = entries.iter().flat_map(|(name, value)| [*name, *value]);
                let ends = words.map(|word| {
                    text.push_str(word);
                    text.len()
                });
                let ends = ends.collect();
                Self::Entries(text, ends)
            }
        }
    }

    fn with<T>(&self, run: impl FnOnce(Key<'_>) -> T) -> T {
        match self {
            Self::Word(word) => run(Key::Word(*word)),
            Self::Text(text) => run(Key::Text(text)),
            Self::Entries(text, ends) => {
                let mut from = 0;
                let mut word = |end: usize| text.get(std::mem::replace(&mut from, end)..end);
                let (pairs, _) = ends.as_chunks::<2>();
                let each = pairs.iter().map(|[name, value]| {
                    let (name, value) = (word(*name), word(*value));
                    (name.unwrap_or_default(), value.unwrap_or_default())
                });
                let each: SmallVec<[(&str, &str); 8]> = each.collect();
                run(Key::Entries(&each))
            }
        }
    }
}
