//! What waits to be sent: messages of one call, packed into frames, each for one peer.
//!
//! Bounded; the oldest frames are dropped, as on any network. Not here: what is said.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::{Encoder, NodeId, Send};
use tollgate_limit::Instant;

use crate::peers::SupplyPeers;
use crate::setup::Boot;
use crate::wire::{FRAME_BYTES_FULL, Message, SupplyHead};

/// What waits to be sent.
#[derive(Debug)]
pub(crate) struct SupplyOutbox {
    boot: Boot,
    /// Messages of the call that runs.
    messages: BTreeMap<NodeId, Vec<Message>>,
    frames: VecDeque<Send>,
    pub(crate) frames_sent: u64,
    pub(crate) bytes_sent: u64,
}

impl SupplyOutbox {
    pub(crate) fn new(boot: Boot) -> Self {
        Self {
            boot,
            messages: BTreeMap::new(),
            frames: VecDeque::new(),
            frames_sent: 0,
            bytes_sent: 0,
        }
    }

    pub(crate) fn push(&mut self, to: NodeId, message: Message) {
        self.messages.entry(to).or_default().push(message);
    }

    /// Makes frames of what the call that ends has said. Not later: a frame says for which boot of its receiver it is.
    pub(crate) fn flush(&mut self, peers: &SupplyPeers, now: Instant) {
        while let Some((to, messages)) = self.messages.pop_first() {
            let peer = peers.peer(to);
            let head = SupplyHead {
                boot: self.boot,
                yours: peer.boot,
                sent: now,
                echo: peer.sent,
            };
            self.pack(to, head, &messages);
        }
    }

    fn pack(&mut self, to: NodeId, head: SupplyHead, messages: &[Message]) {
        let mut frame = None;
        for message in messages {
            let open = frame.get_or_insert_with(|| {
                let mut encoder = Encoder::default();
                head.encode(&mut encoder);
                encoder
            });
            message.encode(open);
            if open.len() >= FRAME_BYTES_FULL {
                self.close(to, frame.take());
            }
        }
        self.close(to, frame);
    }

    fn close(&mut self, to: NodeId, frame: Option<Encoder>) {
        let Some(frame) = frame else {
            return;
        };
        let frame = frame.finish();
        self.frames.push_back(Send { to, frame });
        if self.frames.len() > FRAMES_MAX {
            self.frames.pop_front();
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Send> {
        let send = self.frames.pop_front()?;
        self.frames_sent += 1;
        self.bytes_sent += send.frame.len() as u64;
        Some(send)
    }
}

/// Frames that may wait.
const FRAMES_MAX: usize = 1 << 14;
