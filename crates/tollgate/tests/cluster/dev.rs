//! `tollgate cluster dev` as a process: what it prints, and that nothing outlives it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate::cluster::asker::Asker;

const DEADLINE: Duration = Duration::from_mins(1);

struct Dev {
    child: Child,
    nodes: Vec<Value>,
}

impl Dev {
    fn start(nodes: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
            .args(["cluster", "dev", "--nodes", nodes, "--format", "json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        let nodes = said["nodes"].as_array().unwrap().clone();
        Self { child, nodes }
    }

    fn pids(&self) -> Vec<u64> {
        let pids = self.nodes.iter().map(|node| node["pid"].as_u64().unwrap());
        pids.collect()
    }

    fn resp(&self, node: usize) -> SocketAddr {
        self.nodes[node]["resp"].as_str().unwrap().parse().unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn runs(pid: u64) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // One that only waits to be collected has ended.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_cluster_counts_as_one_and_ends_with_its_command() {
    let mut dev = Dev::start("3");
    assert_eq!(dev.nodes.len(), 3);
    let pids = dev.pids();
    assert!(pids.iter().all(|pid| runs(*pid)));
    let mut left = Asker::connect(dev.resp(0), DEADLINE).unwrap();
    let mut right = Asker::connect(dev.resp(2), DEADLINE).unwrap();
    for key in [[("user", "1")], [("tenant", "acme")]] {
        let cost = if key[0].0 == "user" { 100 } else { 1000 };
        assert!(left.ask(&key, cost).unwrap(), "{key:?}");
        // Nodes tell each other at once, but that takes a moment; what comes back takes longer for such a cost.
        until("the other node knows", || {
            !right.ask(&key, cost / 2).unwrap()
        });
    }
    dev.signal("TERM");
    until("it ends", || dev.child.try_wait().unwrap().is_some());
    assert_eq!(dev.child.wait().unwrap().code(), Some(0));
    assert!(
        !pids.iter().any(|pid| runs(*pid)),
        "all ended before it did"
    );
}

#[test]
fn nodes_do_not_outlive_a_killed_command() {
    let dev = Dev::start("2");
    let pids = dev.pids();
    dev.signal("KILL");
    until("the nodes end", || !pids.iter().any(|pid| runs(*pid)));
}
