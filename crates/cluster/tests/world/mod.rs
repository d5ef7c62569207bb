//! A simulated network of nodes: delay, loss, cuts, freezes and restarts, decided by a seed.
//!
//! It seals nothing: payloads go from one cluster to the other with their boot and counter, as a sealer would hand them
//! over.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tollgate_cluster::{Cluster, ClusterConfig, Event, Pace, Refused, Via};
use tollgate_gossip::NodeId;
use tollgate_kit::Dice;
use tollgate_limit::Instant;
use tollgate_sim::{self as sim, Clock, Links, Sim, Weather};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;

/// One process.
pub(crate) struct Process {
    pub(crate) cluster: Cluster,
    pub(crate) address: SocketAddr,
    pub(crate) boot: u64,
    pub(crate) events: Vec<Event>,
    pub(crate) refused: BTreeMap<Refused, u64>,
}

#[derive(Clone)]
struct Flight {
    boot: u64,
    counter: u64,
    bytes: Vec<u8>,
    stream_from: Option<NodeId>,
}

/// All processes and what flies between them.
pub(crate) struct World {
    /// Nodes are hosts, and addresses those of hosts; only a host that moved differs from its address.
    sim: Sim<Flight, (), Dice>,
    dice: Dice,
    pub(crate) processes: BTreeMap<u32, Process>,
    /// Everything that was ever sent: from, to, boot, counter, payload.
    pub(crate) capture: Vec<(SocketAddr, SocketAddr, u64, u64, Vec<u8>)>,
    pub(crate) bytes: u64,
}

pub(crate) fn address(host: u32) -> SocketAddr {
    let [_, b, c, d] = host.to_be_bytes();
    SocketAddr::from(([10, b, c, d], 7000))
}

/// The number of an address in the simulator.
fn number(address: SocketAddr) -> u16 {
    match address {
        SocketAddr::V4(address) => address.ip().to_bits() as u16,
        SocketAddr::V6(_) => u16::MAX,
    }
}

/// The start of every world: some day in 2026.
const EPOCH: u64 = 1_790_000_000 * SECOND;
/// One way takes so long, and up to half as long again.
const DELAY: u64 = 2 * MS;

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let streams = [1, 2, 3].map(|stream| Dice::new(seed ^ stream << 60));
        let mut links = Links::new(Weather::between(DELAY, DELAY * 3 / 2), streams);
        links.cuts_arrivals = true;
        Self {
            sim: Sim::new(EPOCH, links),
            dice: Dice::new(seed),
            processes: BTreeMap::new(),
            capture: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn roll(&mut self) -> u64 {
        self.dice.roll()
    }

    pub(crate) fn now(&self) -> u64 {
        self.sim.now()
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
            cluster: Cluster::new(config, Instant::from_nanos(self.now())),
            address,
            boot,
            events: Vec::new(),
            refused: BTreeMap::new(),
        };
        self.skew(host, 0);
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
        self.sim.reset(host as u16);
    }

    pub(crate) fn freeze(&mut self, host: u32) {
        self.sim.pause(host as u16);
    }

    pub(crate) fn thaw(&mut self, host: u32) {
        self.sim.go_on(host as u16);
    }

    pub(crate) fn is_frozen(&self, host: u32) -> bool {
        self.sim.is_paused(host as u16)
    }

    /// From here on a host's clock shows so much more than the world's.
    pub(crate) fn skew(&mut self, host: u32, nanos: i64) {
        self.sim.set_clock(host as u16, Clock::ahead(nanos));
    }

    /// From here on so many datagrams of a thousand are lost.
    pub(crate) fn lose(&mut self, thousandths: u64) {
        self.sim.links.weather.loss = thousandths as u32 * 1_000;
    }

    /// Cuts what goes from one host to another.
    pub(crate) fn cut(&mut self, from: u32, to: u32) {
        let (from, to) = ([from as u16], [to as u16]);
        self.sim.links.cut(&from, &to, 0..u64::MAX);
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
        self.sim.links.heal();
    }

    pub(crate) fn cluster(&mut self, host: u32) -> &mut Cluster {
        &mut self.processes.get_mut(&host).unwrap().cluster
    }

    pub(crate) fn clock(&self, host: u32) -> Instant {
        Instant::from_nanos(self.sim.local(host as u16))
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
        let start = self.now();
        while !done(self) {
            let views: Vec<_> = self
                .processes
                .keys()
                .map(|host| (*host, self.view(*host)))
                .collect();
            assert!(
                self.now() - start < seconds_max * SECOND,
                "not in {seconds_max} s: {what}; {views:?}"
            );
            self.run_for(100 * MS);
        }
        self.now() - start
    }

    pub(crate) fn run_seconds(&mut self, seconds: u64) {
        self.run_for(seconds * SECOND);
    }

    pub(crate) fn run_for(&mut self, span: u64) {
        let end = self.now() + span;
        let hosts: Vec<u32> = self.processes.keys().copied().collect();
        for host in hosts {
            self.follow_up(host);
        }
        while let Some(event) = self.sim.next(end) {
            match event {
                sim::Event::Message { to, message, .. } => self.land(to, &message),
                sim::Event::Wake { node } => self.call(u32::from(node)),
                sim::Event::Plan(()) => {}
            }
        }
        self.sim.pass(end);
    }

    fn call(&mut self, host: u32) {
        let now = self.clock(host);
        if let Some(process) = self.processes.get_mut(&host) {
            process.cluster.handle_timeout(now);
            self.follow_up(host);
        }
    }

    fn land(&mut self, to: u16, flight: &Flight) {
        let mut hosts = self.processes.iter().rev();
        let host = hosts.find(|(_, process)| number(process.address) == to);
        if let Some(host) = host.map(|(host, _)| *host) {
            self.deliver(host, flight);
            self.follow_up(host);
        }
    }

    fn deliver(&mut self, host: u32, flight: &Flight) {
        let now = self.clock(host);
        let process = self.processes.get_mut(&host).unwrap();
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
        let flight = Flight {
            boot,
            counter,
            bytes,
            stream_from: None,
        };
        self.deliver(to, &flight);
    }

    /// Sends what a process wants to, and wakes it when it wants to be.
    fn follow_up(&mut self, host: u32) {
        if self.is_frozen(host) {
            return;
        }
        let now = self.clock(host);
        while let Some(transmit) = self.cluster(host).poll_transmit(now) {
            let process = &self.processes[&host];
            let (from, boot) = (process.address, process.boot);
            let (to, bytes) = (transmit.to, transmit.bytes);
            let mut flight = Flight {
                boot,
                counter: 0,
                bytes,
                stream_from: None,
            };
            if let Via::Datagram { counter } = transmit.via {
                assert!(flight.bytes.len() + 34 <= ClusterConfig::MTU);
                self.bytes += flight.bytes.len() as u64 + 62;
                let bytes = flight.bytes.clone();
                self.capture.push((from, to, boot, counter, bytes));
                flight.counter = counter;
                self.sim.post(number(from), number(to), flight);
            } else {
                flight.stream_from = Some(process.cluster.me().0);
                let jitter = self.roll() % (DELAY / 2 + 1);
                let (from, to) = (number(from), number(to));
                self.sim.send(DELAY + jitter, from, to, flight);
            }
        }
        let process = self.processes.get_mut(&host).unwrap();
        while let Some(event) = process.cluster.poll_event() {
            process.events.push(event);
        }
        self.sim.let_sleep(host as u16);
        if let Some(at) = process.cluster.poll_timeout() {
            let at = self.sim.clock(host as u16).world(at.as_nanos());
            self.sim.wake_at(host as u16, at);
        }
    }
}
