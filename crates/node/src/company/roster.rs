//! Who has a home: names and weights by configuration, and which live nodes bear those names.
//!
//! A name has the same number on every node, whoever else is in the roster, so that rosters can change while machines
//! run: the lower 16 bits of its FNV-1a hash, mixed. Two names with one number cannot be in one roster; a node that is
//! in none has the number of its name as well, unless that is taken. Of live nodes with one name the one that began
//! first bears it, and the others are strangers under any number. Not here: how a rate is divided.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use tollgate_mode::{NodeId, Tag};
use tollgate_supply::{AUTHORITY, BadShares, Shares};

/// The nodes that have homes, by name, and how much of the rate each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roster {
    /// In ascending order of names.
    nodes: Vec<(String, u32)>,
    shares: Shares,
}

/// Why a roster was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadRoster {
    /// It names nobody.
    Empty,
    /// A name is there twice.
    Twice(String),
    /// Two names have one number.
    Alike(String, String),
    /// Its weights cannot divide anything.
    Shares(BadShares),
}

impl fmt::Display for BadRoster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a roster must name at least one node"),
            Self::Twice(name) => write!(f, "the roster names `{name}` twice"),
            Self::Alike(one, other) => write!(
                f,
                "`{one}` and `{other}` have the same number and cannot be in one roster; rename one of them"
            ),
            Self::Shares(why) => why.fmt(f),
        }
    }
}

impl core::error::Error for BadRoster {}

impl Roster {
    /// A roster of names and weights.
    pub fn new(nodes: impl IntoIterator<Item = (String, u32)>) -> Result<Self, BadRoster> {
        let mut nodes: Vec<_> = nodes.into_iter().take(Shares::NODES_MAX + 1).collect();
        nodes.sort_unstable();
        if nodes.is_empty() {
            return Err(BadRoster::Empty);
        }
        let mut numbers: BTreeMap<NodeId, &str> = BTreeMap::new();
        let mut hash = Tag::new();
        for (name, weight) in &nodes {
            hash.text(name);
            hash.number(u64::from(*weight));
            match numbers.insert(number(name), name) {
                Some(other) if other == name => return Err(BadRoster::Twice(name.clone())),
                Some(other) => return Err(BadRoster::Alike(other.to_owned(), name.clone())),
                None => {}
            }
        }
        let homes = nodes.iter().map(|(name, weight)| (number(name), *weight));
        let shares = Shares::new(hash.finish(), homes).map_err(BadRoster::Shares)?;
        Ok(Self { nodes, shares })
    }

    /// How many nodes it names.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it names nobody, which none does.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Names and weights, in ascending order.
    pub fn nodes(&self) -> &[(String, u32)] {
        &self.nodes
    }

    /// Whether it names that node.
    pub fn has(&self, name: &str) -> bool {
        self.weight(name).is_some()
    }

    fn weight(&self, name: &str) -> Option<u32> {
        let place = self.nodes.binary_search_by_key(&name, |(name, _)| name);
        Some(self.nodes.get(place.ok()?)?.1)
    }

    /// Numbers and weights.
    pub(super) fn parts(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        self.nodes
            .iter()
            .map(|(name, weight)| (number(name), *weight))
    }

    /// How it divides a rate.
    pub const fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The name with that number, for whoever shows it.
    pub(super) fn name(&self, node: NodeId) -> Option<&str> {
        let mut names = self.nodes.iter().map(|(name, _)| &**name);
        names.find(|name| number(name) == node)
    }
}

/// A live node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterPeer {
    /// Its number in the cluster.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Of two with one name the smaller came first.
    pub age: (u64, u64),
}

/// Which numbers live nodes have where a rate is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodePlaces {
    /// This node's, and whether it is that of its name.
    pub(super) me: Option<(NodeId, bool)>,
    /// By numbers in the cluster.
    here: BTreeMap<NodeId, NodeId>,
    there: BTreeMap<NodeId, NodeId>,
    /// Names that more than one live node bears.
    pub(super) doubled: Vec<String>,
}

impl NodePlaces {
    /// The places of live nodes, this one included.
    pub(super) fn of(roster: &Roster, me: NodeId, peers: &[RosterPeer]) -> Self {
        let mut oldest: BTreeMap<&str, &RosterPeer> = BTreeMap::new();
        let mut doubled = BTreeSet::new();
        for peer in peers {
            let rank = |peer: &RosterPeer| (peer.age, peer.node);
            let other = oldest.entry(&peer.name).or_insert(peer);
            if other.node != peer.node {
                doubled.insert(peer.name.clone());
                if rank(peer) < rank(other) {
                    *other = peer;
                }
            }
        }
        let mut places = Self {
            doubled: doubled.into_iter().collect(),
            ..Self::default()
        };
        let bears =
            |peer: &&RosterPeer| oldest.get(&*peer.name).is_some_and(|p| p.node == peer.node);
        for peer in peers {
            let wish = number(&peer.name);
            let is_free = roster.has(&peer.name) || !places.is_taken(roster, wish);
            if bears(&peer) && is_free {
                places.put(peer, wish, peer.node == me);
            }
        }
        for peer in peers {
            if places.here(peer.node).is_none() {
                let place = places.free(roster, peer.node);
                places.put(peer, place, peer.node == me);
            }
        }
        places
    }

