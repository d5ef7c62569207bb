//! A limiter that decides by leases of nodes elsewhere: at memory speed while it has one, and never a token too many.
//!
//! [`Client::check`] is an ordinary function: where a lease is at hand it allocates nothing and waits for nobody. Two threads of the client talk to one
//! node at a time, the nearest of those it was told, and to another when that one is gone. Not here: lending, and the protocol between
//! both (`tollgate-lease`).

mod clock;
mod config;
mod link;
mod pump;
mod replies;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use tollgate_lease::{By, Holding, JoinReceipt, Said};
use tollgate_limit::Span;
use tollgate_node::Key;

pub use clock::SteadyClock;
pub use config::{Admission, ClientConfig, ClientError, Journal, WhenAway};
use pump::Pump;
use slots::Slots;

/// What a request is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it passes.
    pub is_allowed: bool,
    /// How that was found.
    pub path: Path,
    /// For what was refused: how long until the same could pass, as far as that is known.
    pub retry_after: Option<Span>,
    /// By which the real cost can be settled, where a lease paid.
    pub receipt: Option<RemoteReceipt>,
}

/// What a request took from leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReceipt {
    print: u64,
    took: JoinReceipt,
}

/// How a decision was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// From a lease, at once.
    Lease,
    /// It waited for a node's answer.
    Waited,
    /// Refused here, as a node said to.
    Denied,
    /// A node decided, as the key is not lent.
    Asked,
    /// Nobody answered: as configured.
    Failed,
}

/// What a client holds of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inspected {
    /// Whole tokens that a request could take at once.
    pub tokens: u64,
    /// Tokens per second that it refills with.
    pub rate: f64,
    /// Whole tokens that it can hold.
    pub depth: u64,
}

/// What a client counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Requests decided from a lease at once.
    pub local: u64,
    /// Requests that waited for a node.
    pub waited: u64,
    /// Requests refused without asking.
    pub denied: u64,
    /// Requests that a node was asked for, as their keys are not lent.
    pub asked: u64,
    /// Requests that nobody answered.
    pub failed: u64,
    /// Messages sent.
    pub sent: u64,
    /// Answers and hints that came.
    pub heard: u64,
    /// Answers that came twice, too late or for another.
    pub stale: u64,
    /// Steps back of the clock.
    pub clock_voids: u64,
    /// Times that a node was connected to.
    pub connected: u64,
    /// Answers that made no sense.
    pub malformed: u64,
    /// Keys that are kept.
    pub keys: u64,
}

/// A limiter that decides by leases of nodes elsewhere. Any number of threads may share one. Dropped, it gives everything back.
#[derive(Debug)]
pub struct Client {
    slots: Arc<Slots>,
    pump: Pump,
}

impl Client {
    /// A client of these nodes. It does not wait for them: until one is there, requests are answered as configured for when nobody answers.
    ///
    /// ```no_run
    /// use tollgate_client::{Client, ClientConfig};
    ///
    /// let client = Client::connect(ClientConfig::new(["127.0.0.1:6379", "127.0.0.1:6380"]))?;
    /// if client.check("user-42", 1).is_allowed {
    ///     println!("go on");
    /// }
    /// # Ok::<(), tollgate_client::ClientError>(())
    /// ```
    pub fn connect(config: ClientConfig) -> Result<Self, ClientError> {
        let config = Arc::new(config.checked()?);
        let slots = Arc::new(Slots::new(Arc::clone(&config))?);
        let pump = Pump::start(Arc::clone(&slots), config)?;
        Ok(Self { slots, pump })
    }

    /// May this key spend `cost` now? Waits for an answer where no lease is at hand, at most for the timeout.
    #[inline]
    pub fn check<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Outcome {
        let key = key.into();
        let print = self.slots.print(key);
        let (said, is_quiet) = self.slots.check(print, cost);
        match said {
            Some(Said::Allow(took)) if is_quiet => Outcome::allowed(print, took),
            said => self.check_slowly((key, print), cost, said),
        }
    }

    /// The same, unless a node would have to be waited for: then nothing is decided.
    pub fn check_at_once<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Option<Outcome> {
        let key = key.into();
        let print = self.slots.print(key);
        let said = self.slots.check_at_once(print, cost)?;
        self.pump.wake();
        Some(match said {
            Said::Allow(took) => Outcome::allowed(print, took),
            Said::Deny { retry_after } => Outcome::denied(Path::Denied, Some(retry_after)),
            Said::Failed { is_allowed } => Outcome::failed(is_allowed),
            Said::Ask | Said::Wait(_) => return None,
        })
    }

