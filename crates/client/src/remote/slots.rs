//! What a client has of all its keys, found by their prints.
//!
//! Each shard has a lock of its own, under which a key is decided about. Not here: talking to nodes (`pump`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tollgate_lease::{
    BundleReply, DecidedBy, Holding, Inquiry, JoinAnswer, Joined, LesseeFigures, ModeKey,
    OnFailure, Setup,
};
use tollgate_limit::Instant;
use tollgate_node::Key;
use tollgate_table::Seed;

use super::config::{Admission, AdmissionJournal, ClientConfig, ClientError, WhenAway};
use super::replies::{CommandWords, words};
use super::room::ShardRoom;
use super::slot::KeySlot;
use super::{ClientCounts, Outcome, SteadyClock};

/// All keys of a client.
pub(super) struct Slots {
    seed: Seed,
    clock: SteadyClock,
    shards: Box<[Shard]>,
    config: Arc<ClientConfig>,
    /// Who the client is, and which start of it.
    who: (u64, u64),
    count: AtomicUsize,
    /// What keys counted that are forgotten.
    past: Mutex<LesseeFigures>,
}

#[repr(align(128))]
struct Shard {
    inner: Mutex<SlotTable>,
    decided: Condvar,
}

#[derive(Default)]
pub(super) struct SlotTable {
    pub(super) by_print: BTreeMap<u64, KeySlot>,
    /// Keys that have something to say.
    talkative: Vec<u64>,
    joined: BTreeMap<(u64, u64), (Joined, Instant)>,
    /// Tasks that wait for one of these.
    wakers: BTreeMap<(u64, u64), Waker>,
    latest: Instant,
    pub(super) room: ShardRoom,
}

impl SlotTable {
    /// The time, which never runs backwards for a shard.
    #[inline]
    fn at(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn act<T>(
        &mut self,
        print: u64,
        now: Instant,
        act: impl FnOnce(&mut KeySlot, Instant) -> T,
    ) -> Option<T> {
        let slot = self.by_print.get_mut(&print)?;
        slot.used = now;
        slot.uses = (slot.uses + 1).min(2);
        Some(act(slot, now))
    }

    /// Takes what was decided for those who wait, and notes a key that has something to say.
    fn collect(&mut self, print: u64, now: Instant, journal: Option<&AdmissionJournal>) -> bool {
        let Some(slot) = self.by_print.get_mut(&print) else {
            return false;
        };
        let mut is_decided = false;
        while let Some(joined) = slot.holding.poll_joined() {
            is_decided = true;
            let is_ours = joined.is_allowed && joined.by == Some(DecidedBy::Lease);
            if let Some(journal) = journal.filter(|_| is_ours) {
                let at = now.saturating_add(joined.wait);
                let cost = joined.cost;
                journal(&Admission { at, cost });
            }
            let name = (print, joined.number);
            self.joined.insert(name, (joined, now));
            if let Some(waker) = self.wakers.remove(&name) {
                waker.wake();
            }
        }
        if slot.speaks_up() {
            self.talkative.push(print);
        }
        is_decided
    }
}

impl Slots {
    pub(super) fn new(config: Arc<ClientConfig>) -> Result<Self, ClientError> {
        let random = || getrandom::u64().map_err(|error| ClientError::System(error.to_string()));
        let seed = Seed::new([random()?, random()?]);
        let client = match &config.name {
            // The same for every start.
            Some(name) => Seed::new([0, 0]).bytes(name.as_bytes()).0,
            None => random()?,
        };
        let boot = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let boot = boot.map_or(1, |since| {
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        });
        let shard = |_| Shard {
            inner: Mutex::default(),
            decided: Condvar::new(),
        };
        Ok(Self {
            seed,
            clock: SteadyClock::new(),
            shards: (0..SHARDS).map(shard).collect(),
            config,
            who: (client, boot),
            count: AtomicUsize::new(0),
            past: Mutex::default(),
        })
    }

    /// The print of a key.
    #[inline]
    pub(super) fn print(&self, key: Key<'_>) -> u64 {
        match key {
            Key::Word(word) => self.seed.word(word).0,
            Key::Text(text) => self.seed.bytes(text).0,
            Key::Entries(entries) => {
                let mut hasher = self.seed.hasher();
                for (name, value) in entries {
                    hasher.bytes(name.as_bytes());
                    hasher.bytes(value.as_bytes());
                }
                hasher.finish().0
            }
        }
    }

    #[inline]
    fn shard(&self, print: u64) -> &Shard {
        // A power of two of them.
        let place = usize::try_from(print >> 58).unwrap_or(0) % SHARDS;
        &self.shards[place]
    }

    /// Decides about a key that is known; whether there is nothing to say to anybody.
    #[inline]
    pub(super) fn check(&self, print: u64, cost: u64) -> (Option<JoinAnswer>, bool) {
        let mut inner = self.shard(print).inner.lock();
        let now = inner.at(self.clock.now());
        let Some(slot) = inner.by_print.get_mut(&print) else {
            return (None, false);
        };
        slot.uses = 2;
        let said = slot.holding.check(cost, now);
        let is_quiet = !slot.holding.has_something_to_say();
        self.note(&said, cost, now);
        if !is_quiet && slot.speaks_up() {
            inner.talkative.push(print);
        }
        (Some(said), is_quiet)
    }

