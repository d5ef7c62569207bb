//! Nodes that look for each other in virtual time: the daemon's own membership, with a network that loses, delays and
//! is cut.
//!
//! Not here: seals, sockets and replicas; a payload goes from one node to the other with its boot and counter, as a
//! sealer would hand it over.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use tollgate_cluster::{Cluster, ClusterConfig, DATAGRAM_OVERHEAD, MemberState, Pace, Via};
use tollgate_limit::Instant;
use tollgate_sim::{Event, Sim, Weather};

use crate::dice::{Dice, Purpose, links};
use crate::world::hash::EventHash;

/// Some nodes and what flies between them.
pub(super) struct World {
    sim: Sim<Flight, (), Dice>,
    nodes: Vec<Option<Node>>,
    boots: Dice,
    hash: EventHash,
    sent_bytes: u64,
}

struct Node {
    cluster: Cluster,
    boot: u64,
    /// Whom it suspects.
    suspects: BTreeSet<u128>,
}

#[derive(Clone)]
struct Flight {
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
        let weather = Weather {
            loss,
            ..Weather::between(DELAY_NS, 2 * DELAY_NS - 1)
        };
        let mut links = links(weather, seed);
        links.cuts_arrivals = true;
        let mut world = Self {
            sim: Sim::new(EPOCH_NS, links),
            nodes: (0..nodes).map(|_| None).collect(),
            boots: Dice::new(seed, Purpose::Boots),
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

    pub(super) fn now(&self) -> u64 {
        self.sim.now()
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
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
        let (boot, now) = (config.boot, self.instant());
        if let Some(slot) = self.nodes.get_mut(node) {
            *slot = Some(Node {
                cluster: Cluster::new(config, now),
                boot,
                suspects: BTreeSet::new(),
            });
        }
        self.follow_up(u16::try_from(node).unwrap_or(u16::MAX));
    }

    /// Ends a node without a word.
    pub(super) fn kill(&mut self, node: usize) {
        self.hash.word(self.sim.now());
        if let Some(slot) = self.nodes.get_mut(node) {
            *slot = None;
        }
    }

    /// Nodes below that number and those from there on hear each other no longer, or again.
    pub(super) fn set_cut(&mut self, cut: Option<usize>) {
        let sides = (0..cut.map_or(0, |_| self.nodes.len())).map(|node| Some(node) < cut);
        self.sim.links.split(sides.map(u8::from).collect());
    }

    /// Lets everything happen up to that time.
    pub(super) fn run_until(&mut self, until: u64) {
        while let Some(event) = self.sim.next(until) {
            match event {
                Event::Message { to, message, .. } => self.land(to, &message),
                Event::Wake { node } => self.call(node),
                Event::Plan(()) => {}
            }
        }
        self.sim.pass(until);
    }

    fn land(&mut self, to: u16, flight: &Flight) {
        let now = self.instant();
        let Some(Some(node)) = self.nodes.get_mut(usize::from(to)) else {
            return;
        };
        self.hash.word(self.sim.now());
        self.hash.bytes(&flight.bytes);
        let Flight {
            boot,
            counter,
            bytes,
        } = flight;
        // What is refused is counted there, and as good as lost.
        let _ = node.cluster.handle_payload(*boot, *counter, bytes, now);
        self.follow_up(to);
    }

    fn call(&mut self, number: u16) {
        let now = self.instant();
        if let Some(Some(node)) = self.nodes.get_mut(usize::from(number)) {
            node.cluster.handle_timeout(now);
            self.follow_up(number);
        }
    }

    /// Sends what a node wants to, and sets its timer.
    fn follow_up(&mut self, number: u16) {
        let now = self.instant();
        let Some(Some(node)) = self.nodes.get_mut(usize::from(number)) else {
            return;
        };
        let boot = node.boot;
        while let Some(transmit) = node.cluster.poll_transmit(now) {
            let Via::Datagram { counter } = transmit.via else {
                continue;
            };
            let bytes = transmit.bytes;
            self.sent_bytes += (bytes.len() + DATAGRAM_OVERHEAD + IP_UDP_BYTES) as u64;
            if let Some(to) = number_of(transmit.to) {
                let flight = Flight {
                    boot,
                    counter,
                    bytes,
                };
                self.sim.post(number, to, flight);
            }
        }
        while node.cluster.poll_event().is_some() {}
        self.sim.let_sleep(number);
        if let Some(due) = node.cluster.poll_timeout() {
            let at = due.as_nanos().max(self.sim.now() + 1);
            self.sim.wake_at(number, at);
        }
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

fn number_of(address: SocketAddr) -> Option<u16> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let host = address.ip().to_bits().checked_sub(FIRST_HOST)?;
    u16::try_from(host).ok()
}

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// Every datagram takes that long, and up to as much again.
const DELAY_NS: u64 = 1_000_000;
const IP_UDP_BYTES: usize = 28;
/// Some day in 2026.
const EPOCH_NS: u64 = 1_790_000_000 * SECOND_NS;
/// 10.0.0.1, of a world that has no other addresses.
const FIRST_HOST: u32 = 0x0a00_0001;
