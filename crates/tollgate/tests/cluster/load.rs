//! Steady traffic for every lane at every node, until it is told to stop.
//!
//! Not here: what the answers mean.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::Fleet;

use crate::judge::{NodeVerdict, RecordedAnswer};

/// How long a node may take to answer before the next one is asked.
const PATIENCE: Duration = Duration::from_millis(400);

/// Traffic under way.
pub(crate) struct ClusterLoad {
    places: Arc<Mutex<BTreeMap<u16, SocketAddr>>>,
    is_over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<RecordedAnswer>>>,
}

impl ClusterLoad {
    /// One client per node; each asks about every lane in turn, all together `rate` times a second and lane.
    pub(crate) fn start(fleet: &Fleet, lanes: &'static [&'static str], rate: u32) -> Self {
        let nodes = u16::try_from(fleet.nodes().len()).unwrap();
        let places = Arc::new(Mutex::new(places(fleet, &[])));
        let is_over = Arc::new(AtomicBool::new(false));
        let clients = (0..nodes).map(|node| {
            let client = Client {
                node,
                lanes,
                every: Duration::from_secs(1) * u32::from(nodes) / rate,
                places: Arc::clone(&places),
                is_over: Arc::clone(&is_over),
            };
            thread::spawn(move || client.run())
        });
        Self {
            clients: clients.collect(),
            places,
            is_over,
        }
    }

    /// Says which nodes run, without those that stand still.
    pub(crate) fn follow(&self, fleet: &Fleet, paused: &[u16]) {
        *self.places.lock().unwrap() = places(fleet, paused);
    }

    /// Ends it: all answers in order of time.
    pub(crate) fn stop(self) -> Vec<RecordedAnswer> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut answers: Vec<RecordedAnswer> = self
            .clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect();
        answers.sort_by_key(|answer| answer.at);
        answers
    }
}

fn places(fleet: &Fleet, paused: &[u16]) -> BTreeMap<u16, SocketAddr> {
    let all = (0_u16..).zip(fleet.nodes());
    let running = all.filter(|(number, node)| node.pid().is_some() && !paused.contains(number));
    running.map(|(number, node)| (number, node.resp)).collect()
}

struct Client {
    node: u16,
    lanes: &'static [&'static str],
    every: Duration,
    places: Arc<Mutex<BTreeMap<u16, SocketAddr>>>,
    is_over: Arc<AtomicBool>,
}

impl Client {
    fn run(self) -> Vec<RecordedAnswer> {
        let mut askers: BTreeMap<u16, (SocketAddr, Asker)> = BTreeMap::new();
        let mut answers = Vec::new();
        let mut next = Instant::now() + self.every * u32::from(self.node) / 5;
        while !self.is_over.load(Ordering::Relaxed) {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            // What a stop of its own made late is not made up for in a burst.
            next = (next + self.every).max(Instant::now());
            for lane in 0..self.lanes.len() {
                self.ask(&mut askers, lane, &mut answers);
            }
        }
        answers
    }

    /// Notes the answer of its node, or of the next that answers, and every request before that which got none.
    fn ask(
        &self,
        askers: &mut BTreeMap<u16, (SocketAddr, Asker)>,
        lane: usize,
        answers: &mut Vec<RecordedAnswer>,
    ) {
        let ring: Vec<(u16, SocketAddr)> = {
            let places = self.places.lock().unwrap();
            let after = places.range(self.node..).chain(places.range(..self.node));
            after.map(|(node, at)| (*node, *at)).collect()
        };
        for (node, at) in ring {
            let known = askers.remove(&node).filter(|(place, _)| *place == at);
            let asker = known.map(|(_, asker)| asker);
            let Some(mut asker) = asker.or_else(|| Asker::connect(at, PATIENCE).ok()) else {
                continue;
            };
            let begun = Instant::now();
            let key = [("lane", self.lanes[lane]), ("user", "42")];
            let said = match asker.ask(&key, 1) {
                Ok(true) => NodeVerdict::Admitted,
                Ok(false) => NodeVerdict::Refused,
                Err(_) => NodeVerdict::Nothing,
            };
            answers.push(RecordedAnswer {
                lane,
                node,
                begun,
                at: Instant::now(),
                said,
            });
            if said != NodeVerdict::Nothing {
                askers.insert(node, (at, asker));
                return;
            }
        }
    }
}