    /// Decides about a key, which is made where it is not known; `None` where there is no room for it.
    pub(super) fn decide(
        &self,
        print: u64,
        key: Key<'_>,
        cost: u64,
        check: fn(&mut Holding, u64, Instant) -> JoinAnswer,
    ) -> Option<JoinAnswer> {
        self.with(print, key, |slot, now| {
            let said = check(&mut slot.holding, cost, now);
            self.note(&said, cost, now);
            said
        })
    }

    /// Decides about a key that is known, unless somebody would have to be waited for.
    pub(super) fn check_at_once(&self, print: u64, cost: u64) -> Option<JoinAnswer> {
        self.known(print, |slot, now| {
            let said = slot.holding.check_at_once(cost, now)?;
            self.note(&said, cost, now);
            Some(said)
        })?
    }

    /// Tells whoever is told of what is admitted here.
    #[inline]
    fn note(&self, said: &JoinAnswer, cost: u64, at: Instant) {
        let Some(journal) = &self.config.journal else {
            return;
        };
        match said {
            JoinAnswer::Allow(_) => journal(&Admission { at, cost }),
            JoinAnswer::Delay { wait, .. } => {
                let at = at.saturating_add(*wait);
                journal(&Admission { at, cost });
            }
            JoinAnswer::Deny { .. }
            | JoinAnswer::Wait(_)
            | JoinAnswer::Ask
            | JoinAnswer::Failed { .. } => {}
        }
    }

    /// Does something with a key, which is made where it is not known; `None` where there is no room for it.
    pub(super) fn with<T>(
        &self,
        print: u64,
        key: Key<'_>,
        act: impl FnOnce(&mut KeySlot, Instant) -> T,
    ) -> Option<T> {
        let shard = self.shard(print);
        let mut inner = shard.inner.lock();
        let now = inner.at(self.clock.now());
        if !inner.by_print.contains_key(&print) {
            if self.count.fetch_add(1, Relaxed) >= self.config.keys_max {
                self.count.fetch_sub(1, Relaxed);
                self.past.lock().add(&inner.make_room(now)?);
            }
            let slot = self.made(key, print, inner.room.seq, now);
            inner.by_print.insert(print, slot);
        }
        let done = inner.act(print, now, act);
        self.tell(shard, inner, print, now);
        done
    }

    /// Does something with a key that is known.
    pub(super) fn known<T>(
        &self,
        print: u64,
        act: impl FnOnce(&mut KeySlot, Instant) -> T,
    ) -> Option<T> {
        let shard = self.shard(print);
        let mut inner = shard.inner.lock();
        let now = inner.at(self.clock.now());
        let done = inner.act(print, now, act);
        self.tell(shard, inner, print, now);
        done
    }

    /// Lets a shard go, and wakes those whose requests are decided.
    fn tell(&self, shard: &Shard, mut inner: MutexGuard<'_, SlotTable>, print: u64, now: Instant) {
        let is_decided = inner.collect(print, now, self.config.journal.as_ref());
        drop(inner);
        if is_decided {
            shard.decided.notify_all();
        }
    }

    fn made(&self, key: Key<'_>, print: u64, seq: u64, now: Instant) -> KeySlot {
        let nanos = u64::try_from(self.config.timeout.as_nanos()).unwrap_or(u64::MAX);
        let setup = Setup {
            timeout_ns: nanos,
            on_failure: match self.config.when_away {
                WhenAway::Deny => OnFailure::Deny,
                WhenAway::Allow => OnFailure::Allow,
            },
            seq,
            ..Setup::new(self.who.0, self.who.1, ModeKey(u128::from(print)))
        };
        KeySlot {
            holding: Holding::new(setup, now),
            words: words(key),
            refusal: None,
            used: now,
            uses: 0,
            is_noted: false,
        }
    }

    /// Waits for the decision about a request.
    pub(super) fn wait(&self, print: u64, number: u64) -> Option<Joined> {
        let shard = self.shard(print);
        let mut inner = shard.inner.lock();
        let deadline = std::time::Instant::now() + self.config.timeout * 8 + Duration::from_secs(1);
        loop {
            if let Some((joined, _)) = inner.joined.remove(&(print, number)) {
                return Some(joined);
            }
            if shard.decided.wait_until(&mut inner, deadline).timed_out() {
                return None;
            }
        }
    }

    /// The decision about a request, where it is there; else the waker is woken when it is.
    pub(super) fn poll_wait(&self, name: (u64, u64), waker: &Waker) -> Poll<Joined> {
        let mut inner = self.shard(name.0).inner.lock();
        if let Some((joined, _)) = inner.joined.remove(&name) {
            return Poll::Ready(joined);
        }
        inner.wakers.insert(name, waker.clone());
        Poll::Pending
    }

