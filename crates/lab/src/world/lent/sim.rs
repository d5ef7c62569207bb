//! The run of a trace: requests and messages in order of time.
//!
//! Not here: what the answers are compared with.

use std::collections::{BTreeMap, VecDeque};

use tollgate_gossip::Key;
use tollgate_lease::{
    Answer, Grant, Lessee, Limits, Message, Nudge, Pool, Question, Rules, Setup, encode,
};
use tollgate_limit::Instant;
use tollgate_sim::{Event, Sim};

use super::desk::{Desk, Side};
use super::{AFTER_NS, Lent};
use crate::dice::{Dice, scramble};
use crate::world::hash::EventHash;
use crate::world::links::links;
use crate::world::meter::{Record, seconds};
use crate::world::outcome::{Outcome, Traffic};
use crate::world::router::Router;
use crate::world::{Cluster, Request};

/// A node and a key.
#[derive(Clone, Copy)]
struct At {
    desk: usize,
    node: u16,
}

/// Something to come.
#[derive(Clone)]
enum What {
    Ask(At, Box<Question>),
    Grant(At, Box<Grant>),
    Nudge(At),
    /// A request, by its place in the trace and cost.
    One(At, usize, u64),
    Said(usize, bool),
    Timer(At),
}

struct World<'a> {
    cluster: &'a Cluster,
    lent: Lent,
    limits: Limits,
    sim: Sim<What, What, Dice>,
    router: Router,
    keys: BTreeMap<Key, usize>,
    desks: Vec<Desk>,
    admitted: Vec<bool>,
    sent: Sent,
    hash: EventHash,
    record: Record,
}

/// What was sent, by whom, and when last.
struct Sent {
    traffic: Traffic,
    /// Per node: sent, received; the store is the last.
    bytes: Vec<(u64, u64)>,
    last: u64,
}

/// Bytes of IP and UDP before each message.
const OVERHEAD_BYTES: u64 = 28;
/// Bytes of a message that only asks, answers or counts: key, number, amount.
const SHORT_BYTES: u64 = 32;

/// Runs a trace; which requests passed. `None` for a bucket that cannot be lent.
pub(super) fn run(
    cluster: &Cluster,
    lent: Lent,
    trace: &[Request],
    seed: u64,
) -> Option<(Outcome, Vec<bool>)> {
    let mut world = World::new(cluster, lent, trace, seed)?;
    for (number, request) in trace.iter().enumerate() {
        world.request(number, request);
    }
    Some(world.finish(seed))
}

impl<'a> World<'a> {
    /// `None` for a bucket that cannot be lent.
    fn new(cluster: &'a Cluster, lent: Lent, trace: &[Request], seed: u64) -> Option<Self> {
        let bucket = cluster.bucket;
        let rate = u64::try_from(bucket.refilled(1)).ok()?;
        let period = u64::try_from(bucket.grains(1)).ok()?;
        let start = trace.first().map_or(0, |request| request.at.as_nanos());
        let links = links(&cluster.faults, seed, start);
        let mut sim = Sim::new(start, links);
        for (node, clock) in (0..).zip(crate::world::sim::clocks(cluster, seed)) {
            sim.set_clock(node, clock);
        }
        Some(Self {
            cluster,
            lent,
            limits: Limits::new(rate, period, bucket.burst()).ok()?,
            sim,
            router: Router::new(cluster, seed),
            keys: BTreeMap::new(),
            desks: Vec::new(),
            admitted: vec![false; trace.len()],
            sent: Sent {
                traffic: Traffic::default(),
                bytes: vec![(0, 0); usize::from(cluster.nodes) + 1],
                last: start,
            },
            hash: EventHash::new(),
            record: Record::new(trace, cluster.watch.curves),
        })
    }

    /// Brings a request, after everything that is due by then.
    fn request(&mut self, number: usize, request: &Request) {
        self.run_until(request.at.as_nanos());
        self.advance(request.at.as_nanos());
        let node = self.router.meant(request);
        let desk = self.desk(request.key);
        let at = At { desk, node };
        match self.lent {
            Lent::Owner | Lent::Store => {
                let home = self.home(desk);
                self.post(node, home, SHORT_BYTES, What::One(at, number, request.cost));
            }
            _ => self.check(at, number, request.cost),
        }
    }

    fn home(&self, desk: usize) -> u16 {
        self.desks.get(desk).map_or(0, |desk| desk.home)
    }

