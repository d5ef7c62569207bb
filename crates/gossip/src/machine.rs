//! What counts on a node, and what it exchanges with the others: the two traits behind which buckets and windows are.
//!
//! Not here: when it is asked, and who else is.

use std::fmt::Debug;
use std::marker;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    Footprint, Key, Malformed, NodeId, Probe, Saved, Send, Sort, Standing, Verdict,
};

/// What a node exchanges with others about many keys, whatever is counted.
///
/// After every call, drain [`poll_send`](Self::poll_send). Timeouts may come early or twice; frames may be lost,
/// doubled, late, out of order or malformed: none of it may cause a panic or an unbounded state.
pub trait Exchange: Debug + marker::Send {
    /// Takes a frame that `from` sent. A malformed one changes nothing.
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed>;

    /// Hears who is believed alive, this node included, in ascending order.
    fn handle_members(&mut self, alive: &[NodeId], now: Instant);

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call [`handle_timeout`](Self::handle_timeout) next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next frame to send, oldest first.
    fn poll_send(&mut self) -> Option<Send>;

    /// Whether nothing waits to be told to anybody: without new requests this node will send nothing but checks.
    fn is_quiet(&self) -> bool;

    /// Bytes of state held now.
    fn footprint(&self) -> Footprint;

    /// Every key that is known, in ascending order.
    fn keys(&self) -> Vec<Key>;

    /// What a frame of that kind is for.
    fn sort(&self, _kind: u8) -> Sort {
        Sort::Publication
    }

    /// How many keys are known.
    fn keys_count(&self) -> usize;

    /// Whether something is known of a key.
    fn knows(&self, key: Key) -> bool;

    /// Forgets one key to make room: of a few, the one that has most left; `false` where none may go.
    fn evict(&mut self, _: Instant) -> bool {
        false
    }

    /// Drops one copy that is kept for another node, the one that matters for the shortest time; `false` where there is
    /// none.
    fn drop_copy(&mut self) -> bool {
        false
    }

    /// About how many bytes of memory all of it takes: what the footprint counts, and what holds it.
    fn held(&self) -> u64 {
        let Footprint { local, extra } = self.footprint();
        self.keys_count() as u64 * KEY_HELD + 2 * (local + extra)
    }

    /// Asks the others for what a newcomer should know.
    fn handle_join(&mut self, _: Instant) {}

    /// Whether an answer to [`handle_join`](Self::handle_join) is still waited for.
    fn is_joining(&self) -> bool {
        false
    }

    /// Tells the others what only this node knows, as it is about to go.
    fn handle_leave(&mut self, _: Instant) {}

    /// What this node must not lose of a key when it is restarted, as a frame for [`restore`](Self::restore).
    fn save(&mut self, _: Key, _: Instant) -> Option<Arc<[u8]>> {
        None
    }

    /// Takes back what a former boot of this node saved. Others know it under the same names, so nothing counts twice.
    fn restore(&mut self, _frame: &[u8], _: Instant) -> Result<(), Malformed> {
        Ok(())
    }

    /// Hears how long messages take, where timers wait for answers.
    fn set_delay(&mut self, _: Span) {}
}

/// What a key has used up, and for how long it matters.
#[derive(Clone, Copy, Debug)]
pub struct UsedUp {
    pub(crate) key: Key,
    /// In the unit of what counts it.
    pub(crate) amount: u128,
    pub(crate) lasting: Span,
}

/// One node's part in one policy, whatever it counts: decides, and leaves the rest to its [`Exchange`].
///
/// What is given back or owed stays with this node; the others are told of admissions alone.
pub trait Machine: Debug + marker::Send {
    /// What is exchanged with other nodes.
    fn exchange(&self) -> &dyn Exchange;

    /// The same, to be changed.
    fn exchange_mut(&mut self) -> &mut dyn Exchange;

    /// Sets how long a request may be made to wait for its tokens. Windows never make anybody wait.
    fn set_wait_max(&mut self, _: Span) {}

