//! What counts on a node: a bucket in one of the designs, or a window. The daemon and the lab drive it alike.
//!
//! Not here: when it is asked, and who else is.

use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    Footprint, Key, Malformed, NodeId, Probe, Saved, Send, Sort, Standing, Verdict,
};

use crate::kind::Kind;
use crate::replica::Replica;
use crate::setup::Setup;
use crate::talk;
use crate::windows::{Window, WindowReplica};

/// One node's part in one policy, whatever it counts.
#[derive(Debug)]
pub enum Machine {
    /// A bucket in one of the designs.
    Bucket(Box<Replica>),
    /// A window.
    Window(Box<WindowReplica>),
}

/// Runs the same expression on what counts, whatever it is.
macro_rules! on {
    ($machine:expr, $it:ident => $run:expr) => {
        match $machine {
            Self::Bucket($it) => $run,
            Self::Window($it) => $run,
        }
    };
}

impl Machine {
    /// A bucket that has just started.
    pub fn bucket(kind: Kind, setup: &Setup) -> Self {
        Self::Bucket(Box::new(Replica::new(kind, setup)))
    }

    /// A leaking bucket that has just started: who is admitted waits until those before are through.
    pub fn leaking(kind: Kind, setup: &Setup) -> Self {
        Self::Bucket(Box::new(Replica::leaking(kind, setup)))
    }

    /// A window that has just started.
    pub fn window(window: Window, setup: &Setup) -> Self {
        Self::Window(Box::new(WindowReplica::new(window, setup)))
    }

    /// Sets how long a request may be made to wait for its tokens. Windows never make anybody wait.
    pub fn set_wait_max(&mut self, wait_max: Span) {
        if let Self::Bucket(it) = self {
            it.set_wait_max(wait_max);
        }
    }

    /// Decides one request and counts it if it passes. A cost of zero is a peek: as cost one, and nothing is counted.
    pub fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        on!(self, it => it.handle_request(key, cost, now))
    }

    /// What [`Self::handle_request`] would answer; nothing is counted.
    pub fn probe(&mut self, key: Key, cost: u64, now: Instant) -> Probe {
        on!(self, it => it.probe(key, cost, now))
    }

    /// Counts what a probe at the same time admitted.
    pub fn take(&mut self, key: Key, cost: u64, now: Instant) {
        on!(self, it => it.take(key, cost, now));
    }

    /// Counts `cost` without asking, as debt if need be, but no more than takes the key `debt_max` tokens below zero.
    pub fn charge(&mut self, key: Key, cost: u64, debt_max: Option<u64>, now: Instant) {
        let cost = debt_max.map_or(cost, |debt| {
            cost.min(on!(self, it => it.chargeable(key, debt, now)))
        });
        on!(self, it => it.charge(key, cost, now));
    }

    /// Gives `cost` back, as far as there is something to take it from. Other nodes do not see it.
    pub fn refund(&mut self, key: Key, cost: u64, now: Instant) {
        on!(self, it => it.refund(key, cost, now));
    }

    /// Whether what was counted then still counts.
    pub fn counts(&self, then: Instant, now: Instant) -> bool {
        match self {
            Self::Bucket(_) => true,
            Self::Window(it) => it.counts(then, now),
        }
    }

    /// Gives everything back that this node knows of. Other nodes do not see it.
    pub fn reset(&mut self, key: Key, now: Instant) {
        on!(self, it => it.reset(key, now));
    }

    /// Goes to another time, as the clock was set: whatever a key has used up by `from`, as known here, it has used up
    /// at `to`. Others are told nothing of it.
    ///
    /// Where the clock was set back, all that is counted is of a time to come: `anew`, which has just started, takes
    /// its place.
    pub fn move_time(&mut self, from: Instant, to: Instant, anew: Option<Self>) {
        match (self, anew) {
            (Self::Bucket(it), Some(Self::Bucket(anew))) => it.move_time(from, to, Some(*anew)),
            (Self::Window(it), Some(Self::Window(anew))) => it.move_time(from, to, Some(*anew)),
            (Self::Bucket(it), _) => it.move_time(from, to, None),
            (Self::Window(it), _) => it.move_time(from, to, None),
        }
    }

    /// How a key stands.
    pub fn standing(&mut self, key: Key, now: Instant) -> Standing {
        on!(self, it => it.standing(key, now))
    }

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        on!(self, it => it.handle_frame(from, frame, now))
    }

    /// What a frame that it sent is for.
    pub fn sort(&self, frame: &[u8]) -> Sort {
        let kind = frame.first().map_or(0, |first| first & 0x0f);
        match self {
            Self::Bucket(it) => it.sort(kind),
            Self::Window(_) => talk::sort(kind),
        }
    }

    /// Hears who is believed alive, this node included, in ascending order.
    pub fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        on!(self, it => it.handle_members(alive, now));
    }

    /// Asks the others for what a newcomer should know, where the design can.
    pub fn handle_join(&mut self, now: Instant) {
        on!(self, it => it.handle_join(now));
    }

    /// Tells the others what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        on!(self, it => it.handle_leave(now));
    }

    /// Whether an answer to [`Self::handle_join`] is still waited for.
    pub fn is_joining(&self) -> bool {
        on!(self, it => it.is_joining())
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        on!(self, it => it.handle_timeout(now));
    }

    /// When to call [`Self::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        on!(self, it => it.poll_timeout())
    }

    /// The next frame to send, oldest first. Drain it after every other call.
    pub fn poll_send(&mut self) -> Option<Send> {
        on!(self, it => it.poll_send())
    }

    /// Whether nothing waits to be told to anybody.
    pub fn is_quiet(&self) -> bool {
        on!(self, it => it.is_quiet())
    }

    /// Bytes of state held now.
    pub fn footprint(&self) -> Footprint {
        on!(self, it => it.footprint())
    }

    /// What must not be lost of a key when the node is restarted; `None` if nothing is known.
    pub fn save(&mut self, key: Key, now: Instant) -> Option<Saved> {
        on!(self, it => it.save(key, now))
    }

    /// Takes back what a former boot of this node saved of a key. Call it before anything else. What others know of it
    /// they know under the same names, so nothing counts twice. Bytes that make no sense change nothing.
    pub fn restore(&mut self, key: Key, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        on!(self, it => it.restore(key, bytes, now))
    }

    /// Every key that is known, in ascending order.
    pub fn keys(&self) -> Vec<Key> {
        on!(self, it => it.keys())
    }

    /// Hears how long messages take, for timers that wait for answers.
    pub fn set_delay(&mut self, delay: Span) {
        on!(self, it => it.set_delay(delay));
    }

    /// How many keys are known.
    pub fn keys_count(&self) -> usize {
        on!(self, it => it.keys_count())
    }

    /// Whether something is known of a key.
    pub fn knows(&self, key: Key) -> bool {
        on!(self, it => it.knows(key))
    }

    /// Forgets one key to make room: of a few, the one that has most left.
    pub fn evict(&mut self, now: Instant) -> bool {
        on!(self, it => it.evict(now))
    }

    /// Drops one copy that is kept for another node, the one that matters for the shortest time; `false` where there is
    /// none.
    pub fn drop_copy(&mut self) -> bool {
        on!(self, it => it.drop_copy())
    }

    /// About how many bytes of memory all of it takes, copies for others and indexes included.
    pub fn held(&self) -> u64 {
        on!(self, it => it.held())
    }
}
