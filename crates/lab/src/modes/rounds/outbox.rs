//! Frames on their way out, cut where they get too long.
//!
//! Not here: what is in them.

use std::collections::VecDeque;
use std::sync::Arc;

use tollgate_gossip::{Encoder, NodeId, Send, Writer};

use super::codec::{self, FRAME_BYTES_MAX, Header, SEQUENCE_MAX};

/// A frame takes no further key beyond this. What is said of one key must fit into the other half.
pub(crate) const FRAME_BYTES_FULL: usize = FRAME_BYTES_MAX / 2;

#[derive(Debug)]
pub(crate) struct RoundOutbox {
    header: Header,
    sends: VecDeque<Send>,
}

/// What one neighbour is told in one go.
#[derive(Debug)]
pub(crate) struct RoundBatch<'a> {
    outbox: &'a mut RoundOutbox,
    to: NodeId,
    frame: Option<Encoder>,
}

impl RoundOutbox {
    /// All frames of a boot are of one kind.
    pub(crate) fn new(kind: u8, writer: Writer) -> Self {
        Self {
            header: Header {
                kind,
                writer,
                sequence: 0,
            },
            sends: VecDeque::new(),
        }
    }

    pub(crate) fn kind(&self) -> u8 {
        self.header.kind
    }

    pub(crate) fn batch(&mut self, to: NodeId) -> RoundBatch<'_> {
        RoundBatch {
            outbox: self,
            to,
            frame: None,
        }
    }

    /// Sends a frame that another neighbour got as well.
    pub(crate) fn send(&mut self, to: NodeId, frame: Arc<[u8]>) {
        self.sends.push_back(Send { to, frame });
    }

    pub(crate) fn poll(&mut self) -> Option<Send> {
        self.sends.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sends.is_empty()
    }

    /// A frame with nothing but its header.
    pub(crate) fn open(&mut self) -> Encoder {
        let encoder = codec::begin(self.header);
        self.header.sequence = (self.header.sequence + 1) & SEQUENCE_MAX;
        encoder
    }
}

impl RoundBatch<'_> {
    /// Where to write what is said of the next key.
    pub(crate) fn next(&mut self) -> &mut Encoder {
        if self
            .frame
            .as_ref()
            .is_some_and(|frame| frame.len() > FRAME_BYTES_FULL)
        {
            self.flush();
        }
        self.frame.get_or_insert_with(|| self.outbox.open())
    }

    pub(crate) fn flush(&mut self) {
        if let Some(frame) = self.frame.take() {
            self.outbox.send(self.to, frame.finish());
        }
    }
}