    /// The desk of a key, which is made when it is first asked for.
    fn desk(&mut self, key: Key) -> usize {
        if let Some(desk) = self.keys.get(&key) {
            return *desk;
        }
        let now = Instant::from_nanos(self.now());
        let pool = Box::new(Pool::new(self.limits, Rules::default(), 1, now));
        let nodes = u128::from(self.cluster.nodes.max(1));
        let spread = u128::from(scramble(u64::try_from(key.0 >> 64).unwrap_or(0))) ^ key.0;
        let home = match self.lent {
            Lent::Store => self.cluster.nodes,
            _ => u16::try_from(spread % nodes).unwrap_or(0),
        };
        self.desks.push(Desk {
            key,
            home,
            pool,
            nodes: BTreeMap::new(),
        });
        self.keys.insert(key, self.desks.len() - 1);
        self.desks.len() - 1
    }

    /// What a node has of a key, which begins when it is first asked.
    fn side(&mut self, at: At) -> Option<&mut Side> {
        let (clock, trip) = (self.clock(at.node), 2 * self.sim.links.weather.delay_max);
        let desk = self.desks.get_mut(at.desk)?;
        let usual = Setup::new(at.node.into(), 1, desk.key);
        let setup = Setup {
            trip_ns: trip.max(1_000),
            timeout_ns: usual.timeout_ns.max(5 * trip),
            ..usual
        };
        Some(desk.nodes.entry(at.node).or_insert_with(|| Side {
            lessee: Box::new(Lessee::new(setup, clock)),
            timer: u64::MAX,
            waiting: VecDeque::new(),
        }))
    }

    fn clock(&self, node: u16) -> Instant {
        Instant::from_nanos(self.sim.local(node))
    }

    fn check(&mut self, at: At, number: usize, cost: u64) {
        let clock = self.clock(at.node);
        let Some(side) = self.side(at) else {
            return;
        };
        let is_allowed = match side.lessee.check(cost, clock) {
            Answer::Allow(_) | Answer::Delay { .. } => true,
            Answer::Deny { .. } => false,
            Answer::Failed { is_allowed } => is_allowed,
            Answer::Wait(ticket) => {
                side.waiting.push_back((ticket, number));
                false
            }
        };
        self.answer(number, is_allowed);
        self.drain(at);
    }

    fn answer(&mut self, number: usize, is_allowed: bool) {
        if let Some(own) = self.admitted.get_mut(number).filter(|_| is_allowed) {
            *own = true;
            self.hash.word(self.now());
            self.hash.word(number as u64);
        }
    }

    /// Carries out what a node wants, and comes back when it says.
    fn drain(&mut self, at: At) {
        let (clock, now, home) = (self.clock(at.node), self.now(), self.home(at.desk));
        let (mut out, mut decided) = (Vec::new(), Vec::new());
        let Some(side) = self.side(at) else {
            return;
        };
        while let Some(question) = side.lessee.poll_send() {
            let bytes = encode(&Message::Question(question)).len() as u64;
            out.push((bytes, What::Ask(at, Box::new(question))));
        }
        while let Some(one) = side.lessee.poll_decided() {
            let found = side.waiting.iter().position(|(own, _)| *own == one.number);
            let found = found.and_then(|place| side.waiting.remove(place));
            decided.extend(found.map(|(_, number)| (number, one.is_allowed)));
        }
        if let Some(next) = side.lessee.poll_timeout() {
            let time = now.saturating_add(next.nanos_since(clock).max(1));
            if side.timer <= now || time < side.timer {
                side.timer = time;
                self.sim.plan(time, What::Timer(at));
            }
        }
        for (number, is_allowed) in decided {
            self.answer(number, is_allowed);
        }
        for (bytes, event) in out {
            self.post(at.node, home, bytes, event);
        }
    }

    /// Puts a message on its way; what stays on a node costs nothing and takes no time.
    fn post(&mut self, from: u16, to: u16, bytes: u64, event: What) {
        let now = self.now();
        if from == to {
            return self.sim.plan(now, event);
        }
        let bytes = OVERHEAD_BYTES + bytes;
        self.sent.traffic.messages += 1;
        self.sent.traffic.bytes += bytes;
        self.sent.last = now;
        if let Some(own) = self.sent.bytes.get_mut(usize::from(from)) {
            own.0 += bytes;
        }
        let copies = self.sim.post(from, to, event);
        self.sent.traffic.lost += u64::from(copies == 0);
        self.sent.traffic.copies += copies.saturating_sub(1);
        self.sent.traffic.received += copies;
        if let Some(own) = self.sent.bytes.get_mut(usize::from(to)) {
            own.1 += copies * bytes;
        }
    }

