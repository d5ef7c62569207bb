//! Nodes that look for each other in virtual time: the daemon's own membership, with a network that loses, delays and is cut.
//!
//! Not here: seals, sockets and replicas; a payload goes from one node to the other with its boot and counter, as a sealer would
//! hand it over.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use tollgate_cluster::{Cluster, ClusterConfig, DATAGRAM_OVERHEAD, MemberState, Pace, Via};
use tollgate_limit::Instant;

use crate::dice::{Dice, Purpose};
use crate::world::hash::EventHash;

/// Some nodes and what flies between them.
pub(super) struct World {
    now: u64,
    nodes: Vec<Option<Node>>,
    /// What is under way, by when it arrives.
    flying: BTreeMap<(u64, u64), Flight>,
    launched: u64,
    /// When each node wants to be called.
    timers: BTreeSet<(u64, usize)>,
    losses: Dice,
    delays: Dice,
    boots: Dice,
    /// Of a million datagrams, so many are lost.
    loss: u32,
    /// Nodes below that number and those from there on do not hear each other.
    cut: Option<usize>,
    hash: EventHash,
    sent_bytes: u64,
}

struct Node {
    cluster: Cluster,
    boot: u64,
    timer: Option<u64>,
    /// Whom it suspects.
    suspects: BTreeSet<u128>,
}

struct Flight {
    from: usize,
    to: usize,
    boot: u64,
    counter: u64,
    bytes: Vec<u8>,
}

/// How often a node was wrong about another that was alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wrongs {
    /// It suspected it.
    pub(super) suspected: u64,
    /// It took it for gone.
    pub(super) dropped: u64,
}

impl World {
    /// Nodes that start within a second and know the first two.
    pub(super) fn new(nodes: usize, loss: u32, seed: u64) -> Self {
        let mut world = Self {
            now: EPOCH_NS,
            nodes: (0..nodes).map(|_| None).collect(),
            flying: BTreeMap::new(),
            launched: 0,
            timers: BTreeSet::new(),
            losses: Dice::new(seed, Purpose::Loss),
            delays: Dice::new(seed, Purpose::Delays),
            boots: Dice::new(seed, Purpose::Boots),
            loss,
            cut: None,
            hash: EventHash::new(),
            sent_bytes: 0,
        };
        let mut starts: Vec<(u64, usize)> = (0..nodes)
            .map(|node| (world.boots.below(SECOND_NS), node))
            .collect();
        starts.sort_unstable();
        for (after, node) in starts {
            world.run_until(EPOCH_NS + after);
            world.start(node);
        }
        world
    }

    pub(super) const fn now(&self) -> u64 {
        self.now
    }

