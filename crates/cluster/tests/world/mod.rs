//! A simulated network of nodes: delay, loss, cuts, freezes and restarts, decided by a seed.
//!
//! It seals nothing: payloads go from one cluster to the other with their boot and counter, as a sealer would hand them over.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tollgate_cluster::{Cluster, ClusterConfig, Event, Pace, Refused, Via};
use tollgate_gossip::NodeId;
use tollgate_kit::Dice;
use tollgate_limit::Instant;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;

/// One process.
pub(crate) struct Process {
    pub(crate) cluster: Cluster,
    pub(crate) address: SocketAddr,
    pub(crate) boot: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) is_frozen: bool,
    /// What its clock shows more than the world's, in nanoseconds.
    pub(crate) skew: i64,
    pub(crate) refused: BTreeMap<Refused, u64>,
    /// Datagrams that arrived while it was frozen.
    waiting: Vec<Flight>,
}

#[derive(Clone)]
struct Flight {
    to: SocketAddr,
    boot: u64,
    counter: u64,
    bytes: Vec<u8>,
    stream_from: Option<NodeId>,
}

/// All processes and what flies between them.
pub(crate) struct World {
    pub(crate) now: u64,
    dice: Dice,
    pub(crate) delay: u64,
    /// Lost datagrams of a thousand.
    pub(crate) loss: u64,
    pub(crate) processes: BTreeMap<u32, Process>,
    /// From and to: cut one way.
    pub(crate) cuts: BTreeSet<(SocketAddr, SocketAddr)>,
    flying: BTreeMap<(u64, u64), (SocketAddr, Flight)>,
    launched: u64,
    /// Everything that was ever sent: from, to, boot, counter, payload.
    pub(crate) capture: Vec<(SocketAddr, SocketAddr, u64, u64, Vec<u8>)>,
    pub(crate) bytes: u64,
}

pub(crate) fn address(host: u32) -> SocketAddr {
    let [_, b, c, d] = host.to_be_bytes();
    SocketAddr::from(([10, b, c, d], 7000))
}

