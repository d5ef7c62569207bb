//! Nodes that divide limits: frames take a millisecond, time passes when told, and everything that is admitted is
//! replayed through one bucket by arithmetic of its own.

use tollgate_contract::Coordination;
pub(crate) use tollgate_lab::nodes::{NodeWorld, contracts};
use tollgate_limit::Cost;
use tollgate_node::{FigureValue, Key};
use tollgate_sim::Conditions;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

pub(crate) fn ceiling(limit: u64) -> String {
    format!(
        "contracts: [{{ id: api, policies: [{{ name: all, limit: {limit}, per: 1s, burst: 50, coordination: supply }}] }}]"
    )
}

/// So many nodes that divide what they decide by.
pub(crate) fn of(count: usize, text: &str) -> NodeWorld {
    let mut world = NodeWorld::empty(Conditions::between(MS, MS), 1, 1 << 26);
    world.sim.links.cuts_arrivals = true;
    world.contracts = contracts(text);
    world.divide(count);
    world.start(count, 3 * SECOND);
    world
}

/// What is asked of such a world.
pub(crate) trait Divided {
    /// So many requests a millisecond at each of these nodes; how many passed.
    fn load(&mut self, nanos: u64, at: &[usize], each: u64) -> u64;
    /// A request; whether it passed.
    fn pass(&mut self, node: usize, cost: u64) -> bool;
    /// A rate that a node shows, in thousandths of a millionth of a request a second.
    fn seen(&self, node: usize, rate: &str) -> u64;
    fn usable(&self) -> u64;
    /// Everything that was admitted, replayed through one bucket that is full at the beginning.
    fn replay(&self, limit: u64, burst: u64);
}

impl Divided for NodeWorld {
    fn load(&mut self, nanos: u64, at: &[usize], each: u64) -> u64 {
        let mut passed = 0;
        for _ in 0..nanos / MS {
            for node in at {
                for _ in 0..each {
                    passed += u64::from(self.pass(*node, 1));
                }
            }
            self.run(MS);
        }
        passed
    }

    fn pass(&mut self, node: usize, cost: u64) -> bool {
        let answer = self.ask(node, Key::Text(b"x"), Cost::new(cost).unwrap());
        answer.is_allowed()
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are far below 2^53"
    )]
    fn seen(&self, node: usize, rate: &str) -> u64 {
        let node = &self.nodes[node].node;
        let status = node.mode_status(Coordination::Supply, None, self.now());
        let shown = status[0].figure(rate).and_then(FigureValue::number);
        (shown.unwrap() * 1e9).round() as u64
    }

    fn usable(&self) -> u64 {
        let up = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_up);
        up.map(|node| self.seen(node, "usable")).sum()
    }

    fn replay(&self, limit: u64, burst: u64) {
        let log = self.log();
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
