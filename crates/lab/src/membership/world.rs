//! Nodes that look for each other in virtual time: the daemon's own membership, with a network that loses, delays and
//! is cut, clocks that are wrong, and processes that freeze, die, move and start again.
//!
//! Nodes are hosts, by number. Not here: seals, sockets and replicas; a payload goes from one node to the other with
//! its boot and counter, as a sealer would hand it over.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tollgate_cluster::{
    Cluster, ClusterConfig, DATAGRAM_OVERHEAD, Event, FailureTiming, Refused, Transmit, Via,
};
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_sim::{self as sim, Conditions, Sim, SimClock};

use crate::dice::{LabDice, Purpose, links};
use crate::world::hash::EventHash;

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;
/// A second, in nanoseconds.
pub const SECOND: u64 = 1_000 * MS;

/// All processes and what is under way between them.
pub struct MembershipWorld {
    /// The processes that run, by host.
    pub processes: BTreeMap<u32, Process>,
    /// Every datagram that was ever sent, if they are captured.
    pub captures: Vec<Capture>,
    /// Bytes of all datagrams, with their seals and the headers of IP and UDP.
    pub bytes: u64,
    sim: Sim<Flight, (), LabDice>,
    boots: LabDice,
    hash: EventHash,
    captures_all: bool,
}

/// One process.
pub struct Process {
    /// What is simulated.
    pub cluster: Cluster,
    /// Where it is reached.
    pub address: SocketAddr,
    /// Its boot.
    pub boot: u64,
    /// What it told of.
    pub events: Vec<Event>,
    /// What it refused, and how often.
    pub refused: BTreeMap<Refused, u64>,
}

/// A datagram that somebody could have captured.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it was for.
    pub to: SocketAddr,
    /// The boot of who sent it.
    pub boot: u64,
    /// Its number among all of that boot.
    pub counter: u64,
    /// What was sealed.
    pub bytes: Vec<u8>,
}

/// What is under way.
#[derive(Clone, Debug)]
struct Flight {
    boot: u64,
    counter: u64,
    bytes: Vec<u8>,
    /// Who sent it, where it goes by stream.
    stream_from: Option<NodeId>,
}

/// Some day in 2026.
const EPOCH: u64 = 1_790_000_000 * SECOND;
/// By stream one way takes so long, and up to half as long again; so do datagrams unless told otherwise.
const DELAY: u64 = 2 * MS;
const IP_UDP_BYTES: usize = 28;

/// The address of a host.
pub fn address(host: u32) -> SocketAddr {
    let [_, b, c, d] = host.to_be_bytes();
    SocketAddr::from(([10, b, c, d], 7380))
}

/// The number of an address in the simulator.
fn number(address: SocketAddr) -> u16 {
    let SocketAddr::V4(address) = address else {
        return u16::MAX;
    };
    let [_, _, c, d] = address.ip().octets();
    u16::from_be_bytes([c, d])
}

/// The number of a host in the simulator.
fn place(host: u32) -> u16 {
    number(address(host))
}

impl MembershipWorld {
    /// A world without processes, in which datagrams take 2 to 3 ms and are captured.
    pub fn new(seed: u64) -> Self {
        Self {
            captures_all: true,
            ..Self::under(Conditions::between(DELAY, DELAY * 3 / 2), seed)
        }
    }

    /// A world without processes.
    pub fn under(weather: Conditions, seed: u64) -> Self {
        let mut links = links(weather, seed);
        links.cuts_arrivals = true;
        Self {
            processes: BTreeMap::new(),
            captures: Vec::new(),
            bytes: 0,
            sim: Sim::new(EPOCH, links),
            boots: LabDice::new(seed, Purpose::Boots),
            hash: EventHash::new(),
            captures_all: false,
        }
    }

    /// A number by chance.
    pub fn roll(&mut self) -> u64 {
        self.boots.roll()
    }

