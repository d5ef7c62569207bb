//! Asks that may still be answered.
//!
//! One is open, which means that no other is sent; older ones may be answered late. Each is answered once. Not here:
//! what is asked of whom.

use std::collections::BTreeMap;

use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Span};

/// Asks that may still be answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct SplitAsks {
    last: u64,
    sent: BTreeMap<u64, SplitAsk>,
    open: Option<(u64, Instant)>,
}

/// An ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitAsk {
    pub(crate) to: NodeId,
    pub(crate) at: Instant,
}

impl SplitAsks {
    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// When the open one is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.map(|(_, deadline)| deadline)
    }

    /// Opens one: its ticket.
    pub(crate) fn open(&mut self, to: NodeId, patience: Span, now: Instant) -> u64 {
        self.last += 1;
        self.sent.insert(self.last, SplitAsk { to, at: now });
        if self.sent.len() > ASKS_MAX {
            self.sent.pop_first();
        }
        self.open = Some((self.last, now.saturating_add(patience)));
        self.last
    }

    /// Gives the open one up if its time is over: whom it was sent to. Its answer may still come.
    pub(crate) fn give_up(&mut self, now: Instant) -> Option<NodeId> {
        let (ticket, _) = self.open.take_if(|(_, deadline)| *deadline <= now)?;
        self.sent.get(&ticket).map(|ask| ask.to)
    }

    /// The ask that an answer is for, once.
    pub(crate) fn answer(&mut self, from: NodeId, ticket: u64) -> Option<SplitAsk> {
        let ask = self.sent.get(&ticket).copied()?;
        if ask.to != from {
            return None;
        }
        self.sent.remove(&ticket);
        self.open.take_if(|(open, _)| *open == ticket);
        Some(ask)
    }
}

/// Asks whose answers are awaited, however late.
const ASKS_MAX: usize = 64;