    /// Nobody waits for a decision any more.
    pub(super) fn leave(&self, name: (u64, u64)) {
        let mut inner = self.shard(name.0).inner.lock();
        inner.wakers.remove(&name);
        inner.joined.remove(&name);
    }

    /// The refusal of a key that is kept: what the request cost, and what a node would say of it now. `None` where the
    /// key is lent.
    pub(super) fn refusal(&self, print: u64) -> Option<(u64, Outcome)> {
        let refusal = |slot: &mut KeySlot, now: Instant| {
            let kept = slot.refusal.as_ref();
            let kept = kept.filter(|_| slot.holding.peek(now).is_none())?;
            Some((kept.cost, kept.outcome(now)))
        };
        self.known(print, refusal).flatten()
    }

    /// The key of a print as commands say it.
    pub(super) fn words(&self, print: u64) -> Option<CommandWords> {
        self.known(print, |slot, _| slot.words.clone())
    }

    /// The answer where nobody answers.
    pub(super) fn away(&self) -> Outcome {
        Outcome::failed(self.config.when_away == WhenAway::Allow)
    }

    /// Does something with every key.
    pub(super) fn each(&self, mut act: impl FnMut(&mut KeySlot, Instant)) {
        for shard in &self.shards {
            let mut inner = shard.inner.lock();
            let now = inner.at(self.clock.now());
            let prints: Vec<u64> = inner.by_print.keys().copied().collect();
            let mut is_decided = false;
            for print in prints {
                if let Some(slot) = inner.by_print.get_mut(&print) {
                    act(slot, now);
                }
                is_decided |= inner.collect(print, now, self.config.journal.as_ref());
            }
            drop(inner);
            if is_decided {
                shard.decided.notify_all();
            }
        }
    }

    /// Looks after all keys, and forgets those that nobody uses.
    pub(super) fn look_after(&self) {
        self.each(|slot, now| {
            if slot.holding.poll_timeout().is_some_and(|due| due <= now) {
                slot.holding.handle_timeout(now);
            }
        });
        for shard in &self.shards {
            let mut inner = shard.inner.lock();
            let now = inner.at(self.clock.now());
            let is_old = |at: Instant| now.nanos_since(at) > FORGET_NS;
            inner.joined.retain(|_, (_, at)| !is_old(*at));
            let before = inner.by_print.len();
            let SlotTable { by_print, room, .. } = &mut *inner;
            by_print.retain(|_, slot| {
                let stays = !is_old(slot.used) || slot.holding.is_busy(now);
                if !stays {
                    room.forget(slot);
                    self.past.lock().add(&slot.holding.figures());
                }
                stays
            });
            self.count.fetch_sub(before - inner.by_print.len(), Relaxed);
        }
    }

    /// Hands over what keys have to say.
    pub(super) fn drain(&self, mut say: impl FnMut(u64, &CommandWords, Inquiry)) {
        for shard in &self.shards {
            let mut inner = shard.inner.lock();
            for (print, words, inquiry) in std::mem::take(&mut inner.room.leaving) {
                say(print, &words, inquiry);
            }
            if inner.talkative.is_empty() {
                continue;
            }
            let now = inner.at(self.clock.now());
            for print in std::mem::take(&mut inner.talkative) {
                if let Some(slot) = inner.by_print.get_mut(&print) {
                    slot.is_noted = false;
                    while let Some(inquiry) = slot.holding.poll_inquiry(now) {
                        say(print, &slot.words, inquiry);
                    }
                }
            }
        }
    }

    /// Takes an answer about a key.
    pub(super) fn handle_reply(&self, print: u64, reply: &BundleReply) {
        self.known(print, |slot, now| slot.holding.handle_reply(reply, now));
    }

    /// A node wishes to hear of a key.
    pub(super) fn handle_nudge(&self, key: ModeKey) {
        if let Ok(print) = u64::try_from(key.0) {
            self.known(print, |slot, now| slot.holding.handle_nudge(now));
        }
    }

    /// Says everything again that has no answer yet, as another node is there.
    pub(super) fn say_again(&self) {
        self.each(|slot, now| slot.holding.handle_failover(now));
    }

    /// What keys counted.
    pub(super) fn counts(&self) -> ClientCounts {
        let mut sum = *self.past.lock();
        let rooms = self
            .shards
            .iter()
            .map(|shard| shard.inner.lock().room.returned);
        let returned = rooms.sum();
        self.each(|slot, _| sum.add(&slot.holding.figures()));
        ClientCounts {
            local: sum.local,
            promised: sum.promised,
            waited: sum.waited,
            denied: sum.denied,
            failed: sum.failed,
            sent: sum.sent,
            stale: sum.stale,
            clock_voids: sum.steps,
            returned,
            keys: self.count() as u64,
            ..ClientCounts::default()
        }
    }

    /// How many keys are kept.
    pub(super) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

const SHARDS: usize = 64;
/// Keys that were not asked for in so long are forgotten.
const FORGET_NS: u64 = 10_000_000_000;
