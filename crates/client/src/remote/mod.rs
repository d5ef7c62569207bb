//! A limiter that decides by leases of nodes elsewhere: at memory speed while it has one, and never a token too many.
//!
//! [`Client::check`] is an ordinary function: where a lease is at hand it allocates nothing and waits for nobody. Two
//! threads of the client talk to one node at a time, the nearest of those it was told, and to another when that one is
//! gone. Not here: lending, and the protocol between both (`tollgate-lease`).

mod config;
mod kept;
mod link;
mod nodes;
mod pump;
mod replies;
mod slot;
mod slots;
mod ticket;
#[cfg(feature = "tls")]
mod tls;

use std::sync::Arc;
use std::time::Duration;

use tollgate_clock::SteadyClock;
use tollgate_lease::{DecidedBy, Holding, JoinAnswer, JoinReceipt, Joined};
use tollgate_limit::Span;
use tollgate_node::Key;

pub use config::{Admission, AdmissionJournal, ClientConfig, ClientError, WhenAway};
pub use nodes::{NodeAnswer, NodeAsk, NodeStand, NodeWrite};
use pump::Pump;
use replies::CommandWords;
use slots::Slots;
use ticket::PendingDecision;
#[cfg(feature = "tls")]
pub use tls::ClientTls;

/// What a request is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it passes.
    pub is_allowed: bool,
    /// How that was found.
    pub path: Path,
    /// For what passes: how long it is to be held back before it goes on.
    pub wait: Span,
    /// For what was refused: how long until the same could pass, as far as that is known.
    pub retry_after: Option<Span>,
    /// By which the real cost can be settled.
    pub receipt: Option<RemoteReceipt>,
    /// What a node said besides, where it decided, or where its refusal still holds.
    pub node: Option<Box<NodeAnswer>>,
}

/// What a request took, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReceipt(Took);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Took {
    /// From leases of the key of this print.
    Lease { print: u64, took: JoinReceipt },
    /// From a node, by its receipt.
    Node(Box<str>),
    /// From the pool that leases of the key come from.
    Pool { key: CommandWords, cost: u64 },
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
    /// Requests that pass after a wait, once their cost has come back to a lease.
    pub promised: u64,
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
    /// Leases given back early, to make room for other keys.
    pub returned: u64,
    /// Keys that are kept.
    pub keys: u64,
}

/// A limiter that decides by leases of nodes elsewhere. Any number of threads may share one. Dropped, it gives
/// everything back.
#[derive(Debug)]
pub struct Client {
    slots: Arc<Slots>,
    pump: Pump,
}

