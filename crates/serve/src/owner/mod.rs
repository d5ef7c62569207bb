//! `coordination: owner`: every key of a contract has one node that decides, and the others ask it.
//!
//! The owner is chosen by `tollgate_cluster::owner` over the members that live. This node decides at once where it owns
//! all that is asked; otherwise questions go to the owners in batches, and doors wait for the answers (`engine`). When
//! members come and go, keys move with their state (`moving`). Not here: who is a member, and how bytes get there
//! (`cluster`).

mod ask;
mod books;
mod bytes;
mod counts;
mod denied;
mod here;
mod introduce;
mod introduced;
mod lane;
mod ledgers;
mod lent;
mod mail;
mod map;
mod moving;
mod page;
mod peers;
mod quota;
mod recent;
mod respond;
mod said;
mod start;
mod stored;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ::bytes::Bytes;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use tollgate_cluster::{OwnerKey, owner};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::{Node, Spot};

use crate::cluster::RequestError;
use crate::engine::{Elsewhere, Hearing, Question, QuestionReply, RemoteAnswer, Verb};
use crate::meter::Exposition;
use crate::shared::Shared;
use crate::store::Store;

use books::Books;
use denied::Denied;
use introduce::Introductions;
use lane::NodeLane;
use mail::{Letter, Mail};
use map::Map;
use said::{Answers, OwnerReply};
use work::{To, Work};

pub(crate) use mail::join_all;

pub use crate::meter::Count;
pub use counts::OwnerCounts;
pub(crate) use counts::fell_back;
pub use moving::Mover;
pub use peers::{Crew, Nobody, NodePeers, PendingReply};
pub use respond::{Answering, Responder};
pub(crate) use start::{ask_store, start};

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

/// Decides with the other nodes about keys that have owners.
pub struct Owner {
    key: OwnerKey,
    settings: OwnerSettings,
    peers: Arc<dyn NodePeers>,
    crew: ArcSwap<Known>,
    map: ArcSwap<Map>,
    lanes: Mutex<BTreeMap<NodeId, Arc<NodeLane>>>,
    denied: Denied,
    /// By what a store is asked about keys with terms of their own.
    books: Books,
    counts: Arc<OwnerCounts>,
    /// Decides about contracts that a store decides about, where there is one.
    store: Option<Arc<Store>>,
    /// Whether it decides about all contracts, and denials are not given again without asking it.
    is_all_stored: bool,
    /// Whether this node is about to go: it owns nothing more.
    is_leaving: AtomicBool,
    /// Whether keys may lie here that are another's.
    has_strays: AtomicBool,
    /// Whether keys stay where they are, as the server ends.
    is_ended: AtomicBool,
    /// Nodes that were here before and have gone, by their ids.
    lost: Mutex<BTreeSet<u128>>,
}

impl Owner {
    /// An owner among these peers.
    pub fn new(key: OwnerKey, settings: OwnerSettings, peers: Arc<dyn NodePeers>) -> Self {
        let crew = peers.crew();
        Self {
            key,
            settings,
            peers,
            crew: ArcSwap::from_pointee(Known::new(crew)),
            map: ArcSwap::from_pointee(Map::none()),
            lanes: Mutex::default(),
            denied: Denied::new(),
            books: Books::default(),
            counts: Arc::default(),
            store: None,
            is_all_stored: false,
            is_leaving: AtomicBool::new(false),
            has_strays: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            lost: Mutex::default(),
        }
    }

    /// Nobody but a store: it decides about every contract, every time.
    pub fn of_store(store: Arc<Store>) -> Self {
        let key = OwnerKey([0; 16]);
        let alone = Self::new(key, OwnerSettings::default(), Arc::new(Nobody));
        Self {
            store: Some(store),
            is_all_stored: true,
            ..alone
        }
    }

    /// The same with a store.
    #[must_use]
    pub fn with_store(self, store: Option<Arc<Store>>) -> Self {
        Self { store, ..self }
    }