/// The start of every world: some day in 2026.
const EPOCH: u64 = 1_790_000_000 * SECOND;

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: EPOCH,
            dice: Dice::new(seed),
            delay: 2 * MS,
            loss: 0,
            processes: BTreeMap::new(),
            cuts: BTreeSet::new(),
            flying: BTreeMap::new(),
            launched: 0,
            capture: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.dice.roll()
    }

    pub(crate) fn config(&mut self, host: u32, seeds: &[u32]) -> ClusterConfig {
        ClusterConfig {
            name: format!("node-{host}"),
            zone: Some(String::from("here")),
            capacity: 100,
            version: String::from("0.1.0"),
            id: u128::from(host) << 64 | 0xabcd,
            generation: 1,
            boot: self.roll(),
            advertise: address(host),
            seeds: seeds.iter().map(|host| address(*host)).collect(),
            mtu: ClusterConfig::MTU,
            bytes_per_second_max: None,
            seed: self.roll(),
            pace: Pace::LAN,
            missing: Vec::new(),
        }
    }

    /// Starts a process on a host with the usual settings.
    pub(crate) fn start(&mut self, host: u32, seeds: &[u32]) {
        let config = self.config(host, seeds);
        self.start_with(host, config);
    }

    pub(crate) fn start_with(&mut self, host: u32, config: ClusterConfig) {
        let (address, boot) = (config.advertise, config.boot);
        let process = Process {
            cluster: Cluster::new(config, Instant::from_nanos(self.now)),
            address,
            boot,
            events: Vec::new(),
            is_frozen: false,
            skew: 0,
            refused: BTreeMap::new(),
            waiting: Vec::new(),
        };
        self.processes.insert(host, process);
    }

    /// Starts `count` processes that know the first two.
    pub(crate) fn start_many(&mut self, count: u32) {
        for host in 1..=count {
            self.start(host, &[1, 2]);
        }
    }

    pub(crate) fn kill(&mut self, host: u32) {
        self.processes.remove(&host);
    }

    pub(crate) fn freeze(&mut self, host: u32) {
        self.processes.get_mut(&host).unwrap().is_frozen = true;
    }

    pub(crate) fn thaw(&mut self, host: u32) {
        let process = self.processes.get_mut(&host).unwrap();
        process.is_frozen = false;
        let waiting = std::mem::take(&mut process.waiting);
        for flight in waiting {
            self.deliver(host, &flight);
        }
    }

    /// Cuts what goes from one host to another.
    pub(crate) fn cut(&mut self, from: u32, to: u32) {
        self.cuts.insert((address(from), address(to)));
    }

    /// Cuts both ways between two groups.
    pub(crate) fn part(&mut self, left: &[u32], right: &[u32]) {
        for one in left {
            for other in right {
                self.cut(*one, *other);
                self.cut(*other, *one);
            }
        }
    }

    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    pub(crate) fn cluster(&mut self, host: u32) -> &mut Cluster {
        &mut self.processes.get_mut(&host).unwrap().cluster
    }

    pub(crate) fn clock(&self, host: u32) -> Instant {
        Instant::from_nanos(self.now.saturating_add_signed(self.processes[&host].skew))
    }

    /// Hosts that a host believes in, itself included.
    pub(crate) fn view(&self, host: u32) -> BTreeSet<u32> {
        let members = self.processes[&host].cluster.members().iter();
        members.map(|member| (member.id >> 64) as u32).collect()
    }

    /// Names of those that a host misses.
    pub(crate) fn missed(&self, host: u32) -> Vec<String> {
        let status = self.processes[&host].cluster.status(self.clock(host));
        let names = status.missing.into_iter().map(|missing| missing.name);
        names.collect()
    }

    /// Whether every running process sees all running processes and nobody else, under the same numbers.
    pub(crate) fn agrees(&self) -> bool {
        let all: BTreeSet<u32> = self.processes.keys().copied().collect();
        let mut views = self.processes.values().map(|process| {
            let members = process.cluster.members().iter();
            members
                .map(|member| (member.node, member.writer, member.id))
                .collect::<Vec<_>>()
        });
        let first = views.next();
        first.as_ref().is_some_and(|view| view.len() == all.len())
            && views.all(|view| Some(view) == first)
            && self.processes.keys().all(|host| self.view(*host) == all)
    }

    #[track_caller]
    pub(crate) fn run_until(
        &mut self,
        what: &str,
        seconds_max: u64,
        done: impl Fn(&Self) -> bool,
    ) -> u64 {
        let start = self.now;
        while !done(self) {
            let views: Vec<_> = self
                .processes
                .keys()
                .map(|host| (*host, self.view(*host)))
                .collect();
            assert!(
                self.now - start < seconds_max * SECOND,
                "not in {seconds_max} s: {what}; {views:?}"
            );
            self.run_for(100 * MS);
        }
        self.now - start
    }

    pub(crate) fn run_seconds(&mut self, seconds: u64) {
        self.run_for(seconds * SECOND);
    }

    pub(crate) fn run_for(&mut self, span: u64) {
        let end = self.now + span;
        loop {
            self.drain();
            let Some(next) = self.next_time().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.step();
        }
        self.now = end;
    }

    fn next_time(&self) -> Option<u64> {
        let flight = self.flying.first_key_value().map(|((at, _), _)| *at);
        let timers = self.processes.values().filter(|process| !process.is_frozen);
        let timers = timers.filter_map(|process| {
            let at = process.cluster.poll_timeout()?.as_nanos();
            Some(at.saturating_add_signed(-process.skew).max(self.now))
        });
        timers.chain(flight).min()
    }

    fn step(&mut self) {
        while let Some(entry) = self.flying.first_entry()
            && entry.key().0 <= self.now
        {
            let (from, flight) = entry.remove();
            self.land(from, &flight);
        }
        let hosts: Vec<u32> = self.processes.keys().copied().collect();
        for host in hosts {
            let now = self.clock(host);
            let process = self.processes.get_mut(&host).unwrap();
            let is_due = process.cluster.poll_timeout().is_some_and(|at| at <= now);
            if is_due && !process.is_frozen {
                process.cluster.handle_timeout(now);
            }
        }
    }

    fn land(&mut self, from: SocketAddr, flight: &Flight) {
        if self.cuts.contains(&(from, flight.to)) {
            return;
        }
        let at = self
            .processes
            .iter()
            .filter(|(_, process)| process.address == flight.to);
        let Some((host, _)) = at.max_by_key(|(host, _)| **host) else {
            return;
        };
        let host = *host;
        self.deliver(host, flight);
    }

    fn deliver(&mut self, host: u32, flight: &Flight) {
        let now = self.clock(host);
        let process = self.processes.get_mut(&host).unwrap();
        if process.is_frozen {
            process.waiting.push(flight.clone());
            return;
        }
        let taken = match flight.stream_from {
            Some(from) => process.cluster.handle_message(from, &flight.bytes, now),
            None => process
                .cluster
                .handle_payload(flight.boot, flight.counter, &flight.bytes, now),
        };
        if let Err(refused) = taken {
            *process.refused.entry(refused).or_default() += 1;
        }
    }

    /// Sends a payload of somebody's once more, as a stranger who captured it could.
    pub(crate) fn replay(&mut self, to: u32, captured: usize) {
        let (_, _, boot, counter, bytes) = self.capture[captured].clone();
        let to_address = self.processes[&to].address;
        let flight = Flight {
            to: to_address,
            boot,
            counter,
            bytes,
            stream_from: None,
        };
        self.deliver(to, &flight);
    }

    fn drain(&mut self) {
        let hosts: Vec<u32> = self.processes.keys().copied().collect();
        for host in hosts {
            if self.processes[&host].is_frozen {
                continue;
            }
            let now = self.clock(host);
            loop {
                let process = self.processes.get_mut(&host).unwrap();
                let Some(transmit) = process.cluster.poll_transmit(now) else {
                    break;
                };
                let (from, boot) = (process.address, process.boot);
                let (node, _) = process.cluster.me();
                let (counter, stream_from) = match transmit.via {
                    Via::Datagram { counter } => (counter, None),
                    Via::Stream => (0, Some(node)),
                };
                let to = transmit.to;
                let bytes = transmit.bytes;
                if stream_from.is_none() {
                    assert!(bytes.len() + 34 <= ClusterConfig::MTU);
                    self.bytes += bytes.len() as u64 + 62;
                    self.capture.push((from, to, boot, counter, bytes.clone()));
                }
                let is_lost = stream_from.is_none() && self.roll() % 1000 < self.loss;
                if is_lost || self.cuts.contains(&(from, to)) {
                    continue;
                }
                let jitter = self.roll() % (self.delay / 2 + 1);
                self.launched += 1;
                let key = (self.now + self.delay + jitter, self.launched);
                self.flying.insert(
                    key,
                    (
                        from,
                        Flight {
                            to,
                            boot,
                            counter,
                            bytes,
                            stream_from,
                        },
                    ),
                );
            }
            let process = self.processes.get_mut(&host).unwrap();
            while let Some(event) = process.cluster.poll_event() {
                process.events.push(event);
            }
        }
    }
}
