//! Control machines of many nodes in one world, each as a shell would run it, with a disk and a clock of its own.
//!
//! [`ControlWorld`] starts nodes, crashes them with and without their disks, and lets a [`ControlJudge`] look at what
//! each is sure of after everything that happens. Not here: schedules of faults (`campaign`).

pub mod campaign;
mod judge;
mod site;

use std::ops::{Deref, DerefMut};

use tollgate_control::{Control, ControlCommand, ControlConfig, ControlDisk, ControlStart};
use tollgate_sim::Conditions;

pub use judge::ControlJudge;
pub use site::ControlSite;

use super::START;
use super::net::{Net, address};

/// Control machines, and who judges them.
#[derive(Debug)]
pub struct ControlWorld {
    /// What was found.
    pub judge: ControlJudge,
    net: Net<ControlSite>,
    seed: u64,
    starts: u64,
}

impl ControlWorld {
    /// A world without nodes.
    pub fn new(conditions: Conditions, seed: u64) -> Self {
        Self {
            judge: ControlJudge::default(),
            net: Net::new(START, conditions, seed),
            seed,
            starts: 0,
        }
    }

    /// Adds a node in a zone that does not run yet.
    pub fn add(&mut self, zone: &str) -> usize {
        let place = self.nodes.len();
        self.nodes.push(ControlSite::new(place, zone));
        place
    }

    /// Starts a node with what its disk holds; a disk that cannot be used is taken for an empty one.
    pub fn start(&mut self, place: usize) {
        self.starts += 1;
        let seed = tollgate_kit::scramble(self.seed ^ tollgate_kit::scramble(self.starts));
        let site = &self.nodes[place];
        let disk = ControlDisk::recover(&site.disk, &site.name).unwrap_or(None);
        let (name, zone) = (site.name.clone(), site.zone.clone());
        let start = ControlStart {
            address: name.clone(),
            name,
            zone,
            seed,
            config: ControlConfig::default(),
            disk,
        };
        let now = self.nodes[place].time(self.clock(place));
        let mut control = Control::new(start, now);
        let names = self.nodes.iter().map(|site| site.name.clone());
        control.handle_peers(names.take(PEERS_MAX));
        self.sim.reset(address(place));
        self.nodes[place].machine = Some(control);
        self.nodes[place].is_changed = true;
        self.follow_up(place);
        self.look();
    }

    /// Starts so many nodes of as many zones, and lets time pass.
    pub fn found(&mut self, nodes: usize, zones: usize, span: u64) {
        for place in 0..nodes {
            self.add(&format!("z{}", place % zones.max(1)));
        }
        for place in 0..nodes {
            self.start(place);
        }
        self.pass(span);
    }

    /// Takes a node down; its disk stays.
    pub fn crash(&mut self, place: usize) {
        self.nodes[place].machine = None;
        self.sim.reset(address(place));
        self.judge.gone(place);
    }

    /// A node's wall clock jumps, by nanoseconds.
    pub fn jump(&mut self, place: usize, by: i64) {
        self.sim.jump(address(place), by);
        self.nodes[place].jumped += by;
        self.follow_up(place);
    }

    /// Asks a node for a command, if it runs.
    pub fn request(&mut self, place: usize, command: &ControlCommand) {
        self.starts += 1;
        let (ticket, clock) = (self.starts, self.clock(place));
        let site = &mut self.nodes[place];
        let now = site.time(clock);
        if let Some(machine) = &mut site.machine {
            machine.request(ticket, command, now);
        }
        self.follow_up(place);
    }

    /// A node goes, having said so.
    pub fn leave(&mut self, place: usize) {
        let clock = self.clock(place);
        let site = &mut self.nodes[place];
        let now = site.time(clock);
        if let Some(machine) = &mut site.machine {
            machine.handle_leave(now);
        }
        self.nodes[place].is_changed = true;
        self.follow_up(place);
        self.look();
    }

    /// The node that leads and is sure of it.
    pub fn leader(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|place| {
            let now = self.nodes[*place].time(self.clock(*place)).steady;
            let view = self.nodes[*place].machine.as_ref().map(Control::view);
            view.and_then(|view| view.lead_until)
                .is_some_and(|until| now < until)
        })
    }

    /// Lets time pass, and has everything judged that happens.
    pub fn pass(&mut self, span: u64) {
        let end = self.sim.now() + span;
        self.pass_until(end, |_| false);
    }

    /// Lets time pass until something holds, until `end` at most; whether it holds.
    pub fn pass_until(&mut self, end: u64, holds: impl Fn(&Self) -> bool) -> bool {
        for place in 0..self.nodes.len() {
            self.follow_up(place);
        }
        self.look();
        loop {
            if holds(self) {
                return true;
            }
            if self.step(end).is_none() {
                self.sim.pass(end);
                return holds(self);
            }
            self.look();
        }
    }

    /// Has the judge look at every node at which something changed.
    fn look(&mut self) {
        let now = self.sim.now();
        for place in 0..self.nodes.len() {
            if !std::mem::take(&mut self.nodes[place].is_changed) {
                continue;
            }
            let clock = self.sim.clock(address(place));
            let site = &mut self.net.nodes[place];
            for (index, hash) in site.committed.drain(..) {
                self.judge.committed(place, index, hash);
            }
            let jumped = site.jumped;
            if let Some(machine) = &site.machine {
                let view = machine.view();
                let end = view.sure_until();
                let end = end.map(|until| clock.world(until.saturating_add_signed(jumped)));
                self.judge.claims(place, &view, end.unwrap_or(0), now);
            }
        }
    }
}

/// Names that a node is given of others.
const PEERS_MAX: usize = 16;

impl Deref for ControlWorld {
    type Target = Net<ControlSite>;

    fn deref(&self) -> &Net<ControlSite> {
        &self.net
    }
}

impl DerefMut for ControlWorld {
    fn deref_mut(&mut self) -> &mut Net<ControlSite> {
        &mut self.net
    }
}
