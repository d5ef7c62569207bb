//! Who is there, and a way to ask them: the cluster, or what stands for it in tests.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use tollgate_gossip::NodeId;
use tollgate_owner::Crew;

use crate::cluster::{Handle, RequestError};

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
