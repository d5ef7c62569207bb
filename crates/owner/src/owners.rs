//! Who decides about which key, as one node sees it, and what the node knows of that: members, contracts as nodes name
//! them to each other, denials that are given again, books of a store.
//!
//! Questions of this node are an [`Asking`], those of other nodes are answered by [`Owners::answer`], keys that are
//! another's leave in a [`Pass`](crate::Pass). Not here: who is a member, and how bytes get anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use tollgate_cluster::{OwnerKey, owner};
use tollgate_gossip::NodeId;
use tollgate_limit::{Instant, Lot};
use tollgate_node::{Node, Spot};
use tollgate_table::Print;

use crate::arrival::Arrival;
use crate::ask::AskedQuestion;
use crate::asking::Asking;
use crate::books::Books;
use crate::denied::Denied;
use crate::map::{Map, TagHash};
use crate::question::{Question, QuotaAsk, RemoteAnswer, Unknown, Verb};
use crate::work::To;
use crate::{here, introduce, page, recent};

/// Those who own keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crew {
    /// This node; `None` before it has a number.
    pub me: Option<NodeId>,
    /// Everybody who lives, this node included, by number and id.
    pub alive: Vec<(NodeId, u128)>,
}

/// What a store decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreUse {
    /// There is none.
    #[default]
    None,
    /// What contracts say.
    Some,
    /// Everything, and denials are not given again without asking it.
    All,
}

/// Decides with other nodes and a store about keys that this node does not decide about alone.
pub struct Owners {
    key: OwnerKey,
    hash: TagHash,
    store: StoreUse,
    known: ArcSwap<Known>,
    map: ArcSwap<Map>,
    pub(crate) denied: Denied,
    /// By what a store is asked about keys with terms of their own.
    pub(crate) books: Books,
    /// How far this node has come in joining the others.
    pub(crate) arrival: Arc<Arrival>,
    pub(crate) passes: Passes,
    /// Whether members changed a short while ago, so that keys may be on their way.
    is_unsettled: AtomicBool,
    /// Whether this node is about to go: it owns nothing more.
    is_leaving: AtomicBool,
    /// Whether keys may lie here that are another's.
    has_strays: AtomicBool,
    /// Nodes that were here before and have gone, by their ids.
    pub(crate) lost: Mutex<BTreeSet<u128>>,
}

/// Passes over all keys, by number, so that whoever waits for one knows when it is over.
#[derive(Default)]
pub(crate) struct Passes {
    /// The newest that began.
    pub(crate) begun: AtomicU64,
    /// The newest that is over, and the nodes to which not everything went that is theirs.
    pub(crate) over: Mutex<(u64, BTreeSet<NodeId>)>,
}

/// Those who own keys, and a number that tells them from others before.
pub(crate) struct Known {
    pub(crate) crew: Crew,
    era: u64,
}

impl Known {
    fn new(crew: Crew) -> Self {
        let era = recent::next_era();
        Self { crew, era }
    }
}

/// Answers to a batch of another node.
#[derive(Debug)]
pub struct AnsweredBatch {
    /// The answers.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub count: u64,
}

impl Owners {
    /// A node that is alone so far. Contracts have names among nodes by `hash`.
    pub fn new(key: OwnerKey, hash: TagHash, store: StoreUse) -> Self {
        Self {
            key,
            hash,
            store,
            known: ArcSwap::from_pointee(Known::new(Crew::default())),
            map: ArcSwap::from_pointee(Map::none()),
            denied: Denied::new(),
            books: Books::default(),
            arrival: Arc::default(),
            passes: Passes::default(),
            is_unsettled: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            has_strays: AtomicBool::new(false),
            lost: Mutex::default(),
        }
    }

    /// The same, where a store is used so.
    #[must_use]
    pub fn with_store(self, store: StoreUse) -> Self {
        Self { store, ..self }
    }

    /// The same, where the node joins others and has come so far.
    #[must_use]
    pub fn arriving(self, arrival: &Arc<Arrival>) -> Self {
        Self {
            arrival: Arc::clone(arrival),
            ..self
        }
    }

    /// Whether a store decides about everything.
    pub fn is_all_stored(&self) -> bool {
        self.store == StoreUse::All
    }

    /// Whether this node decides at these spots.
    pub fn is_here(&self, node: &Node, spots: &[Spot]) -> bool {
        let (map, known) = (self.map(node), self.known.load());
        let mut spots = spots.iter();
        spots.all(|spot| self.decides(&known, &map, node, spot).is_none())
    }

    /// Begins to ask questions.
    pub fn ask(&self, node: &Arc<Node>, questions: Vec<Question>, now: Instant) -> Asking {
        Asking::new(self, node, questions, now)
    }

