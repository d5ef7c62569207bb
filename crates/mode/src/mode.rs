//! The boundary itself: what goes into one node's part in one policy, and what comes out of it.
//!
//! Not here: any mode, and who calls it when.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use tollgate_contract::NamedPolicy;
use tollgate_limit::{Charge, Cost, Instant, Span};

use crate::answer::{ModeProbe, Standing};
use crate::figure::Figure;
use crate::frame::{Footprint, Malformed, Saved, Send};
use crate::ids::{ModeKey, NodeId};
use crate::kind::NodeNumbers;

/// Which clock a mode is told the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// The time of day, which may be set; callers bring it along.
    Wall,
    /// One that never jumps.
    Steady,
}

/// Something that happened around a mode.
#[derive(Clone, Copy, Debug)]
pub enum ModeEvent<'a> {
    /// These nodes are believed alive, this one included, in ascending order.
    Members(&'a [NodeId]),
    /// The limit is divided among these nodes by these weights from now on.
    Roster {
        /// Names the division.
        tag: u64,
        /// Everyone who has a part, and how large.
        parts: &'a [(NodeId, u32)],
    },
    /// Messages between nodes take about this long.
    Delay(Span),
    /// There are other nodes, and they may know what this one does not.
    Join,
    /// This node is about to end: what only it knows is told, what it has of others is given back.
    Leave,
    /// These bytes, which [`Mode::poll_kept`] handed out, are stored.
    Kept(&'a [u8]),
    /// Another process has what this node kept: its part is used no longer.
    GiveUp,
    /// `day` is the time of day now; the caller began to ask at `asked`.
    Day {
        /// The time of day.
        day: Instant,
        /// When the caller began to ask.
        asked: Instant,
    },
    /// The node goes on under other numbers; what it told under the old ones still counts.
    Renumber(&'a NodeNumbers),
    /// The clock was set: whatever a key has used up at `from` it has used up at `to`.
    ClockSet {
        /// The time until now.
        from: Instant,
        /// The time from now on.
        to: Instant,
        /// Under which numbers this node begins where all that it counted is of a time to come.
        numbers: &'a NodeNumbers,
    },
}

/// What a request cost in the end.
#[derive(Clone, Copy, Debug)]
pub struct Settlement<'a> {
    /// What was charged when it was decided.
    pub receipt: &'a Charge,
    /// What it cost.
    pub actual: Cost,
    /// How many tokens below zero the key may be taken.
    pub debt_max: Option<u64>,
}

impl Settlement<'_> {
    /// How much more it cost than was charged, or how much less.
    pub const fn difference(&self) -> Result<u64, u64> {
        let (charged, actual) = (self.receipt.cost, self.actual.tokens());
        if actual > charged {
            Ok(actual - charged)
        } else {
            Err(charged - actual)
        }
    }
}

/// One node's part in one policy, for many keys.
///
/// Same calls, same times, same answers: a mode reads no clock, draws its choices from a seed and opens no socket.
/// After every call drain [`poll_send`](Self::poll_send) and [`poll_kept`](Self::poll_kept). Timeouts may come early or
/// twice; frames may be lost, doubled, late, out of order or malformed: none of it may cause a panic or unbounded
/// state. [`take`](Self::take) follows a [`probe`](Self::probe) of the same key at the same time, with no other call
/// between.
pub trait Mode: fmt::Debug + core::marker::Send {
    /// The word for how it agrees, as it is shown.
    fn design(&self) -> &'static str;

    /// Whether a frame that it sent tells what was admitted.
    fn is_publication(&self, _frame: &[u8]) -> bool {
        false
    }

    /// Whether it must be told the time of day before every other call ([`ModeEvent::Day`]).
    fn wants_day(&self) -> bool {
        false
    }

    /// What it can be asked besides, by callers that know its type.
    fn extension(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Counts by other numbers from now on. Only what [`ModeKind::tag`](crate::ModeKind::tag) leaves out can have
    /// changed.
    fn change(&mut self, policy: &NamedPolicy, now: Instant);

    /// What a request of that cost would be answered; nothing is counted. A cost of zero is a peek: as cost one.
    fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe;

    /// Counts what a probe admitted.
    fn take(&mut self, key: ModeKey, cost: u64, now: Instant);

    /// A request was refused, here or by another policy: where the limit is divided, other nodes may have more.
    fn miss(&mut self, _key: ModeKey, _cost: u64, _now: Instant) {}

    /// Counts `cost` without asking, as debt if need be, but no more than takes the key `debt_max` tokens below zero.
    fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant);

    /// Gives `cost` back, as far as there is something to take it from.
    fn refund(&mut self, key: ModeKey, cost: u64, now: Instant);

    /// Charges or gives back the difference between what a receipt took and what the request cost.
    fn settle(&mut self, key: ModeKey, due: &Settlement<'_>, now: Instant) {
        match due.difference() {
            Ok(more) => self.charge(key, more, due.debt_max, now),
            Err(less) => self.refund(key, less, now),
        }
    }

    /// Gives everything back that this node knows of.
    fn reset(&mut self, key: ModeKey, now: Instant);

    /// How a key stands.
    fn standing(&mut self, key: ModeKey, now: Instant) -> Standing;

    /// Takes a frame that `from` sent. A malformed one changes nothing.
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed>;

    /// Takes note of an event; a mode ignores those that do not concern it.
    fn handle_event(&mut self, _event: &ModeEvent<'_>, _now: Instant) {}

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call [`Self::handle_timeout`] next.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next frame to send, oldest first.
    fn poll_send(&mut self) -> Option<Send>;

    /// What must be stored before anything that depends on it is said, if that has changed; answered by
    /// [`ModeEvent::Kept`].
    fn poll_kept(&mut self) -> Option<Arc<[u8]>> {
        None
    }

    /// Whether it waits for what other nodes know.
    fn is_joining(&self) -> bool {
        false
    }

    /// Whether nothing waits to be told to another node.
    fn is_quiet(&self) -> bool;

    /// Whether other nodes have heard a later start under this node's name.
    fn is_superseded(&self) -> bool {
        false
    }

    /// What must not be lost of a key when the node is restarted; `None` where nothing is known.
    fn save(&mut self, _key: ModeKey, _now: Instant) -> Option<Saved> {
        None
    }

    /// Takes back what a former start saved of a key. Bytes that make no sense change nothing.
    fn restore(&mut self, _key: ModeKey, _bytes: &[u8], _now: Instant) -> Result<(), Malformed> {
        Ok(())
    }

    /// Every key that is known, in ascending order.
    fn keys(&self) -> Vec<ModeKey>;

    /// How many keys are known.
    fn keys_count(&self) -> usize;

    /// Whether something is known of a key.
    fn knows(&self, key: ModeKey) -> bool;

    /// Forgets one key to make room; `false` where none may go.
    fn evict(&mut self, now: Instant) -> bool;

    /// Drops one copy that is kept for another node; `false` where there is none.
    fn drop_copy(&mut self) -> bool {
        false
    }

    /// Bytes of state, by the encoding in the documentation of the mode.
    fn footprint(&self) -> Footprint;

    /// About how many bytes of memory it takes.
    fn held(&self) -> u64 {
        let Footprint { local, extra } = self.footprint();
        self.keys_count() as u64 * KEY_BYTES + 2 * (local + extra)
    }

    /// How the policy stands on this node: of one key, or of all.
    fn status(&mut self, of: Option<ModeKey>, now: Instant) -> Vec<Figure>;
}

/// What a key takes besides its counts: places in a few trees.
const KEY_BYTES: u64 = 256;