    /// A number below `bound` by chance.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.boots.below(bound)
    }

    /// The world's time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.sim.now()
    }

    /// A fingerprint of everything that happened so far.
    pub fn hash(&self) -> u64 {
        self.hash.value()
    }

    /// The usual settings of a process on a host.
    pub fn config(&mut self, host: u32, seeds: &[u32]) -> ClusterConfig {
        ClusterConfig {
            name: format!("n{host}"),
            zone: None,
            capacity: 100,
            version: "0.1.0".to_owned(),
            id: u128::from(host) << 64,
            generation: 1,
            boot: self.roll(),
            advertise: address(host),
            seeds: seeds.iter().map(|host| address(*host)).collect(),
            mtu: ClusterConfig::MTU,
            bytes_per_second_max: None,
            seed: self.roll(),
            pace: FailureTiming::LAN,
            missing: Vec::new(),
        }
    }

    /// Starts a process on a host with the usual settings.
    pub fn start(&mut self, host: u32, seeds: &[u32]) {
        let config = self.config(host, seeds);
        self.start_with(host, config);
    }

    /// Starts a process on a host, whose clock is right.
    pub fn start_with(&mut self, host: u32, config: ClusterConfig) {
        let process = Process {
            address: config.advertise,
            boot: config.boot,
            cluster: Cluster::new(config, Instant::from_nanos(self.now())),
            events: Vec::new(),
            refused: BTreeMap::new(),
        };
        self.skew(host, 0);
        self.processes.insert(host, process);
        self.follow_up(host);
    }

    /// Starts so many processes, which know the first two.
    pub fn start_many(&mut self, count: u32) {
        for host in 1..=count {
            self.start(host, &[1, 2]);
        }
    }

    /// Ends a process without a word.
    pub fn kill(&mut self, host: u32) {
        self.hash.word(self.sim.now());
        self.processes.remove(&host);
        self.sim.reset(place(host));
    }

    /// A host does nothing until it is thawed; what comes meanwhile waits.
    pub fn freeze(&mut self, host: u32) {
        self.sim.pause(place(host));
    }

    /// A host goes on.
    pub fn thaw(&mut self, host: u32) {
        self.sim.go_on(place(host));
    }

    /// Whether a host does nothing.
    pub fn is_frozen(&self, host: u32) -> bool {
        self.sim.is_paused(place(host))
    }

    /// From here on a host's clock shows so much more than the world's.
    pub fn skew(&mut self, host: u32, nanos: i64) {
        self.sim.set_clock(place(host), SimClock::ahead(nanos));
    }

    /// From here on so many datagrams of a million are lost.
    pub fn lose(&mut self, millionths: u32) {
        self.sim.links.weather.loss = millionths;
    }

    /// Cuts what goes from one host to another.
    pub fn cut(&mut self, from: u32, to: u32) {
        let (from, to) = ([place(from)], [place(to)]);
        self.sim.links.cut(&from, &to, 0..u64::MAX);
    }

    /// Cuts both ways between two groups.
    pub fn part(&mut self, left: &[u32], right: &[u32]) {
        for one in left {
            for other in right {
                self.cut(*one, *other);
                self.cut(*other, *one);
            }
        }
    }

    /// Everybody reaches everybody.
    pub fn heal(&mut self) {
        self.sim.links.heal();
    }

    /// What runs on a host.
    ///
    /// # Panics
    ///
    /// Where nothing does.
    #[track_caller]
    pub fn cluster(&mut self, host: u32) -> &mut Cluster {
        let process = self.processes.get_mut(&host);
        let process = process.unwrap_or_else(|| panic!("nothing runs on host {host}"));
        &mut process.cluster
    }

    /// What a host's clock shows.
    pub fn clock(&self, host: u32) -> Instant {
        Instant::from_nanos(self.sim.local(place(host)))
    }

    /// Ids of those that a host believes in, itself included.
    fn ids(&self, host: u32) -> BTreeSet<u128> {
        let members = self.processes[&host].cluster.members().iter();
        members.map(|member| member.id).collect()
    }

    /// Hosts that a host believes in, itself included.
    pub fn view(&self, host: u32) -> BTreeSet<u32> {
        let hosts = self.ids(host).into_iter();
        hosts
            .filter_map(|id| u32::try_from(id >> 64).ok())
            .collect()
    }

    /// Names of those that a host misses.
    pub fn missed(&self, host: u32) -> Vec<String> {
        let status = self.processes[&host].cluster.status(self.clock(host));
        let names = status.missing.into_iter().map(|missing| missing.name);
        names.collect()
    }

    /// Whether every running process sees all running processes and nobody else.
    pub fn is_one(&self) -> bool {
        let all: BTreeSet<u32> = self.processes.keys().copied().collect();
        let mut hosts = self.processes.keys();
        hosts.all(|host| self.view(*host) == all)
    }

    /// Whether besides all see them under the same numbers.
    pub fn agrees(&self) -> bool {
        let numbers = |process: &Process| -> Vec<_> {
            let members = process.cluster.members().iter();
            let numbers = members.map(|member| (member.node, member.writer, member.id));
            numbers.collect()
        };
        let mut views = self.processes.values().map(numbers);
        let first = views.next();
        first
            .as_ref()
            .is_some_and(|view| view.len() == self.processes.len())
            && views.all(|view| Some(view) == first)
            && self.is_one()
    }

    /// Lets time pass until something holds; says how long that took.
    ///
    /// # Panics
    ///
    /// Where it does not hold within so many seconds.
    #[track_caller]
    pub fn run_until(&mut self, what: &str, seconds_max: u64, done: impl Fn(&Self) -> bool) -> u64 {
        let start = self.now();
        while !done(self) {
            let hosts = self.processes.keys();
            let views: Vec<_> = hosts.map(|host| (*host, self.view(*host))).collect();
            assert!(
                self.now() - start < seconds_max * SECOND,
                "not in {seconds_max} s: {what}; {views:?}"
            );
            self.run_for(100 * MS);
        }
        self.now() - start
    }

    /// Lets so many seconds pass.
    pub fn run_seconds(&mut self, seconds: u64) {
        self.run_for(seconds * SECOND);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, span: u64) {
        let hosts: Vec<u32> = self.processes.keys().copied().collect();
        for host in hosts {
            self.follow_up(host);
        }
        self.run_to(self.now() + span);
    }

    /// The same up to a time, where nothing was asked of processes since it passed last.
    pub(super) fn run_to(&mut self, end: u64) {
        while let Some(event) = self.sim.next(end) {
            match event {
                sim::SimEvent::Message { to, message, .. } => self.land(to, &message),
                sim::SimEvent::Wake { node } => self.call(u32::from(node)),
                sim::SimEvent::Plan(()) => {}
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
            self.hash.word(self.sim.now());
            self.hash.bytes(&flight.bytes);
            self.deliver(host, flight);
            self.follow_up(host);
        }
    }

    fn deliver(&mut self, host: u32, flight: &Flight) {
        let now = self.clock(host);
        let Some(process) = self.processes.get_mut(&host) else {
            return;
        };
        let (cluster, bytes) = (&mut process.cluster, &flight.bytes);
        let taken = match flight.stream_from {
            Some(from) => cluster.handle_message(from, bytes, now),
            None => cluster.handle_payload(flight.boot, flight.counter, bytes, now),
        };
        if let Err(refused) = taken {
            *process.refused.entry(refused).or_default() += 1;
        }
    }

    /// Sends a datagram of somebody's once more, as a stranger who captured it could.
    pub fn replay(&mut self, to: u32, captured: usize) {
        let capture = &self.captures[captured];
        let flight = Flight {
            boot: capture.boot,
            counter: capture.counter,
            bytes: capture.bytes.clone(),
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
            self.post(host, transmit);
        }
        let Some(process) = self.processes.get_mut(&host) else {
            return;
        };
        while let Some(event) = process.cluster.poll_event() {
            process.events.push(event);
        }
        self.sim.let_sleep(place(host));
        if let Some(at) = process.cluster.poll_timeout() {
            let at = self.sim.clock(place(host)).world(at.as_nanos());
            self.sim.wake_at(place(host), at.max(self.sim.now() + 1));
        }
    }

    fn post(&mut self, host: u32, transmit: Transmit) {
        let process = &self.processes[&host];
        let (from, boot, me) = (process.address, process.boot, process.cluster.me().0);
        let Transmit { to, bytes, via, .. } = transmit;
        let mut flight = Flight {
            boot,
            counter: 0,
            bytes,
            stream_from: None,
        };
        if let Via::Datagram { counter } = via {
            let length = flight.bytes.len() + DATAGRAM_OVERHEAD;
            assert!(length <= ClusterConfig::MTU, "a datagram of {length} bytes");
            self.bytes += (length + IP_UDP_BYTES) as u64;
            flight.counter = counter;
            if self.captures_all {
                let bytes = flight.bytes.clone();
                self.captures.push(Capture {
                    from,
                    to,
                    boot,
                    counter,
                    bytes,
                });
            }
            self.sim.post(number(from), number(to), flight);
        } else {
            flight.stream_from = Some(me);
            let delay = DELAY + self.boots.below(DELAY / 2 + 1);
            self.sim.send(delay, number(from), number(to), flight);
        }
    }
}
