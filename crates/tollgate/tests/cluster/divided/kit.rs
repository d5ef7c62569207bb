//! A few nodes that divide a rate, each with files of its own, asked for more than there is; and a judge of what they
//! admitted.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tollgate::cluster::asker::Asker;
use tollgate::cluster::fleet::{ClusterNode, ClusterPlan, Fleet, Spot};
use tollgate_fault::ProcessFault;
use tollgate_parts::until;
use tollgate_serve::modes::view::ModePolicyView;
use tollgate_serve::supply::steady_now;

use super::replay::{AdmissionLog, JudgeSummary, JudgedBucket, judge};
use crate::kit::plan;

pub(super) struct Divided {
    pub(super) fleet: Fleet,
    folder: tempfile::TempDir,
    nodes: u16,
}

/// What a node's files say.
#[derive(Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) limit: u64,
    pub(super) roster: &'a str,
    /// How the policy is counted.
    pub(super) how: &'a str,
}

impl Divided {
    /// Starts nodes whose spots may be changed first; all say the same.
    pub(super) fn start(nodes: u16, files: Files<'_>, change: impl Fn(u16, &mut Spot)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut spots = BTreeMap::new();
        for node in 0..nodes {
            write(folder.path(), node, files);
            let mut spot = Spot {
                file: Some(folder.path().join(format!("n{node}.yaml"))),
                ..Spot::default()
            };
            change(node, &mut spot);
            spots.insert(node, spot);
        }
        let logs = folder.path().join("admitted").display().to_string();
        let mut plan = ClusterPlan {
            spots,
            ..plan(nodes, PathBuf::new())
        };
        plan.flags.extend(["--admission-log".to_owned(), logs]);
        let fleet = Fleet::start(plan);
        Self {
            fleet: fleet.unwrap(),
            folder,
            nodes,
        }
    }

    /// Gives a node other files, which it reads, and waits until it says the limit of them.
    pub(super) fn tell(&mut self, node: u16, files: Files<'_>) {
        self.write(node, files);
        self.fleet.reload(node).unwrap();
        until("the node has read its files", || {
            self.policy(node)
                .is_some_and(|policy| is_near(policy.number("rate"), files.limit))
        });
    }

    /// Gives a node other files, which it reads when it is started.
    pub(super) fn write(&self, node: u16, files: Files<'_>) {
        write(self.folder.path(), node, files);
    }

    /// How a node stands.
    pub(super) fn policy(&self, node: u16) -> Option<ModePolicyView> {
        self.fleet.supply(node).ok()?.policies.into_iter().next()
    }

    pub(super) fn usable(&self) -> f64 {
        let policies = (0..self.nodes).filter_map(|node| self.policy(node));
        policies.map(|policy| policy.number("usable")).sum()
    }

    #[track_caller]
    pub(super) fn wait_for_usable(&self, rate: u64) {
        until(&format!("{rate} may be used"), || {
            is_near(self.usable(), rate)
        });
    }

    /// What a node has logged.
    pub(super) fn log(&self, node: u16) -> String {
        fs::read_to_string(self.fleet.folder().join(format!("n{node}.log"))).unwrap()
    }

    pub(super) fn troubles(&self, node: u16) -> String {
        self.fleet.status(node).unwrap().troubles.join("\n")
    }

    pub(super) fn start_again(&mut self, node: u16) {
        let is_empty = false;
        self.fleet
            .suffer(ProcessFault::Start { node, is_empty })
            .unwrap();
    }

    /// What all of them admitted from a time on and before another, replayed through one bucket.
    pub(super) fn judge(&self, limit: u64, begin: u64, end: u64) -> JudgeSummary {
        let mut log = AdmissionLog::default();
        for entry in fs::read_dir(self.folder.path().join("admitted")).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            log.read(&path.display().to_string(), &text).unwrap();
        }
        for admitted in log.keys.values_mut() {
            admitted.retain(|(at, _)| (begin..end).contains(at));
        }
        let bucket = JudgedBucket {
            limit,
            per_ns: 1_000_000_000,
            burst: limit / BURST_PART,
        };
        judge(bucket, &log)
    }

    /// Nothing that was admitted in that time was beyond the limit, and something was admitted.
    #[track_caller]
    pub(super) fn assert_within(&self, limit: u64, span: (u64, u64)) {
        let found = self.judge(limit, span.0, span.1);
        assert_eq!(found.violations, 0, "{found:?}");
        assert!(found.admissions > 0, "{found:?}");
    }
}

fn write(folder: &std::path::Path, node: u16, files: Files<'_>) {
    let Files { limit, roster, how } = files;
    let burst = limit / BURST_PART;
    let contracts = format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {limit}, per: 1s, burst: {burst}, {how} }}] }}]"
    );
    // Replaced as a whole, as a node may be reading.
    let put = |name: String, text: String| {
        let beside = folder.join(format!("{name}.new"));
        fs::write(&beside, text).unwrap();
        fs::rename(beside, folder.join(name)).unwrap();
    };
    put(format!("n{node}.contracts"), contracts);
    put(
        format!("n{node}.yaml"),
        format!("contracts: n{node}.contracts\ncluster: {{ roster: {roster} }}\n"),
    );
}

/// Clients that ask every node for more than all of them may admit, until they are stopped.
pub(super) struct GreedyClients {
    is_over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl GreedyClients {
    pub(super) fn ask(on: &Divided) -> Self {
        Self::of(on.fleet.nodes())
    }

    /// Clients of one node.
    pub(super) fn ask_only(on: &Divided, node: usize) -> Self {
        Self::of(&on.fleet.nodes()[node..=node])
    }

    fn of(nodes: &[ClusterNode]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let client = |at| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let mut known: Option<Asker> = None;
                while !is_over.load(Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                    let asker = known.take();
                    let asker = asker.or_else(|| Asker::connect(at, Duration::from_secs(2)).ok());
                    known = asker.and_then(|mut asker| {
                        let answers = asker.ask_many(&[("route", "/")], 1, TOGETHER);
                        answers.ok().map(|_| asker)
                    });
                }
            })
        };
        let places = nodes.iter().map(|node| node.resp);
        Self {
            clients: places.map(client).collect(),
            is_over,
        }
    }

    pub(super) fn stop(self) {
        self.is_over.store(true, Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
    }
}

/// Requests of a client at a time: 50 times a second, so 2,000 of each node.
const TOGETHER: usize = 40;
/// What part of a second's tokens the burst is.
const BURST_PART: u64 = 10;

pub(super) fn now() -> u64 {
    steady_now().as_nanos()
}

/// Nodes are asked one after the other, while supply moves.
#[allow(clippy::cast_precision_loss)]
pub(super) fn is_near(value: f64, rate: u64) -> bool {
    (value / rate as f64 - 1.0).abs() < 0.01
}