    fn put(&mut self, peer: &RosterPeer, place: NodeId, is_me: bool) {
        self.here.insert(peer.node, place);
        self.there.insert(place, peer.node);
        if is_me {
            self.me = Some((place, place == number(&peer.name)));
        }
    }

    fn is_taken(&self, roster: &Roster, node: NodeId) -> bool {
        node == AUTHORITY || roster.name(node).is_some() || self.there.contains_key(&node)
    }

    /// A number that is nobody's.
    fn free(&self, roster: &Roster, wish: NodeId) -> NodeId {
        let mut tries = (0..=u16::MAX).map(|step| NodeId(wish.0.wrapping_add(step)));
        tries
            .find(|node| !self.is_taken(roster, *node))
            .unwrap_or(wish)
    }

    /// The number here of a node of the cluster; that of the authority is the same everywhere.
    pub(super) fn here(&self, node: NodeId) -> Option<NodeId> {
        let here = self.here.get(&node).copied();
        here.or((node == AUTHORITY).then_some(AUTHORITY))
    }

    /// The number in the cluster of a node.
    pub(super) fn there(&self, node: NodeId) -> Option<NodeId> {
        let there = self.there.get(&node).copied();
        there.or((node == AUTHORITY).then_some(AUTHORITY))
    }

    /// All numbers here, in ascending order.
    pub(super) fn all(&self) -> Vec<NodeId> {
        self.there.keys().copied().collect()
    }
}

/// The number of a name.
fn number(name: &str) -> NodeId {
    let mut hash = Tag::new();
    hash.text(name);
    let [low, high, ..] = hash.finish().to_le_bytes();
    let number = NodeId(u16::from_le_bytes([low, high]));
    if number == AUTHORITY {
        NodeId(0)
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(names: &[&str]) -> Result<Roster, BadRoster> {
        Roster::new(names.iter().map(|name| ((*name).to_owned(), 1)))
    }

    fn peer(node: u16, name: &str, began: u64) -> RosterPeer {
        RosterPeer {
            node: NodeId(node),
            name: name.to_owned(),
            age: (began, 0),
        }
    }

    #[test]
    fn a_number_stays_whoever_else_is_there() {
        let few = roster(&["n0", "n1", "n2"]).unwrap();
        let more = roster(&["a", "n0", "n1", "n10", "n2"]).unwrap();
        for name in ["n0", "n1", "n2"] {
            assert!(few.shares().nodes().any(|node| node == number(name)));
            assert!(more.shares().nodes().any(|node| node == number(name)));
        }
        assert_eq!(number("n0"), NodeId(N0));
    }

    /// Changing it breaks the clusters that run.
    const N0: u16 = 1229;

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        assert_eq!(roster(&[]), Err(BadRoster::Empty));
        assert_eq!(roster(&["a", "a"]), Err(BadRoster::Twice("a".into())));
        let mut seen = BTreeMap::new();
        let (one, other) = (0..)
            .map(|count| format!("n{count}"))
            .find_map(|name| Some((seen.insert(number(&name), name.clone())?, name)))
            .unwrap();
        let both = roster(&[&one, &other]);
        assert!(matches!(both, Err(BadRoster::Alike(..))), "{both:?}");
        let none = Roster::new([("a".to_owned(), 0)]);
        assert_eq!(none, Err(BadRoster::Shares(BadShares::NoWeight)));
    }

    #[test]
    fn of_two_with_one_name_the_older_bears_it() {
        let roster = roster(&["a", "b"]).unwrap();
        let peers = [peer(7, "a", 20), peer(8, "a", 10), peer(9, "b", 5)];
        let old = NodePlaces::of(&roster, NodeId(8), &peers);
        let young = NodePlaces::of(&roster, NodeId(7), &peers);
        assert_eq!(old.me, Some((number("a"), true)));
        assert_eq!(young.me.map(|(_, is_itself)| is_itself), Some(false));
        assert_eq!(old.doubled, ["a"]);
        assert_eq!(old.here(NodeId(8)), young.here(NodeId(8)));
        assert_eq!(old.there(number("a")), Some(NodeId(8)));
    }

    #[test]
    fn strangers_have_numbers_that_no_name_has() {
        let roster = roster(&["a"]).unwrap();
        let clash = number("a");
        let peers = [peer(clash.0, "x", 1), peer(1, "a", 2)];
        let places = NodePlaces::of(&roster, NodeId(1), &peers);
        assert_ne!(places.here(clash), Some(clash));
        assert_eq!(places.here(NodeId(1)), Some(clash));
    }
}
