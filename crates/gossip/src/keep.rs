//! Copies of silent tokens: those that this node's successor has yet to get, and those that it keeps for others.
//!
//! They count for nothing here. A copy goes when its node reports the key, and fades as it does there. Not here: when a
//! node that starts gets them back (`join`).

use std::collections::BTreeMap;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Keyed, ModeKey, NodeId, Writer};

use super::law::{Law, LinkEntry, What};

/// Copies in both directions.
#[derive(Debug)]
pub(super) struct StandbyCopies<L: Law> {
    /// Time between two deliveries; `None` where there are no copies.
    every: Option<Span>,
    next: Instant,
    /// Whether there is a node that takes copies.
    has_taker: bool,
    /// Keys whose silent tokens have changed.
    unkept: Vec<ModeKey>,
    wards: BTreeMap<NodeId, Ward<L::Cell>>,
}

/// A boot of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeBoot {
    pub(super) node: NodeId,
    pub(super) writer: Writer,
}

/// What is kept for one node.
#[derive(Debug)]
struct Ward<C> {
    writer: Writer,
    cells: Keyed<C>,
    /// By the encoding in the documentation.
    bytes: u64,
}

/// Copies that are looked at at once.
const SWEPT: usize = 256;
/// What a key takes on paper.
pub(super) const KEY_BYTES: u64 = 16;

impl<L: Law> StandbyCopies<L> {
    pub(super) const fn new(every: Option<Span>, next: Instant) -> Self {
        Self {
            every,
            next,
            has_taker: false,
            unkept: Vec::new(),
            wards: BTreeMap::new(),
        }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.every.is_some() && self.has_taker
    }

    /// Copies go to another node from now on, if there is one.
    pub(super) fn begin_again(&mut self, has_taker: bool) {
        self.has_taker = has_taker;
        self.unkept.clear();
    }

    /// The silent tokens of a key have changed.
    pub(super) fn note(&mut self, key: ModeKey) {
        self.unkept.push(key);
    }

    /// When the next delivery is due.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.unkept.is_empty()).then_some(self.next)
    }

    /// The keys to deliver, if it is time.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<ModeKey> {
        let Some(every) = self.every.filter(|_| self.next <= now) else {
            return Vec::new();
        };
        let every = every.as_nanos().max(1);
        let late = u128::from(now.nanos_since(self.next));
        let steps = Span::from_nanos((late / every + 1) * every);
        self.next = self.next.saturating_add(steps);
        std::mem::take(&mut self.unkept)
    }

    /// Keeps copies for a node.
    pub(super) fn store(
        &mut self,
        law: &L,
        sender: NodeBoot,
        entries: Vec<LinkEntry>,
        now: Instant,
    ) {
        let NodeBoot { node, writer } = sender;
        self.end_others(sender);
        for LinkEntry { key, what } in entries {
            let What::Report(segs) = what else { continue };
            self.erase(law, sender, key);
            let mut cell = L::Cell::default();
            law.recall(&mut cell, &segs, now);
            let ward = self.wards.entry(node).or_insert_with(|| Ward {
                writer,
                cells: Keyed::default(),
                bytes: 0,
            });
            ward.bytes += KEY_BYTES + law.bytes(&cell);
            ward.cells.insert(key, cell);
        }
    }

    /// A node reported a key.
    pub(super) fn erase(&mut self, law: &L, sender: NodeBoot, key: ModeKey) {
        let NodeBoot { node, writer } = sender;
        let ward = self.wards.get_mut(&node);
        if let Some(ward) = ward.filter(|ward| ward.writer == writer)
            && let Some(cell) = ward.cells.remove(key)
        {
            ward.bytes -= KEY_BYTES + law.bytes(&cell);
        }
    }

    /// A boot of a node says something: copies of its other boots are its own business from now on.
    pub(super) fn end_others(&mut self, sender: NodeBoot) {
        let NodeBoot { node, writer } = sender;
        let ward = self.wards.get(&node);
        if ward.is_some_and(|ward| ward.writer != writer) {
            self.wards.remove(&node);
        }
    }

    /// What is kept for a node of another boot than this one.
    pub(super) fn of(&mut self, law: &L, sender: NodeBoot, now: Instant) -> Vec<LinkEntry> {
        let NodeBoot { node, writer } = sender;
        let mut entries = Vec::new();
        let ward = self.wards.get_mut(&node);
        if let Some(ward) = ward.filter(|ward| ward.writer != writer) {
            ward.cells.each_mut(|key, cell| {
                let segs = law.silent(cell, now);
                if !segs.is_empty() {
                    let what = What::Report(segs);
                    entries.push(LinkEntry { key, what });
                }
            });
        }
        entries
    }

    /// Drops some of the copies that have faded.
    pub(super) fn sweep(&mut self, law: &L, now: Instant) {
        for ward in self.wards.values_mut() {
            for _ in 0..SWEPT.min(ward.cells.len()) {
                let Some(key) = ward.cells.sweep() else {
                    continue;
                };
                if let Some(cell) = ward.cells.get_mut(key) {
                    let before = law.bytes(cell);
                    let is_left = law.settle(cell, now).is_some();
                    ward.bytes = ward.bytes + law.bytes(cell) - before;
                    if !is_left && let Some(cell) = ward.cells.remove(key) {
                        ward.bytes -= KEY_BYTES + law.bytes(&cell);
                    }
                }
            }
        }
        self.wards.retain(|_, ward| !ward.cells.is_empty());
    }

    /// Gives up one copy; `false` where there is none.
    pub(super) fn drop_one(&mut self, law: &L) -> bool {
        for ward in self.wards.values_mut() {
            while !ward.cells.is_empty() {
                let Some(key) = ward.cells.sweep() else {
                    continue;
                };
                if let Some(cell) = ward.cells.remove(key) {
                    ward.bytes -= KEY_BYTES + law.bytes(&cell);
                    return true;
                }
            }
        }
        false
    }

    /// The clock was set.
    pub(super) fn shift(&mut self, law: &L, from: Instant, to: Instant) {
        self.next = to;
        for ward in self.wards.values_mut() {
            ward.cells.each_mut(|_, cell| law.shift(cell, from, to));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.wards.values().map(|ward| ward.cells.len()).sum()
    }

    /// Bytes of all copies, by the encoding in the documentation.
    pub(super) fn bytes(&self) -> u64 {
        self.wards.values().map(|ward| ward.bytes).sum()
    }

    /// Bytes of memory of it.
    pub(super) fn held(&self) -> u64 {
        let lists = self.unkept.capacity() * size_of::<ModeKey>();
        let wards = self.wards.values().map(|ward| ward.cells.held());
        wards.sum::<u64>() + lists as u64
    }
}