impl Client {
    /// A client of these nodes. It does not wait for them: until one is there, requests are answered as configured for
    /// when nobody answers.
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
            Some(JoinAnswer::Allow(took)) if is_quiet => Outcome::allowed(print, took),
            said => self.check_slowly(key, print, cost, said),
        }
    }

    /// The same, unless a node would have to be waited for: then nothing is decided.
    pub fn check_at_once<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Option<Outcome> {
        let key = key.into();
        let print = self.slots.print(key);
        let said = self.slots.check_at_once(print, cost)?;
        self.pump.wake();
        Some(match said {
            JoinAnswer::Allow(took) => Outcome::allowed(print, took),
            JoinAnswer::Delay { receipt, wait } => Outcome::delayed(print, receipt, wait),
            JoinAnswer::Deny { retry_after } => Outcome::denied(Path::Denied, Some(retry_after)),
            JoinAnswer::Failed { is_allowed } => Outcome::failed(is_allowed),
            JoinAnswer::Ask | JoinAnswer::Wait(_) => return None,
        })
    }

    /// The same without ever waiting: where no lease is at hand it refuses, and asks for one.
    pub fn try_check<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Outcome {
        let key = key.into();
        let print = self.slots.print(key);
        let said = self.slots.decide(print, key, cost, Holding::try_check);
        self.pump.wake();
        match said {
            Some(JoinAnswer::Allow(took)) => Outcome::allowed(print, took),
            Some(JoinAnswer::Delay { receipt, wait }) => Outcome::delayed(print, receipt, wait),
            Some(JoinAnswer::Deny { retry_after }) => {
                Outcome::denied(Path::Denied, Some(retry_after))
            }
            Some(JoinAnswer::Failed { is_allowed }) => Outcome::failed(is_allowed),
            // What is not lent cannot be decided here.
            Some(JoinAnswer::Ask | JoinAnswer::Wait(_)) | None => {
                Outcome::denied(Path::Denied, None)
            }
        }
    }

    #[cold]
    fn check_slowly(
        &self,
        key: Key<'_>,
        print: u64,
        cost: u64,
        said: Option<JoinAnswer>,
    ) -> Outcome {
        match self.begin(key, print, cost, said) {
            Begun::Done(outcome) => outcome,
            Begun::Ask => {
                let answer = self.check_at_node(&all(key, cost));
                self.remember(key, print, cost, answer)
            }
            Begun::Wait(number) => match self.slots.wait(print, number) {
                None => self.slots.away(),
                Some(joined) => match self.joined(print, joined) {
                    Some(outcome) => outcome,
                    None => self.check_slowly(key, print, cost, Some(JoinAnswer::Ask)),
                },
            },
        }
    }

    /// May this key spend `cost` now? As [`Self::check`], for tasks. A future that is dropped while it waits may have
    /// been charged.
    pub async fn check_in_task<'k>(&self, key: impl Into<Key<'k>> + Send, cost: u64) -> Outcome {
        let key = key.into();
        let print = self.slots.print(key);
        let (said, is_quiet) = self.slots.check(print, cost);
        let mut begun = match said {
            Some(JoinAnswer::Allow(took)) if is_quiet => Begun::Done(Outcome::allowed(print, took)),
            said => self.begin(key, print, cost, said),
        };
        loop {
            match begun {
                Begun::Done(outcome) => return outcome,
                Begun::Ask => {
                    let answer = self.check_at_node_in_task(&all(key, cost)).await;
                    return self.remember(key, print, cost, answer);
                }
                Begun::Wait(number) => {
                    let slots = &self.slots;
                    let name = (print, number);
                    let joined = PendingDecision { slots, name }.await;
                    begun = self.joined(print, joined).map_or(Begun::Ask, Begun::Done);
                }
            }
        }
    }

    /// Decides, or says what has to be waited for.
    fn begin(&self, key: Key<'_>, print: u64, cost: u64, said: Option<JoinAnswer>) -> Begun {
        let said = said.or_else(|| self.slots.decide(print, key, cost, Holding::check));
        self.pump.wake();
        Begun::Done(match said {
            // Nothing more is kept, or the key is not lent: a node decides.
            None | Some(JoinAnswer::Ask) => return Begun::Ask,
            Some(JoinAnswer::Wait(number)) => return Begun::Wait(number),
            Some(JoinAnswer::Allow(took)) => Outcome::allowed(print, took),
            Some(JoinAnswer::Delay { receipt, wait }) => Outcome::delayed(print, receipt, wait),
            Some(JoinAnswer::Deny { retry_after }) => match self.slots.refusal(print) {
                // What costs less may pass.
                Some((refused, _)) if cost < refused => return Begun::Ask,
                Some((_, kept)) => kept,
                None => Outcome::denied(Path::Denied, Some(retry_after)),
            },
            Some(JoinAnswer::Failed { is_allowed }) => Outcome::failed(is_allowed),
        })
    }

    /// What became of a request that waited; `None` where a node has to decide.
    fn joined(&self, print: u64, joined: Joined) -> Option<Outcome> {
        Some(match joined.by? {
            DecidedBy::Nobody => Outcome::failed(joined.is_allowed),
            DecidedBy::Grantor | DecidedBy::Lease if joined.is_allowed => {
                let took = match joined.receipt {
                    Some(took) => Some(Took::Lease { print, took }),
                    None => self.slots.words(print).map(|key| Took::Pool {
                        key,
                        cost: joined.cost,
                    }),
                };
                Outcome {
                    wait: joined.wait,
                    receipt: took.map(RemoteReceipt),
                    ..Outcome::of(true, Path::Waited)
                }
            }
            DecidedBy::Grantor | DecidedBy::Lease => {
                Outcome::denied(Path::Waited, Some(joined.retry_after))
            }
        })
    }

    /// Keeps a node's refusal.
    fn remember(&self, key: Key<'_>, print: u64, cost: u64, answer: Outcome) -> Outcome {
        if !answer.is_allowed
            && let Some(retry_after) = answer.retry_after
        {
            self.slots.with(print, key, |slot, now| {
                slot.holding.handle_refusal(retry_after, now);
                let kept = |node: &NodeAnswer| kept::KeptRefusal {
                    cost,
                    at: now,
                    until: now.saturating_add(retry_after),
                    answer: node.clone(),
                };
                slot.of.refusal = answer.node.as_deref().map(kept).map(Box::new);
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
            let wait = Duration::from(outcome.wait);
            if outcome.is_allowed && wait <= left {
                std::thread::sleep(wait);
                return true;
            }
            // What would come too late is given back.
            if let Some(receipt) = &outcome.receipt {
                self.settle(receipt, 0);
            }
            if outcome.is_allowed || left.is_zero() {
                return false;
            }
            let told = outcome.retry_after.map_or(RETRY, |span| {
                Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
            });
            std::thread::sleep(told.clamp(RETRY, left.max(RETRY)));
        }
    }

    /// What is held of a key; `None` where it is not lent, or nothing is known of it.
    pub fn inspect<'k>(&self, key: impl Into<Key<'k>>) -> Option<Inspected> {
        let print = self.slots.print(key.into());
        self.slots
            .known(print, |slot, now| slot::inspect(slot, now))
            .flatten()
    }

    /// Of the leases of a key, the one that lets a request of that cost wait longest, or that has the least: the tag of
    /// its policy, and the whole tokens in it. `None` where the key is not lent.
    pub fn tightest<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Option<(u64, u64)> {
        let print = self.slots.print(key.into());
        let tightest = |slot: &mut slot::KeySlot, now| slot.holding.tightest(cost, now);
        self.slots.known(print, tightest).flatten()
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
            wait: Span::ZERO,
            retry_after: None,
            receipt: Some(RemoteReceipt(Took::Lease { print, took })),
            node: None,
        }
    }

    /// Passes once its cost has come back to the lease.
    fn delayed(print: u64, took: JoinReceipt, wait: Span) -> Self {
        Self {
            wait,
            ..Self::allowed(print, took)
        }
    }

    const fn of(is_allowed: bool, path: Path) -> Self {
        Self {
            is_allowed,
            path,
            wait: Span::ZERO,
            retry_after: None,
            receipt: None,
            node: None,
        }
    }

    fn denied(path: Path, retry_after: Option<Span>) -> Self {
        Self {
            retry_after,
            ..Self::of(false, path)
        }
    }

    const fn failed(is_allowed: bool) -> Self {
        Self::of(is_allowed, Path::Failed)
    }
}

/// How far a request got without waiting.
enum Begun {
    Done(Outcome),
    Ask,
    Wait(u64),
}

/// A question to all contracts that bind a key.
const fn all(key: Key<'_>, cost: u64) -> NodeAsk<'_> {
    NodeAsk {
        key,
        cost,
        contract: None,
    }
}

/// The shortest time between two tries of somebody who waits.
const RETRY: Duration = Duration::from_millis(1);
