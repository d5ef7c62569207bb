//! What the rest of the server has of the cluster: who is there, and a way to ask another node something.
//!
//! Any thread may ask; a question waits at most as long as its asker says. Not here: what is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tollgate_cluster::{Cluster, Member, OwnerKey};
use tollgate_gossip::NodeId;

use super::clocks::Clocks;
use super::error::Fatal;
use super::outlet::Outlet;
use super::rates::TrafficRates;
use super::stream::{Ends, StreamCounts};
use super::thread_lines;
use super::wire::{PeerHello, ResponseStatus};
use crate::supply::steady_now;

/// Who is in the cluster, as far as this node knows.
#[derive(Default)]
pub struct Company {
    /// This node's number.
    pub me: Option<NodeId>,
    /// Everybody, this node included, by number.
    pub members: Vec<Member>,
    /// Those that live, by number and id, for whoever places keys.
    pub alive: Vec<(NodeId, u128)>,
    /// Grows with every change.
    pub version: u64,
    pub(super) outlets: BTreeMap<NodeId, Arc<Outlet>>,
}

impl Company {
    /// The member that said this of itself.
    pub(super) fn of(&self, hello: PeerHello) -> Option<&Member> {
        let mut members = self.members.iter();
        members.find(|member| member.id == hello.id && member.boot == hello.boot)
    }
}

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// No such member, or it is this node.
    Unknown,
    /// The node cannot be reached, or went while it was asked.
    Unreachable,
    /// Too many questions wait, here or there.
    Busy,
    /// No answer in time. The question may have been answered nonetheless.
    Late,
    /// The other node does not answer such questions.
    Refused,
    /// The question is longer than a frame.
    TooLong,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no such node",
            Self::Unreachable => "the node cannot be reached",
            Self::Busy => "too many questions wait",
            Self::Late => "no answer in time",
            Self::Refused => "the node does not answer such questions",
            Self::TooLong => "the question is too long",
        })
    }
}

impl std::error::Error for RequestError {}

/// Answers what other nodes ask. Called on the thread of the cluster, so it must not wait: what takes long is answered
/// later from elsewhere.
pub trait Respond: Send + Sync {
    /// Another node asks.
    fn respond(&self, asked: NodeQuestion);
}

impl<F: Fn(NodeQuestion) + Send + Sync> Respond for F {
    fn respond(&self, asked: NodeQuestion) {
        self(asked);
    }
}

/// A question of another node. Dropped without an answer it is refused.
pub struct NodeQuestion {
    /// Who asks.
    pub from: NodeId,
    /// What is asked, as the askers agreed.
    pub kind: u8,
    /// The question.
    pub body: Bytes,
    reply: ReplyHandle,
}

impl NodeQuestion {
    pub(super) fn new(from: NodeId, kind: u8, body: Bytes, reply: ReplyHandle) -> Self {
        Self {
            from,
            kind,
            body,
            reply,
        }
    }

    /// Answers.
    pub fn answer(mut self, body: &[u8]) {
        self.reply.send(ResponseStatus::Done, body);
    }

    /// Answers that it will not be answered.
    pub fn refuse(self) {}
}

/// The way back to whoever asked.
pub(super) struct ReplyHandle {
    pub(super) outlet: Arc<Outlet>,
    pub(super) number: u64,
    /// Questions of the same stream that are being answered.
    pub(super) working: Arc<AtomicUsize>,
    pub(super) is_sent: bool,
}

impl ReplyHandle {
    fn send(&mut self, outcome: ResponseStatus, body: &[u8]) {
        if !self.is_sent {
            self.is_sent = true;
            self.outlet.answer(self.number, outcome, body);
            self.working.fetch_sub(1, Relaxed);
        }
    }
}

impl Drop for ReplyHandle {
    fn drop(&mut self) {
        self.send(ResponseStatus::Refused, &[]);
    }
}

/// The cluster, for the rest of the server. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Arc<Hub>);

