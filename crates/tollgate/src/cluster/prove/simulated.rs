//! The same phases in one process: the same nodes, frames that take half a millisecond, and simulated time.
//!
//! A restarted process is away for as long as it was live, and every node knows at once which nodes are up; a paused
//! node gets its messages when it resumes, and no requests meanwhile. Not here: processes, threads, and the cost of a
//! busy machine.

use tollgate_contract::Contracts;
use tollgate_lab::nodes::{Conditions, NodeWorld, START, Whole};
use tollgate_limit::Cost;
use tollgate_node::Key;

use super::story::{ISLAND, NODES, ProveEvent, RATE, REQUEST, part, share};

const STEP: u64 = 500_000;
const SECOND: u64 = 1_000_000_000;
const BYTES_MAX: u64 = 1 << 26;

/// What happened live: the event, for how many nanoseconds a process was away, and how long the phase was.
pub(super) type Lived = (ProveEvent, u64, u64);

/// The use of the limit per phase, in percent.
pub(super) fn run(contracts: &Contracts, lived: &[Lived], cost: Cost) -> Vec<f64> {
    let mut world = NodeWorld::empty(Conditions::between(STEP, STEP), 1, BYTES_MAX);
    world.contracts = contracts.clone();
    world.divide(usize::from(NODES));
    world.start(usize::from(NODES), 4 * SECOND);
    let mut stage = Stage {
        world,
        cost,
        due: vec![0.0; usize::from(NODES)],
    };
    let used = lived.iter().map(|(event, away, length)| {
        let tokens = stage.happen(*event, *away) + stage.pass(length.saturating_sub(*away));
        share(tokens, *length)
    });
    used.collect()
}

struct Stage {
    world: NodeWorld,
    cost: Cost,
    /// Requests that are due at each, and fractions of one.
    due: Vec<f64>,
}

impl Stage {
    /// Applies an event, for as long as a process was away; returns tokens admitted meanwhile.
    fn happen(&mut self, event: ProveEvent, away: u64) -> u64 {
        let mut tokens = 0;
        match event {
            ProveEvent::Nothing => {}
            ProveEvent::Kill(node) => drop(self.world.crash(node.into())),
            ProveEvent::Start(node) => {
                tokens = self.pass(away);
                self.world.restart(node.into());
            }
            ProveEvent::Pause(node) => self.world.sim.pause(node),
            ProveEvent::Resume(node) => self.world.sim.go_on(node),
            ProveEvent::Replace(node) => {
                self.world.crash(node.into());
                self.world.wipe(node.into());
                tokens = self.pass(away);
                self.world.restart(node.into());
            }
            ProveEvent::Restart(node) => {
                self.world.leave(node.into());
                tokens = self.pass(away);
                self.world.restart(node.into());
            }
            ProveEvent::Cut => {
                let sides = (0..NODES).map(|node| u8::from(ISLAND.contains(&node)));
                self.world.sim.links.split(sides.collect());
            }
            ProveEvent::Heal => self.world.sim.links.heal(),
        }
        self.world.tell();
        tokens
    }

    /// Lets time pass under load; returns tokens admitted.
    fn pass(&mut self, nanos: u64) -> u64 {
        let mut tokens = 0;
        for _ in 0..nanos / STEP {
            self.world.run(STEP);
            tokens += (0..NODES).map(|node| self.load(node)).sum::<u64>();
        }
        tokens
    }

    /// Requests to a node that does not run go to the next.
    #[allow(
        clippy::cast_precision_loss,
        reason = "how much is asked need not be exact"
    )]
    fn load(&mut self, number: u16) -> u64 {
        let wanted = 2.0 * RATE as f64 / self.cost.tokens() as f64;
        let second = (self.world.now().as_nanos() - START) / SECOND;
        let is_awake = |node: &u16| {
            let is_up = |one: &Whole| one.is_up && !self.world.sim.is_paused(*node);
            self.world.nodes.get(usize::from(*node)).is_some_and(is_up)
        };
        let node = (number..NODES).chain(0..number).find(is_awake);
        let Some(due) = self.due.get_mut(usize::from(number)) else {
            return 0;
        };
        *due += wanted * part(number, second) * STEP as f64 / 1e9;
        let mut tokens = 0;
        while *due >= 1.0 {
            *due -= 1.0;
            let asked = node.map(|node| {
                let key = Key::Entries(&REQUEST);
                self.world.ask(node.into(), key, self.cost)
            });
            if asked.is_some_and(|answer| answer.is_allowed()) {
                tokens += self.cost.tokens();
            }
        }
        tokens
    }
}