    /// Who decides at a spot; `None` is this node.
    pub(crate) fn decides(&self, known: &Known, map: &Map, node: &Node, spot: &Spot) -> Option<To> {
        if self.store != StoreUse::None {
            if map.book(spot.contract).is_some() {
                return Some(To::Store(spot.contract));
            }
            if map.is_in_ledger(spot.contract) && !is_beside(node, spot) {
                return Some(To::Ledger(spot.contract));
            }
        }
        let owner = self.owner_of(known, map, node, spot).or_else(|| {
            let me = known.crew.me?;
            self.awaits(known, map, node, spot).then_some(())?;
            self.next_owner(&known.crew, map, spot, me)
        });
        owner.map(To::Node)
    }

    /// Whether others may have counts of a key of which this node has none: it joins, or the key has left for its
    /// owner.
    #[inline]
    pub(crate) fn awaits(&self, known: &Known, map: &Map, node: &Node, spot: &Spot) -> bool {
        let is_unsettled = self.is_unsettled.load(Relaxed);
        (self.arrival.is_under_way() || is_unsettled)
            && self.is_counted_elsewhere(known, map, node, spot)
    }

    #[cold]
    fn is_counted_elsewhere(&self, known: &Known, map: &Map, node: &Node, spot: &Spot) -> bool {
        let is_owned = map.is_owned(spot.contract) || is_beside(node, spot);
        // Whoever lends for another begins with nothing.
        if !is_owned || map.is_lent(spot.contract) || node.has_cell(spot) {
            return false;
        }
        self.arrival.is_under_way() || self.owner_of(known, map, node, spot).is_some()
    }

    /// Who owns a key of a contract, by its place; `None` is this node. Keys with terms of their own have owners where
    /// others are counted together.
    pub(crate) fn owner_of(
        &self,
        known: &Known,
        map: &Map,
        node: &Node,
        spot: &Spot,
    ) -> Option<NodeId> {
        let crew = &known.crew;
        let is_owned = map.is_owned(spot.contract) || is_beside(node, spot);
        if !is_owned || crew.me.is_none() {
            return None;
        }
        let (tag, print) = (map.tag(spot.contract), spot.print.0);
        recent::owner(known.era, tag, print, || {
            let owner = owner::owner(&self.key, tag, print, &crew.alive);
            owner.filter(|owner| Some(*owner) != crew.me)
        })
    }

    /// Who owns a key once a node is gone; `None` is this node.
    pub(crate) fn next_owner(
        &self,
        crew: &Crew,
        map: &Map,
        spot: &Spot,
        gone: NodeId,
    ) -> Option<NodeId> {
        let others = crew.alive.iter().filter(|(node, _)| *node != gone);
        let owner = owner::owner(&self.key, map.tag(spot.contract), spot.print.0, others);
        owner.filter(|owner| Some(*owner) != crew.me)
    }

    pub(crate) fn known(&self) -> Guard<Arc<Known>> {
        self.known.load()
    }

    /// The contracts of a node as others name them.
    pub(crate) fn map(&self, node: &Node) -> Guard<Arc<Map>> {
        let map = self.map.load();
        if map.version == node.version() {
            return map;
        }
        let map = Arc::new(Map::of(node, self.is_all_stored(), self.hash));
        self.map.store(Arc::clone(&map));
        Guard::from_inner(map)
    }

    /// Whether this node owns a key.
    pub fn is_own(&self, node: &Node, contract: usize, print: Print) -> bool {
        self.moves_to(&self.map(node), node, contract, print)
            .is_none()
    }

    pub(crate) fn moves_to(
        &self,
        map: &Map,
        node: &Node,
        contract: usize,
        print: Print,
    ) -> Option<NodeId> {
        self.owner_of(&self.known(), map, node, &spot(contract, print))
    }

    /// Places of the durable contracts that have owners.
    pub fn durable_places(&self, node: &Node) -> Vec<usize> {
        let map = self.map(node);
        let durable = map
            .owned()
            .filter(|place| node.durable_policies(*place) != 0);
        durable.collect()
    }

    /// Whether anybody else is there who could own keys.
    pub fn is_alone(&self) -> bool {
        self.known().crew.alive.is_empty()
    }

    /// Contracts changed: whatever is remembered of answers may be wrong.
    pub fn reloaded(&self) {
        self.denied.clear();
        self.note_strays();
    }

    /// Keys may lie here that are another's.
    pub fn note_strays(&self) {
        self.has_strays.store(true, Relaxed);
    }

    /// Whether keys may lie here that are another's.
    pub fn has_strays(&self) -> bool {
        self.has_strays.load(Relaxed)
    }

    /// The same; a pass looks for them from here on.
    pub fn take_strays(&self) -> bool {
        let has_strays = self.has_strays.swap(false, Relaxed);
        if !has_strays {
            self.is_unsettled.store(false, Relaxed);
        }
        has_strays
    }

    /// The next pass over all keys, which should begin at once.
    pub fn next_pass(&self) -> u64 {
        self.note_strays();
        self.passes.begun.load(Relaxed) + 1
    }

    /// Whether that pass, or a later one, is over and sent a node all that is its own.
    pub fn has_passed(&self, pass: u64, to: NodeId) -> bool {
        let over = self.passes.over.lock();
        over.0 >= pass && !over.1.contains(&to)
    }

