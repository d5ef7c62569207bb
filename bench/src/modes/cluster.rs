//! Three nodes of one mode, as processes, and the resources they used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use tollgate_parts::Redis;

use super::options::BenchMode;
use super::shape::contracts;
use crate::server::host::{Host, free_port, port_of};

pub(super) struct ModeCluster {
    nodes: Vec<Host>,
    /// Where each node serves RESP.
    pub(super) sockets: Vec<PathBuf>,
    store: Option<Redis>,
    folder: TempDir,
}

/// Use of all nodes together since they started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResourceUse {
    pub(super) cpu_ns: f64,
    /// Between nodes, or between nodes and their store, both ways together.
    pub(super) bytes: f64,
    /// Of the node that takes most.
    pub(super) resident: f64,
}

impl ModeCluster {
    /// Starts three nodes and waits until each knows the two others.
    pub(super) fn start(binary: &Path, mode: BenchMode) -> Result<Self> {
        Self::start_with(binary, mode, None)
    }

    /// The same; counting may take so much memory.
    pub(super) fn start_with(binary: &Path, mode: BenchMode, memory: Option<&str>) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("tollgate-modes-")
            .tempdir()?;
        fs::write(
            folder.path().join("contracts.yaml"),
            contracts(mode.coordination()),
        )?;
        let key = Command::new(binary)
            .args(["cluster", "key", "new"])
            .arg(folder.path().join("key"))
            .stdout(Stdio::null())
            .status()?;
        ensure!(key.success(), "`tollgate cluster key new` failed");
        let store = (mode == BenchMode::Store).then(Redis::start);
        let ports = (0..NODES)
            .map(|_| free_port())
            .collect::<Result<Vec<_>>>()?;
        let mut cluster = Self {
            nodes: Vec::new(),
            sockets: Vec::new(),
            store,
            folder,
        };
        for (number, port) in ports.iter().enumerate() {
            let socket = cluster.folder.path().join(format!("n{number}.sock"));
            let mut command = cluster.command(binary, number, *port);
            command.envs(memory.map(|memory| ("TOLLGATE_MEMORY", memory)));
            command
                .arg("--resp")
                .arg(format!("unix:{}", socket.display()));
            for other in ports.iter().filter(|other| *other != port) {
                command.args(["--join", &format!("127.0.0.1:{other}")]);
            }
            cluster
                .nodes
                .push(Host::start_told("tollgate", command, |line| {
                    Some(vec![port_of(line, "http")?])
                })?);
            cluster.sockets.push(socket);
        }
        cluster.gather()?;
        Ok(cluster)
    }

    fn command(&self, binary: &Path, number: usize, port: u16) -> Command {
        let folder = self.folder.path();
        let mut command = Command::new(binary);
        command.args([
            "serve",
            "--format",
            "json",
            "--http",
            "127.0.0.1:0",
            "--threads",
            "1",
        ]);
        command.args(["--cluster", &format!("127.0.0.1:{port}")]);
        command.args(["--name", &format!("n{number}"), "--roster", "n0,n1,n2"]);
        command
            .arg("--contracts")
            .arg(folder.join("contracts.yaml"));
        command.arg("--cluster-key").arg(folder.join("key"));
        command
            .arg("--data-dir")
            .arg(folder.join(format!("n{number}")));
        if let Some(store) = &self.store {
            command.args(["--store", &store.url()]);
        }
        command
    }

    /// What all nodes took so far.
    pub(super) fn taken(&self) -> Result<ResourceUse> {
        let mut taken = ResourceUse::default();
        for node in &self.nodes {
            taken.cpu_ns += node.cpu_ns()?;
            taken.resident = taken.resident.max(node.resident_bytes()?);
            if self.store.is_none() {
                let sent = "tollgate_cluster_peer_sent_bytes_total";
                taken.bytes += node.get("/metrics")?.metric(sent);
            }
        }
        if let Some(store) = &self.store {
            let stats = store.cli(&["INFO", "stats"]);
            let figure = |name: &str| {
                let line = stats.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|value| value.trim().parse::<f64>().ok())
                    .with_context(|| format!("Redis does not report {name}"))
            };
            taken.bytes += figure("total_net_input_bytes:")? + figure("total_net_output_bytes:")?;
        }
        Ok(taken)
    }

    fn gather(&self) -> Result<()> {
        let deadline = Instant::now() + GATHER_WITHIN;
        for node in &self.nodes {
            while !is_whole(node) {
                if Instant::now() > deadline {
                    bail!("three nodes did not find each other in {GATHER_WITHIN:?}");
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

/// Whether a node is ready and knows the two others.
fn is_whole(node: &Host) -> bool {
    let ready = node.get("/readyz").is_ok_and(|reply| reply.status == 200);
    let alive = "tollgate_cluster_members{state=\"alive\"}";
    let metrics = node.get("/metrics");
    ready && metrics.is_ok_and(|page| page.metric(alive) >= f64::from(NODES))
}

const NODES: u16 = 3;
const GATHER_WITHIN: Duration = Duration::from_secs(30);
