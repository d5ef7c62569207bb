//! The node's part in the cluster: what its policies that count together want to say, and hear.
//!
//! Contracts may be loaded at any time, so the node is asked for anew every time. Not here: how counts agree.

use std::sync::Arc;
use std::time::Duration;

use tollgate_cluster::{ClusterStatus, Member, MemberState, PeerStatus};
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::{Instant, Span};
use tollgate_node::{Membership, Outgoing, RosterPeer, Waker};

use super::view::{PolicyView, RoomView};
use crate::shared::Shared;
use crate::supply::steady_now;

/// The node's part in the cluster.
pub(super) struct Replicas {
    shared: Arc<Shared>,
    /// How long messages take, as it was told last.
    delay: Span,
}

impl Replicas {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            delay: Span::ZERO,
        }
    }

    /// Hears how long messages take, and passes it on where that is another time than before.
    pub(super) fn hear_delay(&mut self, delay: Option<Span>) {
        let (is, was) = (delay.unwrap_or(self.delay), self.delay);
        if is.as_nanos().abs_diff(was.as_nanos()) > was.as_nanos() / DELAY_PART {
            self.delay = is;
            self.shared.engine.node().set_delay(is);
        }
    }

    /// The time of day, by which counts go.
    pub(super) fn day(&self) -> Instant {
        self.shared.engine.now()
    }

    pub(super) fn set_waker(&self, wake: Waker) {
        self.shared.engine.node().set_waker(wake);
    }

    /// Everybody who lives, this node included, in order.
    pub(super) fn handle_members(&self, alive: &[NodeId]) {
        self.shared.engine.node().handle_members(alive, self.day());
    }

    pub(super) fn handle_gossip(&self, tag: u64, from: NodeId, frame: &[u8]) {
        let node = self.shared.engine.node();
        // What is refused is counted there.
        let _ = node.handle_gossip(tag, from, frame, self.day());
    }

    pub(super) fn handle_timeout(&self) {
        self.shared.engine.node().handle_timeout(self.day());
    }

    /// How long nothing is due, on either clock.
    pub(super) fn rest(&self) -> Option<Duration> {
        let node = self.shared.engine.node();
        let until = |due: Instant, now| Duration::from_nanos(due.nanos_since(now));
        let counts = node.poll_timeout().map(|due| until(due, self.day()));
        let divided = node.poll_steady().map(|due| until(due, steady_now()));
        counts.into_iter().chain(divided).min()
    }

    /// Who lives, by name, where rates are divided.
    pub(super) fn handle_peers(&self, me: NodeId, members: &[Member]) {
        let peers = members.iter().map(|member| RosterPeer {
            node: member.node,
            name: member.about.name.clone(),
            age: (member.started, member.boot),
        });
        let node = self.shared.engine.node();
        let (before, _) = node.doubled_names();
        for name in node.handle_peers(me, peers.collect(), self.day()) {
            if !before.contains(&name) {
                tracing::error!(
                    name,
                    "two live nodes have one name: only the one that started first has its home"
                );
            }
        }
    }

    pub(super) fn poll_send(&self) -> Option<Outgoing> {
        self.shared.engine.node().poll_send()
    }

    /// This node has other numbers from here on.
    pub(super) fn renumber(&self, me: NodeId, writer: Writer, members: Vec<NodeId>) {
        let (node, now) = (self.shared.engine.node(), self.day());
        let membership = Membership {
            members,
            ..membership(me, writer, None, now)
        };
        node.renumber(membership, now);
    }

    pub(super) fn is_caught_up(&self) -> bool {
        self.shared.engine.node().caught_up()
    }

    pub(super) fn hand_over(&self) {
        self.shared.engine.node().handle_leave(self.day());
    }
}

/// Who a node is that knows of no other yet.
pub(super) fn membership(
    me: NodeId,
    writer: Writer,
    was: Option<Writer>,
    start: Instant,
) -> Membership {
    Membership {
        was,
        ..Membership::alone(me, writer, start)
    }
}

/// How long messages to the slowest of the peers that are heard of take, within bounds.
pub(super) fn slowest(status: &ClusterStatus) -> Option<Span> {
    let is_heard = |peer: &&PeerStatus| peer.member.state == MemberState::Alive;
    let peers = status.peers.iter().filter(is_heard);
    let slowest = peers.filter_map(|peer| peer.delay).max()?;
    Some(slowest.clamp(DELAY_MIN, DELAY_MAX))
}

/// Delays that differ by less than that part of what was told are not told: a quarter.
const DELAY_PART: u128 = 4;
/// What one machine takes for two processes.
const DELAY_MIN: Span = Span::from_nanos(200_000);
/// A peer that is slower is left behind rather than waited for.
const DELAY_MAX: Span = Span::from_nanos(250_000_000);

/// How policies that are counted together stand.
pub(super) fn policies(shared: &Shared) -> Vec<PolicyView> {
    let status = shared.engine.node().gossip_status();
    let views = status.into_iter().map(|policy| PolicyView {
        contract: policy.contract,
        policy: policy.policy,
        design: policy.design.to_owned(),
        keys: policy.keys,
        frames: policy.said.frames,
        bytes: policy.said.bytes,
        publications: policy.said.publications,
        heard: policy.heard,
        malformed: policy.malformed,
        over_max: policy.over_max,
        state_bytes: policy.state_bytes.0.saturating_add(policy.state_bytes.1),
        room: RoomView {
            held_bytes: policy.held_bytes,
            copies_dropped: policy.copies_dropped,
            crowded_out: policy
                .evicted_refused
                .0
                .saturating_add(policy.evicted_refused.1),
        },
        quiet: policy.quiet,
    });
    views.collect()
}
