//! What will happen when: events in order of time, and of entry where times are equal.
//!
//! Not here: what an event does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Something that will happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A frame arrives.
    Frame {
        from: u16,
        to: u16,
        frame: Arc<[u8]>,
    },
    /// A node wants to be woken.
    Timeout { node: u16 },
    /// The fault of that number begins.
    Begin { fault: u32 },
    /// The node that the fault of that number took comes back.
    Return { fault: u32 },
    /// The failure detector of a node says who is alive.
    Tell { node: u16 },
}

/// Events to come.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    entered: u64,
    frames: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, at: u64, event: Event) {
        self.frames += u64::from(matches!(event, Event::Frame { .. }));
        self.entered += 1;
        self.heap.push(Reverse((at, self.entered, event)));
    }

    /// When something happens next.
    pub(crate) fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes the next event if it happens at `until` or before.
    pub(crate) fn next_until(&mut self, until: u64) -> Option<(u64, Event)> {
        if self.next_at()? > until {
            return None;
        }
        let Reverse((at, _, event)) = self.heap.pop()?;
        self.frames -= u64::from(matches!(event, Event::Frame { .. }));
        Some((at, event))
    }

    /// Frames under way.
    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }
}