    /// Owns nothing from here on, and answers nobody.
    pub fn leave(&self) {
        self.is_leaving.store(true, Relaxed);
    }

    /// Whether this node answers others: who is about to go would have to hand over what it decides now.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Relaxed)
    }

    /// Takes members for others from here on, if they are; whether that is so. A node lends no longer what is
    /// another's.
    pub fn handle_members(&self, crew: Crew, node: &Node, now: Instant) -> bool {
        let Some(known) = self.newer(crew) else {
            return false;
        };
        let map = self.map(node);
        let is_mine = |contract: usize, print| {
            let spot = spot(contract, print);
            self.owner_of(&known, &map, node, &spot).is_none()
        };
        // Before anybody asks for keys that are new here: another may have lent them.
        node.retain_lent(&is_mine, self.is_growth(&known.crew), now);
        self.adopt(known);
        true
    }

    /// The same for a node that lends nothing.
    pub fn handle_members_alone(&self, crew: Crew) -> bool {
        let newer = self.newer(crew);
        newer.map(|known| self.adopt(known)).is_some()
    }

    /// Everybody who lives.
    pub fn members(&self) -> Vec<NodeId> {
        let known = self.known();
        known.crew.alive.iter().map(|(node, _)| *node).collect()
    }

    /// Whether a node is a member.
    pub fn has_member(&self, node: NodeId) -> bool {
        let known = self.known();
        known.crew.alive.iter().any(|(alive, _)| *alive == node)
    }

    /// Who is there, if that is somebody else than before.
    fn newer(&self, mut crew: Crew) -> Option<Known> {
        if self.is_leaving() {
            crew.alive.retain(|(node, _)| Some(*node) != crew.me);
        }
        (self.known().crew != crew).then(|| Known::new(crew))
    }

    /// From here on these own keys.
    fn adopt(&self, known: Known) {
        self.is_unsettled.store(true, Relaxed);
        self.known.store(Arc::new(known));
        self.denied.clear();
        self.note_strays();
    }

    /// Answers a batch of another node; `None` where it makes no sense. What a client of a lease is told beside goes
    /// through `lent`.
    pub fn answer(
        &self,
        node: &Node,
        batch: &[u8],
        now: Instant,
        mut lent: impl FnMut(&mut tollgate_node::LendAnswer),
    ) -> Option<AnsweredBatch> {
        let map = self.map(node);
        let known = self.known();
        let answer = |asked: &AskedQuestion| {
            let question = &asked.question;
            let mut spots = question.spots.iter();
            if !asked.is_last && spots.any(|spot| self.awaits(&known, &map, node, spot)) {
                return None;
            }
            self.act_for(node, &map, question, now);
            let mut said = here::answer(node, question, now);
            if let RemoteAnswer::Lent(said) = &mut said {
                lent(said);
            }
            Some(said)
        };
        let (bytes, count) = here::answer_batch(node, &map, batch, now, answer)?;
        Some(AnsweredBatch { bytes, count })
    }

    /// Keys that are lent and another's by right begin here as those of a successor: whoever asks has found the other
    /// gone.
    fn act_for(&self, node: &Node, map: &Map, question: &Question, now: Instant) {
        if let Verb::Quota(_, QuotaAsk::Leave) = question.verb {
            return;
        }
        let known = self.known();
        for spot in &question.spots {
            if map.is_lent(spot.contract) && self.owner_of(&known, map, node, spot).is_some() {
                node.act_for(spot, now);
            }
        }
    }

    /// The keys in a batch of another node whose counts left memory.
    pub fn away(&self, node: &Node, batch: &[u8]) -> Vec<Unknown> {
        here::away(node, &self.map(node), batch)
    }

    /// Keys that another node tells of, to be looked up; `None` where that makes no sense.
    pub fn introduced(&self, node: &Node, body: &[u8], now: Instant) -> Option<Vec<Unknown>> {
        let told = introduce::read(body, &self.map(node))?.into_iter();
        Some(
            told.filter_map(|key| introduce::checked(node, key, now))
                .collect(),
        )
    }

    /// The contract of a page of cells.
    pub fn page_of(&self, node: &Node, bytes: &[u8]) -> Option<usize> {
        page::page_of(&self.map(node), bytes)
    }

    /// Whether keys of others are taken over.
    pub fn takes_keys(&self) -> bool {
        self.arrival.takes_keys()
    }

    /// Takes over keys of another node, and says how many; `None` where that makes no sense.
    pub fn take_over(&self, node: &Node, bytes: &[u8], now: Instant) -> Option<u64> {
        let taken = page::take_page(node, &self.map(node), bytes, now)?;
        if taken > 0 {
            // By what this node knows of the members they may be another's still.
            self.note_strays();
        }
        Some(taken)
    }
}

/// Whether a key has terms of its own where others of its contract are counted together.
pub(crate) fn is_beside(node: &Node, spot: &Spot) -> bool {
    node.is_beside(spot.contract, spot.print)
}

fn spot(contract: usize, print: Print) -> Spot {
    let lot = Lot::ALWAYS;
    Spot {
        contract,
        print,
        lot,
    }
}
