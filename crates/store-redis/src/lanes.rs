//! Requests by key: one call at a time for each, and requests that arrive meanwhile share the next.
//!
//! So a hot key costs one call per round trip, for any number of requests. Not here: the calls.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tollgate_store::{EngineAnswer, Failure, StoreRequest, Verb};

use crate::exact::{PackedPolicies, is_narrow};
use crate::name::RedisKey;

/// The most requests of one call.
pub(crate) const GROUP_MAX: usize = 256;
/// The most requests that wait for one key; beyond it they are refused as busy.
const WAITING_MAX: usize = 4096;
const SHARDS: usize = 16;

pub(crate) struct WaitingAsk {
    pub(crate) ask: StoreRequest,
    pub(crate) deadline: Instant,
    pub(crate) answer: oneshot::Sender<Result<EngineAnswer, Failure>>,
}

/// Requests for one key that share a call, in order, with one book.
pub(crate) struct Group {
    pub(crate) waiting: Vec<WaitingAsk>,
    /// `None` if the script cannot execute it.
    pub(crate) told: Option<PackedPolicies>,
}

/// The outcome of [`Lanes::enter`].
pub(crate) enum Entered {
    /// It is the first for its key: the caller must start a call.
    First,
    /// It joins the next call.
    Queued,
    /// Too many are waiting.
    Busy,
}

/// The keys in flight.
pub(crate) struct Lanes {
    shards: [Mutex<BTreeMap<RedisKey, VecDeque<WaitingAsk>>>; SHARDS],
    flights: AtomicUsize,
    flights_max: usize,
    linger_ms: u64,
}

impl Group {
    pub(crate) fn asks(&self) -> impl Iterator<Item = &StoreRequest> {
        self.waiting.iter().map(|waiting| &waiting.ask)
    }
}

impl Lanes {
    pub(crate) fn new(flights_max: usize, linger_ms: u64) -> Self {
        Self {
            shards: core::array::from_fn(|_| Mutex::default()),
            flights: AtomicUsize::new(0),
            flights_max,
            linger_ms,
        }
    }

    pub(crate) fn enter(&self, key: RedisKey, waiting: WaitingAsk) -> Entered {
        let mut lanes = self.shard(key).lock();
        if let Some(lane) = lanes.get_mut(&key) {
            if lane.len() >= WAITING_MAX {
                return Entered::Busy;
            }
            lane.push_back(waiting);
            return Entered::Queued;
        }
        if self.flights.fetch_add(1, Ordering::Relaxed) >= self.flights_max {
            self.flights.fetch_sub(1, Ordering::Relaxed);
            return Entered::Busy;
        }
        lanes.insert(key, VecDeque::from([waiting]));
        Entered::First
    }

    /// The next group of a key; `None` closes the key's lane, as no request waits.
    pub(crate) fn next(&self, key: RedisKey) -> Option<Group> {
        let mut lanes = self.shard(key).lock();
        let lane = lanes.get_mut(&key)?;
        let now = Instant::now();
        // Their callers stopped waiting.
        while lane
            .pop_front_if(|first| first.deadline <= now || first.answer.is_closed())
            .is_some()
        {}
        if lane.is_empty() {
            lanes.remove(&key);
            self.flights.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(group(lane, self.linger_ms))
    }

    /// Keys in flight.
    pub(crate) fn flights(&self) -> usize {
        self.flights.load(Ordering::Relaxed)
    }

    fn shard(&self, key: RedisKey) -> &Mutex<BTreeMap<RedisKey, VecDeque<WaitingAsk>>> {
        &self.shards[key.spread() % SHARDS]
    }
}

/// The first requests that can share a call.
fn group(lane: &mut VecDeque<WaitingAsk>, linger_ms: u64) -> Group {
    let first = lane.front().map(|first| first.ask.clone());
    let told = first.as_ref().and_then(|ask| told(ask, linger_ms));
    let fits = |waiting: &WaitingAsk| {
        let Some(first) = &first else { return false };
        let ask = &waiting.ask;
        let is_for_script = match (&told, ask.verb, first.verb) {
            (None, _, _) => true,
            (Some(told), Verb::Check { lot, .. }, Verb::Check { lot: first, .. }) => {
                lot == first && told.holds(ask.now)
            }
            (Some(_), _, _) => false,
        };
        is_for_script && Arc::ptr_eq(&ask.book, &first.book)
    };
    let together = lane
        .iter()
        .take(GROUP_MAX)
        .take_while(|waiting| fits(waiting));
    let together = together.count().max(1);
    let waiting = lane.drain(..together.min(lane.len())).collect();
    Group { waiting, told }
}

fn told(ask: &StoreRequest, linger_ms: u64) -> Option<PackedPolicies> {
    let mut policies = ask.book.set().policies().iter();
    let is_for_script = match (ask.verb, ask.verb.change(ask.now)) {
        (Verb::Check { .. }, _) => !policies.any(|policy| policy.config().count_refused),
        (_, change) => change.is_some_and(|change| change.tokens > 0),
    };
    let told = || PackedPolicies::to_ask(ask, ask.now, linger_ms);
    (is_for_script && is_narrow(&ask.book)).then(told)
}
