//! `coordination: owner`: every key of a contract has one node that decides, and the others ask it.
//!
//! The owner is chosen by `tollgate_cluster::owner` over the members that live. This node decides at once where it owns
//! all that is asked; otherwise questions go to the owners in batches, and doors wait for the answers (`engine`). When
//! members come and go, keys move with their state (`moving`). Not here: who is a member, and how bytes get there
//! (`cluster`).

mod ask;
mod bytes;
mod counts;
mod denied;
mod here;
mod lane;
mod map;
mod moving;
mod peers;
mod recent;
mod said;
mod work;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use ::bytes::Bytes;
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use tollgate_cluster::{OwnerKey, owner};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::{Node, Spot};

use crate::cluster::{Question as Request, RequestError, Respond};
use crate::engine::{Elsewhere, Heard, Hearing, Question, Said, Verb};
use crate::shared::Shared;

use ask::Parcel;
use denied::Denied;
use lane::Lane;
use map::Map;
use said::{Answers, Reply};
use work::Work;

pub use counts::{Count, Counts};
pub use moving::Mover;
pub use peers::{Asked, Crew, Peers};

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
    peers: Arc<dyn Peers>,
    crew: ArcSwap<Known>,
    map: ArcSwap<Map>,
    lanes: Mutex<BTreeMap<NodeId, Arc<Lane>>>,
    denied: Denied,
    counts: Arc<Counts>,
    /// Whether this node is about to go: it owns nothing more.
    is_leaving: AtomicBool,
    /// Whether keys may lie here that are another's.
    has_strays: AtomicBool,
    /// Whether keys stay where they are, as the server ends.
    is_ended: AtomicBool,
}

impl Owner {
    /// An owner among these peers.
    pub fn new(key: OwnerKey, settings: OwnerSettings, peers: Arc<dyn Peers>) -> Self {
        let crew = peers.crew();
        Self {
            key,
            settings,
            peers,
            crew: ArcSwap::from_pointee(Known::new(crew)),
            map: ArcSwap::from_pointee(Map::of(u64::MAX, &tollgate_contract::Contracts::default())),
            lanes: Mutex::default(),
            denied: Denied::new(),
            counts: Arc::default(),
            is_leaving: AtomicBool::new(false),
            has_strays: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Looks at who is there again.
    pub fn refresh(&self) {
        let mut crew = self.peers.crew();
        if self.is_leaving.load(Relaxed) {
            crew.alive.retain(|(node, _)| Some(*node) != crew.me);
        }
        if self.crew.load().crew == crew {
            return;
        }
        let alive = |node: &NodeId| crew.alive.iter().any(|(alive, _)| alive == node);
        self.lanes.lock().retain(|node, _| alive(node));
        self.crew.store(Arc::new(Known::new(crew)));
        self.denied.clear();
        self.has_strays.store(true, Relaxed);
    }

    /// Who owns a key of a contract, by its place; `None` is this node.
    fn owner_of(&self, known: &Known, map: &Map, spot: &Spot) -> Option<NodeId> {
        let crew = &known.crew;
        if !map.is_owned(spot.contract) || crew.me.is_none() {
            return None;
        }
        let place = (map.tag(spot.contract), spot.print.0);
        recent::owner(known.era, place, || self.find_owner(crew, place))
    }

    fn find_owner(&self, crew: &Crew, (tag, print): (u64, u64)) -> Option<NodeId> {
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
        self.find_owner(&crew, (map.tag(spot.contract), spot.print.0))
    }

    fn map(&self, node: &Node) -> Guard<Arc<Map>> {
        let map = self.map.load();
        if map.version == node.version() {
            return map;
        }
        let map = Arc::new(Map::of(node.version(), node.contracts()));
        self.map.store(Arc::clone(&map));
        Guard::from_inner(map)
    }

    fn lane(&self, to: NodeId) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry(to).or_insert_with(|| Arc::new(Lane::new(to)));
        Arc::clone(lane)
    }

    async fn ask_all(
        &self,
        node: &Arc<Node>,
        questions: Vec<Question>,
        now: Instant,
    ) -> Vec<Heard> {
        let began = tokio::time::Instant::now();
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
            for (number, work) in works.iter_mut().enumerate() {
                work.advance(node, now, |step, to, question| {
                    mail.put(to, (number, step), &map, question);
                });
            }
            if mail.0.is_empty() {
                return works.into_iter().map(Work::finish).collect();
            }
            let left = self.settings.deadline.saturating_sub(began.elapsed());
            let letters = mail.0.into_iter().map(|letter| self.send(letter, left));
            for (steps, answer) in join_all(letters).await {
                at.hear(&mut works, &steps, &answer);
            }
        }
    }

    async fn send(&self, letter: Letter, within: Duration) -> (Vec<(usize, usize)>, Sent) {
        let lane = self.lane(letter.to);
        let way = (&self.peers, &self.counts);
        let answer = lane.send(letter.parcel, way, within).await;
        (letter.steps, answer)
    }

