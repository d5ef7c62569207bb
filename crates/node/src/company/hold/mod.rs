//! Keys that this node leases of the nodes in charge of them, to decide by itself for those who ask it.
//!
//! A key that is asked for now and then is left to the node in charge, request by request; one that is asked for often
//! is held as a client of the library holds it. The carrier of questions calls [`Node::poll_inquiries`] after
//! [`Node::set_held_waker`]'s waker, brings the answers to [`Node::handle_lent`], takes decisions from
//! [`Node::poll_held`] and comes back at [`Node::poll_held_timeout`]. Not here: which node is in charge, and the holder
//! (`tollgate-lease`).

mod ask;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use tollgate_kit::mix;
use tollgate_lease::{
    BundleReply, DecidedBy, HeldLease, Holder, LeaseMessage, LesseeFigures, OnFailure, Setup,
    Sightings, decode, decode_reply, encode_inquiry, terms,
};
use tollgate_limit::{Cost, Instant};
use tollgate_table::Print;

use self::ask::HeldAsk;
use super::outbox::Waker;
use super::tag::{key, print};
use super::{Company, Lend};
use crate::answer::Answer;
use crate::apart::Spot;
use crate::node::Node;

/// What is said of a request at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are answers")]
pub enum HeldAnswer {
    /// It is decided, by a lease at hand.
    Now(Answer),
    /// It waits for a lease; [`Node::poll_held`] has the answer under this name.
    Wait(HeldName),
}

/// A request that waits for a lease: its key and its number.
pub type HeldName = (u64, u64);

/// A request that waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldDecision {
    /// Which.
    pub name: HeldName,
    /// Where it was decided.
    pub by: Option<DecidedBy>,
    /// What it is answered; `None` where the node in charge must be asked.
    pub answer: Option<Answer>,
}

/// Something to be said of a key to the node in charge of it.
#[derive(Clone, Debug)]
pub struct HeldInquiry {
    /// The key, by which the answer is brought.
    pub name: u64,
    /// The same, by which the node in charge is found.
    pub spot: Spot,
    /// What to say.
    pub bytes: Arc<[u8]>,
}

/// What a node leases.
pub(super) struct Hold {
    client: u64,
    boot: u64,
    shards: Box<[Mutex<HoldShard>]>,
    keys: AtomicUsize,
    keys_max: usize,
    waker: OnceLock<Waker>,
}

#[derive(Default)]
struct HoldShard {
    holder: Holder<HeldSpot>,
    seen: Sightings,
    latest: Instant,
}

/// A key as this node names it.
#[derive(Debug)]
struct HeldSpot {
    contract: Box<str>,
    print: Print,
    term_ns: u64,
    /// How often in a row no lease was there for it, since when, and what leases had decided by then.
    missed: u32,
    since: Instant,
    local: u64,
}

impl Hold {
    /// A node that leases nothing yet, where it does at all: in a quarter of so many bytes.
    pub(super) fn of(lend: &Lend, bytes_max: u64) -> Option<Self> {
        let keys_max = usize::try_from(bytes_max / 4 / KEY_BYTES).unwrap_or(KEYS_MAX);
        Some(Self {
            client: lend.holder?,
            boot: lend.generation,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            keys: AtomicUsize::new(0),
            keys_max: keys_max.min(KEYS_MAX),
            waker: OnceLock::new(),
        })
    }

    fn shard(&self, name: u64) -> Option<MutexGuard<'_, HoldShard>> {
        let place = usize::try_from(name >> 32).unwrap_or(0) % SHARDS;
        self.shards.get(place).map(Mutex::lock)
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }

    /// Begins to hold a key, where there is room for it.
    fn begin(&self, shard: &mut HoldShard, ask: &HeldAsk<'_>) -> bool {
        if self.keys.fetch_add(1, Relaxed) >= self.keys_max {
            self.keys.fetch_sub(1, Relaxed);
            if !shard.holder.make_room(shard.latest) {
                return false;
            }
        }
        let (name, print, now) = (ask.name, ask.spot.print, shard.latest);
        let setup = Setup {
            on_failure: OnFailure::Deny,
            look_ns: LOOK_NS,
            trip_ns: TRIP_NS,
            ..Setup::new(self.client, self.boot, key(print))
        };
        let spot = HeldSpot {
            contract: ask.contract.id.as_str().into(),
            print,
            term_ns: terms(ask.contract).term_ns,
            missed: 0,
            since: now,
            local: 0,
        };
        shard.holder.insert(name, spot, setup, now);
        // The terms are those of the contract, which is known here.
        let each = ask.parts.iter().map(|part| (part.tag, None));
        let reply = BundleReply::Lent {
            terms: terms(ask.contract),
            each: each.collect(),
        };
        shard.holder.handle_reply(name, &reply, now);
        shard.seen.forget(name);
        true
    }

    /// Does something with every shard that has keys.
    fn each(&self, mut act: impl FnMut(&mut HoldShard)) {
        if self.keys.load(Relaxed) == 0 {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.holder.len();
            act(&mut shard);
            self.keys.fetch_sub(before - shard.holder.len(), Relaxed);
        }
    }
}