    /// Who decides at a spot; `None` is this node.
    fn decides(&self, known: &Known, map: &Map, node: &Node, spot: &Spot) -> Option<To> {
        if self.store.is_some() && map.book(spot.contract).is_some() {
            return Some(To::Store(spot.contract));
        }
        let is_in_ledger = map.is_in_ledger(spot.contract) && !is_beside(node, spot);
        if self.store.is_some() && is_in_ledger {
            return Some(To::Ledger(spot.contract));
        }
        self.owner_of(known, map, node, spot).map(To::Node)
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

    /// Who owns a key of a contract, by its place; `None` is this node. Keys with terms of their own have owners where
    /// others are counted together.
    fn owner_of(&self, known: &Known, map: &Map, node: &Node, spot: &Spot) -> Option<NodeId> {
        let crew = &known.crew;
        let is_owned = map.is_owned(spot.contract) || is_beside(node, spot);
        if !is_owned || crew.me.is_none() {
            return None;
        }
        let (tag, print) = (map.tag(spot.contract), spot.print.0);
        recent::owner(known.era, tag, print, || self.find_owner(crew, tag, print))
    }

    fn find_owner(&self, crew: &Crew, tag: u64, print: u64) -> Option<NodeId> {
        let owner = owner::owner(&self.key, tag, print, &crew.alive);
        owner.filter(|owner| Some(*owner) != crew.me)
    }

    /// Who owns a key if this node is not there.
    fn next_owner(&self, crew: &Crew, map: &Map, spot: &Spot, gone: NodeId) -> Option<NodeId> {
        let without = crew.alive.iter().copied();
        let alive = without.filter(|(node, _)| *node != gone).collect();
        let crew = Crew {
            alive,
            ..crew.clone()
        };
        self.find_owner(&crew, map.tag(spot.contract), spot.print.0)
    }

    fn map(&self, node: &Node) -> Guard<Arc<Map>> {
        let map = self.map.load();
        if map.version == node.version() {
            return map;
        }
        let map = Map::of(node, self.is_all_stored);
        let map = Arc::new(map);
        self.map.store(Arc::clone(&map));
        Guard::from_inner(map)
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
        let mut began = tokio::time::Instant::now();
        let map = Arc::clone(&self.map(node));
        let at = At {
            owner: self,
            node,
            map: &map,
            now,
        };
        let mut works: Vec<Work> = questions.into_iter().map(|q| at.plan(q)).collect();
        loop {
            let mut mail = Mail::default();
            let mut stored = stored::StoreAsks::default();
            let mut ledgers = ledgers::LedgerAsks::default();
            for (number, work) in works.iter_mut().enumerate() {
                work.advance(node, now, |place, to, step| match to {
                    To::Node(to) => mail.put(to, (number, place), &map, step),
                    To::Store(_) => stored.put((number, place), &at, &step.question),
                    To::Ledger(_) => ledgers.put((number, place), &at, step),
                });
            }
            if mail.0.is_empty() && stored.is_empty() && ledgers.is_empty() {
                return works.into_iter().map(Work::finish).collect();
            }
            let left = self.settings.deadline.saturating_sub(began.elapsed());
            let letters = mail.0.into_iter().map(|letter| self.send(letter, left));
            let (letters, stored, ledgers) = tokio::join!(
                join_all(letters),
                stored.ask(self, began),
                ledgers.ask(self, began)
            );
            let mut strangers = Introductions::default();
            for (steps, answer) in letters {
                at.hear(&mut works, &steps, &answer, &mut strangers);
            }
            stored.hear(&at, &mut works);
            ledgers.hear(&at, &mut works);
            if !strangers.is_empty() {
                // Whoever has to look something up is there: its time does not count.
                let told = tokio::time::Instant::now();
                self.introduce(strangers).await;
                began += told.elapsed();
            }
        }
    }

    async fn send(&self, letter: Letter, within: Duration) -> (Vec<(usize, usize)>, Sent) {
        let lane = self.lane(letter.to);
        let answer = lane.send(letter.parcel, &self.peers, &self.counts, within);
        (letter.steps, answer.await)
    }

    /// Reads the counts of keys in a batch of another node that left memory.
    async fn fetch(&self, shared: &Shared, batch: &[u8]) {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let map = Arc::clone(&self.map(&node));
        let away = here::away(&node, &map, batch);
        shared.engine.learn(&node, away, now).await;
    }

    /// Answers a batch of another node.
    fn answer_batch(&self, shared: &Shared, batch: &[u8]) -> Option<Vec<u8>> {
        let node = shared.engine.node();
        let map = self.map(&node);
        let now = shared.engine.now();
        let answer = |question: &Question| {
            self.act_for(&node, &map, question, now);
            let mut said = here::answer(&node, question, now);
            if let RemoteAnswer::Lent(lent) = &mut said {
                shared.lend.tell_from(&mut lent.nudges);
            }
            said
        };
        let answered = here::answer_batch(&node, &map, batch, now, answer);
        let Some((answers, count)) = answered else {
            self.counts.malformed.add(1);
            return None;
        };
        self.counts.answered.add(count);
        Some(answers)
    }
}

/// Whether a key has terms of its own where others of its contract are counted together.
fn is_beside(node: &Node, spot: &Spot) -> bool {
    node.is_beside(spot.contract, spot.print)
}

type Sent = Result<Bytes, RequestError>;

/// Those who own keys, and a number that tells them from others before.
struct Known {
    crew: Crew,
    era: u64,
}

impl Known {
    fn new(crew: Crew) -> Self {
        let era = recent::next_era();
        Self { crew, era }
    }
}

impl Elsewhere for Owner {
    fn is_here(&self, node: &Node, spots: &[Spot]) -> bool {
        let (map, crew) = (self.map(node), self.crew.load());
        spots
            .iter()
            .all(|spot| self.decides(&crew, &map, node, spot).is_none())
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
        self.denied.clear();
        if let Some(store) = &self.store {
            store.reloaded();
        }
        self.has_strays.store(true, Relaxed);
    }
}

/// Where and when questions are asked.
#[derive(Clone, Copy)]
struct At<'a> {
    owner: &'a Owner,
    node: &'a Arc<Node>,
    map: &'a Map,
    now: Instant,
}

