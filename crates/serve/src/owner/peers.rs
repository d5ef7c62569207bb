//! Who is there, and a way to ask them: the cluster, or what stands for it in tests.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use tollgate_gossip::NodeId;

use super::{Known, Owner};
use crate::cluster::{Handle, RequestError};

/// Those who own keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crew {
    /// This node; `None` before it has a number.
    pub me: Option<NodeId>,
    /// Everybody who lives, this node included, by number and id.
    pub alive: Vec<(NodeId, u128)>,
}

/// An answer, once it is there.
pub type PendingReply = Pin<Box<dyn Future<Output = Result<Bytes, RequestError>> + Send>>;

/// The other nodes.
pub trait NodePeers: Send + Sync {
    /// Who is there now.
    fn crew(&self) -> Crew;

    /// Asks one of them, and waits no longer than `within`.
    fn request(&self, to: NodeId, kind: u8, body: Vec<u8>, within: Duration) -> PendingReply;
}

impl NodePeers for Handle {
    fn crew(&self) -> Crew {
        let company = self.members();
        Crew {
            me: company.me,
            alive: company.alive.clone(),
        }
    }

    fn request(&self, to: NodeId, kind: u8, body: Vec<u8>, within: Duration) -> PendingReply {
        let handle = self.clone();
        Box::pin(async move { Self::request(&handle, to, kind, &body, within).await })
    }
}

/// A node that is alone.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl NodePeers for Nobody {
    fn crew(&self) -> Crew {
        Crew::default()
    }

    fn request(&self, _to: NodeId, _kind: u8, _body: Vec<u8>, _within: Duration) -> PendingReply {
        Box::pin(async { Err(RequestError::Unknown) })
    }
}

impl Owner {
    /// Looks at who is there again; whether that is somebody else.
    pub fn refresh(&self) -> bool {
        let newer = self.newer();
        newer.map(|known| self.adopt(known)).is_some()
    }

    /// Who is there, if that is somebody else than before.
    pub(super) fn newer(&self) -> Option<Known> {
        let mut crew = self.peers.crew();
        if self.is_leaving.load(Relaxed) {
            crew.alive.retain(|(node, _)| Some(*node) != crew.me);
        }
        (self.crew.load().crew != crew).then(|| Known::new(crew))
    }

    /// From here on these own keys.
    pub(super) fn adopt(&self, known: Known) {
        let alive = |node: &NodeId| known.crew.alive.iter().any(|(alive, _)| alive == node);
        self.lanes.lock().retain(|node, _| alive(node));
        self.crew.store(Arc::new(known));
        self.denied.clear();
        self.has_strays.store(true, Relaxed);
    }
}