    fn run_until(&mut self, until: u64) {
        while let Some(event) = self.sim.next(until) {
            self.advance(self.now());
            match event {
                Event::Message { message, .. } => self.happen(message),
                Event::Plan(planned) => self.happen(planned),
                Event::Wake { .. } => {}
            }
        }
    }

    fn advance(&mut self, at: u64) {
        self.record.pass(at, &[], self.sent.traffic.bytes);
        self.sim.pass(at);
    }

    fn now(&self) -> u64 {
        self.sim.now()
    }

    fn happen(&mut self, event: What) {
        match event {
            What::Ask(at, question) => self.lend(at, &question),
            What::One(at, number, cost) => {
                let (now, home) = (self.now(), self.home(at.desk));
                let desk = self.desks.get_mut(at.desk);
                let is_allowed = desk.is_some_and(|desk| desk.decide(cost, now));
                self.post(home, at.node, SHORT_BYTES, What::Said(number, is_allowed));
            }
            What::Said(number, is_allowed) => self.answer(number, is_allowed),
            What::Grant(at, _) | What::Nudge(at) => self.tell(at, &event),
            What::Timer(at) => self.tick(at),
        }
    }

    fn lend(&mut self, at: At, question: &Question) {
        let (now, home) = (Instant::from_nanos(self.now()), self.home(at.desk));
        let Some(pool) = self.desks.get_mut(at.desk).map(|desk| &mut desk.pool) else {
            return;
        };
        let grant = pool.handle_question(question, now);
        let mut nudges: Vec<Nudge> = Vec::new();
        while let Some(nudge) = pool.poll_nudge(question.key) {
            nudges.push(nudge);
        }
        if let Some(grant) = grant {
            let bytes = encode(&Message::Grant(grant)).len() as u64;
            self.post(home, at.node, bytes, What::Grant(at, Box::new(grant)));
        }
        for nudge in nudges {
            let node = u16::try_from(nudge.client).unwrap_or(0);
            let bytes = encode(&Message::Nudge(nudge)).len() as u64;
            self.post(home, node, bytes, What::Nudge(At { node, ..at }));
        }
    }

    fn tell(&mut self, at: At, event: &What) {
        let clock = self.clock(at.node);
        let Some(side) = self.side(at) else {
            return;
        };
        match event {
            What::Grant(_, grant) => side.lessee.handle_grant(grant, clock),
            What::Nudge(_) => side.lessee.handle_nudge(clock),
            _ => {}
        }
        self.drain(at);
    }

    fn tick(&mut self, at: At) {
        let (clock, now) = (self.clock(at.node), self.now());
        let Some(side) = self.side(at).filter(|side| side.timer == now) else {
            return;
        };
        side.timer = u64::MAX;
        side.lessee.handle_timeout(clock);
        self.drain(at);
    }

    /// Lets what is under way arrive, and reports; and which requests passed.
    #[allow(clippy::cast_precision_loss, reason = "a figure to read")]
    fn finish(mut self, seed: u64) -> (Outcome, Vec<bool>) {
        let last = self.now();
        let held: usize = self.desks.iter().map(Desk::bytes).sum();
        self.run_until(last.saturating_add(AFTER_NS));
        self.record.close(&[], self.sent.traffic.bytes);
        let most = |pick: fn(&(u64, u64)) -> u64| self.sent.bytes.iter().map(pick).max();
        let state = held as f64 / f64::from(self.cluster.nodes.max(1));
        let outcome = Outcome {
            seed,
            hash: self.hash.value(),
            traffic: Traffic {
                busiest_bytes: most(|own| own.0 + own.1).unwrap_or(0),
                busiest_sent_bytes: most(|own| own.0).unwrap_or(0),
                ..self.sent.traffic
            },
            state_bytes: state,
            local_bytes: state,
            quiet_s: Some(seconds(self.sent.last.saturating_sub(last))),
            curves: self.record.curves,
            ..Outcome::default()
        };
        (outcome, self.admitted)
    }
}
