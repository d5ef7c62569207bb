//! The node's part in the cluster: what its policies that count together want to say, and hear.
//!
//! Contracts may be loaded at any time, so the node is asked for anew every time. Not here: how counts agree.

use std::sync::Arc;

use tollgate_cluster::Kind;
use tollgate_gossip::{NodeId, Writer};
use tollgate_limit::Instant;

use super::view::PolicyView;
use crate::shared::Shared;

/// How policies that are counted together stand.
pub(super) fn policies(_shared: &Shared) -> Vec<PolicyView> {
    Vec::new()
}

/// The node's part in the cluster.
pub(super) struct Replicas {
    shared: Arc<Shared>,
}

/// Something a policy wants to tell another node.
pub(super) struct Outgoing {
    pub(super) tag: u64,
    pub(super) to: NodeId,
    pub(super) frame: Arc<[u8]>,
}

impl Replicas {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) fn now(&self) -> Instant {
        self.shared.engine.now()
    }

    pub(super) fn set_waker(&self, _wake: Arc<dyn Fn() + Send + Sync>) {}

    pub(super) fn handle_members(&self, _others: &[NodeId], _now: Instant) {}

    pub(super) fn handle_gossip(&self, _tag: u64, _from: NodeId, _frame: &[u8], _now: Instant) {}

    pub(super) fn handle_timeout(&self, _now: Instant) {}

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    pub(super) fn poll_send(&self) -> Option<Outgoing> {
        None
    }

    pub(super) fn handle_message(&self, _from: NodeId, _kind: Kind, _body: &[u8], _now: Instant) {}

    pub(super) fn renumber(&self, _me: NodeId, _writer: Writer, _now: Instant) {}

    pub(super) fn is_caught_up(&self) -> bool {
        true
    }

    pub(super) fn hand_over(&self, _now: Instant) {}
}