    pub(super) const fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash.value()
    }

    fn start(&mut self, node: usize) {
        let config = ClusterConfig {
            name: format!("n{node}"),
            zone: None,
            capacity: 100,
            version: "0.1.0".to_owned(),
            id: id(node),
            generation: 1,
            boot: self.boots.roll(),
            advertise: address(node),
            seeds: vec![address(0), address(1)],
            mtu: ClusterConfig::MTU,
            bytes_per_second_max: None,
            seed: self.boots.roll(),
            pace: Pace::LAN,
            missing: Vec::new(),
        };
        let boot = config.boot;
        if let Some(slot) = self.nodes.get_mut(node) {
            *slot = Some(Node {
                cluster: Cluster::new(config, Instant::from_nanos(self.now)),
                boot,
                timer: None,
                suspects: BTreeSet::new(),
            });
        }
        self.follow_up(node);
    }

    /// Ends a node without a word.
    pub(super) fn kill(&mut self, node: usize) {
        self.hash.word(self.now);
        if let Some(slot) = self.nodes.get_mut(node)
            && let Some(gone) = slot.take()
            && let Some(at) = gone.timer
        {
            self.timers.remove(&(at, node));
        }
    }

    /// Nodes below that number and those from there on hear each other no longer, or again.
    pub(super) fn set_cut(&mut self, cut: Option<usize>) {
        self.cut = cut;
    }

    /// Lets everything happen up to that time.
    pub(super) fn run_until(&mut self, until: u64) {
        loop {
            let flight = self.flying.first_key_value().map(|(key, _)| key.0);
            let timer = self.timers.first().map(|timer| timer.0);
            let next = flight.into_iter().chain(timer).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if flight == Some(next) {
                self.land();
            } else if let Some((at, node)) = self.timers.pop_first() {
                self.call(node, at);
            }
        }
        self.now = self.now.max(until);
    }

    fn land(&mut self) {
        let Some((_, flight)) = self.flying.pop_first() else {
            return;
        };
        if self.is_cut(flight.from, flight.to) {
            return;
        }
        let now = Instant::from_nanos(self.now);
        let Some(Some(node)) = self.nodes.get_mut(flight.to) else {
            return;
        };
        self.hash.word(self.now);
        self.hash.bytes(&flight.bytes);
        let Flight {
            boot,
            counter,
            bytes,
            ..
        } = &flight;
        // What is refused is counted there, and as good as lost.
        let _ = node.cluster.handle_payload(*boot, *counter, bytes, now);
        self.follow_up(flight.to);
    }

    fn call(&mut self, number: usize, _at: u64) {
        let now = Instant::from_nanos(self.now);
        if let Some(Some(node)) = self.nodes.get_mut(number) {
            node.timer = None;
            node.cluster.handle_timeout(now);
            self.follow_up(number);
        }
    }

    /// Sends what a node wants to, and sets its timer.
    fn follow_up(&mut self, number: usize) {
        let now = Instant::from_nanos(self.now);
        let Some(Some(node)) = self.nodes.get_mut(number) else {
            return;
        };
        let mut sends = Vec::new();
        while let Some(transmit) = node.cluster.poll_transmit(now) {
            if let Via::Datagram { counter } = transmit.via {
                sends.push((transmit.to, counter, transmit.bytes));
            }
        }
        while node.cluster.poll_event().is_some() {}
        let due = node.cluster.poll_timeout().map(Instant::as_nanos);
        let due = due.map(|due| due.max(self.now + 1));
        let (before, boot) = (std::mem::replace(&mut node.timer, due), node.boot);
        if let Some(before) = before {
            self.timers.remove(&(before, number));
        }
        self.timers.extend(due.map(|due| (due, number)));
        for (to, counter, bytes) in sends {
            self.send(number, to, (boot, counter, bytes));
        }
    }

    fn send(&mut self, from: usize, to: SocketAddr, (boot, counter, bytes): (u64, u64, Vec<u8>)) {
        self.sent_bytes += (bytes.len() + DATAGRAM_OVERHEAD + IP_UDP_BYTES) as u64;
        let is_lost = self.losses.millionth(self.loss);
        let Some(to) = number(to).filter(|_| !is_lost) else {
            return;
        };
        let takes = DELAY_NS + self.delays.below(DELAY_NS);
        self.launched += 1;
        let flight = Flight {
            from,
            to,
            boot,
            counter,
            bytes,
        };
        self.flying
            .insert((self.now + takes, self.launched), flight);
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.is_some_and(|cut| (from < cut) != (to < cut))
    }

    /// Whether every node that runs sees all that run, and nobody else.
    pub(super) fn is_one(&self) -> bool {
        let alive: BTreeSet<u128> = self.alive().map(|(number, _)| id(number)).collect();
        self.alive().all(|(_, node)| {
            let seen = node.cluster.members();
            seen.len() == alive.len() && seen.iter().all(|member| alive.contains(&member.id))
        })
    }

    /// How many of those that run do not see that node.
    pub(super) fn missed_by(&self, node: usize) -> usize {
        let misses = |seen: &Node| {
            let mut members = seen.cluster.members().iter();
            !members.any(|member| member.id == id(node))
        };
        self.alive().filter(|(_, seen)| misses(seen)).count()
    }

    pub(super) fn count_alive(&self) -> usize {
        self.alive().count()
    }

    /// Looks whom nodes suspect or miss that runs, and counts what is new since the last look.
    pub(super) fn look(&mut self, wrongs: &mut Wrongs, missing: &mut BTreeSet<(usize, u128)>) {
        let alive: Vec<u128> = self.alive().map(|(number, _)| id(number)).collect();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let Some(node) = node else { continue };
            let members = node.cluster.members();
            let is_suspect =
                |member: &&tollgate_cluster::Member| member.state == MemberState::Suspect;
            let suspects: BTreeSet<u128> =
                members.iter().filter(is_suspect).map(|it| it.id).collect();
            wrongs.suspected += suspects.difference(&node.suspects).count() as u64;
            node.suspects = suspects;
            for &other in &alive {
                let is_there = members.iter().any(|member| member.id == other);
                if is_there {
                    missing.remove(&(number, other));
                } else if missing.insert((number, other)) {
                    wrongs.dropped += 1;
                }
            }
        }
    }

    fn alive(&self) -> impl Iterator<Item = (usize, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(number, node)| Some((number, node.as_ref()?)))
    }
}

fn id(node: usize) -> u128 {
    (node as u128 + 1) << 64
}

fn address(node: usize) -> SocketAddr {
    let host = u32::try_from(node).unwrap_or(u32::MAX);
    SocketAddr::from((Ipv4Addr::from_bits(FIRST_HOST.saturating_add(host)), 7380))
}

fn number(address: SocketAddr) -> Option<usize> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let host = address.ip().to_bits().checked_sub(FIRST_HOST)?;
    usize::try_from(host).ok()
}

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Every datagram takes that long, and up to as much again.
const DELAY_NS: u64 = 1_000_000;
const IP_UDP_BYTES: usize = 28;
/// Some day in 2026.
const EPOCH_NS: u64 = 1_790_000_000 * SECOND_NS;
/// 10.0.0.1, of a world that has no other addresses.
const FIRST_HOST: u32 = 0x0a00_0001;
