//! Nodes for one test, and clients that ask them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
pub(crate) use tollgate_parts::{PATIENCE, Wire, until};

use tempfile::TempDir;
use tollgate_cluster::FailureTiming;
use tollgate_limit::Span;
use tollgate_serve::cluster::keys::KeyRing;
use tollgate_serve::cluster::view::ClusterView;
use tollgate_serve::run::{Running, start};
use tollgate_serve::settings::{
    ClusterSettings, ContractSource, Join, Listener, Runtime, Settings,
};

const fn millis(count: u64) -> Span {
    Span::from_nanos(count as u128 * 1_000_000)
}

/// Failures are noticed within a second.
pub(crate) const QUICK: FailureTiming = FailureTiming {
    probe: millis(200),
    answer: millis(80),
    suspect: millis(600),
    alone: millis(600),
};

/// A contract that all nodes count together: 50 in an hour, so that nothing comes back during a test.
pub(crate) const CONTRACTS: &str = "contracts: [{ id: users, key: [user], policies: [{ name: p, limit: 50, per: 1h, \
     coordination: gossip }] }]";

/// What several nodes have in common: a folder with the cluster's keys.
pub(crate) struct ClusterFolder {
    pub(crate) folder: TempDir,
    pub(crate) contracts: String,
    pub(crate) pace: FailureTiming,
}

impl ClusterFolder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ground = Self {
            folder,
            contracts: CONTRACTS.to_owned(),
            pace: QUICK,
        };
        KeyRing::fresh().unwrap().create(&ground.key()).unwrap();
        ground
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.path().join("cluster.key")
    }

    pub(crate) fn settings(&self, name: &str, join: &[SocketAddr]) -> Settings {
        let join = join.iter().map(|at| Join {
            host: at.ip().to_string(),
            port: at.port(),
        });
        Settings {
            http: vec![Listener::loopback()],
            contracts: ContractSource::Text(self.contracts.clone()),
            runtime: Runtime {
                threads: Some(1),
                ..Runtime::default()
            },
            cluster: Some(ClusterSettings {
                listen: "127.0.0.1:0".parse().unwrap(),
                join: join.collect(),
                key_file: Some(self.key()),
                name: Some(name.to_owned()),
                pace: self.pace,
                ..ClusterSettings::default()
            }),
            ..Settings::default()
        }
    }

    pub(crate) fn node(&self, name: &str, join: &[SocketAddr]) -> NodeServer {
        NodeServer::start(self.settings(name, join))
    }

    /// So many nodes that know each other.
    pub(crate) fn nodes(&self, count: usize) -> Vec<NodeServer> {
        let mut nodes: Vec<NodeServer> = Vec::new();
        for number in 0..count {
            let join: Vec<SocketAddr> = nodes.first().map(NodeServer::at).into_iter().collect();
            nodes.push(self.node(&format!("n{number}"), &join));
        }
        all_know(&nodes, count);
        nodes
    }
}

/// Waits until every node knows so many, itself included, and is ready.
#[track_caller]
pub(crate) fn all_know(nodes: &[NodeServer], count: usize) {
    for node in nodes {
        until("everybody knows everybody", || node.members() == count);
        until("ready", || node.is_ready());
    }
}

/// Detects when nodes have received all frames.
pub(crate) struct Ears {
    /// Frames that were lost, as those to nodes that were not there yet.
    lost: i64,
}

impl Ears {
    /// Call while no frame is in flight.
    pub(crate) fn new(nodes: &[NodeServer]) -> Self {
        let mut ears = Self {
            lost: unheard(nodes),
        };
        let mut since = Instant::now();
        while since.elapsed() < STILL {
            std::thread::sleep(Duration::from_millis(2));
            let lost = unheard(nodes);
            if lost != ears.lost {
                (ears.lost, since) = (lost, Instant::now());
            }
        }
        ears
    }

    /// Waits until every sent frame is received. Frames to a node that is gone are waited for briefly.
    pub(crate) fn wait(&self, nodes: &[NodeServer]) {
        let begun = Instant::now();
        while unheard(nodes) > self.lost && begun.elapsed() < STILL {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Frames sent and not received.
fn unheard(nodes: &[NodeServer]) -> i64 {
    let views = nodes.iter().flat_map(|node| node.view().policies);
    views
        .map(|policy| policy.frames.cast_signed() - policy.heard.cast_signed())
        .sum()
}

/// Longer than a frame takes on a busy machine.
const STILL: Duration = Duration::from_millis(100);

pub(crate) struct NodeServer {
    pub(crate) running: Running,
    wire: Wire,
}

impl NodeServer {
    pub(crate) fn start(settings: Settings) -> Self {
        Self::of(start(settings).unwrap())
    }

    pub(crate) fn of(running: Running) -> Self {
        let wire = Wire::to(running.http().unwrap());
        Self { running, wire }
    }

    /// Where other nodes reach it.
    pub(crate) fn at(&self) -> SocketAddr {
        self.running.cluster().unwrap()
    }

    pub(crate) fn members(&self) -> usize {
        let handle = self.running.shared().cluster.get().unwrap();
        handle.members().members.len()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.running.shared().state.is_ready()
    }

    pub(crate) fn view(&self) -> ClusterView {
        tollgate_serve::cluster::view(self.running.shared())
    }

    pub(crate) fn refused(&self, reason: &str) -> u64 {
        self.view().refused[reason]
    }

    /// The status and the body of a page.
    pub(crate) fn get(&mut self, path: &str) -> (u16, String) {
        let reply = self.wire.get(path);
        (reply.status, reply.body)
    }

    /// The status and the body of the answer to a body in JSON.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> (u16, String) {
        let reply = self.wire.post(path, body);
        (reply.status, reply.body)
    }

    /// Whether a request of a user passes.
    pub(crate) fn passes(&mut self, user: &str) -> bool {
        let reply = self.wire.check(user);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body.contains("\"allowed\":true")
    }

    /// Like a killed process: peers are not notified.
    pub(crate) fn kill(self) {
        drop(self.running);
    }

    pub(crate) fn stop(self) {
        drop(self.wire);
        self.running.stop().unwrap();
    }
}

/// Copies a folder with what is in it.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
