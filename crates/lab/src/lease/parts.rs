//! A bucket that is cut, on the same arrivals: machines of `tollgate-split` that borrow tokens and hire parts of each other.
//!
//! Requests are answered at once: one that would have to wait is refused. Not here: queues and promises (`crate::split`), faults.

use std::sync::Arc;

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_sim::{Event, Sim};
use tollgate_split::{AdaptorConfig, Begin, Limits, Machine, Setup, SplitConfig};

use super::others::{judge, trace};
use super::world::{Outcome, Plot};
use crate::dice::{Dice, links};

/// Nodes that have parts of one bucket.
pub(super) fn split(plot: &Plot) -> Outcome {
    let Some(mut world) = World::new(plot) else {
        return Outcome::default();
    };
    let mut answers = Vec::new();
    for request in trace(plot) {
        world.run_until(request.at);
        let is_allowed = world.ask(request.node.unwrap_or(0));
        answers.push((request, is_allowed));
    }
    let mut outcome = judge(plot, &answers);
    outcome.tally.messages = world.frames;
    outcome.idle = world.idle();
    outcome
}

struct World {
    machines: Vec<Machine>,
    limits: Limits,
    sim: Sim<Arc<[u8]>, (), Dice>,
    frames: u64,
    looks: u64,
    /// Tokens that lie somewhere, of all looks.
    held: f64,
}

impl World {
    fn new(plot: &Plot) -> Option<Self> {
        let setting = &plot.setting;
        let limits = Limits::per_second(setting.per_second, setting.burst).ok()?;
        let members: Vec<NodeId> = (0..setting.clients).map(NodeId).collect();
        let shares = limits.cut(&vec![1; members.len()], 1);
        let machine = |(me, share)| {
            Machine::new(Setup {
                limits,
                share,
                me,
                boot: 1,
                begin: Begin::Fresh,
                members: members.clone(),
                adaptor: None,
                start: Instant::from_nanos(0),
                config: SplitConfig {
                    drift_ppm: 0,
                    low_milli: 1_000,
                    hire: Some(AdaptorConfig::default()),
                    ..SplitConfig::default()
                },
            })
        };
        let machines = members.iter().copied().zip(shares).map(machine);
        Some(Self {
            machines: machines.collect::<Result<_, _>>().ok()?,
            limits,
            sim: Sim::new(0, links(setting.weather, plot.seed)),
            frames: 0,
            looks: 0,
            held: 0.0,
        })
    }

    /// Everything that happens before.
    fn run_until(&mut self, end: Instant) {
        while let Some(event) = self.sim.next(end.as_nanos()) {
            let now = self.now();
            let id = match event {
                Event::Message { to, .. } | Event::Wake { node: to } => to,
                Event::Plan(()) => continue,
            };
            let Some(machine) = self.machines.get_mut(usize::from(id)) else {
                continue;
            };
            match event {
                Event::Message { from, message, .. } => {
                    // Machines understand each other.
                    let _ = machine.handle_frame(NodeId(from), &message, now);
                }
                _ => machine.handle_timeout(now),
            }
            self.settle(id);
        }
        self.sim.pass(end.as_nanos());
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(self.sim.now())
    }

    fn ask(&mut self, id: u16) -> bool {
        let now = self.now();
        let Some(machine) = self.machines.get_mut(usize::from(id)) else {
            return false;
        };
        let is_allowed = machine.foresee(1, now).is_some_and(|goes| goes <= now);
        if is_allowed {
            machine.take(1, now);
        } else {
            machine.miss(now);
        }
        self.settle(id);
        self.look(now);
        is_allowed
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    fn look(&mut self, now: Instant) {
        self.looks += 1;
        let tokens = self
            .machines
            .iter_mut()
            .map(|machine| machine.inspect(now).tokens);
        self.held += tokens.sum::<u128>() as f64 / self.limits.whole().depth as f64;
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    fn idle(&self) -> f64 {
        self.held / (self.looks as f64).max(1.0)
    }

    /// Takes out what a machine says, and wakes it when it wants to be.
    fn settle(&mut self, id: u16) {
        let Some(machine) = self.machines.get_mut(usize::from(id)) else {
            return;
        };
        while let Some(send) = machine.poll_send() {
            self.frames += 1;
            self.sim.post(id, send.to.0, send.frame);
        }
        if let Some(due) = machine.poll_timeout() {
            self.sim.wake_at(id, due.as_nanos());
        }
    }
}