impl HoldShard {
    /// The time, which goes back only where a clock does, and not where threads come by turns.
    fn at(&mut self, now: Instant) -> Instant {
        let is_behind = self.latest.nanos_since(now) > BEHIND_NS;
        self.latest = if is_behind { now } else { self.latest.max(now) };
        self.latest
    }
}

impl core::fmt::Debug for Hold {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hold")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

impl Node {
    /// Decides a request of a key that is held here; `None` where it is not, and then nothing was done.
    pub fn check_held(&self, spot: &Spot, cost: Cost, now: Instant) -> Option<HeldAnswer> {
        let hold = self.company()?.hold()?;
        if hold.keys.load(Relaxed) == 0 {
            return None;
        }
        let ask = self.held_ask(spot, cost, now)?;
        let mut shard = hold.shard(ask.name)?;
        ask.decide(&mut shard)
    }

    /// Decides a request of a key that another node is in charge of, where it is asked for so often that it is held
    /// from here on; `None` where it is left to that node.
    pub fn hold(&self, spot: &Spot, cost: Cost, now: Instant) -> Option<HeldAnswer> {
        let hold = self.company()?.hold()?;
        let ask = self.held_ask(spot, cost, now)?;
        let mut shard = hold.shard(ask.name)?;
        let at = shard.at(ask.company.steady(now));
        if !shard.holder.knows(ask.name) {
            let terms = terms(ask.contract);
            // Tokens at another node are out of reach of whom the node in charge decides for, and come back by terms.
            let mut parts = ask.parts.iter();
            if !parts.all(|part| part.refill_in(terms.term_ns) >= REFILL_MIN) {
                return None;
            }
            let seen = shard.seen.see(ask.name, 1, terms.term_ns, at);
            if seen < terms.uses_min.saturating_mul(3) / 2 || !hold.begin(&mut shard, &ask) {
                return None;
            }
        }
        ask.decide(&mut shard)
    }

    /// Hands over what is to be said of keys, and to whom they belong.
    pub fn poll_inquiries(&self, now: Instant, mut say: impl FnMut(HeldInquiry)) {
        let node = self;
        let Some((company, hold)) = node.company().and_then(|of| Some((of, of.hold()?))) else {
            return;
        };
        hold.each(|shard| {
            let now = shard.at(company.steady(now));
            let mut lost = Vec::new();
            shard.holder.drain(now, |name, held, inquiry| {
                let spot = node.held_spot(held);
                let Some(spot) = spot.filter(|spot| node.held_ask(spot, Cost::ONE, now).is_some())
                else {
                    return lost.push(name);
                };
                let bytes = encode_inquiry(&inquiry);
                say(HeldInquiry { name, spot, bytes });
            });
            for name in lost {
                shard.holder.handle_reply(name, &BundleReply::Ask, now);
            }
        });
    }

    /// Takes what the node in charge of a key said of it. Where it says nothing the question is said again.
    pub fn handle_lent(&self, name: u64, reply: &[u8], now: Instant) {
        let node = self.newest();
        let Some((company, hold)) = node.company().and_then(|of| Some((of, of.hold()?))) else {
            return;
        };
        let Some(mut shard) = hold.shard(name) else {
            return;
        };
        let now = shard.at(company.steady(now));
        if let Ok(reply) = decode_reply(reply) {
            shard.holder.handle_reply(name, &reply, now);
        }
    }

