//! Who this node is, whom it speaks to, and the frames it has yet to hand out.
//!
//! Not here: what is said.

use std::collections::VecDeque;
use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{NodeId, Send, Writer};

use crate::codec::{Header, SEQUENCE_MAX};
use crate::setup::Setup;
use tollgate_kit::Dice;

use super::frame::Frame;

/// Frames that may wait to be drained; beyond that the oldest is lost, as on any network.
const OUT_MAX: usize = 1 << 16;

/// A node's voice.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) me: NodeId,
    pub(crate) writer: Writer,
    /// Who is alive, this node included, ascending.
    alive: Vec<NodeId>,
    sequence: u64,
    out: VecDeque<Send>,
    dice: Dice,
}

impl Post {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            me: setup.me,
            writer: setup.writer,
            alive: setup.members.clone(),
            sequence: 0,
            out: VecDeque::new(),
            dice: Dice::new(setup.seed),
        }
    }

    /// Nodes that share a key, this one included.
    pub(crate) fn nodes(&self) -> u64 {
        (self.alive.len() as u64).max(1)
    }

    /// Takes over who is alive; returns who was not before.
    pub(crate) fn set_alive(&mut self, alive: &[NodeId]) -> Vec<NodeId> {
        let before = std::mem::replace(&mut self.alive, alive.to_vec());
        let is_new = |node: &NodeId| before.binary_search(node).is_err();
        self.alive.iter().copied().filter(is_new).collect()
    }

    /// The next node after `node` in a circle of all alive, if that is not `node` itself.
    pub(crate) fn after(&self, node: NodeId) -> Option<NodeId> {
        let later = self.alive.iter().find(|&&other| other > node);
        let next = later.or(self.alive.first()).copied();
        next.filter(|&next| next != node)
    }

    /// The node that keeps copies for this one.
    pub(crate) fn buddy(&self) -> Option<NodeId> {
        self.after(self.me)
    }

    /// The node this one keeps copies for.
    pub(crate) fn ward(&self) -> Option<NodeId> {
        let earlier = self.alive.iter().rev().find(|&&other| other < self.me);
        let last = earlier.or(self.alive.last()).copied();
        last.filter(|&last| last != self.me)
    }

    /// Any other node, each equally likely.
    pub(crate) fn any_other(&mut self) -> Option<NodeId> {
        let others = self.alive.iter().copied().filter(|&node| node != self.me);
        let count = others.clone().count() as u64;
        let at = usize::try_from(self.dice.below(count)).unwrap_or(0);
        others.clone().nth(at)
    }

    /// A length of time below `span`.
    pub(crate) fn part_of(&mut self, span: Span) -> Span {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Span::from_nanos(u128::from(self.dice.below(nanos)))
    }

    /// Sends to one node.
    pub(crate) fn send(&mut self, to: NodeId, frame: &Frame) {
        let (_, bytes) = self.encode(frame);
        self.push(to, bytes);
    }

    /// Sends to every other node; returns the sequence.
    pub(crate) fn broadcast(&mut self, frame: &Frame) -> u64 {
        let (sequence, bytes) = self.encode(frame);
        for to in self.alive.clone() {
            if to != self.me {
                self.push(to, Arc::clone(&bytes));
            }
        }
        sequence
    }

    /// A number that no frame has.
    pub(crate) fn skip(&mut self) -> u64 {
        self.sequence = (self.sequence + 1).min(SEQUENCE_MAX);
        self.sequence
    }

    /// The bytes of a frame that is not sent.
    pub(crate) fn write(&mut self, frame: &Frame) -> Arc<[u8]> {
        self.encode(frame).1
    }

    /// Everybody alive but this node.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        let others = self.alive.iter().copied();
        others.filter(|&node| node != self.me).collect()
    }

    pub(crate) fn poll_send(&mut self) -> Option<Send> {
        self.out.pop_front()
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.out.is_empty()
    }

    fn encode(&mut self, frame: &Frame) -> (u64, Arc<[u8]>) {
        let header = Header {
            kind: 0,
            writer: self.writer,
            sequence: self.skip(),
        };
        (self.sequence, frame.encode(header))
    }

    fn push(&mut self, to: NodeId, frame: Arc<[u8]>) {
        if self.out.len() >= OUT_MAX {
            self.out.pop_front();
        }
        self.out.push_back(Send { to, frame });
    }
}

/// A regular beat that need not be listened to while there is nothing to do.
#[derive(Debug)]
pub(crate) struct Beat {
    every: Span,
    next: Instant,
}

impl Beat {
    /// Beats `every` so often, for the first time at `first`.
    pub(crate) fn new(every: Span, first: Instant) -> Self {
        let every = every.max(Span::from_nanos(1));
        Self { every, next: first }
    }

    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Beats at that time if the next beat is later.
    pub(crate) fn bring_forward(&mut self, to: Instant) {
        self.next = self.next.min(to);
    }

    /// Moves to the first beat after `now`, and no more than one beat ahead; whether one was passed.
    pub(crate) fn pass(&mut self, now: Instant) -> bool {
        let is_passed = self.next <= now;
        let every = self.every.as_nanos();
        if is_passed {
            let late = u128::from(now.nanos_since(self.next));
            let steps = Span::from_nanos((late / every + 1) * every);
            self.next = self.next.saturating_add(steps);
        }
        self.next = self.next.min(now.saturating_add(self.every));
        is_passed
    }
}
