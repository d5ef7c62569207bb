//! What counts on a node: a bucket in one of the designs, or a window.
//!
//! Not here: when it is asked, and what it is made of.

use tollgate_gossip::{
    Footprint, Key, Kind, Malformed, NodeId, Replica, Send, Setup, Verdict, Window, WindowReplica,
};
use tollgate_limit::Instant;

/// What every node of a world enforces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit<'a> {
    /// The cluster's bucket, in that design.
    Bucket(Kind),
    Window(&'a Window),
}

/// One node's part in it.
#[derive(Debug)]
pub(crate) enum Machine {
    Bucket(Box<Replica>),
    Window(Box<WindowReplica>),
}

impl Limit<'_> {
    /// A node that has just started.
    pub(crate) fn boot(self, setup: Setup) -> Machine {
        match self {
            Self::Bucket(kind) => Machine::Bucket(Box::new(Replica::new(kind, setup))),
            Self::Window(window) => {
                let window = window.clone();
                Machine::Window(Box::new(WindowReplica::new(window, &setup)))
            }
        }
    }
}

impl Machine {
    pub(crate) fn handle_request(&mut self, key: Key, cost: u64, now: Instant) -> Verdict {
        match self {
            Self::Bucket(it) => it.handle_request(key, cost, now),
            Self::Window(it) => it.handle_request(key, cost, now),
        }
    }

    pub(crate) fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        match self {
            Self::Bucket(it) => it.handle_frame(from, frame, now),
            Self::Window(it) => it.handle_frame(from, frame, now),
        }
    }

    pub(crate) fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        match self {
            Self::Bucket(it) => it.handle_members(alive, now),
            Self::Window(it) => it.handle_members(alive, now),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Bucket(it) => it.handle_timeout(now),
            Self::Window(it) => it.handle_timeout(now),
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Bucket(it) => it.poll_timeout(),
            Self::Window(it) => it.poll_timeout(),
        }
    }

    pub(crate) fn poll_send(&mut self) -> Option<Send> {
        match self {
            Self::Bucket(it) => it.poll_send(),
            Self::Window(it) => it.poll_send(),
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Self::Bucket(it) => it.is_quiet(),
            Self::Window(it) => it.is_quiet(),
        }
    }

    pub(crate) fn footprint(&self) -> Footprint {
        match self {
            Self::Bucket(it) => it.footprint(),
            Self::Window(it) => it.footprint(),
        }
    }
}
