//! Frames on their way out, numbered as they are written.
//!
//! Not here: what is in them.

use std::collections::VecDeque;
use std::sync::Arc;

use tollgate_mode::{NodeId, Send, Writer};

use crate::codec::{Encoder, Header, SEQUENCE_MAX};

/// What a boot has sent and is about to send. The queue is drained after every call, so it holds what one call says.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) writer: Writer,
    sequence: u64,
    queue: VecDeque<Send>,
}

impl Post {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            writer,
            sequence: 0,
            queue: VecDeque::new(),
        }
    }

    /// A new frame of that kind, and its number.
    pub(super) fn begin(&mut self, kind: u8) -> (Encoder, u64) {
        self.sequence = (self.sequence + 1).min(SEQUENCE_MAX);
        (self.again(kind, self.sequence), self.sequence)
    }

    /// A frame of that kind that repeats an earlier one.
    pub(super) fn again(&self, kind: u8, sequence: u64) -> Encoder {
        Encoder::new(Header {
            kind,
            writer: self.writer,
            sequence,
        })
    }

    /// Sends one frame to all of these.
    pub(super) fn send(&mut self, to: impl IntoIterator<Item = NodeId>, frame: &Arc<[u8]>) {
        self.queue.extend(to.into_iter().map(|to| Send {
            to,
            frame: Arc::clone(frame),
        }));
    }

    pub(super) fn poll(&mut self) -> Option<Send> {
        self.queue.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
