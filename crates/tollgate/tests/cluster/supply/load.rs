//! Twice as much as there is, asked of all nodes; which of them is asked most changes every second.
//!
//! What is asked of a node that does not answer is asked of the next. Not here: what the answers mean.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::Fleet;

use super::{NODES, part};

/// How long a node may take to answer before the next is asked.
const PATIENCE: Duration = Duration::from_millis(400);
/// Between two questions of a client.
const TICK: Duration = Duration::from_millis(5);
/// The most requests that are asked together, where the machine was too slow for more.
const TOGETHER_MAX: f64 = 400.0;

pub(super) struct Load {
    shared: Arc<Shared>,
    begun: Instant,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    places: Mutex<BTreeMap<u16, SocketAddr>>,
    turn: AtomicU64,
    offered: AtomicU64,
    is_over: AtomicBool,
    rate: f64,
    cost: u64,
}

impl Load {
    /// Asks for `rate` tokens a second, `cost` with every request.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn start(fleet: &Fleet, rate: u64, cost: u64) -> Self {
        let shared = Arc::new(Shared {
            places: Mutex::new(places(fleet)),
            turn: AtomicU64::new(0),
            offered: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            rate: rate as f64,
            cost,
        });
        let client = |node| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || run(node, &shared))
        };
        Self {
            clients: (0..NODES).map(client).collect(),
            begun: Instant::now(),
            shared,
        }
    }

    /// Lets another node be asked most when a second is over.
    pub(super) fn turn(&self) {
        self.shared
            .turn
            .store(self.begun.elapsed().as_secs(), Relaxed);
    }

    pub(super) fn follow(&self, fleet: &Fleet) {
        *self.shared.places.lock().unwrap() = places(fleet);
    }

    /// Ends it; how many tokens were asked for.
    pub(super) fn stop(self) -> u64 {
        self.shared.is_over.store(true, Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
        self.shared.offered.load(Relaxed)
    }
}

fn places(fleet: &Fleet) -> BTreeMap<u16, SocketAddr> {
    let all = (0_u16..).zip(fleet.nodes());
    let running = all.filter(|(_, node)| node.pid().is_some());
    running.map(|(number, node)| (number, node.resp)).collect()
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn run(node: u16, shared: &Shared) {
    let mut askers: BTreeMap<u16, (SocketAddr, Asker)> = BTreeMap::new();
    let (mut last, mut due) = (Instant::now(), 0.0);
    while !shared.is_over.load(Relaxed) {
        thread::sleep(TICK);
        let wanted = shared.rate * part(node, shared.turn.load(Relaxed)) / shared.cost as f64;
        due += wanted * last.elapsed().as_secs_f64();
        last = Instant::now();
        let count = due.min(TOGETHER_MAX) as usize;
        due = (due - count as f64).min(TOGETHER_MAX);
        if count > 0 {
            ask(node, count, shared, &mut askers);
        }
    }
}

fn ask(node: u16, count: usize, shared: &Shared, askers: &mut BTreeMap<u16, (SocketAddr, Asker)>) {
    let ring: Vec<(u16, SocketAddr)> = {
        let places = shared.places.lock().unwrap();
        let after = places.range(node..).chain(places.range(..node));
        after.map(|(node, at)| (*node, *at)).collect()
    };
    for (node, at) in ring {
        let known = askers.remove(&node).filter(|(place, _)| *place == at);
        let asker = known.map(|(_, asker)| asker);
        let Some(mut asker) = asker.or_else(|| Asker::connect(at, PATIENCE).ok()) else {
            continue;
        };
        shared
            .offered
            .fetch_add(count as u64 * shared.cost, Relaxed);
        if asker
            .ask_many(&[("route", "/")], shared.cost, count)
            .is_ok()
        {
            askers.insert(node, (at, asker));
            return;
        }
    }
}
