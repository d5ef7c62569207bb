//! A Redis Cluster of three primaries, each with a replica or none.

use crate::process::until;
use crate::redis::{Redis, RedisSetup};

pub struct RedisCluster {
    pub nodes: Vec<Redis>,
}

impl RedisCluster {
    /// Three primaries with a replica each, all up and in sync.
    pub fn start(setup: &RedisSetup) -> Self {
        Self::of(setup, 1)
    }

    /// Three primaries alone.
    pub fn without_replicas(setup: &RedisSetup) -> Self {
        Self::of(setup, 0)
    }

    fn of(setup: &RedisSetup, replicas: usize) -> Self {
        let mut setup = setup.clone();
        setup.lines.extend(LINES.map(String::from));
        if setup.papers.is_some() {
            setup = setup.line("tls-cluster yes");
        }
        let count = SLOTS.len() * (1 + replicas);
        let nodes: Vec<Redis> = (0..count).map(|_| Redis::of(&setup)).collect();
        for (place, node) in nodes.iter().enumerate() {
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()]);
            if let Some((from, to)) = SLOTS.get(place) {
                let (from, to) = (from.to_string(), to.to_string());
                node.cli(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]);
            }
            let (port, bus) = (node.port.to_string(), node.bus.to_string());
            nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
        }
        let say = |line: &str| {
            let info = |node: &Redis| node.cli(&["CLUSTER", "INFO"]);
            nodes.iter().all(|node| info(node).contains(line))
        };
        until("all nodes know each other", || {
            say(&format!("cluster_known_nodes:{count}"))
        });
        for (place, replica) in nodes[SLOTS.len()..].iter().enumerate() {
            let primary = nodes[place].cli(&["CLUSTER", "MYID"]);
            // The replica may not know yet that the other is a primary.
            until("a replica has its primary", || {
                replica.try_cli(&["CLUSTER", "REPLICATE", &primary]).is_ok()
            });
        }
        let primaries = &nodes[..SLOTS.len()];
        until("the Cluster is up", || {
            say("cluster_state:ok") && primaries.iter().all(|node| node.is_followed(replicas))
        });
        Self { nodes }
    }

    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(Redis::address).collect()
    }

    /// The index of the primary that has a key at the start; its replica is three indexes later.
    pub fn owner(&self, key: &str) -> usize {
        let slot = self.nodes[0].cli(&["CLUSTER", "KEYSLOT", key]);
        let slot: u16 = slot.parse().expect("a slot");
        let has = |&(from, to): &(u16, u16)| (from..=to).contains(&slot);
        SLOTS
            .iter()
            .position(has)
            .expect("every slot has a primary")
    }
}

/// The slots of each primary.
const SLOTS: [(u16, u16); 3] = [(0, 5460), (5461, 10922), (10923, 16383)];
const LINES: [&str; 4] = [
    "cluster-enabled yes",
    "cluster-port BUS",
    "cluster-node-timeout 1000",
    "cluster-replica-validity-factor 0",
];
