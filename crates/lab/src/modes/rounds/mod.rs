//! Rounds of gossip: when a node speaks, to which neighbour, and which keys wait for whom.
//!
//! Every interval, at a phase of its own, a node picks one neighbour and sends all that waits for it. Nothing is
//! acknowledged: what was sent no longer waits. A node that left is told nothing more; one that comes hears of a key
//! when it changes next. Not here: what is said about a key, which `counter` and `queue` know.

mod bits;
pub(crate) mod codec;
mod outbox;

use tollgate_gossip::{Malformed, ModeKey, NodeId, planted};
use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};

pub(crate) use bits::Bits;
pub(crate) use outbox::RoundOutbox;

use super::PaperSetup;

/// Keys that a list may hold in vain before it is trimmed.
const LIST_SLACK: usize = 1024;
/// The slot of a node that was never a member.
const NO_SLOT: u16 = u16::MAX;

#[derive(Debug)]
pub(crate) struct Rounds {
    me: NodeId,
    /// Everyone who ever was a member, by slot. A slot is never given to another.
    lists: Vec<List>,
    /// The slot of each node by its number.
    slots: Vec<u16>,
    /// The slots of the neighbours, in ascending order of their nodes.
    neighbours: Vec<usize>,
    /// The same as a set.
    all: Bits,
    interval: Span,
    next: Instant,
    dice: Dice,
}

#[derive(Debug)]
struct List {
    node: NodeId,
    keys: Vec<ModeKey>,
}

impl Rounds {
    pub(crate) fn new(setup: &PaperSetup) -> Self {
        let mut dice = Dice::new(setup.seed);
        let interval = setup.interval.max(Span::from_nanos(1));
        let nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let phase = dice.below(nanos);
        let mut rounds = Self {
            me: setup.me,
            lists: Vec::new(),
            slots: Vec::new(),
            neighbours: Vec::new(),
            all: Bits::default(),
            interval,
            next: setup
                .start
                .saturating_add(Span::from_nanos(u128::from(phase))),
            dice,
        };
        rounds.set_members(&setup.members);
        rounds
    }

    /// Hears who is there; returns the slots of those who left.
    pub(crate) fn set_members(&mut self, members: &[NodeId]) -> Vec<usize> {
        let before = std::mem::take(&mut self.all);
        self.neighbours.clear();
        self.enrol(self.me);
        for &node in members {
            let slot = self.enrol(node);
            if node != self.me && !self.all.contains(slot) {
                self.neighbours.push(slot);
                self.all.insert(slot);
            }
        }
        let left: Vec<_> = before.without(&self.all).collect();
        for &slot in &left {
            if let Some(list) = self.lists.get_mut(slot) {
                list.keys = Vec::new();
            }
        }
        left
    }

    fn enrol(&mut self, node: NodeId) -> usize {
        if let Some(slot) = self.slot(node) {
            return slot;
        }
        let (at, slot) = (usize::from(node.0), self.lists.len());
        if at >= self.slots.len() {
            self.slots.resize(at + 1, NO_SLOT);
        }
        if let (Some(place), Ok(number)) = (self.slots.get_mut(at), u16::try_from(slot)) {
            *place = number;
        }
        self.lists.push(List {
            node,
            keys: Vec::new(),
        });
        slot
    }

    /// The slot of a node that is or was a member.
    pub(crate) fn slot(&self, node: NodeId) -> Option<usize> {
        let slot = *self.slots.get(usize::from(node.0))?;
        (slot != NO_SLOT).then_some(usize::from(slot))
    }

    /// The slot of whoever sent a frame; refused if no neighbour ever had that name.
    pub(crate) fn sender(&self, from: NodeId) -> Result<usize, Malformed> {
        if from == self.me {
            return Err(Malformed::Value);
        }
        self.slot(from).ok_or(Malformed::Value)
    }

    pub(crate) fn node(&self, slot: usize) -> Option<NodeId> {
        self.lists.get(slot).map(|list| list.node)
    }

    pub(crate) fn all(&self) -> &Bits {
        &self.all
    }

    /// The slots of all neighbours, in ascending order of their nodes.
    pub(crate) fn neighbours(&self) -> &[usize] {
        &self.neighbours
    }

    /// Notes that `key` waits for a neighbour.
    pub(crate) fn list(&mut self, slot: usize, key: ModeKey) {
        if let Some(list) = self.lists.get_mut(slot) {
            list.keys.push(key);
        }
    }

    /// The keys that may wait for a neighbour, in ascending order, each once. They are no longer listed.
    pub(crate) fn take(&mut self, slot: usize) -> Vec<ModeKey> {
        let Some(list) = self.lists.get_mut(slot) else {
            return Vec::new();
        };
        list.tidy();
        std::mem::take(&mut list.keys)
    }

    /// Shortens lists that are longer than `keys` keys can explain to what really waits.
    pub(crate) fn trim(&mut self, keys: usize, waits: impl Fn(ModeKey, usize) -> bool) {
        for (slot, list) in self.lists.iter_mut().enumerate() {
            if list.keys.len() > keys * 2 + LIST_SLACK {
                list.tidy();
                list.keys.retain(|&key| waits(key, slot));
            }
        }
    }

    /// Whether a round is due; the next one is an interval later. Rounds missed are not made up for.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        let late = u128::from(now.nanos_since(self.next));
        let step = self.interval.as_nanos();
        let skip = (late / step + 1).saturating_mul(step);
        self.next = self.next.saturating_add(Span::from_nanos(skip));
        true
    }

    /// Hears the time: after a clock was set back, the next round is not further off than an interval.
    pub(crate) fn hear(&mut self, now: Instant) {
        self.next = self.next.min(now.saturating_add(self.interval));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        (self.next < Instant::LAST).then_some(self.next)
    }

    pub(crate) fn pick(&mut self) -> Option<usize> {
        let at = self.dice.below(self.neighbours.len() as u64);
        self.neighbours.get(usize::try_from(at).ok()?).copied()
    }

    /// The neighbour with the greatest weight; among several, each equally likely.
    pub(crate) fn pick_heaviest(&mut self, weight: impl Fn(usize) -> u64) -> Option<usize> {
        let weights = || self.neighbours.iter().map(|&slot| weight(slot));
        let most = planted!("queue-lightest", weights().max(), weights().min())?;
        let heaviest = || self.neighbours.iter().filter(|&&slot| weight(slot) == most);
        let at = self.dice.below(heaviest().count() as u64);
        heaviest().nth(usize::try_from(at).ok()?).copied()
    }
}

impl List {
    fn tidy(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
    }
}
