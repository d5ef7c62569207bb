//! `tollgate cluster dev` as a process: what it prints, and that nothing outlives it.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;
use tollgate::cluster::asker::Asker;
use tollgate_parts::{Daemon, PATIENCE, until};

use crate::kit::tollgate;

struct Dev {
    daemon: Daemon,
    nodes: Vec<Value>,
}

impl Dev {
    fn start(nodes: &str) -> Self {
        let words = ["cluster", "dev", "--nodes", nodes, "--format", "json"];
        let daemon = Daemon::spawn(&mut tollgate(&words));
        let nodes = daemon.ready["nodes"].as_array().unwrap().clone();
        Self { daemon, nodes }
    }

    fn pids(&self) -> Vec<u64> {
        let pids = self.nodes.iter().map(|node| node["pid"].as_u64().unwrap());
        pids.collect()
    }

    fn resp(&self, node: usize) -> SocketAddr {
        self.nodes[node]["resp"].as_str().unwrap().parse().unwrap()
    }
}

fn runs(pid: u64) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // One that only waits to be collected has ended.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_cluster_counts_as_one_and_ends_with_its_command() {
    let dev = Dev::start("3");
    assert_eq!(dev.nodes.len(), 3);
    let pids = dev.pids();
    assert!(pids.iter().all(|pid| runs(*pid)));
    let mut left = Asker::connect(dev.resp(0), PATIENCE).unwrap();
    let mut right = Asker::connect(dev.resp(2), PATIENCE).unwrap();
    for key in [[("user", "1")], [("tenant", "acme")]] {
        let cost = if key[0].0 == "user" { 100 } else { 1000 };
        assert!(left.ask(&key, cost).unwrap(), "{key:?}");
        // Nodes tell each other at once, but that takes a moment; what comes back takes longer for such a cost.
        until("the other node knows", || {
            !right.ask(&key, cost / 2).unwrap()
        });
    }
    dev.daemon.signal("TERM");
    assert_eq!(dev.daemon.end().0, Some(0));
    assert!(
        !pids.iter().any(|pid| runs(*pid)),
        "all ended before it did"
    );
}

#[test]
fn nodes_do_not_outlive_a_killed_command() {
    let dev = Dev::start("2");
    let pids = dev.pids();
    dev.daemon.signal("KILL");
    until("the nodes end", || !pids.iter().any(|pid| runs(*pid)));
}