impl At<'_> {
    fn plan(&self, question: Question) -> Work {
        let Self { owner, map, .. } = *self;
        match question.verb {
            Verb::Check if owner.is_all_stored => {}
            Verb::Check => {
                if let Some(answer) = owner.denied.get(self, &question) {
                    owner.counts.denied_here.add(1);
                    let mut work = Work::new(question, |_| None);
                    work.hear(0, Some(RemoteAnswer::Answer(answer)), self.node, self.now);
                    return work;
                }
            }
            Verb::Refund | Verb::Reset | Verb::Settle(_) => owner.denied.forget(&question.spots),
            Verb::Charge | Verb::Status | Verb::Foresee | Verb::Lend(_) | Verb::Quota(..) => {}
        }
        let crew = owner.crew.load();
        Work::new(question, |spot| owner.decides(&crew, map, self.node, spot))
    }

    /// Takes in what a node said to the steps of a letter, or that it said nothing.
    fn hear(
        &self,
        works: &mut [Work],
        steps: &[(usize, usize)],
        sent: &Sent,
        strangers: &mut Introductions,
    ) {
        let mut answers = sent.as_ref().map(|bytes| Answers::new(bytes));
        for (number, step) in steps {
            let Some(work) = works.get_mut(*number) else {
                continue;
            };
            let Some(asked) = work.step(*step) else {
                continue;
            };
            let question = &asked.question;
            let reply = match &mut answers {
                Ok(answers) => answers
                    .next(question, (self.node, self.now))
                    .ok_or_else(|| {
                        self.owner.counts.malformed.add(1);
                        RequestError::Refused
                    }),
                Err(error) => Err(**error),
            };
            match reply {
                Ok(OwnerReply::Said(said)) => {
                    if let RemoteAnswer::Answer(answer) = &said {
                        self.owner.denied.note(self, question, answer);
                    }
                    work.hear(*step, Some(said), self.node, self.now);
                }
                Ok(OwnerReply::Stranger) if !asked.is_told => {
                    strangers.add(self.map, asked);
                    work.told(*step);
                }
                Ok(OwnerReply::Unknown | OwnerReply::Stranger) => self.fall_back(work, *step),
                Err(error) => self.fail(work, *step, error),
            }
        }
    }

    /// A node gave no answer: whoever owns the keys instead is asked, once.
    fn fail(&self, work: &mut Work, at: usize, error: RequestError) {
        let Self { owner, map, .. } = *self;
        let counts = &owner.counts;
        let count = match error {
            RequestError::Late => &counts.late,
            _ => &counts.unreachable,
        };
        count.add(1);
        owner.look_around(self.node, self.now);
        let crew = owner.crew.load();
        let Some((gone, is_last)) = work.step(at).and_then(|step| match step.to? {
            To::Node(to) => Some((to, step.is_retry || step.question.verb.is_once())),
            To::Store(_) | To::Ledger(_) => None,
        }) else {
            return;
        };
        let is_gone = crew.crew.alive.iter().all(|(node, _)| *node != gone);
        let is_unreachable = matches!(
            error,
            RequestError::Unreachable | RequestError::Unknown | RequestError::Refused
        );
        if is_last || !(is_gone || is_unreachable) {
            return self.fall_back(work, at);
        }
        counts.retried.add(1);
        work.retry(at, |spot| {
            let next = owner.next_owner(&crew.crew, map, spot, gone);
            if next.is_none() && map.is_lent(spot.contract) {
                self.node.act_for(spot, self.now);
            }
            next.map(To::Node)
        });
    }

    fn fall_back(&self, work: &mut Work, at: usize) {
        let Self {
            owner,
            node,
            map,
            now,
        } = *self;
        let Some(step) = work.step(at) else {
            return;
        };
        if step.question.verb.is_write() {
            owner.counts.writes_failed.add(1);
        }
        let instead = here::instead(node, map, &step.question, now);
        if let Some(wish) = instead.wish {
            owner.counts.fell_back(wish);
            owner.has_strays.store(true, Relaxed);
        }
        work.fall_back(at, instead, node, now);
    }
}
