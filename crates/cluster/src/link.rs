//! Queues for one peer, and the state of the link to it.
//!
//! Queues are bounded and drop the oldest frames; drops are counted. Not here: which nodes are peers, and when frames
//! are
//! sent.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tollgate_gossip::NodeId;

use crate::fresh::{Gaps, LinkDelay};
use crate::member::MemberState;
use crate::peer::ClusterPeer;
use crate::status::LinkTraffic;

#[derive(Debug)]
pub(crate) struct PeerLink {
    pub(crate) node: NodeId,
    pub(crate) address: SocketAddr,
    /// Its generation and renewal: if these change, its description may have changed.
    pub(crate) version: (u64, u32),
    pub(crate) state: MemberState,
    /// Whether it is among the members that are shown to the shell.
    pub(crate) is_visible: bool,
    pub(crate) gaps: Gaps,
    pub(crate) delay: LinkDelay,
    /// Time of the last ping.
    pub(crate) pinged: u64,
    pub(crate) traffic: LinkTraffic,
    /// The connection of its stream accepts no more data now.
    pub(crate) is_held: bool,
    control: Queue,
    gossip: Queue,
    stream: Queue,
}

impl PeerLink {
    pub(crate) fn new(node: NodeId, address: SocketAddr) -> Self {
        Self {
            node,
            address,
            version: (0, 0),
            state: MemberState::Alive,
            is_visible: false,
            gaps: Gaps::default(),
            delay: LinkDelay::default(),
            pinged: 0,
            traffic: LinkTraffic::default(),
            is_held: false,
            control: Queue::new(CONTROL_BYTES_MAX),
            gossip: Queue::new(GOSSIP_BYTES_MAX),
            stream: Queue::new(STREAM_BYTES_MAX),
        }
    }

    /// Whether the peer is unchanged since the link was last updated.
    pub(crate) fn is_same(&self, peer: &ClusterPeer, state: MemberState) -> bool {
        self.version == (peer.generation, peer.bump) && self.state == state
    }

    pub(crate) fn push_control(&mut self, frame: Vec<u8>) {
        self.traffic.dropped += self.control.push_dropping(frame);
    }

    /// Returns how many older frames were dropped for it.
    pub(crate) fn push_gossip(&mut self, frame: Vec<u8>) -> u64 {
        let dropped = self.gossip.push_dropping(frame);
        self.traffic.dropped += dropped;
        dropped
    }

    pub(crate) fn push_stream(&mut self, frame: Vec<u8>) -> bool {
        if !self.stream.has_room(frame.len()) {
            return false;
        }
        self.stream.push(frame);
        true
    }

    pub(crate) const fn stream_room(&self) -> usize {
        STREAM_BYTES_MAX.saturating_sub(self.stream.bytes)
    }

    /// Whether a datagram can be made: of any frame if the cap is open, else only of frames that bypass it.
    pub(crate) fn has_datagram(&self, is_open: bool) -> bool {
        !self.control.is_empty() || is_open && !self.gossip.is_empty()
    }

    pub(crate) fn has_stream(&self) -> bool {
        !self.is_held && !self.stream.is_empty()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.control.is_empty() && self.gossip.is_empty() && !self.has_stream()
    }

    /// Fills a datagram up to `bytes_max`; returns the number of frames.
    pub(crate) fn pack_datagram(
        &mut self,
        into: &mut Vec<u8>,
        bytes_max: usize,
        is_open: bool,
    ) -> u64 {
        let mut frames = self.control.pack(into, bytes_max);
        if is_open {
            frames += self.gossip.pack(into, bytes_max);
        }
        frames
    }

    pub(crate) fn pack_message(&mut self) -> Vec<u8> {
        let mut message = self.stream.pop().unwrap_or_default();
        self.stream.pack(&mut message, MESSAGE_BYTES_AIM);
        message
    }

    pub(crate) const fn queued_bytes(&self) -> usize {
        self.control.bytes + self.gossip.bytes + self.stream.bytes
    }
}

