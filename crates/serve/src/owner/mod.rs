//! `coordination: owner` and `store`, as this server carries them: batches to nodes, asks to the store, keys that move.
//!
//! Who is asked, and what follows from answers and silence, is decided by `tollgate_owner`. Doors wait for the answers
//! (`engine`). Not here: who is a member, and how bytes get there (`cluster`).

mod counts;
mod lane;
mod moving;
mod peers;
mod respond;
mod start;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::bytes::Bytes;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use tokio::sync::Notify;
use tokio::time::Instant as Time;
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::{Node, Spot};
use tollgate_owner::{
    INTRODUCED, Introductions, LedgerAsk, Letter, NoReply, OwnerKey, Owners, StepPlace, StoreAsks,
    StoreUse,
};
use tollgate_store::EngineAnswer;
use tollgate_table::Print;

use crate::cluster::RequestError;
use crate::engine::{Elsewhere, Hearing, Question, QuestionReply, RemoteAnswer};
use crate::meter::Exposition;
use crate::shared::Shared;
use crate::store::Store;

use lane::NodeLane;

pub use crate::meter::Count;
pub use counts::OwnerCounts;
pub(crate) use counts::{add_all, fell_back};
pub(crate) use lane::join_all;
pub use moving::Mover;
pub use peers::{Nobody, NodePeers, PendingReply};
pub use respond::{Answering, Responder};
pub(crate) use start::{ask_store, start};
pub use tollgate_owner::{Arrival, Crew};

/// How keys are owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerSettings {
    /// How long an owner is waited for, a second attempt included.
    pub deadline: Duration,
}

impl Default for OwnerSettings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(20),
        }
    }
}

/// Asks the other nodes, and a store, about keys that they decide about.
pub struct Owner {
    owners: Owners,
    settings: OwnerSettings,
    peers: Arc<dyn NodePeers>,
    lanes: Mutex<BTreeMap<NodeId, Arc<NodeLane>>>,
    counts: Arc<OwnerCounts>,
    /// Decides about contracts that a store decides about, where there is one.
    store: Option<Arc<Store>>,
    /// Has keys looked through at once.
    is_pass_wanted: Notify,
    /// Whether keys stay where they are, as the server ends.
    is_ended: AtomicBool,
}

impl Owner {
    /// An owner among these peers.
    pub fn new(key: OwnerKey, settings: OwnerSettings, peers: Arc<dyn NodePeers>) -> Self {
        let owners = Owners::new(key, sha256, StoreUse::None);
        owners.handle_members_alone(peers.crew());
        Self {
            owners,
            settings,
            peers,
            lanes: Mutex::default(),
            counts: Arc::default(),
            store: None,
            is_pass_wanted: Notify::new(),
            is_ended: AtomicBool::new(false),
        }
    }

    /// Nobody but a store: it decides about every contract, every time.
    pub fn of_store(store: Arc<Store>) -> Self {
        let alone = Self::alone();
        Self {
            owners: alone.owners.with_store(StoreUse::All),
            store: Some(store),
            ..alone
        }
    }

    fn alone() -> Self {
        Self::new(
            OwnerKey([0; 16]),
            OwnerSettings::default(),
            Arc::new(Nobody),
        )
    }

    /// The same with a store.
    #[must_use]
    pub fn with_store(self, store: Option<Arc<Store>>) -> Self {
        let used = store.as_ref().map_or(StoreUse::None, |_| StoreUse::Some);
        Self {
            owners: self.owners.with_store(used),
            store,
            ..self
        }
    }

    /// The same, where the node joins others and has come so far.
    #[must_use]
    pub fn arriving(self, arrival: &Arc<Arrival>) -> Self {
        Self {
            owners: self.owners.arriving(arrival),
            ..self
        }
    }

    /// The store, where there is one.
    pub const fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// What was counted so far.
    pub fn counts(&self) -> &OwnerCounts {
        &self.counts
    }

    /// Adds the counters, for Prometheus.
    pub(crate) fn render(&self, text: &mut Exposition) {
        if self.peers.crew().me.is_some() {
            self.counts.render(text);
        }
        if let Some(store) = &self.store {
            store.render(text);
        }
    }

