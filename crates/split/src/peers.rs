//! Whom to ask for tokens: what is known of the other sub-buckets, and how far away they are.
//!
//! The richest is asked first; one that had nothing is left out until somebody gave or all were asked. Not here: what
//! is asked for, and what the answer does.

use std::collections::BTreeSet;

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};

use crate::by_node::ByNode;
use crate::config::{Borrow, SplitConfig};
use crate::limits::Share;
use crate::wire::SplitStanding;

/// What is known of the others.
#[derive(Clone, Debug)]
pub(crate) struct SplitPeers {
    me: NodeId,
    others: ByNode<Peer>,
    /// Had nothing, since somebody last gave.
    tried: ByNode<()>,
    /// Nobody is asked before.
    rest_until: Instant,
    /// So often everybody had nothing, since somebody last gave.
    barren: u32,
    /// One way may take no longer for borrowing to help.
    reach_ns: u64,
}

/// One of the others.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    boot: u64,
    seen: Option<(SplitStanding, Instant)>,
    /// There and back, smoothed.
    rtt_ns: Option<u64>,
    /// Silent or far away: not asked before.
    shun_until: Instant,
    /// Its last ask that was answered.
    ticket: u64,
}

impl SplitPeers {
    pub(crate) fn new(me: NodeId, reach_ns: u64) -> Self {
        Self {
            me,
            others: ByNode::default(),
            tried: ByNode::default(),
            rest_until: Instant::default(),
            barren: 0,
            reach_ns,
        }
    }

    /// Who else has a part.
    pub(crate) fn tell(&mut self, members: &[NodeId]) {
        let told: BTreeSet<_> = members
            .iter()
            .copied()
            .filter(|id| *id != self.me)
            .collect();
        self.others.retain(|id, _| told.contains(&id));
        for id in told {
            self.others.get_or_default(id);
        }
        let others = &self.others;
        self.tried.retain(|id, ()| others.get(id).is_some());
    }

