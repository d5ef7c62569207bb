//! A cluster of real processes on this machine, with faults.
//!
//! Not here: what the processes do, and the load.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tollgate_fault::{Mesh, ProcessFault};
use tollgate_load::ServerAddress;
use tollgate_serve::cluster::view::ClusterView;
use tollgate_serve::modes::view::ModeView;

use super::child::ChildServer;
use super::key;
use super::ports::{self, Port};
use crate::check::http::ServerRequest;
use crate::failure::Failure;

/// What kind of cluster.
#[derive(Clone, Debug)]
pub struct ClusterPlan {
    /// The `tollgate` to run.
    pub binary: PathBuf,
    pub nodes: u16,
    /// The contract file of all.
    pub contracts: PathBuf,
    /// Additional flags of `serve` for all.
    pub flags: Vec<String>,
    /// The seed of a proxy between the nodes; without one they reach each other directly.
    pub faults: Option<u64>,
    /// Places of nodes that are not simply processes on loopback, by their numbers.
    pub spots: BTreeMap<u16, Spot>,
}

/// Where a node is, and what its process runs under.
#[derive(Clone, Debug, Default)]
pub struct Spot {
    /// The command prefix, such as `ip netns exec NAME`; it must exec the command, not fork it.
    pub under: Vec<String>,
    /// The address for other nodes; loopback by default.
    pub cluster: Option<SocketAddr>,
    /// The address for clients; loopback by default.
    pub clients: Option<IpAddr>,
    /// Its name; `n` and its number by default.
    pub name: Option<String>,
    /// A server's file of its own, which names contracts and the roster.
    pub file: Option<PathBuf>,
}

/// The nodes of a cluster, each a process. They end when this is dropped, and when this process dies.
#[derive(Debug)]
pub struct Fleet {
    plan: ClusterPlan,
    mesh: Option<Mesh>,
    nodes: Vec<ClusterNode>,
    /// Claimed as long as a node may be restarted.
    _ports: Vec<Port>,
    /// Keys, data and logs; last, so that it is dropped after the processes.
    folder: TempDir,
}

#[derive(Debug)]
pub struct ClusterNode {
    pub name: String,
    /// The address of HTTP and gRPC.
    pub http: SocketAddr,
    /// The address of RESP.
    pub resp: SocketAddr,
    /// The address of the listener for other nodes.
    real: SocketAddr,
    /// The address that other nodes use.
    told: SocketAddr,
    child: Option<ChildServer>,
}