    /// Looks at who is there again, where nothing is lent; whether that is somebody else.
    pub fn refresh(&self) -> bool {
        let is_newer = self.owners.handle_members_alone(self.peers.crew());
        self.forget_gone(is_newer)
    }

    /// Looks at who is there again.
    pub(crate) fn look_around(&self, node: &Node, now: Instant) {
        let is_newer = self.owners.handle_members(self.peers.crew(), node, now);
        self.forget_gone(is_newer);
    }

    fn forget_gone(&self, is_newer: bool) -> bool {
        if is_newer {
            let mut lanes = self.lanes.lock();
            lanes.retain(|node, _| self.owners.has_member(*node));
        }
        is_newer
    }

    /// Places of the durable contracts that have owners.
    pub(crate) fn durable_places(&self, node: &Node) -> Vec<usize> {
        self.owners.durable_places(node)
    }

    /// Whether this node owns a key.
    pub(crate) fn is_own(&self, node: &Node, contract: usize, print: Print) -> bool {
        self.owners.is_own(node, contract, print)
    }

    /// Keys may lie here that are another's.
    pub(crate) fn note_strays(&self) {
        self.owners.note_strays();
    }

    fn lane(&self, to: NodeId) -> Arc<NodeLane> {
        let mut lanes = self.lanes.lock();
        let lane = lanes
            .entry(to)
            .or_insert_with(|| Arc::new(NodeLane::new(to)));
        Arc::clone(lane)
    }

