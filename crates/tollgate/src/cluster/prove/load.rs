//! Load of twice the limit over all nodes; most of it goes to one node, which changes every second.
//!
//! Requests to a node that does not answer go to the next. Not here: what the answers mean.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::story::{NODES, RATE, REQUEST, part};
use crate::cluster::asker::Asker;
use crate::cluster::fleet::Fleet;

/// Timeout after which the next node is asked.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long a node that did not answer is skipped.
const GRUDGE: Duration = Duration::from_secs(1);
/// Pause between two requests of a client.
const TICK: Duration = Duration::from_millis(5);
/// Limit on requests sent together after the machine was too slow.
const TOGETHER_MAX: f64 = 400.0;

/// Clients, one for each node, until they are stopped.
pub(super) struct ProveLoad {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    places: Mutex<BTreeMap<u16, SocketAddr>>,
    offered: AtomicU64,
    is_over: AtomicBool,
    begun: Instant,
    cost: u64,
}

impl ProveLoad {
    /// Requests twice the limit, `cost` tokens with every request.
    pub(super) fn start(fleet: &Fleet, cost: u64) -> Self {
        let shared = Arc::new(Shared {
            places: Mutex::new(places(fleet)),
            offered: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            begun: Instant::now(),
            cost,
        });
        let client = |node| {
            let client = Client {
                node,
                shared: Arc::clone(&shared),
                askers: BTreeMap::new(),
                silent: BTreeMap::new(),
            };
            thread::spawn(move || client.run())
        };
        Self {
            clients: (0..NODES).map(client).collect(),
            shared,
        }
    }

    /// Updates the list of processes.
    pub(super) fn follow(&self, fleet: &Fleet) {
        let known = self.shared.places.lock();
        *known.unwrap_or_else(PoisonError::into_inner) = places(fleet);
    }

    /// Ends it; returns how many tokens were requested.
    pub(super) fn stop(self) -> u64 {
        self.shared.is_over.store(true, Relaxed);
        for client in self.clients {
            if let Err(panic) = client.join() {
                std::panic::resume_unwind(panic);
            }
        }
        self.shared.offered.load(Relaxed)
    }
}

fn places(fleet: &Fleet) -> BTreeMap<u16, SocketAddr> {
    let all = (0_u16..).zip(fleet.nodes());
    let running = all.filter(|(_, node)| node.pid().is_some());
    running.map(|(number, node)| (number, node.resp)).collect()
}

/// Sends the requests of one node.
struct Client {
    node: u16,
    shared: Arc<Shared>,
    askers: BTreeMap<u16, (SocketAddr, Asker)>,
    /// When a node last failed to answer.
    silent: BTreeMap<u16, Instant>,
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "how much is asked need not be exact"
)]
impl Client {
    fn run(mut self) {
        let (mut last, mut due) = (Instant::now(), 0.0);
        let wanted = 2.0 * RATE as f64 / self.shared.cost as f64;
        while !self.shared.is_over.load(Relaxed) {
            thread::sleep(TICK);
            let second = self.shared.begun.elapsed().as_secs();
            due += wanted * part(self.node, second) * last.elapsed().as_secs_f64();
            last = Instant::now();
            let count = due.min(TOGETHER_MAX);
            due = (due - count.floor()).min(TOGETHER_MAX);
            if count >= 1.0 {
                self.ask(count as usize);
            }
        }
    }

    /// Asks the first that answers, its own node before all others.
    fn ask(&mut self, count: usize) {
        for (node, at) in self.ring() {
            let known = self.askers.remove(&node).filter(|(place, _)| *place == at);
            let asker = known.map(|(_, asker)| asker);
            let Some(mut asker) = asker.or_else(|| Asker::connect(at, PATIENCE).ok()) else {
                self.silent.insert(node, Instant::now());
                continue;
            };
            let cost = self.shared.cost;
            let tokens = cost.saturating_mul(count as u64);
            self.shared.offered.fetch_add(tokens, Relaxed);
            if asker.ask_many(&REQUEST, cost, count).is_ok() {
                self.askers.insert(node, (at, asker));
                return;
            }
            self.silent.insert(node, Instant::now());
        }
    }

    fn ring(&self) -> Vec<(u16, SocketAddr)> {
        let places = self.shared.places.lock();
        let places = places.unwrap_or_else(PoisonError::into_inner);
        let after = places.range(self.node..).chain(places.range(..self.node));
        let is_heard = |node: &u16| {
            let since = self.silent.get(node);
            since.is_none_or(|since| since.elapsed() > GRUDGE)
        };
        let after = after.filter(|(node, _)| is_heard(node));
        after.map(|(node, at)| (*node, *at)).collect()
    }
}
