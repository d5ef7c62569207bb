//! A bucket that is cut, on the same arrivals: machines of `tollgate-split` that borrow tokens and hire parts of each other.
//!
//! Requests are answered at once: one that would have to wait is refused. Not here: queues and promises (`crate::split`), faults.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tollgate_gossip::{NodeId, Send};
use tollgate_limit::Instant;
use tollgate_split::{AdaptorConfig, Begin, Limits, Machine, Setup, SplitConfig};

use super::others::{judge, trace};
use super::world::{Outcome, Plot};
use crate::dice::{Dice, Purpose};

/// Nodes that have parts of one bucket.
pub(super) fn split(plot: &Plot) -> Outcome {
    let Some(mut world) = World::new(plot) else {
        return Outcome::default();
    };
    let mut answers = Vec::new();
    for request in trace(plot) {
        world.run_until(request.at);
        let is_allowed = world.ask(request.node.unwrap_or(0), request.at);
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
    delay: (u64, u64),
    dice: Dice,
    agenda: BinaryHeap<Reverse<(Instant, u64)>>,
    on_way: BTreeMap<u64, (NodeId, Send)>,
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
            delay: (setting.weather.delay_min, setting.weather.delay_max),
            dice: Dice::new(plot.seed, Purpose::Delays),
            agenda: BinaryHeap::new(),
            on_way: BTreeMap::new(),
            frames: 0,
            looks: 0,
            held: 0.0,
        })
    }

    /// Everything that happens before.
    fn run_until(&mut self, end: Instant) {
        loop {
            let frame = self.agenda.peek().map(|Reverse((at, _))| *at);
            let due = self.machines.iter().zip(0..);
            let due = due.filter_map(|(machine, id)| Some((machine.poll_timeout()?, id)));
            let due: Option<(Instant, u16)> = due.min();
            match (frame, due) {
                (Some(at), due) if at <= end && due.is_none_or(|(due, _)| at <= due) => {
                    self.carry(at);
                }
                (_, Some((at, id))) if at <= end => {
                    if let Some(machine) = self.machines.get_mut(usize::from(id)) {
                        machine.handle_timeout(at);
                    }
                    self.settle(id, at);
                }
                _ => return,
            }
        }
    }

    fn carry(&mut self, at: Instant) {
        let Some(Reverse((_, number))) = self.agenda.pop() else {
            return;
        };
        let Some((from, send)) = self.on_way.remove(&number) else {
            return;
        };
        if let Some(machine) = self.machines.get_mut(usize::from(send.to.0)) {
            // Machines understand each other.
            let _ = machine.handle_frame(from, &send.frame, at);
        }
        self.settle(send.to.0, at);
    }

    fn ask(&mut self, id: u16, now: Instant) -> bool {
        let Some(machine) = self.machines.get_mut(usize::from(id)) else {
            return false;
        };
        let is_allowed = machine.foresee(1, now).is_some_and(|goes| goes <= now);
        if is_allowed {
            machine.take(1, now);
        } else {
            machine.miss(now);
        }
        self.settle(id, now);
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

    /// Takes out what a machine says.
    fn settle(&mut self, id: u16, now: Instant) {
        let (least, most) = self.delay;
        while let Some(send) = self
            .machines
            .get_mut(usize::from(id))
            .and_then(Machine::poll_send)
        {
            self.frames += 1;
            let takes = least + self.dice.below(most - least + 1);
            let at = Instant::from_nanos(now.as_nanos().saturating_add(takes));
            self.agenda.push(Reverse((at, self.frames)));
            self.on_way.insert(self.frames, (NodeId(id), send));
        }
    }
}
