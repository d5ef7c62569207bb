//! Nodes that divide limits: frames take a millisecond, time passes when told, and everything that is admitted is
//! replayed through one bucket by arithmetic of its own.

#[path = "../whole/mod.rs"]
mod whole;

use std::collections::BTreeMap;

use tollgate_contract::Coordination;
use tollgate_limit::Cost;
use tollgate_node::{Kept, Key, Value};
use tollgate_sim::Weather;

pub(crate) use whole::{MS, SECOND, World, contracts, roster};

pub(crate) fn ceiling(limit: u64) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {limit}, per: 1s, burst: 50, coordination: supply }}] }}]"
    )
}

impl World {
    pub(crate) fn new(count: usize, text: &str) -> Self {
        let mut world = Self::empty(Weather::between(MS, MS), 1, 1 << 26);
        world.sim.links.cuts_arrivals = true;
        world.roster = (0..count).map(|number| (format!("n{number}"), 1)).collect();
        for number in 0..count {
            world.add(&format!("n{number}"), text, BTreeMap::new());
        }
        world.tell();
        world.run(3 * SECOND);
        world
    }

    /// So many requests a millisecond at each of these nodes; how many passed.
    pub(crate) fn load(&mut self, nanos: u64, at: &[usize], each: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..nanos / MS {
            for node in at {
                for _ in 0..each {
                    passed += u64::from(self.ask(*node, 1));
                }
            }
            self.run(MS);
        }
        passed
    }

    pub(crate) fn ask(&mut self, node: usize, cost: u64) -> bool {
        let one = &self.nodes[node];
        let answer = one
            .node
            .newest()
            .check(Key::Text(b"x"), Cost::new(cost).unwrap(), self.now());
        self.pump();
        answer.is_allowed()
    }

    pub(crate) fn crash(&mut self, node: usize) -> BTreeMap<u64, Kept> {
        self.nodes[node].is_up = false;
        self.tell();
        self.nodes[node].disk.clone()
    }

    pub(crate) fn reload(&mut self, text: &str) {
        for number in 0..self.nodes.len() {
            let next = self.nodes[number]
                .node
                .newest()
                .succeed(contracts(text), self.now());
            self.nodes[number].node = next;
        }
        self.pump();
    }

    /// A rate that a node shows, in thousandths of a millionth of a request a second.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are far below 2^53"
    )]
    pub(crate) fn seen(&self, node: usize, rate: &str) -> u64 {
        let node = &self.nodes[node].node;
        let status = node.mode_status(Coordination::Supply, None, self.now());
        let shown = status[0].figure(rate).and_then(Value::number);
        (shown.unwrap() * 1e9).round() as u64
    }

    pub(crate) fn usable(&self) -> u64 {
        let up = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_up);
        up.map(|node| self.seen(node, "usable")).sum()
    }

    /// Everything that was admitted, replayed through one bucket that is full at the beginning.
    pub(crate) fn replay(&self, limit: u64, burst: u64) {
        let log = self.log.lock().unwrap();
        let mut log: Vec<_> = log.iter().map(|(_, admitted)| *admitted).collect();
        for admitted in &mut log {
            admitted.at = admitted.at.saturating_add(admitted.wait);
        }
        log.sort_by_key(|admitted| admitted.at);
        let full = u128::from(burst) * u128::from(SECOND);
        let (mut level, mut last) = (full, 0);
        for admitted in log {
            let time = admitted.at.as_nanos() - last;
            level = full.min(level + u128::from(time) * u128::from(limit));
            last = admitted.at.as_nanos();
            let cost = u128::from(admitted.cost) * u128::from(SECOND);
            assert!(level >= cost, "one too many at {last}");
            level -= cost;
        }
    }
}
