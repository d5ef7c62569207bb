//! The one trait of engines, and how they fail.

use core::fmt;
use core::future::Future;
use core::time::Duration;

use crate::ask::{EngineAnswer, StoreRequest};
use crate::clock::ClockComparison;
use crate::ledger::{LedgerId, LoadedLedger, Swap, Swapped};

/// Something that keeps states for many nodes and decides by them.
///
/// Every ask of a batch is atomic by itself; asks for one key take effect in the order of the batch. An engine never
/// waits past the time it is given: what has no answer by then is [`Failure::Late`], and may have been done or may yet
/// be.
pub trait Engine: Send + Sync + 'static {
    /// Asks everything in `batch` and answers in its order, within `time`.
    fn ask(
        &self,
        batch: Vec<StoreRequest>,
        time: Duration,
    ) -> impl Future<Output = Vec<Result<EngineAnswer, Failure>>> + Send;

    /// The ledger of a key, and the engine's time, within `time`.
    fn load(
        &self,
        _id: LedgerId,
        _time: Duration,
    ) -> impl Future<Output = Result<LoadedLedger, Failure>> + Send {
        async { Err(keeps_none()) }
    }

    /// Puts other bytes in the place of a ledger, if it is still in the state that they were made from, within `time`.
    /// What is [`Failure::Late`] may have been done.
    fn swap(
        &self,
        _id: LedgerId,
        _swap: Swap,
        _time: Duration,
    ) -> impl Future<Output = Result<Swapped, Failure>> + Send {
        async { Err(keeps_none()) }
    }

    /// The engine in a word, for metrics and logs: `redis`, `postgres`.
    fn name(&self) -> &'static str;

    /// Whether any answer after a failure proves that it takes writes again.
    fn proves_writes(&self) -> bool {
        false
    }

    /// Its clock against ours, as compared last; `None` where it was not, or is ours.
    fn clock(&self) -> Option<ClockComparison> {
        None
    }
}

fn keeps_none() -> Failure {
    Failure::Forbidden("this engine keeps no ledgers".into())
}

/// Why an engine did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Not in time. The ask may have been done.
    Late,
    /// It cannot be reached, or went away. The ask may have been done.
    Unreachable(String),
    /// Too much is under way: the ask was not even sent.
    Busy,
    /// It is starting, or choosing a new primary.
    Starting,
    /// It has no room for more.
    Full,
    /// It takes no writes.
    ReadOnly,
    /// It does not accept who we say we are, or we do not accept who it says it is.
    Forbidden(String),
    /// What it keeps for this key makes no sense to us.
    Broken(String),
}

impl Failure {
    /// The word of every kind.
    pub const KINDS: [&'static str; 8] = [
        "late",
        "unreachable",
        "busy",
        "starting",
        "full",
        "read-only",
        "forbidden",
        "broken",
    ];

    /// One of [`Self::KINDS`], for metrics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Unreachable(_) => "unreachable",
            Self::Busy => "busy",
            Self::Starting => "starting",
            Self::Full => "full",
            Self::ReadOnly => "read-only",
            Self::Forbidden(_) => "forbidden",
            Self::Broken(_) => "broken",
        }
    }

    /// Whether it says something of the engine, rather than of one key.
    pub const fn is_of_the_engine(&self) -> bool {
        !matches!(self, Self::Broken(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("the engine did not answer in time"),
            Self::Unreachable(why) => write!(f, "the engine cannot be reached: {why}"),
            Self::Busy => f.write_str("too much is asked of the engine at once"),
            Self::Starting => f.write_str("the engine is starting or fails over"),
            Self::Full => f.write_str("the engine has no room: raise its memory or its disk"),
            Self::ReadOnly => f.write_str("the engine takes no writes: is it a replica?"),
            Self::Forbidden(why) => write!(f, "the engine refuses us: {why}"),
            Self::Broken(why) => write!(f, "a state in the engine cannot be read: {why}"),
        }
    }
}

impl core::error::Error for Failure {}
