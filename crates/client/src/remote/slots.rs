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
    BundleReply, DecidedBy, Holder, Holding, Inquiry, JoinAnswer, Joined, LesseeFigures, ModeKey,
    OnFailure, Setup,
};
use tollgate_limit::Instant;
use tollgate_node::Key;
use tollgate_table::Seed;

use super::config::{Admission, AdmissionJournal, ClientConfig, ClientError, WhenAway};
use super::replies::{CommandWords, words};
use super::slot::{Kept, KeySlot};
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
}

#[repr(align(128))]
struct Shard {
    inner: Mutex<SlotTable>,
    decided: Condvar,
}

#[derive(Default)]
struct SlotTable {
    holder: Holder<Kept>,
    joined: BTreeMap<(u64, u64), (Joined, Instant)>,
    /// Tasks that wait for one of these.
    wakers: BTreeMap<(u64, u64), Waker>,
    latest: Instant,
}

impl SlotTable {
    /// The time, which never runs backwards for a shard.
    #[inline]
    fn at(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    /// Takes what was decided for those who wait; whether there was anything.
    fn collect(&mut self, now: Instant, journal: Option<&AdmissionJournal>) -> bool {
        let mut is_decided = false;
        while let Some((print, joined)) = self.holder.poll_joined() {
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
        let Some((said, is_quiet)) = inner.holder.check(print, cost, now) else {
            return (None, false);
        };
        self.note(&said, cost, now);
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
        if !inner.holder.knows(print) {
            if self.count.fetch_add(1, Relaxed) >= self.config.keys_max {
                self.count.fetch_sub(1, Relaxed);
                inner.holder.make_room(now).then_some(())?;
            }
            let kept = Kept {
                words: words(key),
                refusal: None,
            };
            inner.holder.insert(print, kept, self.setup(print), now);
        }
        let done = inner.holder.act(print, now, |slot| act(slot, now));
        self.tell(shard, inner, now);
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
        let done = inner.holder.act(print, now, |slot| act(slot, now));
        self.tell(shard, inner, now);
        done
    }

    /// Lets a shard go, and wakes those whose requests are decided.
    fn tell(&self, shard: &Shard, mut inner: MutexGuard<'_, SlotTable>, now: Instant) {
        let is_decided = inner.collect(now, self.config.journal.as_ref());
        drop(inner);
        if is_decided {
            shard.decided.notify_all();
        }
    }

    fn setup(&self, print: u64) -> Setup {
        let nanos = u64::try_from(self.config.timeout.as_nanos()).unwrap_or(u64::MAX);
        Setup {
            timeout_ns: nanos,
            on_failure: match self.config.when_away {
                WhenAway::Deny => OnFailure::Deny,
                WhenAway::Allow => OnFailure::Allow,
            },
            ..Setup::new(self.who.0, self.who.1, ModeKey(u128::from(print)))
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
            let kept = slot.of.refusal.as_ref();
            let kept = kept.filter(|_| slot.holding.peek(now).is_none())?;
            Some((kept.cost, kept.outcome(now)))
        };
        self.known(print, refusal).flatten()
    }

    /// The key of a print as commands say it.
    pub(super) fn words(&self, print: u64) -> Option<CommandWords> {
        self.known(print, |slot, _| slot.of.words.clone())
    }

    /// The answer where nobody answers.
    pub(super) fn away(&self) -> Outcome {
        Outcome::failed(self.config.when_away == WhenAway::Allow)
    }

    /// Does something with every key.
    pub(super) fn each(&self, mut act: impl FnMut(&mut KeySlot, Instant)) {
        self.each_shard(|inner, now| inner.holder.each(|_, slot| act(slot, now)));
    }

    /// Does something with every shard, and wakes those whose requests are decided.
    fn each_shard(&self, mut act: impl FnMut(&mut SlotTable, Instant)) {
        for shard in &self.shards {
            let mut inner = shard.inner.lock();
            let now = inner.at(self.clock.now());
            act(&mut inner, now);
            self.tell(shard, inner, now);
        }
    }

    /// Looks after keys for which it is time, and forgets those that nobody uses.
    pub(super) fn look_after(&self) {
        self.each_shard(|inner, now| {
            let before = inner.holder.len();
            inner.holder.handle_timeout(now);
            self.count.fetch_sub(before - inner.holder.len(), Relaxed);
            inner
                .joined
                .retain(|_, (_, at)| now.nanos_since(*at) <= FORGET_NS);
        });
    }

    /// Hands over what keys have to say.
    pub(super) fn drain(&self, mut say: impl FnMut(u64, &CommandWords, Inquiry)) {
        for shard in &self.shards {
            let mut inner = shard.inner.lock();
            if inner.holder.has_something_to_say() {
                let now = inner.at(self.clock.now());
                let say = |print, kept: &Kept, inquiry| say(print, &kept.words, inquiry);
                inner.holder.drain(now, say);
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
        let (mut sum, mut returned) = (LesseeFigures::default(), 0);
        for shard in &self.shards {
            let inner = shard.inner.lock();
            sum.add(&inner.holder.figures());
            returned += inner.holder.returned();
        }
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
/// Decisions that were not taken in so long are forgotten.
const FORGET_NS: u64 = 10_000_000_000;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_lease::Holding;

    use super::super::ClientConfig;
    use super::Slots;

    #[test]
    fn a_million_keys_are_asked_for_and_a_thousand_kept() {
        let config = ClientConfig {
            keys_max: 1_000,
            ..ClientConfig::new(["127.0.0.1:1"])
        };
        let slots = Slots::new(Arc::new(config)).unwrap();
        let ask = |key: u64| {
            let print = slots.print(key.into());
            slots.decide(print, key.into(), 1, Holding::try_check)
        };
        (0..1_000).for_each(|key| drop(ask(key)));
        let kept = |key: u64| slots.known(slots.print(key.into()), |_, _| ()).is_some();
        for key in 1_000..1_000_000 {
            assert!(ask(key).is_some(), "there is room for {key}");
            // One that is asked for all the time stays.
            if key % 10 == 0 {
                assert!(kept(7), "{key}");
            }
        }
        assert_eq!(slots.count(), 1_000);
        let lately = (999_900..1_000_000).filter(|key| kept(*key)).count();
        assert!(lately > 75, "{lately}");
        let mut said = 0;
        slots.drain(|_, _, _| said += 1);
        assert!(said <= 1_000, "{said}");
    }
}