    /// Answers a batch of another node.
    fn answer_batch(&self, shared: &Shared, batch: &[u8]) -> Option<Vec<u8>> {
        let node = shared.engine.node();
        let map = self.map(&node);
        let answered = here::answer_batch(&node, &map, batch, shared.engine.now());
        let Some((answers, count)) = answered else {
            self.counts.malformed.add(1);
            return None;
        };
        self.counts.answered.add(count);
        Some(answers)
    }
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
            .all(|spot| self.owner_of(&crew, &map, spot).is_none())
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
            Verb::Check => {
                if let Some(answer) = owner.denied.get(map, &question, self.now) {
                    owner.counts.denied_here.add(1);
                    let mut work = Work::new(question, |_| None);
                    work.hear(0, Some(Said::Answer(answer)), (self.node, self.now));
                    return work;
                }
            }
            Verb::Refund | Verb::Reset | Verb::Settle(_) => owner.denied.forget(&question.spots),
            Verb::Charge | Verb::Status | Verb::Foresee => {}
        }
        let crew = owner.crew.load();
        Work::new(question, |spot| owner.owner_of(&crew, map, spot))
    }

    /// Takes in what a node said to the steps of a letter, or that it said nothing.
    fn hear(&self, works: &mut [Work], steps: &[(usize, usize)], sent: &Sent) {
        let mut answers = sent.as_ref().map(|bytes| Answers::new(bytes));
        for (number, step) in steps {
            let Some(work) = works.get_mut(*number) else {
                continue;
            };
            let Some(question) = work.step(*step).map(|step| &step.question) else {
                continue;
            };
            let reply = match &mut answers {
                Ok(answers) => answers.next(question, self.node).ok_or_else(|| {
                    self.owner.counts.malformed.add(1);
                    RequestError::Refused
                }),
                Err(error) => Err(**error),
            };
            match reply {
                Ok(Reply::Said(said)) => {
                    if let Said::Answer(answer) = &said {
                        let (map, now) = (self.map, self.now);
                        self.owner.denied.note(map, question, answer, now);
                    }
                    work.hear(*step, Some(said), (self.node, self.now));
                }
                Ok(Reply::Unknown) => self.fall_back(work, *step),
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
        owner.refresh();
        let crew = owner.crew.load();
        let Some((gone, is_retry)) = work
            .step(at)
            .and_then(|step| Some((step.to?, step.is_retry)))
        else {
            return;
        };
        let is_gone = crew.crew.alive.iter().all(|(node, _)| *node != gone);
        let is_unreachable = matches!(
            error,
            RequestError::Unreachable | RequestError::Unknown | RequestError::Refused
        );
        if is_retry || !(is_gone || is_unreachable) {
            return self.fall_back(work, at);
        }
        counts.retried.add(1);
        work.retry(at, |spot| owner.next_owner(&crew.crew, map, spot, gone));
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
        let (said, instead) = here::instead(node, map, &step.question, now);
        if let Some(instead) = instead {
            owner.counts.fell_back(instead);
            owner.has_strays.store(true, Relaxed);
        }
        work.fall_back(at, (said, instead), (node, now));
    }
}

/// Questions of one asker, by the node they go to.
#[derive(Default)]
struct Mail(Vec<Letter>);

struct Letter {
    to: NodeId,
    parcel: Parcel,
    /// The work and the step of each question.
    steps: Vec<(usize, usize)>,
}

impl Mail {
    fn put(&mut self, to: NodeId, step: (usize, usize), map: &Map, question: &Question) {
        let known = self.0.iter().position(|letter| letter.to == to);
        let known = known.unwrap_or_else(|| {
            self.0.push(Letter {
                to,
                parcel: Parcel::default(),
                steps: Vec::new(),
            });
            self.0.len() - 1
        });
        if let Some(letter) = self.0.get_mut(known) {
            letter.parcel.put(map, question);
            letter.steps.push(step);
        }
    }
}

/// Waits for all, in any order.
async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T> + Send>) -> Vec<T> {
    let mut futures: Vec<Pin<Box<_>>> = futures.map(Box::pin).collect();
    let mut done = Vec::with_capacity(futures.len());
    poll_fn(|context| {
        futures.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                done.push(output);
                false
            }
            Poll::Pending => true,
        });
        if futures.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    done
}

/// Lets a server take part in owning keys, with the cluster it is in; nothing where it is in none.
pub(crate) fn start(
    shared: &Arc<Shared>,
    key: OwnerKey,
    settings: OwnerSettings,
) -> std::io::Result<Option<Mover>> {
    let Some(handle) = shared.cluster.get() else {
        return Ok(None);
    };
    let owner = Arc::new(Owner::new(key, settings, Arc::new(handle.clone())));
    shared.engine.set_elsewhere(Arc::clone(&owner) as _);
    handle.set_responder(Box::new(Responder::new(&owner, shared)));
    let mover = Mover::start(Arc::clone(&owner), shared, handle.changes())?;
    // Nobody else sets it.
    let _ = shared.owner.set(owner);
    Ok(Some(mover))
}

/// Answers what other nodes ask about owned keys.
pub struct Responder {
    owner: Weak<Owner>,
    shared: Weak<Shared>,
}

impl Responder {
    /// Answers with what these know.
    pub fn new(owner: &Arc<Owner>, shared: &Arc<Shared>) -> Self {
        Self {
            owner: Arc::downgrade(owner),
            shared: Arc::downgrade(shared),
        }
    }

    /// The answer to a question of this kind; `None` refuses it.
    pub fn answer(&self, kind: u8, body: &[u8]) -> Option<Vec<u8>> {
        let (owner, shared) = (self.owner.upgrade()?, self.shared.upgrade()?);
        // Who is about to go would have to hand over what it decides now.
        if owner.is_leaving.load(Relaxed) {
            return None;
        }
        match kind {
            lane::FORWARD => owner.answer_batch(&shared, body),
            moving::HAND_OVER => owner.take_over(&shared, body),
            _ => None,
        }
    }
}

impl Respond for Responder {
    fn respond(&self, asked: Request) {
        match self.answer(asked.kind, &asked.body) {
            Some(answer) => asked.answer(&answer),
            None => asked.refuse(),
        }
    }
}