/// Timeout for a cluster to form.
const GATHER: Duration = Duration::from_mins(1);
/// Timeout for a node to end.
const END: Duration = Duration::from_secs(12);
/// Polling interval.
const TICK: Duration = Duration::from_millis(50);
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Fleet {
    /// Starts all nodes at once, and waits until each is ready and sees all others.
    pub fn start(plan: ClusterPlan) -> Result<Self, Failure> {
        let mut fleet = Self::prepare(plan)?;
        for node in 0..fleet.plan.nodes {
            fleet.spawn(node)?;
        }
        for node in 0..fleet.plan.nodes {
            fleet.greet(node)?;
        }
        fleet.gather()?;
        Ok(fleet)
    }

    fn prepare(plan: ClusterPlan) -> Result<Self, Failure> {
        let system = |error: &io::Error| Failure::system("prepare a cluster", error);
        let folder = tempfile::Builder::new().prefix("tollgate-").tempdir();
        let folder = folder.map_err(|error| system(&error))?;
        key::write_fresh(&folder.path().join(KEY_FILE))?;
        let mesh = plan.faults.map(Mesh::new).transpose();
        let mesh = mesh.map_err(|error| system(&error))?;
        let ports = ports::claim(3 * usize::from(plan.nodes));
        let ports = ports.map_err(|error| system(&error))?;
        let mut nodes = Vec::new();
        for (number, ports) in (0..).zip(ports.chunks_exact(3)) {
            let at = |ip, which: usize| {
                SocketAddr::new(ip, ports.get(which).map_or(0, |port| port.number))
            };
            let spot = plan.spots.get(&number).cloned().unwrap_or_default();
            let real = spot.cluster.unwrap_or_else(|| at(LOOPBACK, 0));
            let clients = spot.clients.unwrap_or(LOOPBACK);
            let told = mesh.as_ref().map_or(Ok(real), |mesh| mesh.add(number));
            nodes.push(ClusterNode {
                name: spot.name.unwrap_or_else(|| format!("n{number}")),
                http: at(clients, 1),
                resp: at(clients, 2),
                real,
                told: told.map_err(|error| system(&error))?,
                child: None,
            });
        }
        Ok(Self {
            plan,
            mesh,
            nodes,
            _ports: ports,
            folder,
        })
    }

    /// In order of their numbers.
    pub fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    /// The proxy between the nodes, if the plan asked for it.
    pub const fn mesh(&self) -> Option<&Mesh> {
        self.mesh.as_ref()
    }

    /// The folder of keys, data and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Applies a script's fault to a process.
    pub fn suffer(&mut self, process: ProcessFault) -> Result<(), Failure> {
        match process {
            ProcessFault::Kill(node) => self.end(node, ChildServer::kill),
            ProcessFault::Stop(node) => self.end(node, |child| child.stop(END)),
            ProcessFault::Start { node, is_empty } => {
                if is_empty {
                    let folder = self.data_dir(node);
                    let removed = fs::remove_dir_all(&folder);
                    removed.map_err(|error| Failure::file(&folder, &error))?;
                }
                self.spawn(node)?;
                self.greet(node)
            }
            ProcessFault::Pause(node) => self.child(node)?.pause(),
            ProcessFault::Resume(node) => self.child(node)?.resume(),
        }
    }

    /// Has a node read its files again.
    pub fn reload(&mut self, node: u16) -> Result<(), Failure> {
        self.child(node)?.hang_up()
    }

    pub fn is_ready(&self, node: u16) -> bool {
        self.get(node, "/readyz")
            .is_ok_and(|(status, _)| status == 200)
    }

    pub fn status(&self, node: u16) -> Result<ClusterView, Failure> {
        let (status, body) = self.get(node, "/v1/cluster")?;
        let value = serde_json::from_slice(&body).ok();
        value.filter(|_| status == 200).ok_or_else(|| {
            Failure::protocol(format!(
                "error: node {node} does not tell of its cluster (status {status})"
            ))
        })
    }

    /// The state of divided rates on a node.
    pub fn supply(&self, node: u16) -> Result<ModeView, Failure> {
        self.told(node, "/v1/cluster/supply")
    }

    /// The state of split buckets on a node.
    pub fn split(&self, node: u16) -> Result<ModeView, Failure> {
        self.told(node, "/v1/cluster/split")
    }

    /// The state of leases on a node.
    pub fn leases(&self, node: u16) -> Result<ModeView, Failure> {
        self.told(node, "/v1/leases")
    }

    /// Tokens in the pool of a key under a contract with leases.
    pub fn pool(&self, node: u16, contract: &str, user: &str) -> Option<u64> {
        let path = format!("/v1/leases?contract={contract}&key=user={user}");
        let view: ModeView = self.told(node, &path).ok()?;
        view.policies.first().map(|policy| policy.count("pool"))
    }

    /// Clients that have leases of a contract.
    pub fn lessees(&self, node: u16, contract: &str) -> Option<u64> {
        let view = self.leases(node).ok()?;
        let of = view
            .policies
            .iter()
            .find(|policy| policy.contract == contract);
        of.map(|policy| policy.count("lessees"))
    }

    fn told<T: DeserializeOwned>(&self, node: u16, path: &str) -> Result<T, Failure> {
        let (status, body) = self.get(node, path)?;
        let value = serde_json::from_slice(&body).ok();
        value.filter(|_| status == 200).ok_or_else(|| {
            Failure::protocol(format!(
                "error: node {node} does not answer {path} (status {status})"
            ))
        })
    }

    /// A node's metrics, in Prometheus' format.
    pub fn metrics(&self, node: u16) -> Result<String, Failure> {
        let (_, body) = self.get(node, "/metrics")?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Waits until every running node is ready and sees as many members as run.
    pub fn gather(&self) -> Result<(), Failure> {
        let running: Vec<u16> = (0..self.plan.nodes)
            .filter(|node| self.node(*node).is_ok_and(|node| node.child.is_some()))
            .collect();
        let begun = Instant::now();
        let mut waiting = running.clone();
        while !waiting.is_empty() {
            waiting.retain(|&node| !(self.is_ready(node) && self.sees(node) == running.len()));
            if begun.elapsed() > GATHER {
                let names: Vec<String> = waiting.iter().map(|node| format!("n{node}")).collect();
                return Err(self.broken(
                    waiting.first().copied().unwrap_or(0),
                    &format!(
                        "the cluster did not come together in {} s: {} not ready",
                        GATHER.as_secs(),
                        names.join(", ")
                    ),
                ));
            }
            thread::sleep(TICK);
        }
        Ok(())
    }

    /// How many members a node sees, itself included.
    pub fn sees(&self, node: u16) -> usize {
        let Ok(status) = self.status(node) else {
            return 0;
        };
        super::status::members_count(&status)
    }

    fn get(&self, node: u16, path: &str) -> Result<(u16, Vec<u8>), Failure> {
        let request = ServerRequest {
            server: &ServerAddress::Tcp(self.node(node)?.http.to_string()),
            method: "GET",
            path,
            token: None,
            line: None,
            body: None,
        };
        let reply = request.send();
        let reply = reply.map_err(|error| {
            Failure::unavailable(format!("error: node {node} does not answer: {error}"))
        })?;
        Ok((reply.status, reply.body))
    }

    fn spawn(&mut self, number: u16) -> Result<(), Failure> {
        let flags = self.flags(number)?;
        let log = self.folder().join(format!("n{number}.log"));
        let log = File::options().create(true).append(true).open(&log);
        let log = log.map_err(|error| Failure::system("write a log", &error))?;
        let spot = self.plan.spots.get(&number);
        let under = spot.map_or(&[][..], |spot| &spot.under);
        let child = ChildServer::spawn(under, &self.plan.binary, &flags, log)?;
        let pid = child.pid();
        let node = self.node_mut(number)?;
        node.child = Some(child);
        let real = node.real;
        if let Some(mesh) = &self.mesh {
            mesh.place(number, real, Some(pid));
        }
        Ok(())
    }

    /// Waits until a node reports its addresses.
    fn greet(&mut self, number: u16) -> Result<(), Failure> {
        let line = self.child(number)?.line(GATHER);
        let said: Option<Value> = line.and_then(|line| serde_json::from_str(&line).ok());
        let address = |name: &str| -> Option<SocketAddr> {
            let first = said.as_ref()?.get(name)?.get(0)?.as_str()?;
            first.parse().ok()
        };
        let (Some(http), Some(resp)) = (address("http"), address("resp")) else {
            return Err(self.broken(number, &format!("n{number} does not start")));
        };
        let node = self.node_mut(number)?;
        (node.http, node.resp) = (http, resp);
        Ok(())
    }

    fn flags(&self, number: u16) -> Result<Vec<String>, Failure> {
        let node = self.node(number)?;
        let text = |path: &Path| path.display().to_string();
        let mut flags: Vec<String> = [
            ("--http", node.http.to_string()),
            ("--resp", node.resp.to_string()),
            ("--data-dir", text(&self.data_dir(number))),
            ("--cluster", node.real.to_string()),
            ("--advertise", node.told.to_string()),
            ("--cluster-key", text(&self.folder().join(KEY_FILE))),
            ("--name", node.name.clone()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect();
        for other in self.nodes.iter().filter(|other| other.told != node.told) {
            flags.extend(["--join".to_owned(), other.told.to_string()]);
        }
        let spot = self.plan.spots.get(&number);
        if let Some(file) = spot.and_then(|spot| spot.file.as_deref()) {
            flags.extend(["--config".to_owned(), text(file)]);
        } else {
            flags.extend(["--contracts".to_owned(), text(&self.plan.contracts)]);
            let names: BTreeSet<&str> = self.nodes.iter().map(|node| &*node.name).collect();
            let names: Vec<&str> = names.into_iter().collect();
            flags.extend(["--roster".to_owned(), names.join(",")]);
        }
        flags.extend(self.plan.flags.iter().cloned());
        Ok(flags)
    }

    fn end(&mut self, number: u16, how: impl FnOnce(ChildServer)) -> Result<(), Failure> {
        let child = self.node_mut(number)?.child.take();
        child.map(how).ok_or_else(|| not_running(number))
    }

    /// A failure with the last lines of a node's log.
    fn broken(&self, number: u16, what: &str) -> Failure {
        let log = fs::read_to_string(self.folder().join(format!("n{number}.log")));
        let log = log.unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.get(lines.len().saturating_sub(LAST_WORDS)..);
        let last = last.unwrap_or_default().join("\n  ");
        Failure::unavailable(format!("error: {what}\n  {last}"))
    }

    /// The data directory of a node.
    pub fn data_dir(&self, number: u16) -> PathBuf {
        self.folder().join(format!("n{number}"))
    }

    fn node(&self, number: u16) -> Result<&ClusterNode, Failure> {
        let node = self.nodes.get(usize::from(number));
        node.ok_or_else(|| not_running(number))
    }

    fn node_mut(&mut self, number: u16) -> Result<&mut ClusterNode, Failure> {
        let node = self.nodes.get_mut(usize::from(number));
        node.ok_or_else(|| not_running(number))
    }

    fn child(&mut self, number: u16) -> Result<&mut ChildServer, Failure> {
        let node = self.node_mut(number)?;
        node.child.as_mut().ok_or_else(|| not_running(number))
    }
}

impl ClusterNode {
    /// While it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(ChildServer::pid)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Fleet {
    /// Ends all gracefully, then kills the rest.
    pub fn end_all(&mut self) {
        let mut children: Vec<ChildServer> = Vec::new();
        for node in &mut self.nodes {
            children.extend(node.child.take());
        }
        for child in &mut children {
            // A paused process would not get the signal.
            let _ = child.resume();
            child.ask();
        }
        let begun = Instant::now();
        for child in children {
            child.stop(LAST_PATIENCE.saturating_sub(begun.elapsed()));
        }
    }
}

fn not_running(number: u16) -> Failure {
    Failure::usage(format!("error: node {number} does not run"))
}

const KEY_FILE: &str = "cluster.key";
/// Log lines that are shown after a failure.
const LAST_WORDS: usize = 12;
/// Timeout for all at the very end.
const LAST_PATIENCE: Duration = Duration::from_secs(4);