/// What the thread of the cluster and everybody else share.
pub(super) struct Hub {
    /// The machine; locked by its thread for moments, and by whoever looks.
    pub(super) cluster: Mutex<Cluster>,
    /// Wakes the thread.
    pub(super) wake: Notify,
    /// Why the server must stop, where it must.
    pub(super) fatal: watch::Sender<Option<Fatal>>,
    pub(super) clocks: Clocks,
    pub(super) rates: Mutex<TrafficRates>,
    pub(super) streams: StreamCounts,
    /// Under which keys are dealt out to nodes.
    owner_key: OwnerKey,
    /// Datagrams that the system did not take.
    pub(super) unsent: AtomicU64,
    company: ArcSwap<Company>,
    changed: watch::Sender<u64>,
    responder: ArcSwapOption<Box<dyn Respond>>,
    /// What threads that serve open streams of their own with, once it is there.
    ends: OnceLock<Weak<Ends>>,
}

impl Hub {
    pub(super) fn new(cluster: Cluster, owner_key: OwnerKey) -> Self {
        Self {
            owner_key,
            cluster: Mutex::new(cluster),
            wake: Notify::new(),
            fatal: watch::Sender::new(None),
            clocks: Clocks::default(),
            rates: Mutex::default(),
            streams: StreamCounts::default(),
            unsent: AtomicU64::new(0),
            company: ArcSwap::default(),
            changed: watch::Sender::new(0),
            responder: ArcSwapOption::empty(),
            ends: OnceLock::new(),
        }
    }

    /// From here on threads that serve may open streams of their own; for once.
    pub(super) fn set_ends(&self, ends: &Arc<Ends>) {
        // A second one would be of another cluster.
        let _ = self.ends.set(Arc::downgrade(ends));
    }

    /// What this thread writes to a member: a stream of its own, or that of the cluster's thread.
    fn outlet(&self, to: NodeId) -> Option<Arc<Outlet>> {
        let ends = self.ends.get();
        let own = ends.and_then(|ends| thread_lines::outlet(self, ends, to));
        own.or_else(|| self.company.load().outlets.get(&to).map(Arc::clone))
    }

    pub(super) fn company(&self) -> Arc<Company> {
        self.company.load_full()
    }

    pub(super) fn publish(&self, company: Company) {
        let version = company.version;
        self.company.store(Arc::new(company));
        self.changed.send_replace(version);
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn respond(&self, asked: NodeQuestion) {
        // Without anybody who answers, dropping refuses.
        if let Some(responder) = &*self.responder.load() {
            responder.respond(asked);
        }
    }
}

impl Handle {
    pub(super) const fn new(hub: Arc<Hub>) -> Self {
        Self(hub)
    }

    /// Who is there now.
    pub fn members(&self) -> Arc<Company> {
        self.0.company()
    }

    /// Names of everybody who is counted on.
    pub(crate) fn names_alive(&self) -> Vec<String> {
        let company = self.members();
        let names = company.members.iter().map(|member| &member.about.name);
        names.cloned().collect()
    }

    /// The key under which keys are dealt out to nodes, the same on all of them.
    pub fn owner_key(&self) -> &OwnerKey {
        &self.0.owner_key
    }

    /// Tells when that changes: the version of the newest.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    /// From now on questions of other nodes are answered by this; the last one given counts.
    pub fn set_responder(&self, responder: Box<dyn Respond>) {
        self.0.responder.store(Some(Arc::new(responder)));
    }

    /// Asks another node, and waits for its answer no longer than `within`.
    pub async fn request(
        &self,
        to: NodeId,
        kind: u8,
        body: &[u8],
        within: Duration,
    ) -> Result<Bytes, RequestError> {
        let outlet = self.0.outlet(to).ok_or(RequestError::Unknown)?;
        let awaited = outlet.request(kind, body)?;
        let answer = tokio::time::timeout(within, awaited.answer()).await;
        answer.unwrap_or(Err(RequestError::Late))
    }

    /// Counts under another number from here on, as the clock was set back: what others heard before is of a time that
    /// is not to come.
    pub(crate) fn write_anew(&self) {
        self.0.cluster.lock().write_anew(steady_now());
        self.0.wake.notify_one();
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.0
    }
}
