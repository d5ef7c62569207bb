//! The run: requests, messages and timeouts in order, each followed by a look at the sums.
//!
//! Not here: what the nodes do.

use tollgate_sim::SimClock;

use super::demand::DemandArrivals;
use super::member::{Audited, Fleet, MemberStart, Passed, Sharer};
use super::outcome::{HoldingSample, SupplyOutcome};
use super::plot::{ClusterChange, Plot};
use crate::dice::{LabDice, Purpose, scramble};
use crate::nodes::{Happened, Net, address};
use crate::supply::check::Envelope;

/// A node that was woken is not woken again before that, however often it asks.
const WAKE_US_MIN: u64 = 50;
/// What a design says it can use is counted so much finer than rates are here.
const FINE: u64 = 1_000;

/// Clocks start within that many microseconds of each other.
const AHEAD_MAX: u64 = 3_600_000_000;

/// Plans from here on are nodes that go in a while, by address.
const GOES: u64 = 1 << 32;

struct World<'a, F: Fleet> {
    fleet: &'a F,
    plot: &'a Plot,
    net: Passed<F>,
    /// How often each was started.
    boots: Vec<u32>,
    is_member: Vec<bool>,
    routing: LabDice,
    envelope: Envelope,
    central: Envelope,
    events: u64,
    /// Nodes that run.
    up: u64,
    phase: usize,
    out: SupplyOutcome,
}

pub(crate) fn simulate<F: Fleet>(fleet: &F, plot: &Plot) -> SupplyOutcome {
    let mut world = World::new(fleet, plot);
    world.start();
    let mut arrivals = DemandArrivals::new(&plot.phases, plot.seed);
    let until = plot.setting.until;
    let mut request = arrivals.draw();
    let mut sample_at = (plot.setting.sample_us > 0).then_some(0);
    loop {
        let event_at = world.net.sim.next_at().unwrap_or(u64::MAX);
        let request_at = request.map_or(u64::MAX, |(at, _)| at);
        let next = event_at.min(request_at).min(until);
        while let Some(at) = sample_at.filter(|&at| at <= next) {
            world.sample(at);
            sample_at = Some(at + plot.setting.sample_us);
        }
        if next >= until {
            break;
        }
        world.advance(next);
        if event_at <= request_at {
            world.happen(next);
        } else if let Some((_, node)) = request {
            world.request(node);
            request = arrivals.draw();
        }
    }
    world.finish()
}

impl<'a, F: Fleet> World<'a, F> {
    fn new(fleet: &'a F, plot: &'a Plot) -> Self {
        let setting = &plot.setting;
        let mut clocks = LabDice::new(plot.seed, Purpose::Clocks);
        let count = setting.nodes + fleet.services();
        let envelope = Envelope::new(setting.rate, setting.depth_us);
        let mut net: Passed<F> = Net::new(0, setting.weather, plot.seed);
        net.wake_gap = WAKE_US_MIN;
        net.nodes.resize_with(usize::from(count), || None);
        for address in 0..count {
            net.sim
                .set_clock(address, clock(&mut clocks, setting.drift));
        }
        Self {
            fleet,
            plot,
            net,
            boots: vec![0; usize::from(count)],
            is_member: (0..count).map(|node| node < setting.founders).collect(),
            routing: LabDice::new(plot.seed, Purpose::Detector),
            envelope,
            central: envelope,
            events: 0,
            up: 0,
            phase: 0,
            out: SupplyOutcome::default(),
        }
    }

    fn start(&mut self) {
        let setting = &self.plot.setting;
        for node in 0..setting.founders {
            self.boot(node);
        }
        for service in setting.nodes..setting.nodes + self.fleet.services() {
            self.boot(service);
        }
        for (index, (at, _)) in (0..).zip(&self.plot.changes) {
            self.net.sim.plan(*at, index);
        }
    }

    fn advance(&mut self, to: u64) {
        self.out.up_us += (to - self.net.sim.now()) * self.up;
        self.net.sim.pass(to);
    }