    /// What [`Self::handle_request`] would answer; nothing is counted.
    fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe;

    /// Counts what a probe at the same time admitted.
    fn take(&mut self, key: Key, cost: u64, now: Instant);

    /// Counts `cost` without asking, as debt if need be, but no more than takes the key `debt_max` tokens below zero.
    fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant);

    /// Gives `cost` back, as far as there is something to take it from. Other nodes do not see it.
    fn refund(&mut self, key: Key, cost: u64, now: Instant);

    /// Whether what was counted then still counts.
    fn counts(&self, _then: Instant, _now: Instant) -> bool {
        true
    }

    /// Gives everything back that this node knows of. Other nodes do not see it.
    fn reset(&mut self, key: Key, now: Instant);

    /// How a key stands.
    fn standing(&mut self, key: Key, now: Instant) -> Standing;

    /// What every known key has used up by `now`.
    fn used_up(&mut self, now: Instant) -> Vec<UsedUp>;

    /// The clock was set to `now`: what keys had used up they owe, as far as what is counted does not say so.
    fn owe(&mut self, used: &[UsedUp], now: Instant);

    /// What must not be lost of a key when the node is restarted, and until when that matters; `None` if nothing is
    /// known.
    fn save(&mut self, key: Key, now: Instant) -> Option<Saved>;

    /// Takes back what a former boot of this node saved of a key. Call it before anything else. What others know of it
    /// they know under the same names, so nothing counts twice. Bytes that make no sense change nothing.
    fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed>;

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// Every key that is known, in ascending order.
    fn keys(&self) -> Vec<Key>;

    /// Whether something is known of a key.
    fn knows(&self, key: Key) -> bool;

    /// About how many bytes of memory all of it takes, copies for others and indexes included.
    fn held(&self) -> u64;

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        let Probe { verdict, .. } = self.probe(key, cost, now);
        if verdict.is_allowed() {
            self.take(key, cost, now);
        }
        verdict
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.exchange_mut().handle_frame(from, frame, now)
    }

    /// What a frame that it sent is for.
    fn sort(&self, frame: &[u8]) -> Sort {
        let kind = frame.first().map_or(0, |first| first & 0x0f);
        self.exchange().sort(kind)
    }

    /// Hears who is believed alive, this node included, in ascending order.
    fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        self.exchange_mut().handle_members(alive, now);
    }

    /// When to call [`Self::handle_timeout`] next.
    fn poll_timeout(&self) -> Option<Instant> {
        self.exchange().poll_timeout()
    }

    /// The next frame to send, oldest first. Drain it after every other call.
    fn poll_send(&mut self) -> Option<Send> {
        self.exchange_mut().poll_send()
    }

    /// Whether nothing waits to be told to anybody.
    fn is_quiet(&self) -> bool {
        self.exchange().is_quiet()
    }

    /// Bytes of state held now.
    fn footprint(&self) -> Footprint {
        self.exchange().footprint()
    }

    /// How many keys are known.
    fn keys_count(&self) -> usize {
        self.exchange().keys_count()
    }

    /// Forgets one key to make room: of a few, the one that has most left.
    fn evict(&mut self, now: Instant) -> bool {
        self.exchange_mut().evict(now)
    }
}

/// Goes to another time, as the clock was set: whatever a key has used up by `from`, as known here, it has used up at
/// `to`. Others are told nothing of it.
///
/// Where the clock was set back, all that is counted is of a time to come: `anew`, which has just started, takes its
/// place.
pub fn move_time(
    machine: &mut Box<dyn Machine>,
    from: Instant,
    to: Instant,
    anew: Option<Box<dyn Machine>>,
) {
    let used = machine.used_up(from);
    if let Some(anew) = anew {
        *machine = anew;
    }
    machine.owe(&used, to);
}

/// Bytes that a key takes besides its counts: places in a few trees.
const KEY_HELD: u64 = 256;