    /// Everybody else, those first who come before this node.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        let mut others: Vec<_> = self.others.iter().map(|(id, _)| id).collect();
        others.sort_by_key(|id| self.turn(*id));
        others
    }

    /// Whether a frame of that boot is to be heard: it is one of the others, and no older boot.
    pub(crate) fn hear(&mut self, from: NodeId, boot: u64) -> bool {
        let Some(peer) = self.others.get_mut(from) else {
            return false;
        };
        if boot > peer.boot {
            *peer = Peer {
                boot,
                rtt_ns: peer.rtt_ns,
                ..Peer::default()
            };
        }
        boot == peer.boot
    }

    /// Whether an ask is a later one than any before; once.
    pub(crate) fn is_later(&mut self, from: NodeId, ticket: u64) -> bool {
        let Some(peer) = self.others.get_mut(from) else {
            return false;
        };
        let is_later = ticket > peer.ticket;
        peer.ticket = peer.ticket.max(ticket);
        is_later
    }

    /// Notes how a peer stands.
    pub(crate) fn see(&mut self, from: NodeId, standing: SplitStanding, now: Instant) {
        if let Some(peer) = self.others.get_mut(from) {
            peer.seen = Some((standing, now));
        }
    }

    /// Whom to ask, if anybody; `share` is what peers are taken to have who were not heard lately.
    pub(crate) fn choose(&self, share: Share, now: Instant) -> Option<NodeId> {
        if now < self.rest_until {
            return None;
        }
        let is_free =
            |id: NodeId, peer: &Peer| peer.shun_until <= now && self.tried.get(id).is_none();
        let free = self.others.iter().filter(|(id, peer)| is_free(*id, peer));
        free.map(|(id, peer)| (peer.level(share, now), self.turn(id), id))
            .max()
            .map(|(_, _, id)| id)
    }

    /// Equals are asked in another order by everybody, so that not all ask the same one.
    fn turn(&self, id: NodeId) -> u16 {
        self.me.0.wrapping_sub(id.0)
    }

    /// An answer came, so long after its ask.
    pub(crate) fn answered(
        &mut self,
        from: NodeId,
        rtt_ns: u64,
        config: &SplitConfig,
        now: Instant,
    ) {
        let reach = self.reach_ns;
        let Some(peer) = self.others.get_mut(from) else {
            return;
        };
        let smooth = peer.rtt_ns.map_or(rtt_ns, |old| old - old / 8 + rtt_ns / 8);
        peer.rtt_ns = Some(smooth);
        let is_far = smooth / 2 > reach;
        peer.shun_until = match config.borrow {
            Borrow::Near if is_far => now.saturating_add(config.probe),
            Borrow::Near | Borrow::Always | Borrow::Off => Instant::default(),
        };
    }

    /// Somebody gave: everybody may be asked again.
    pub(crate) fn gave(&mut self) {
        self.tried = ByNode::default();
        self.barren = 0;
    }

    /// A peer had nothing. Once all that can be asked had nothing, nobody is asked for a while: longer each time, up to
    /// so many times as long.
    pub(crate) fn had_nothing(&mut self, from: NodeId, rest: Span, times_max: u32, now: Instant) {
        self.tried.insert(from, ());
        let tried = &self.tried;
        let is_free =
            |(id, peer): (NodeId, &Peer)| peer.shun_until <= now && tried.get(id).is_none();
        if !self.others.iter().any(is_free) {
            self.tried = ByNode::default();
            let times = 1_u32.checked_shl(self.barren).unwrap_or(times_max);
            let longer = rest.as_nanos().saturating_mul(times.min(times_max).into());
            let longer = Span::from_nanos(longer.min(REST_NS_MAX)).max(rest);
            self.barren = self.barren.saturating_add(1);
            self.rest_until = now.saturating_add(longer);
        }
    }

    /// A peer did not answer in time.
    pub(crate) fn silent(&mut self, from: NodeId, config: &SplitConfig, now: Instant) {
        if let Some(peer) = self.others.get_mut(from) {
            peer.shun_until = now.saturating_add(config.probe);
        }
    }

    /// When somebody may be asked again, if not at once.
    pub(crate) fn next(&self) -> Option<Instant> {
        let free = self
            .others
            .iter()
            .filter(|(id, _)| self.tried.get(*id).is_none());
        let first = free.map(|(_, peer)| peer.shun_until).min()?;
        Some(first.max(self.rest_until))
    }

    /// How long to wait for an answer of that peer.
    pub(crate) fn patience(&self, id: NodeId, config: &SplitConfig) -> Span {
        let known = self.others.get(id).and_then(|peer| peer.rtt_ns);
        let long = known.map_or(0, |rtt| u128::from(rtt) * 4);
        Span::from_nanos(
            long.max(config.patience.as_nanos())
                .min(config.term.as_nanos()),
        )
    }

    /// One way to the nearest peer that answered, in nanoseconds.
    pub(crate) fn one_way_ns(&self) -> Option<u64> {
        let known = self.others.values().filter_map(|peer| peer.rtt_ns);
        known.min().map(|rtt| rtt / 2)
    }
}

impl Peer {
    /// What it may have beyond its queue, or owe; as full as a share where nothing is known.
    fn level(&self, share: Share, now: Instant) -> i128 {
        let Some((standing, at)) = self.seen else {
            return signed(share.depth);
        };
        let back = share.rate.saturating_mul(u128::from(now.nanos_since(at)));
        let level = signed(standing.tokens) - signed(standing.queued);
        level.saturating_add(signed(back)).min(signed(share.depth))
    }
}

/// Nobody is left alone for longer than that, unless not even a message comes back meanwhile.
const REST_NS_MAX: u128 = 1_000_000_000;

/// Amounts are below 2^120, but for times no refill is long enough for.
fn signed(grains: u128) -> i128 {
    i128::try_from(grains).unwrap_or(i128::MAX)
}