    fn up(&self) -> impl Iterator<Item = u16> + '_ {
        let nodes = (0..self.plot.setting.nodes).zip(&self.net.nodes);
        nodes
            .filter(|(_, member)| member.is_some())
            .map(|(node, _)| node)
    }

    fn members(&self) -> Vec<u16> {
        let nodes = (0..self.plot.setting.nodes).zip(&self.is_member);
        nodes.filter(|(_, is)| **is).map(|(node, _)| node).collect()
    }

    /// A member that runs, and what its clock shows.
    fn member(&mut self, node: u16) -> Option<(&mut F::Member, u64)> {
        let now = self.net.sim.local(node);
        let member = self.net.nodes.get_mut(usize::from(node))?;
        Some((member.as_mut()?, now))
    }

    fn set_member(&mut self, node: u16, is: bool) {
        if let Some(was) = self.is_member.get_mut(usize::from(node)) {
            *was = is;
        }
    }

    /// Asks a node; one that is down is stood in for by any other, which is how clients fail over.
    fn request(&mut self, node: u16) {
        let now = self.net.sim.now();
        self.out.offered += 1;
        self.out.central += u64::from(self.central.try_admit(now));
        let node = match self.member(node) {
            Some(_) => Some(node),
            None => self.stand_in(),
        };
        let Some(node) = node else {
            return;
        };
        let asked = self.member(node);
        let is_admitted = asked.is_some_and(|(member, clock)| member.handle_request(clock));
        if is_admitted {
            self.out.admitted += 1;
            self.envelope.admit(now);
        }
        self.net.note(now << 1 | u64::from(is_admitted));
        self.net.follow_up(usize::from(node));
    }

    fn stand_in(&mut self) -> Option<u16> {
        let up: Vec<u16> = self.up().collect();
        let chosen = self.routing.below(up.len() as u64);
        up.get(usize::try_from(chosen).unwrap_or(0)).copied()
    }

    /// Carries out what happens next, by then, and looks at what came of it.
    fn happen(&mut self, by: u64) {
        match self.net.step(by) {
            Some(Happened::Member) => self.look(),
            Some(Happened::Plan(node)) if node >= GOES => {
                self.take_down(u16::try_from(node - GOES).unwrap_or(u16::MAX));
            }
            Some(Happened::Plan(index)) => {
                let (plot, index) = (self.plot, usize::try_from(index).unwrap_or(usize::MAX));
                if let Some((_, change)) = plot.changes.get(index) {
                    self.change(change);
                    self.look();
                }
            }
            Some(Happened::Nothing) | None => {}
        }
    }

    fn change(&mut self, change: &ClusterChange) {
        match change {
            ClusterChange::Crash(node) => self.take_down(*node),
            ClusterChange::Restart(node) => {
                if self.member(*node).is_none() {
                    self.boot(*node);
                }
            }
            ClusterChange::Split(sides) => self.net.sim.links.split(sides.clone()),
            ClusterChange::Heal => self.net.sim.links.heal(),
            ClusterChange::Join(node) => {
                self.set_member(*node, true);
                self.boot(*node);
                self.tell();
            }
            ClusterChange::Leave(node) => self.leave(*node),
            ClusterChange::Weather(weather) => self.net.sim.links.weather = *weather,
        }
    }

    fn leave(&mut self, node: u16) {
        self.set_member(node, false);
        let after = self.fleet.goes_after();
        if after > 0 {
            self.tell();
        }
        if let Some((member, clock)) = self.member(node) {
            member.handle_goodbye(clock);
        }
        self.net.follow_up(usize::from(node));
        if after > 0 {
            let at = self.net.sim.now() + after;
            self.net.sim.plan(at, GOES + u64::from(node));
        } else {
            self.take_down(node);
            self.tell();
        }
    }

    fn take_down(&mut self, node: u16) {
        if let Some(member) = self.net.nodes.get_mut(usize::from(node)) {
            *member = None;
        }
        self.net.sim.let_sleep(node);
        self.up = self.up().count() as u64;
    }

    fn boot(&mut self, node: u16) {
        let (members, place) = (self.members(), usize::from(node));
        if let Some(boots) = self.boots.get_mut(place) {
            let number = u64::from(node) << 32 | u64::from(*boots);
            let member = self.fleet.boot(&MemberStart {
                node,
                boot: *boots,
                members,
                seed: scramble(self.plot.seed ^ scramble(number ^ Purpose::Boots as u64)),
                now: self.net.sim.local(node),
            });
            *boots += 1;
            if let Some(empty) = self.net.nodes.get_mut(place) {
                *empty = Some(member);
            }
        }
        self.net.sim.let_sleep(node);
        self.up = self.up().count() as u64;
        self.net.follow_up(place);
    }

    fn tell(&mut self) {
        let members = self.members();
        for place in 0..self.net.nodes.len() {
            if let Some((member, clock)) = self.member(address(place)) {
                member.handle_members(&members, clock);
            }
            self.net.follow_up(place);
        }
    }

    /// Looks at the sums, if it is time.
    fn look(&mut self) {
        self.events += 1;
        let setting = &self.plot.setting;
        if self.events.is_multiple_of(setting.look_every.max(1)) {
            self.look_now();
        }
    }

    fn look_now(&mut self) {
        let setting = &self.plot.setting;
        let now = self.net.sim.now();
        let looks = self.out.sums.checks;
        let is_audited = looks.is_multiple_of(setting.audit_every.max(1));
        let books = is_audited.then(|| self.fleet.audit(&self.net));
        let Audited { wrong, usable } = books.unwrap_or_default();
        let usable = usable.unwrap_or_else(|| self.usable_at(now).into_iter().flatten().collect());
        let usable = usable.into_iter().map(|own| own.max(0));
        let sum = self.out.sums.look(usable, setting.rate * FINE, wrong);
        if setting
            .recovery
            .is_some_and(|(from, to)| (from..to).contains(&now))
        {
            self.out.recovered = self.out.recovered.max(sum);
        }
        self.net.note(u64::try_from(sum).unwrap_or(u64::MAX));
    }

    fn sample(&mut self, at: u64) {
        while let Some(next) = self.plot.phases.get(self.phase + 1)
            && next.at <= at
        {
            self.phase += 1;
        }
        let phase = self.plot.phases.get(self.phase);
        self.out.samples.push(HoldingSample {
            at,
            usable: self.usable_at(at),
            demand: phase.map_or_else(Vec::new, |phase| phase.rates.clone()),
        });
    }

    /// What every node would spend from at a time; nothing of one that is not there.
    fn usable_at(&self, at: u64) -> Vec<Option<i128>> {
        let nodes = (0..self.plot.setting.nodes).zip(&self.net.nodes);
        let usable = |(node, member): (u16, &Option<F::Member>)| {
            let clock = self.net.sim.clock(node).at(at);
            member.as_ref().map(|member| member.usable(clock))
        };
        nodes.map(usable).collect()
    }

    fn finish(mut self) -> SupplyOutcome {
        // Where nothing is asked nothing happens, and nobody may have looked.
        let end = self.plot.setting.until.saturating_sub(1);
        self.advance(end.max(self.net.sim.now()));
        self.look_now();
        for (link, sent) in self.net.links() {
            if link.0.max(link.1) >= self.plot.setting.nodes {
                self.out.service_messages += sent.messages;
            } else {
                self.out.messages += sent.messages;
            }
        }
        SupplyOutcome {
            hash: self.net.hash(),
            excess: self.envelope.found(),
            ..self.out
        }
    }
}

/// A clock that drifts by up to that many millionths.
fn clock(dice: &mut LabDice, drift_max: u64) -> SimClock {
    let drift = dice.below(2 * drift_max + 1).cast_signed() - drift_max.cast_signed();
    let ahead = dice.below(AHEAD_MAX).cast_signed();
    SimClock { ahead, drift }
}
