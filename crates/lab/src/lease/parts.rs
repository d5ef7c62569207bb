//! A bucket that is cut, on the same arrivals: machines of `tollgate-split` that borrow tokens and hire parts of each
//! other.
//!
//! Requests are answered at once: one that would have to wait is refused. Not here: queues and promises
//! (`crate::split`), faults.

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_split::{AdaptorConfig, Begin, Limits, Machine, Setup, SplitConfig};

use super::others::{judge, trace};
use super::world::{Outcome, Plot};
use crate::split::World;

/// Nodes that have parts of one bucket.
pub(super) fn split(plot: &Plot) -> Outcome {
    let Some(mut parts) = Parts::new(plot) else {
        return Outcome::default();
    };
    let mut answers = Vec::new();
    for request in trace(plot) {
        parts.world.run_until(request.at.as_nanos());
        let is_allowed = parts.ask(request.node.unwrap_or(0));
        answers.push((request, is_allowed));
    }
    let mut outcome = judge(plot, &answers);
    outcome.tally.messages = parts.world.frames();
    outcome.idle = parts.idle();
    outcome
}

struct Parts {
    world: World,
    limits: Limits,
    looks: u64,
    /// Tokens that lie somewhere, of all looks.
    held: f64,
}

impl Parts {
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
        let machines = machines.collect::<Result<_, _>>().ok()?;
        Some(Self {
            world: World::new(machines, setting.weather, plot.seed),
            limits,
            looks: 0,
            held: 0.0,
        })
    }

    fn ask(&mut self, id: u16) -> bool {
        let now = self.world.now();
        let Some(machine) = self.world.machines().nth(usize::from(id)) else {
            return false;
        };
        let is_allowed = machine.foresee(1, now).is_some_and(|goes| goes <= now);
        if is_allowed {
            machine.take(1, now);
        } else {
            machine.miss(now);
        }
        self.world.settle(usize::from(id));
        self.look(now);
        is_allowed
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    fn look(&mut self, now: Instant) {
        self.looks += 1;
        let tokens = self
            .world
            .machines()
            .map(|machine| machine.inspect(now).tokens);
        self.held += tokens.sum::<u128>() as f64 / self.limits.whole().depth as f64;
    }

    #[allow(clippy::cast_precision_loss, reason = "a figure of three digits")]
    fn idle(&self) -> f64 {
        self.held / (self.looks as f64).max(1.0)
    }
}