/// Frames in order of arrival, with a bound in bytes.
#[derive(Debug)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    bytes_max: usize,
}

impl Queue {
    const fn new(bytes_max: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            bytes_max,
        }
    }

    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// An empty queue takes anything, so that no frame is too long to be sent.
    fn has_room(&self, length: usize) -> bool {
        self.is_empty() || self.bytes.saturating_add(length + EACH) <= self.bytes_max
    }

    fn push(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len() + EACH;
        self.frames.push_back(frame);
    }

    /// Makes room by dropping the oldest frames; returns how many.
    fn push_dropping(&mut self, frame: Vec<u8>) -> u64 {
        let mut dropped = 0;
        while !self.has_room(frame.len()) && self.pop().is_some() {
            dropped += 1;
        }
        self.push(frame);
        dropped
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.len() + EACH;
        Some(frame)
    }

    /// Moves as many frames as fit, in order; returns how many.
    fn pack(&mut self, into: &mut Vec<u8>, bytes_max: usize) -> u64 {
        let mut count = 0;
        while self
            .frames
            .front()
            .is_some_and(|frame| into.len() + frame.len() <= bytes_max)
        {
            into.extend(self.pop().unwrap_or_default());
            count += 1;
        }
        count
    }
}

/// Overhead of a queued frame besides its bytes.
const EACH: usize = 32;
const CONTROL_BYTES_MAX: usize = 64 << 10;
const GOSSIP_BYTES_MAX: usize = 512 << 10;
const STREAM_BYTES_MAX: usize = 8 << 20;
/// Frames for a stream are packed into messages of about this size.
const MESSAGE_BYTES_AIM: usize = 64 << 10;

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_queue_keeps_the_newest_in_order_within_its_bound(
            sizes in proptest::collection::vec(1_usize..400, 1..200), bytes_max in 500_usize..5000,
        ) {
            let mut queue = Queue::new(bytes_max);
            let mut dropped = 0;
            for (at, size) in sizes.iter().enumerate() {
                dropped += queue.push_dropping(vec![at as u8; *size]);
                prop_assert!(queue.bytes <= bytes_max);
            }
            prop_assert_eq!(dropped as usize + queue.frames.len(), sizes.len());
            let first = dropped as usize;
            for (at, size) in sizes.iter().enumerate().skip(first) {
                prop_assert_eq!(queue.pop(), Some(vec![at as u8; *size]));
            }
            prop_assert_eq!(queue.bytes, 0);
        }

        #[test]
        fn datagrams_never_exceed_their_length(sizes in proptest::collection::vec(1_usize..1300, 1..60)) {
            let mut link = PeerLink::new(NodeId(1), "127.0.0.1:1".parse().unwrap());
            for size in &sizes {
                link.push_gossip(vec![0; *size]);
            }
            let mut sent = 0;
            while link.has_datagram(true) {
                let mut datagram = vec![0; 10];
                sent += link.pack_datagram(&mut datagram, 1366, true);
                prop_assert!(datagram.len() <= 1366);
            }
            prop_assert_eq!(sent as usize, sizes.len());
        }
    }

    #[test]
    fn a_closed_cap_holds_gossip_but_not_probes() {
        let mut link = PeerLink::new(NodeId(1), "127.0.0.1:1".parse().unwrap());
        link.push_gossip(vec![1; 10]);
        assert!(!link.has_datagram(false));
        link.push_control(vec![2; 10]);
        let mut datagram = Vec::new();
        assert_eq!(link.pack_datagram(&mut datagram, 1000, false), 1);
        assert_eq!(datagram, vec![2; 10]);
    }

    #[test]
    fn a_stream_refuses_what_would_wait_too_long() {
        let mut link = PeerLink::new(NodeId(1), "127.0.0.1:1".parse().unwrap());
        assert!(link.push_stream(vec![0; STREAM_BYTES_MAX + 1]));
        assert!(!link.push_stream(vec![0; 1]));
        assert_eq!(link.pack_message().len(), STREAM_BYTES_MAX + 1);
        assert!(link.push_stream(vec![0; 1]));
    }
}
