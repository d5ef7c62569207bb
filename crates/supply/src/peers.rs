//! Who else is there: who may be asked, which boot of each was heard, and how its clock runs.
//!
//! Not here: what is said to them.

use std::collections::BTreeMap;

use tollgate_gossip::NodeId;
use tollgate_kit::Dice;
use tollgate_limit::{Instant, Span};

use crate::clock::{ClockSample, PeerClock};
use crate::setup::Boot;
use crate::wire::SupplyHead;

/// Every peer that was heard, and all who may be asked.
#[derive(Debug)]
pub(crate) struct SupplyPeers {
    me: NodeId,
    /// Who may be asked, without this node, in the order of this round.
    order: Vec<NodeId>,
    /// Where the next one is who was not asked in this round.
    next: usize,
    heard: BTreeMap<NodeId, SupplyPeer>,
    /// How long answers take, smoothed.
    answer: Option<u64>,
    dice: Dice,
}

/// One peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SupplyPeer {
    pub(crate) boot: Boot,
    /// The last time on its clock that came.
    pub(crate) sent: Instant,
    pub(crate) clock: PeerClock,
    has_left: bool,
}

/// What a frame's sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameSender {
    /// The last boot that was heard, or a later one.
    Current,
    /// A boot before that one.
    Old(Boot),
}

impl SupplyPeers {
    pub(crate) fn new(me: NodeId, members: &[NodeId], seed: u64) -> Self {
        let mut peers = Self {
            me,
            order: Vec::new(),
            next: 0,
            heard: BTreeMap::new(),
            answer: None,
            dice: Dice::new(seed),
        };
        peers.set_members(members);
        peers
    }

    pub(crate) fn set_members(&mut self, members: &[NodeId]) {
        self.order = members
            .iter()
            .copied()
            .filter(|node| *node != self.me)
            .collect();
        self.shuffle();
    }

    pub(crate) fn is_member(&self, node: NodeId) -> bool {
        self.order.contains(&node)
    }

    pub(crate) fn count(&self) -> usize {
        self.order.len()
    }

    /// So many who may be asked: the first of this round, or those after whom that was asked last.
    pub(crate) fn some(&mut self, count: u32, goes_on: bool) -> Vec<NodeId> {
        let stays = |node: &NodeId| !self.heard.get(node).is_some_and(|peer| peer.has_left);
        let begin = if goes_on { self.next } else { 0 };
        let count = count as usize;
        let order = self.order.iter().cycle().skip(begin).take(self.order.len());
        let some = order.copied().filter(stays).take(count).collect();
        self.next = begin.saturating_add(count) % self.order.len().max(1);
        some
    }

    /// Another order for another round.
    pub(crate) fn shuffle(&mut self) {
        self.next = 0;
        self.dice.shuffle(&mut self.order);
    }

    /// Notes what a frame begins with.
    pub(crate) fn hear(
        &mut self,
        from: NodeId,
        head: &SupplyHead,
        drift_ppm: u32,
        now: Instant,
    ) -> FrameSender {
        let peer = self.heard.entry(from).or_default();
        if head.boot < peer.boot {
            return FrameSender::Old(peer.boot);
        }
        if head.boot > peer.boot {
            *peer = SupplyPeer {
                boot: head.boot,
                ..SupplyPeer::default()
            };
        }
        peer.sent = peer.sent.max(head.sent);
        if head.echo > Instant::default() {
            let sample = ClockSample {
                theirs: head.sent,
                low: head.echo,
                high: now,
            };
            peer.clock.note(sample, drift_ppm);
        }
        FrameSender::Current
    }

    pub(crate) fn peer(&self, node: NodeId) -> SupplyPeer {
        self.heard.get(&node).copied().unwrap_or_default()
    }

    /// Notes that a peer has said goodbye.
    pub(crate) fn leave(&mut self, node: NodeId) {
        if let Some(peer) = self.heard.get_mut(&node) {
            peer.has_left = true;
        }
    }

    /// Forgets peers that are neither asked nor named.
    pub(crate) fn retain(&mut self, keep: impl Fn(NodeId) -> bool) {
        let order = &self.order;
        self.heard
            .retain(|node, _| keep(*node) || order.contains(node));
    }

    /// Notes how long an answer took.
    pub(crate) fn note_answer(&mut self, nanos: u64) {
        self.answer = Some(match self.answer {
            Some(mean) => mean - mean / 8 + nanos / 8,
            None => nanos,
        });
    }

    /// How long answers take, in nanoseconds.
    pub(crate) fn answer_time(&self) -> u128 {
        u128::from(self.answer.unwrap_or(0))
    }

    /// How long to wait for an answer before going on without.
    pub(crate) fn patience(&self, round: Span, term: Span) -> Span {
        let usual = round.as_nanos() / 2;
        let nanos = self
            .answer
            .map_or(usual, |mean| u128::from(mean).saturating_mul(4));
        let most = (term.as_nanos() / 4).max(1);
        Span::from_nanos(nanos.clamp((round.as_nanos() / 50).max(1).min(most), most))
    }
}
