//! The one trait of engines, and their failures.

use core::fmt;
use core::future::Future;
use core::time::Duration;

use crate::ask::{EngineAnswer, StoreRequest};
use crate::clock::ClockComparison;
use crate::ledger::{LedgerId, LoadedLedger, Swap, Swapped};

/// Stores states for many nodes and decides by them.
///
/// Each request of a batch is atomic by itself; requests for one key take effect in the order of the batch. An engine
/// never
/// waits past its deadline: a request without an answer by then is [`Failure::Late`], and may have been done or may yet
/// be.
pub trait Engine: Send + Sync + 'static {
    /// Answers in the order of `batch`, within `time`.
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

    /// Compare-and-swap of a ledger by its version, within `time`.
    /// After [`Failure::Late`] it may have been done.
    fn swap(
        &self,
        _id: LedgerId,
        _swap: Swap,
        _time: Duration,
    ) -> impl Future<Output = Result<Swapped, Failure>> + Send {
        async { Err(keeps_none()) }
    }

    /// For metrics and logs: `redis`, `postgres`.
    fn name(&self) -> &'static str;

    /// Whether any answer after a failure proves that it accepts writes again.
    fn proves_writes(&self) -> bool {
        false
    }

    /// The last comparison of clocks; `None` before the first one, or if it uses this node's clock.
    fn clock(&self) -> Option<ClockComparison> {
        None
    }
}

fn keeps_none() -> Failure {
    Failure::Forbidden("this engine keeps no ledgers".into())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Deadline exceeded. The request may have been done.
    Late,
    /// It cannot be reached, or the connection was lost. The request may have been done.
    Unreachable(String),
    /// Too many requests are in flight: this one was not sent.
    Busy,
    /// It is starting, or electing a new primary.
    Starting,
    /// It is out of memory or disk.
    Full,
    /// It refuses writes.
    ReadOnly,
    /// Authentication failed, in either direction.
    Forbidden(String),
    /// Its data for this key does not parse.
    Broken(String),
}

impl Failure {
    /// Names of all kinds.
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

    /// Whether it concerns the engine, rather than one key.
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
