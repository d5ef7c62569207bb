//! Requests of a trace decided from leases of whole nodes elsewhere: each key has a home.
//!
//! Not here: what the answers are compared with.

use std::collections::BTreeMap;

use tollgate_contract::Contracts;
use tollgate_gossip::{ModeKey, NodeId};
use tollgate_lease::{Setup, node_client};
use tollgate_limit::Instant;

use super::{AFTER_NS, Course};
use crate::dice::scramble;
use crate::nodes::site::{Fate, LenderBegin, Site, SiteEvent, SiteLog, Wish, lender};
use crate::nodes::{Net, START};
use crate::world::limit::numbers;
use crate::world::links::links;
use crate::world::outcome::RunOutcome;
use crate::world::router::{Router, hashed};
use crate::world::{Cluster, Request};

/// Runs a trace; which requests passed. `None` for a bucket that cannot be lent.
pub(super) fn run(
    cluster: &Cluster,
    trace: &[Request],
    seed: u64,
) -> Option<(RunOutcome, Vec<bool>)> {
    let mut run = Run::new(cluster, trace, seed)?;
    let mut router = Router::new(cluster, seed);
    for (number, request) in trace.iter().enumerate() {
        run.course.pass(&mut run.net, request.at.as_nanos());
        run.hear();
        let asked = run.ask(router.meant(request), request);
        run.take(&asked, number);
    }
    let (state, last) = (run.state(), run.net.sim.now());
    let end = trace.last().map_or(0, |request| request.at.as_nanos());
    run.course.pass(&mut run.net, end + AFTER_NS);
    run.hear();
    let outcome = run.course.outcome(&run.net, last, seed);
    let outcome = RunOutcome {
        state_bytes: state,
        local_bytes: state,
        ..outcome
    };
    Some((outcome, run.admitted))
}

/// A run under way.
struct Run<'a> {
    cluster: &'a Cluster,
    net: Net<Site>,
    course: Course,
    log: SiteLog,
    /// Requests that wait, by who asked, the key and their number; their places in the trace.
    waiting: BTreeMap<(u16, u64, u64), usize>,
    admitted: Vec<bool>,
}

/// A request that was put to a place.
struct Asked {
    place: u16,
    key: u64,
    fate: Fate,
}

impl<'a> Run<'a> {
    fn new(cluster: &'a Cluster, trace: &[Request], seed: u64) -> Option<Self> {
        let (bucket, log) = (cluster.bucket, SiteLog::default());
        let timeout = timeout_ns(cluster);
        let text = format!(
            "contracts: [{{ id: lab, key: [user], policies: [{{ name: limit, {}, coordination: lease, timeout: {timeout}ns }}] }}]",
            numbers(bucket)
        );
        let contracts = Contracts::parse(&text).ok()?;
        tollgate_node::countable(&contracts, false).ok()?;
        // A node that begins to lend takes everything for lent for a term, and fills from then on.
        let fills = u128::from(bucket.burst()) * bucket.grains(1) / bucket.refilled(1).max(1);
        let begun = START + TERM_NS_MAX + u64::try_from(fills).ok()?;
        let mut net = Net::on(START, links(&cluster.faults, seed, begun));
        for (node, clock) in (0..).zip(crate::world::sim::clocks(cluster, seed)) {
            net.sim.set_clock(node, clock);
        }
        for place in 0..cluster.nodes {
            let as_new = LenderBegin {
                generation: 1,
                since: Instant::from_nanos(net.sim.local(place)),
                rules: None,
                day: None,
                holder: Some(node_client(NodeId(place), seed)),
            };
            let mut site = Site::new(place, &log);
            site.node = Some(lender(contracts.clone(), as_new, &log));
            net.nodes.push(site);
        }
        net.sim.pass(begun);
        Some(Self {
            cluster,
            net,
            course: Course::new(cluster, trace, begun),
            log,
            waiting: BTreeMap::new(),
            admitted: vec![false; trace.len()],
        })
    }

    /// Where a key is lent.
    fn home(&self, key: ModeKey) -> u16 {
        let nodes = u64::from(self.cluster.nodes.max(1));
        u16::try_from(scramble(hashed(key)) % nodes).unwrap_or(0)
    }

    /// Puts a request to a node.
    fn ask(&mut self, place: u16, request: &Request) -> Asked {
        let (key, cost, home) = (hashed(request.key), request.cost, self.home(request.key));
        let now = Instant::from_nanos(self.net.sim.local(place));
        let setup = Setup {
            trip_ns: (2 * self.net.sim.links.weather.delay_max).max(1_000),
            timeout_ns: timeout_ns(self.cluster),
            ..Setup::new(place.into(), 1, tollgate_lease::ModeKey(key.into()))
        };
        let wish = Wish {
            key,
            cost,
            lender: home,
            setup,
        };
        let fate = match self.net.nodes.get_mut(usize::from(place)) {
            Some(site) if place == home => match site.decide(key, cost, now) {
                Some(answer) if answer.is_allowed() => Fate::Passes(answer.verdict.wait()),
                _ => Fate::Refused,
            },
            Some(site) => site.check(&wish, now),
            None => Fate::Refused,
        };
        self.net.follow_up(usize::from(place));
        Asked { place, key, fate }
    }

    /// Takes note of what became of a request.
    fn take(&mut self, asked: &Asked, number: usize) {
        let Asked { place, key, fate } = *asked;
        match fate {
            Fate::Passes(_) | Fate::Failed(true) => self.admit(number),
            Fate::Refused | Fate::Failed(false) => {}
            Fate::Later(ticket) => {
                self.waiting.insert((place, key, ticket), number);
            }
        }
        self.hear();
    }

    /// Takes note of what places have told.
    fn hear(&mut self) {
        for event in self.log.take() {
            let SiteEvent::Decided {
                site,
                key,
                ticket,
                passes,
                ..
            } = event
            else {
                continue;
            };
            let number = self.waiting.remove(&(site, key, ticket));
            if let Some(number) = number.filter(|_| passes.is_some()) {
                self.admit(number);
            }
        }
    }

    fn admit(&mut self, number: usize) {
        if let Some(own) = self.admitted.get_mut(number) {
            *own = true;
            self.net.note(number as u64);
        }
    }

    /// Bytes of state of a node, the mean: books, cells and leases.
    #[allow(clippy::cast_precision_loss, reason = "a figure to read")]
    fn state(&self) -> f64 {
        let of = |site: &Site| {
            let node = site.node.as_ref();
            let cells = node.map_or(0, |node| node.cells_count() * CELL_BYTES);
            let books = node.map_or(0, |node| super::state(node).0);
            books + (cells + site.keys() * size_of::<tollgate_lease::Lessee>()) as u64
        };
        let held: u64 = self.net.nodes.iter().map(of).sum();
        held as f64 / f64::from(self.cluster.nodes.max(1))
    }
}

/// After which time without an answer nobody is there.
fn timeout_ns(cluster: &Cluster) -> u64 {
    let weather = links(&cluster.faults, 0, 0).weather;
    (10 * weather.delay_max).max(200_000_000)
}

/// The longest term of leases that a contract has unless it says so.
const TERM_NS_MAX: u64 = 10_000_000_000;
/// What a cell takes, about.
const CELL_BYTES: usize = 32;
