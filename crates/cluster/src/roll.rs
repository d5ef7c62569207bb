//! Missing members: one that left without a goodbye stays listed until it returns or is forgotten.
//!
//! Nodes that start later learn of it from their peers. Not here: how a member is detected to be gone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tollgate_kit::Reader;

use crate::bytes::{put_text, put_u48, text};
use crate::event::Event;
use crate::member::MemberState;
use crate::peer::{ClusterPeer, NAME_BYTES_MAX, address, put_address};

/// A node that was a member and left without a goodbye.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingNode {
    pub id: u128,
    pub name: String,
    /// Its last address.
    pub address: SocketAddr,
    /// Time of its last message, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// Who is there, and who is missing.
#[derive(Default)]
pub(crate) struct Roll {
    there: BTreeMap<u128, ClusterPeer>,
    missing: BTreeMap<u128, MissingNode>,
    /// Boots that sent a goodbye.
    leaving: BTreeSet<u64>,
}

impl Roll {
    /// Starts without members; `missing` are missing, except this node.
    pub(crate) fn new(me: &ClusterPeer, missing: Vec<MissingNode>) -> Self {
        let mut roll = Self::default();
        for one in missing {
            roll.miss(me, one);
        }
        roll
    }

    /// Ordered by id.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &MissingNode> {
        self.missing.values()
    }

    /// A boot sent its goodbye.
    pub(crate) fn leaves(&mut self, boot: u64) {
        self.leaving.insert(boot);
    }

    /// A node that was counted as dead turns out to have sent a goodbye. Returns it.
    pub(crate) fn left(&mut self, id: u128) -> Option<MissingNode> {
        self.missing.remove(&id)
    }

    /// Updates the members and returns the changes; `heard` is the time of the last message of a boot.
    pub(crate) fn update(
        &mut self,
        me: &ClusterPeer,
        active: &[(ClusterPeer, MemberState)],
        heard: impl Fn(u64) -> u64,
    ) -> Vec<Event> {
        let now = active.iter().map(|(peer, _)| (peer.id, peer.clone()));
        let before = std::mem::replace(&mut self.there, now.collect());
        let mut events = Vec::new();
        for (id, peer) in &before {
            if self.there.contains_key(id) {
                continue;
            }
            let who = gone(peer, heard(peer.boot));
            let is_goodbye = self.leaving.remove(&peer.boot);
            if !is_goodbye {
                self.miss(me, who.clone());
            }
            events.push(Event::Gone { who, is_goodbye });
        }
        for (id, peer) in &self.there {
            let was = before.get(id).map(|was| was.boot);
            if was == Some(peer.boot) {
                continue;
            }
            let mut since_ms = None;
            self.missing.retain(|_, one| {
                let is_it = one.id == *id || one.name == peer.about.name;
                if is_it {
                    since_ms = Some(one.since_ms);
                }
                !is_it
            });
            events.push(Event::Came {
                node: peer.node,
                since_ms,
                is_restart: was.is_some(),
            });
        }
        events
    }

    /// Takes another node's list of missing nodes; returns those that are new here.
    pub(crate) fn hear(&mut self, me: &ClusterPeer, told: Vec<MissingNode>) -> Vec<Event> {
        let news = told.into_iter().filter(|one| self.miss(me, one.clone()));
        news.map(Event::Missing).collect()
    }

    /// Returns whether a node of that name was missing.
    pub(crate) fn forget(&mut self, name: &str) -> bool {
        let count = self.missing.len();
        self.missing.retain(|_, one| one.name != name);
        self.missing.len() < count
    }

    /// For a node that started at that time: the nodes that died before; `None` if there are none.
    pub(crate) fn news_for(&self, started_ms: u64) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        for one in self.missing().filter(|one| one.since_ms < started_ms) {
            body.extend(one.id.to_le_bytes());
            put_u48(&mut body, one.since_ms);
            put_address(&mut body, one.address);
            put_text(&mut body, &one.name);
        }
        (!body.is_empty()).then_some(body)
    }

    /// Lists a node as missing, unless it is a member or another member has its name. Returns whether it is new.
    fn miss(&mut self, me: &ClusterPeer, one: MissingNode) -> bool {
        let is_it = |peer: &ClusterPeer| peer.id == one.id || peer.about.name == one.name;
        if is_it(me) || self.there.values().any(is_it) {
            return false;
        }
        // A node without a disk has a new id after each start.
        self.missing
            .retain(|id, known| *id == one.id || known.name != one.name);
        let is_new = !self.missing.contains_key(&one.id);
        if self.missing.len() >= MISSING_MAX && is_new {
            let longest = self.missing.values().min_by_key(|one| one.since_ms);
            if let Some(id) = longest.map(|one| one.id) {
                self.missing.remove(&id);
            }
        }
        self.missing.entry(one.id).or_insert(one);
        is_new
    }
}

/// Reads [`Roll::news_for`].
pub(crate) fn read(body: &[u8]) -> Option<Vec<MissingNode>> {
    let mut reader = Reader(body);
    let mut told = Vec::new();
    while !reader.0.is_empty() && told.len() < MISSING_MAX {
        told.push(MissingNode {
            id: reader.u128()?,
            since_ms: reader.low::<6>()?,
            address: address(&mut reader)?,
            name: text(&mut reader, NAME_BYTES_MAX)?.to_owned(),
        });
    }
    Some(told)
}

fn gone(peer: &ClusterPeer, since_ms: u64) -> MissingNode {
    MissingNode {
        id: peer.id,
        name: peer.about.name.clone(),
        address: peer.address,
        since_ms,
    }
}

/// Bound on missing nodes; beyond it, those missing longest are forgotten.
const MISSING_MAX: usize = 1024;