    /// Requests that waited and are decided.
    pub fn poll_held(&self, now: Instant) -> Vec<HeldDecision> {
        let (node, mut decided) = (self, Vec::new());
        let Some(hold) = node.company().and_then(|company| company.hold()) else {
            return decided;
        };
        hold.each(|shard| {
            while let Some((name, joined)) = shard.holder.poll_joined() {
                let key = shard.holder.get(name);
                let answer = key.and_then(|key| node.joined(name, key, &joined, now));
                decided.push(HeldDecision {
                    name: (name, joined.number),
                    by: joined.by,
                    answer,
                });
                shard.let_go(name);
            }
        });
        decided
    }

    /// Looks after what is held.
    pub fn handle_held_timeout(&self, now: Instant) {
        let node = self.newest();
        if let Some((company, hold)) = node.company().and_then(|of| Some((of, of.hold()?))) {
            hold.each(|shard| {
                let now = shard.at(company.steady(now));
                shard.holder.handle_timeout(now);
            });
        }
    }

    /// When to call [`Self::handle_held_timeout`] next, on the clock that terms are counted on; `None` while nothing is
    /// held.
    pub fn poll_held_timeout(&self) -> Option<Instant> {
        let hold = self.company()?.hold()?;
        let mut next: Option<Instant> = None;
        hold.each(|shard| {
            let due = shard.holder.poll_timeout();
            next = due.into_iter().chain(next).min();
        });
        next
    }

    /// Sets who is woken when there is something to say of keys, or a request that waited is decided. Once; it must not
    /// wait.
    pub fn set_held_waker(&self, waker: Waker) {
        if let Some(hold) = self.company().and_then(|company| company.hold()) {
            let _ = hold.waker.set(waker);
        }
    }

    /// Whether this node leases keys of others.
    pub fn is_holder(&self) -> bool {
        self.company()
            .is_some_and(|company| company.hold().is_some())
    }

    /// What this node holds: how many keys, and what they counted.
    pub fn held_figures(&self) -> Option<(u64, LesseeFigures)> {
        let hold = self.company()?.hold()?;
        let (mut keys, mut sum) = (0, LesseeFigures::default());
        for shard in &hold.shards {
            let shard = shard.lock();
            keys += shard.holder.len() as u64;
            sum.add(&shard.holder.figures());
        }
        Some((keys, sum))
    }

    /// What this node holds of a key, of each policy by its tag, for those who judge.
    pub fn held_leases(&self, spot: &Spot, now: Instant) -> Vec<(u64, HeldLease)> {
        let held = || {
            let ask = self.held_ask(spot, Cost::ONE, now)?;
            let mut shard = ask.company.hold()?.shard(ask.name)?;
            let now = shard.at(ask.company.steady(now));
            shard.holder.get(ask.name).map(|key| key.holding.held(now))
        };
        held().unwrap_or_default()
    }
}

impl Company {
    pub(super) const fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// Hears what the node in charge of keys sent; whether it is a hint to speak of one.
    pub(super) fn hear_hint(&self, tag: u64, frame: &[u8], now: Instant) -> bool {
        let (Some(hold), Ok(LeaseMessage::Nudge(nudge))) = (self.hold(), decode(frame)) else {
            return false;
        };
        let name = mix(tag) ^ print(nudge.key).0;
        if let Some(mut shard) = hold.shard(name) {
            let now = shard.at(self.steady(now));
            shard.holder.handle_nudge(name, now);
        }
        hold.wake();
        true
    }

    /// Gives back all that is held, as this node is about to go.
    pub(super) fn release_held(&self, now: Instant) {
        let Some(hold) = self.hold() else {
            return;
        };
        hold.each(|shard| {
            let now = shard.at(self.steady(now));
            shard.holder.each(|_, key| key.holding.release(now));
        });
        hold.wake();
    }
}

const SHARDS: usize = 64;
/// Keys that are granted fewer tokens in a term are not held.
const REFILL_MIN: u128 = 64;
/// Keys that are held at most, and about how many bytes one takes.
const KEYS_MAX: usize = 1 << 16;
const KEY_BYTES: u64 = 1 << 10;
/// Threads that come by turns have read the time so long ago at most.
const BEHIND_NS: u64 = 5_000_000;
/// How often the clock is looked at; what the machine's own clock shows does not step.
const LOOK_NS: u64 = 50_000_000;
/// A first guess of a round trip between nodes.
const TRIP_NS: u64 = 1_000_000;
