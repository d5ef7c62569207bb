//! Outbound frames are queued by peer and packed into as few datagrams as possible, at once.
//!
//! Peers take turns. Probes, pings and hellos never wait for the cap; replicas' frames do. Not here: the queues
//! themselves.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::ops::Bound;

use tollgate_gossip::NodeId;

use super::Cluster;
use super::inbound::IP_UDP_BYTES;
use crate::cap::Cap;
use crate::event::{StreamFull, Transmit, Via};
use crate::frame::{
    DATAGRAM_OVERHEAD, FrameKind, HEAD_LEN, MESSAGE_BYTES_MAX, PayloadHead, fold, frame,
};
use crate::peer::{ClusterPeer, NOWHERE};

/// Which peer is sent to next.
#[derive(Debug)]
pub(super) struct SendQueue {
    /// For nodes that are not members: address, boot if known, frame.
    loose: VecDeque<(SocketAddr, u32, Vec<u8>)>,
    /// Boots for which something may wait.
    ready: BTreeSet<u64>,
    /// The boot that was served last.
    turn: u64,
    counter: u64,
    cap: Cap,
    /// Whether something waits for the cap.
    is_capped: bool,
}

impl SendQueue {
    pub(super) fn new(bytes_per_second_max: Option<u64>) -> Self {
        Self {
            loose: VecDeque::new(),
            ready: BTreeSet::new(),
            turn: 0,
            counter: 0,
            cap: Cap::new(bytes_per_second_max),
            is_capped: false,
        }
    }

    pub(super) fn mark(&mut self, boot: u64) {
        self.ready.insert(boot);
    }

    pub(super) fn clear(&mut self) {
        self.loose.clear();
        self.ready.clear();
    }

    /// When the cap lets frames that wait for it go.
    pub(super) fn opens(&self) -> Option<u64> {
        self.cap.opens().filter(|_| self.is_capped)
    }

    /// Round robin over ready boots.
    fn next(&mut self) -> Option<u64> {
        let after = (Bound::Excluded(self.turn), Bound::Unbounded);
        let next = self
            .ready
            .range(after)
            .next()
            .or_else(|| self.ready.first());
        next.copied().inspect(|boot| self.turn = *boot)
    }
}

impl Cluster {
    pub(super) fn queue_gossip(&mut self, to: NodeId, tag: u64, bytes: &[u8]) {
        let room = self.room();
        let Some(boot) = self.by_node.get(&to).copied() else {
            return;
        };
        let Some(link) = self.links.get_mut(&boot) else {
            return;
        };
        let framed = frame(FrameKind::Gossip, &[&tag.to_le_bytes(), bytes]);
        let dropped = if framed.len() <= room {
            link.push_gossip(framed)
        } else if framed.len() <= MESSAGE_BYTES_MAX && link.push_stream(framed) {
            0
        } else {
            link.traffic.dropped += 1;
            1
        };
        self.tally.traffic.dropped += dropped;
        self.post.mark(boot);
    }

    pub(super) fn queue_message(
        &mut self,
        to: NodeId,
        kind: FrameKind,
        body: &[u8],
    ) -> Result<(), StreamFull> {
        let boot = self.by_node.get(&to).copied().ok_or(StreamFull)?;
        let link = self.links.get_mut(&boot).ok_or(StreamFull)?;
        if body.len() + 16 > MESSAGE_BYTES_MAX || !link.push_stream(frame(kind, &[body])) {
            return Err(StreamFull);
        }
        self.post.mark(boot);
        Ok(())
    }

    pub(super) fn queue_probe(&mut self, to: &ClusterPeer, packet: &[u8]) {
        let framed = frame(FrameKind::Probe, &[packet]);
        if let Some(link) = self.links.get_mut(&to.boot) {
            link.push_control(framed);
            self.post.mark(to.boot);
            return;
        }
        // Other nodes are known only by their short form, unless they are remembered.
        let known = self.swim.remembered_of(to.id).map(|known| known.address);
        let address = if to.address == NOWHERE {
            known
        } else {
            Some(to.address)
        };
        if let Some(address) = address {
            self.send_loose(address, 0, framed);
        }
    }

    /// Queues a frame for an address whose node may be unknown.
    pub(super) fn send_loose(&mut self, address: SocketAddr, to: u32, frame: Vec<u8>) {
        if self.post.loose.len() >= LOOSE_MAX {
            self.post.loose.pop_front();
            self.tally.traffic.dropped += 1;
        }
        self.post.loose.push_back((address, to, frame));
    }

    pub(super) fn next_transmit(&mut self) -> Option<Transmit> {
        if let Some((address, to, frame)) = self.post.loose.pop_front() {
            let mut bytes = self.head(to);
            bytes.extend(frame);
            return Some(self.datagram(address, None, bytes, 1));
        }
        let is_open = self.post.cap.is_open(self.clock.mono());
        self.post.is_capped = false;
        let mut tried = 0;
        while tried < self.post.ready.len() {
            let boot = self.post.next()?;
            let Some(link) = self.links.get(&boot) else {
                self.post.ready.remove(&boot);
                continue;
            };
            if link.has_datagram(is_open) {
                return Some(self.pack(boot, is_open));
            }
            if link.has_stream() {
                return self.message(boot);
            }
            if link.is_idle() {
                self.post.ready.remove(&boot);
            } else {
                self.post.is_capped = true;
                tried += 1;
            }
        }
        None
    }

    fn pack(&mut self, boot: u64, is_open: bool) -> Transmit {
        let mut bytes = self.head(fold(boot));
        let bytes_max = self.config.mtu - DATAGRAM_OVERHEAD;
        let (mut frames, mut address, mut node) = (0, NOWHERE, None);
        if let Some(link) = self.links.get_mut(&boot) {
            frames = link.pack_datagram(&mut bytes, bytes_max, is_open);
            address = link.address;
            node = Some(link.node);
            let traffic = &mut link.traffic;
            traffic.datagrams_out += 1;
            traffic.frames_out += frames;
            traffic.bytes_out += (bytes.len() + DATAGRAM_OVERHEAD + IP_UDP_BYTES) as u64;
        }
        self.datagram(address, node, bytes, frames)
    }

    fn message(&mut self, boot: u64) -> Option<Transmit> {
        let link = self.links.get_mut(&boot)?;
        let bytes = link.pack_message();
        let length = bytes.len() as u64;
        link.traffic.stream_bytes_out += length;
        self.tally.traffic.stream_bytes_out += length;
        Some(Transmit {
            to: link.address,
            node: Some(link.node),
            via: Via::Stream,
            bytes,
        })
    }

    fn datagram(
        &mut self,
        to: SocketAddr,
        node: Option<NodeId>,
        bytes: Vec<u8>,
        frames: u64,
    ) -> Transmit {
        let length = bytes.len() + DATAGRAM_OVERHEAD + IP_UDP_BYTES;
        let traffic = &mut self.tally.traffic;
        traffic.datagrams_out += 1;
        traffic.frames_out += frames;
        traffic.bytes_out += length as u64;
        self.post.cap.take(length);
        let counter = self.post.counter;
        self.post.counter += 1;
        Transmit {
            to,
            node,
            via: Via::Datagram { counter },
            bytes,
        }
    }

    fn head(&self, to: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.config.mtu);
        let sent_ms = self.clock.day_ms();
        PayloadHead { sent_ms, to }.put(&mut bytes);
        bytes
    }

    const fn room(&self) -> usize {
        self.config.mtu - DATAGRAM_OVERHEAD - HEAD_LEN
    }
}

/// Frames that wait for addresses whose node is unknown.
const LOOSE_MAX: usize = 512;