    /// The same without ever waiting: where no lease is at hand it refuses, and asks for one.
    pub fn try_check<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Outcome {
        let key = key.into();
        let print = self.slots.print(key);
        let said = self.slots.decide((print, key), cost, Holding::try_check);
        self.pump.wake();
        match said {
            Some(Said::Allow(took)) => Outcome::allowed(print, took),
            Some(Said::Deny { retry_after }) => Outcome::denied(Path::Denied, Some(retry_after)),
            Some(Said::Failed { is_allowed }) => Outcome::failed(is_allowed),
            // What is not lent cannot be decided here.
            Some(Said::Ask | Said::Wait(_)) | None => Outcome::denied(Path::Denied, None),
        }
    }

    #[cold]
    fn check_slowly(&self, (key, print): (Key<'_>, u64), cost: u64, said: Option<Said>) -> Outcome {
        let said = match said {
            Some(said) => said,
            None => match self.slots.decide((print, key), cost, Holding::check) {
                Some(said) => said,
                // Nothing more is kept: a node decides.
                None => return self.ask(key, print, cost),
            },
        };
        self.pump.wake();
        match said {
            Said::Allow(took) => Outcome::allowed(print, took),
            Said::Deny { retry_after } => Outcome::denied(Path::Denied, Some(retry_after)),
            Said::Failed { is_allowed } => Outcome::failed(is_allowed),
            Said::Ask => self.ask(key, print, cost),
            Said::Wait(number) => match self.slots.wait(print, number) {
                None => self.slots.away(),
                Some(joined) => match joined.by {
                    None => self.ask(key, print, cost),
                    Some(By::Nobody) => Outcome::failed(joined.is_allowed),
                    Some(By::Grantor | By::Lease) if joined.is_allowed => Outcome {
                        is_allowed: true,
                        path: Path::Waited,
                        retry_after: None,
                        receipt: joined.receipt.map(|took| RemoteReceipt { print, took }),
                    },
                    Some(_) => Outcome::denied(Path::Waited, Some(joined.retry_after)),
                },
            },
        }
    }

    /// Has a node decide.
    fn ask(&self, key: Key<'_>, print: u64, cost: u64) -> Outcome {
        let Some(answer) = self.pump.ask(key, cost) else {
            return self.slots.away();
        };
        if !answer.is_allowed
            && let Some(retry_after) = answer.retry_after
        {
            self.slots.with(print, key, |slot, now| {
                slot.holding.handle_refusal(retry_after, now);
            });
        }
        answer
    }

    /// Waits until a request of that cost passes, at most so long; says whether it did.
    pub fn until_ready_blocking<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
        patience: Duration,
    ) -> bool {
        let key = key.into();
        let begun = std::time::Instant::now();
        loop {
            let outcome = self.check(key, cost);
            let left = patience.saturating_sub(begun.elapsed());
            if outcome.is_allowed || left.is_zero() {
                return outcome.is_allowed;
            }
            let told = outcome.retry_after.map_or(RETRY, |span| {
                Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
            });
            std::thread::sleep(told.clamp(RETRY, left.max(RETRY)));
        }
    }

    /// Charges what a request really cost. A refund counts only in the lease that paid, while it lasts.
    pub fn settle(&self, receipt: &RemoteReceipt, actual: u64) {
        self.slots.known(receipt.print, |slot, now| {
            slot.holding.settle(&receipt.took, actual, now);
        });
        self.pump.wake();
    }

    /// What is held of a key; `None` where it is not lent, or nothing is known of it.
    pub fn inspect<'k>(&self, key: impl Into<Key<'k>>) -> Option<Inspected> {
        let print = self.slots.print(key.into());
        self.slots
            .known(print, |slot, now| slot.inspect(now))
            .flatten()
    }

    /// Gives back what is held of a key.
    pub fn release<'k>(&self, key: impl Into<Key<'k>>) {
        let print = self.slots.print(key.into());
        self.slots
            .known(print, |slot, now| slot.holding.release(now));
        self.pump.wake();
    }

    /// Gives back everything.
    pub fn release_all(&self) {
        self.slots.each(|slot, now| slot.holding.release(now));
        self.pump.flush();
    }

    /// What was counted so far.
    pub fn counts(&self) -> ClientCounts {
        self.pump.counts(&self.slots)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.release_all();
    }
}

impl Outcome {
    #[inline]
    const fn allowed(print: u64, took: JoinReceipt) -> Self {
        Self {
            is_allowed: true,
            path: Path::Lease,
            retry_after: None,
            receipt: Some(RemoteReceipt { print, took }),
        }
    }

    const fn denied(path: Path, retry_after: Option<Span>) -> Self {
        Self {
            is_allowed: false,
            path,
            retry_after,
            receipt: None,
        }
    }

    const fn failed(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            path: Path::Failed,
            retry_after: None,
            receipt: None,
        }
    }
}

/// The shortest time between two tries of somebody who waits.
const RETRY: Duration = Duration::from_millis(1);
