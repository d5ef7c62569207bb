//! Catching up: a node that starts greets the others, takes back what was kept for it, and asks for what they know.
//!
//! What it gets is a page of keys and a vector that says whose frames are in them. It takes the greater of what it
//! knows and the page says, and both nodes' frames as received: never more than the truth, and nothing counts twice.
//! Not here: pages themselves.

use std::collections::{BTreeSet, VecDeque};

use tollgate_limit::{Instant, Span};
use tollgate_mode::NodeId;

/// A greeting is repeated so often, until it is answered.
const HELLO_EVERY: Span = Span::from_nanos(150_000_000);
/// A page is waited for that long.
const PAGE_WITHIN: Span = Span::from_nanos(300_000_000);
/// A page is asked for so often.
const TRIES_MAX: u32 = 3;
/// No longer is anything waited for.
const JOIN_MAX: Span = Span::from_nanos(4_000_000_000);
/// Nodes that a node asks when it starts.
const ASKED: usize = 2;
/// Parts of copies that are remembered.
const PARTS_MAX: usize = 1 << 16;

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinMessage {
    Hello(NodeId),
    Ask(NodeId, u32),
}

/// What a node knows of its own catching up.
#[derive(Debug, Default)]
pub(super) struct Join {
    since: Option<Instant>,
    /// Who has not answered the greeting.
    unnamed: BTreeSet<NodeId>,
    hello_at: Instant,
    asks: VecDeque<Asked>,
    ask_at: Instant,
    /// Copies that came back, by who had them and their part.
    returned: BTreeSet<(NodeId, u64)>,
    /// Whether what was saved was taken back: copies say the same once more.
    pub(super) has_restored: bool,
}

#[derive(Debug)]
struct Asked {
    node: NodeId,
    place: u32,
    tries: u32,
}

impl Join {
    /// Begins to catch up with others, of whom it asks those from `first` on.
    pub(super) fn begin(&mut self, others: &[NodeId], first: usize, now: Instant) {
        if others.is_empty() {
            return;
        }
        self.since = Some(now);
        self.unnamed = others.iter().copied().collect();
        self.hello_at = now;
        let asked = others.iter().cycle().skip(first);
        for node in asked.take(ASKED.min(others.len())) {
            self.ask(*node, now);
        }
    }

    /// Something of a node was lost for good: what it knows is asked for.
    pub(super) fn ask(&mut self, node: NodeId, now: Instant) {
        if self.asks.iter().any(|asked| asked.node == node) {
            return;
        }
        if self.asks.is_empty() {
            self.ask_at = now;
        }
        self.asks.push_back(Asked {
            node,
            place: 0,
            tries: 0,
        });
    }

    pub(super) const fn is_joining(&self) -> bool {
        self.since.is_some()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.asks.is_empty() && self.unnamed.is_empty()
    }

    /// Hears who is alive, in ascending order, and who was not before: those are greeted, as they may know another boot
    /// of this node, and nobody else any more.
    pub(super) fn set_members(&mut self, alive: &[NodeId], new: Vec<NodeId>, now: Instant) {
        self.unnamed
            .retain(|node| alive.binary_search(node).is_ok());
        if !new.is_empty() {
            self.hello_at = now;
            self.unnamed.extend(new);
        }
    }

    /// A node knows of this boot.
    pub(super) fn named(&mut self, node: NodeId) {
        self.unnamed.remove(&node);
    }

    /// A part of copies came back; whether that is the first time.
    pub(super) fn is_first(&mut self, node: NodeId, part: u64) -> bool {
        self.returned.len() < PARTS_MAX && self.returned.insert((node, part))
    }

    /// A page came; the next one is asked for at once.
    pub(super) fn turn(&mut self, node: NodeId, next: Option<u32>, now: Instant) {
        let Some(asked) = self.asks.front_mut().filter(|asked| asked.node == node) else {
            return;
        };
        self.ask_at = now;
        match next {
            Some(next) if next > asked.place => (asked.place, asked.tries) = (next, 0),
            _ => drop(self.asks.pop_front()),
        }
    }

    /// Does what is due: what is to be sent, and whether this node has just caught up.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> (Vec<JoinMessage>, bool) {
        let mut calls = Vec::new();
        let is_over = |since: Instant| since.saturating_add(JOIN_MAX) <= now;
        if self.since.is_some_and(is_over) {
            self.asks.clear();
        }
        if !self.unnamed.is_empty() && self.hello_at <= now {
            calls.extend(self.unnamed.iter().copied().map(JoinMessage::Hello));
            self.hello_at = now.saturating_add(HELLO_EVERY);
        }
        while self.ask_at <= now
            && let Some(asked) = self.asks.front_mut()
        {
            asked.tries += 1;
            if asked.tries > TRIES_MAX {
                self.asks.pop_front();
                continue;
            }
            calls.push(JoinMessage::Ask(asked.node, asked.place));
            self.ask_at = now.saturating_add(PAGE_WITHIN);
        }
        let is_done = self.asks.is_empty() && self.since.take().is_some();
        (calls, is_done)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let hello = (!self.unnamed.is_empty()).then_some(self.hello_at);
        let ask = (!self.asks.is_empty() || self.since.is_some()).then_some(self.ask_at);
        hello.into_iter().chain(ask).min()
    }

    /// The clock was set.
    pub(super) fn shift(&mut self, to: Instant) {
        self.since = self.since.map(|_| to);
        (self.hello_at, self.ask_at) = (to, to);
    }
}