    async fn ask_all(
        &self,
        node: &Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Vec<QuestionReply> {
        let mut began = Time::now();
        let owners = &self.owners;
        let mut asking = owners.ask(node, questions, now);
        while let Some(wanted) = asking.poll(owners) {
            let left = self.settings.deadline.saturating_sub(began.elapsed());
            let letters = wanted.letters.into_iter();
            let letters = letters.map(|letter| self.send(letter, left));
            let (letters, stored, ledgers) = tokio::join!(
                join_all(letters),
                self.ask_store(&wanted.stored, began),
                self.ask_ledgers(wanted.ledgers, began)
            );
            for (steps, answer) in letters {
                if answer.is_err() {
                    self.look_around(node, now);
                }
                let answer = answer.as_deref().map_err(|error| no_reply(*error));
                asking.handle_letter(owners, &steps, answer);
            }
            if let Some(store) = &self.store {
                let remembered = |ask: &_| store.remembered(ask);
                asking.handle_stored(owners, wanted.stored, stored, remembered);
            }
            asking.handle_ledgers(owners, ledgers);
            let strangers = asking.take_introductions();
            if !strangers.0.is_empty() {
                // Whoever has to look something up is there: its time does not count.
                let told = Time::now();
                self.introduce(strangers).await;
                began += told.elapsed();
            }
        }
        let (replies, tally) = asking.finish();
        self.counts.add(&tally);
        if let Some(store) = &self.store {
            store.counts().add(&tally);
        }
        replies
    }

    async fn send(&self, letter: Letter, within: Duration) -> (Vec<StepPlace>, Sent) {
        let lane = self.lane(letter.to);
        let answer = lane.send(letter.parcel, &self.peers, &self.counts, within);
        (letter.steps, answer.await)
    }

    /// Asks the store, in what is left of the time since `began`.
    async fn ask_store(&self, asks: &StoreAsks, began: Time) -> Vec<Option<EngineAnswer>> {
        let Some(store) = self.store.as_ref().filter(|_| !asks.each.is_empty()) else {
            return Vec::new();
        };
        let left = store.deadline().saturating_sub(began.elapsed());
        let answers = store.ask(asks.each.clone(), left).await;
        answers.into_iter().map(Result::ok).collect()
    }

    /// Asks the store about ledgers, in what is left of the time since `began`.
    async fn ask_ledgers(
        &self,
        asks: Vec<(StepPlace, LedgerAsk)>,
        began: Time,
    ) -> Vec<(StepPlace, Option<RemoteAnswer>)> {
        let Some(store) = self.store.as_ref().filter(|_| !asks.is_empty()) else {
            return Vec::new();
        };
        let (steps, each): (Vec<_>, Vec<_>) = asks.into_iter().unzip();
        let left = store.deadline().saturating_sub(began.elapsed());
        let answers = store.ask_ledgers(each, left).await;
        let answers = answers.into_iter().map(Result::ok);
        steps.into_iter().zip(answers).collect()
    }

    /// Tells owners of keys, and waits until they have looked them up. Whoever does not is asked all the same.
    async fn introduce(&self, introductions: Introductions) {
        let each = introductions.0.into_iter();
        let each = each.map(|(to, body)| self.peers.request(to, INTRODUCE, body, LOOK_UP_WITHIN));
        drop(join_all(each).await);
    }

    /// Looks up the terms of keys that another node tells of; `None` where that makes no sense.
    async fn meet(&self, shared: &Shared, body: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let Some(unknown) = self.owners.introduced(&node, body, now) else {
            self.counts.malformed.add(1);
            return None;
        };
        shared.engine.learn(&node, unknown, now).await;
        Some(INTRODUCED.to_vec())
    }

    /// Has all others say that they have not lent what this node lends, where it has never run before.
    async fn ask_for_proof(&self, shared: &Shared) {
        let node = shared.engine.node();
        let Some(ask) = self.owners.proof_ask(&node) else {
            return;
        };
        let each = ask.to.iter();
        let each = each.map(|to| {
            self.peers
                .request(*to, PROVE, ask.body.clone(), PROVE_WITHIN)
        });
        if join_all(each).await.iter().all(Result::is_ok) {
            self.look_around(&node, shared.engine.now());
            self.owners.handle_proof(&ask, &node);
        }
    }

    /// Says whether this node has lent what another lends now; `None` where it may have.
    fn prove(&self, shared: &Shared, body: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        self.look_around(&node, now);
        self.owners.prove(&node, body, now)
    }

    /// Reads the counts of keys in a batch of another node that left memory.
    async fn fetch(&self, shared: &Shared, batch: &[u8]) {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let away = self.owners.away(&node, batch);
        shared.engine.learn(&node, away, now).await;
    }

    /// Answers a batch of another node.
    fn answer_batch(&self, shared: &Shared, batch: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let answered = self.owners.answer(&node, batch, now, |lent| {
            shared.lend.tell_from(&mut lent.nudges);
        });
        let Some(answered) = answered else {
            self.counts.malformed.add(1);
            return None;
        };
        self.counts.answered.add(answered.count);
        Some(answered.bytes)
    }
}

type Sent = Result<Bytes, RequestError>;

const fn no_reply(error: RequestError) -> NoReply {
    match error {
        RequestError::Late => NoReply::Late,
        RequestError::Unreachable | RequestError::Unknown | RequestError::Refused => NoReply::Gone,
        RequestError::Busy | RequestError::TooLong => NoReply::Busy,
    }
}

/// The first eight bytes of SHA-256, little-endian.
fn sha256(bytes: &[u8]) -> u64 {
    let digest = digest(&SHA256, bytes);
    let first = digest.as_ref().first_chunk();
    first.map_or(0, |first| u64::from_le_bytes(*first))
}

impl Elsewhere for Owner {
    fn is_here(&self, node: &Node, spots: &[Spot]) -> bool {
        self.owners.is_here(node, spots)
    }

    fn ask<'a>(
        &'a self,
        node: &'a Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Hearing<'a> {
        Box::pin(self.ask_all(node, questions, now))
    }

    fn reloaded(&self) {
        self.owners.reloaded();
        if let Some(store) = &self.store {
            store.reloaded();
        }
    }
}

/// The kind of what is told of keys.
const INTRODUCE: u8 = tollgate_cluster::FrameKind::Introduce as u8;
/// The kind of questions about what was lent before, and how long others may take to answer.
const PROVE: u8 = tollgate_cluster::FrameKind::Prove as u8;
const PROVE_WITHIN: Duration = Duration::from_millis(500);
/// How long an owner may look things up.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(2);
