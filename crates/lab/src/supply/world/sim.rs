//! The run: requests, messages and timeouts in order, each followed by a look at the sums.
//!
//! Not here: what the nodes do.

use tollgate_sim::{Clock, Event, Sim};

use super::demand::Arrivals;
use super::member::{Body, Fleet, Member, Seat};
use super::outcome::{Outcome, Sample};
use super::plot::{Change, Plot};
use crate::dice::{Dice, Purpose, links, scramble};
use crate::supply::check::Envelope;
use crate::world::hash::EventHash;

/// A node that was woken is not woken again before that, however often it asks.
const WAKE_US_MIN: u64 = 50;
/// What a design says it can use is counted so much finer than rates are here.
const FINE: u64 = 1_000;

/// Clocks start within that many microseconds of each other.
const AHEAD_MAX: u64 = 3_600_000_000;

type Said<F> = <<F as Fleet>::Member as Member>::Message;

struct World<'a, F: Fleet> {
    fleet: &'a F,
    plot: &'a Plot,
    sim: Sim<Said<F>, usize, Dice>,
    bodies: Vec<Body<F::Member>>,
    routing: Dice,
    envelope: Envelope,
    central: Envelope,
    events: u64,
    /// Nodes that run.
    up: u64,
    phase: usize,
    hash: EventHash,
    out: Outcome,
}

/// Runs a design.
pub(crate) fn simulate<F: Fleet>(fleet: &F, plot: &Plot) -> Outcome {
    let mut world = World::new(fleet, plot);
    world.start();
    let mut arrivals = Arrivals::new(&plot.phases, plot.seed);
    let until = plot.setting.until;
    let mut request = arrivals.draw();
    let mut sample_at = (plot.setting.sample_us > 0).then_some(0);
    loop {
        let event_at = world.sim.next_at().unwrap_or(u64::MAX);
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
            if let Some(event) = world.sim.next(next) {
                world.happen(event);
            }
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
        let mut clocks = Dice::new(plot.seed, Purpose::Clocks);
        let count = setting.nodes + fleet.services();
        let envelope = Envelope::new(setting.rate, setting.depth_us);
        Self {
            fleet,
            plot,
            sim: Sim::new(0, links(setting.weather, plot.seed)),
            bodies: (0..count)
                .map(|_| Body::new(clock(&mut clocks, setting.drift)))
                .collect(),
            routing: Dice::new(plot.seed, Purpose::Detector),
            envelope,
            central: envelope,
            events: 0,
            up: 0,
            phase: 0,
            hash: EventHash::new(),
            out: Outcome::default(),
        }
    }

    fn start(&mut self) {
        let setting = &self.plot.setting;
        for body in self.bodies.iter_mut().take(usize::from(setting.founders)) {
            body.is_member = true;
        }
        for node in 0..setting.founders {
            self.boot(node);
        }
        for service in setting.nodes..setting.nodes + self.fleet.services() {
            self.boot(service);
        }
        for (index, (at, _)) in self.plot.changes.iter().enumerate() {
            self.sim.plan(*at, index);
        }
    }

    fn advance(&mut self, to: u64) {
        self.out.up_us += (to - self.sim.now()) * self.up;
        self.sim.pass(to);
    }

    /// Nodes that run.
    fn up(&self) -> impl Iterator<Item = u16> + '_ {
        let nodes = (0..self.plot.setting.nodes).zip(&self.bodies);
        nodes
            .filter(|(_, body)| body.member.is_some())
            .map(|(node, _)| node)
    }

    fn members(&self) -> Vec<u16> {
        let nodes = (0..self.plot.setting.nodes).zip(&self.bodies);
        nodes
            .filter(|(_, body)| body.is_member)
            .map(|(node, _)| node)
            .collect()
    }

    fn body(&mut self, node: u16) -> Option<&mut Body<F::Member>> {
        self.bodies.get_mut(usize::from(node))
    }

    /// Asks a node; one that is down is stood in for by any other, which is how clients fail over.
    fn request(&mut self, node: u16) {
        let now = self.sim.now();
        self.out.offered += 1;
        self.out.central += u64::from(self.central.try_admit(now));
        let is_up = self.body(node).is_some_and(|body| body.member.is_some());
        let node = if is_up { Some(node) } else { self.stand_in() };
        let Some(node) = node else {
            return;
        };
        let Some(body) = self.bodies.get_mut(usize::from(node)) else {
            return;
        };
        let clock = body.clock.at(now);
        let is_admitted = body
            .member
            .as_mut()
            .is_some_and(|member| member.handle_request(clock));
        if is_admitted {
            self.out.admitted += 1;
            self.envelope.admit(now);
        }
        self.hash.word(now << 1 | u64::from(is_admitted));
        self.follow_up(node);
    }

    fn stand_in(&mut self) -> Option<u16> {
        let up: Vec<u16> = self.up().collect();
        let chosen = self.routing.below(up.len() as u64);
        up.get(usize::try_from(chosen).unwrap_or(0)).copied()
    }

    fn happen(&mut self, event: Event<Said<F>, usize>) {
        match event {
            Event::Message { from, to, message } => {
                let now = self.sim.now();
                if let Some(body) = self.body(to) {
                    let clock = body.clock.at(now);
                    if let Some(member) = &mut body.member {
                        member.handle_message(from, &message, clock);
                    }
                }
                self.note(to, 1);
                self.follow_up(to);
                self.look();
            }
            Event::Wake { node } => self.wake(node),
            Event::Plan(index) => {
                let plot = self.plot;
                if let Some((_, change)) = plot.changes.get(index) {
                    self.change(change);
                    self.note(0, 3);
                    self.look();
                }
            }
        }
    }

    fn wake(&mut self, node: u16) {
        let now = self.sim.now();
        let Some(body) = self.body(node) else {
            return;
        };
        let clock = body.clock.at(now);
        let Some(member) = &mut body.member else {
            return;
        };
        if member.poll_timeout().is_some_and(|due| due <= clock) {
            member.handle_timeout(clock);
            self.note(node, 2);
            self.send_all(node);
            self.arm(node, WAKE_US_MIN);
            self.look();
        } else {
            self.arm(node, 0);
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Crash(node) => self.take_down(*node),
            Change::Restart(node) => {
                let is_down = self.body(*node).is_some_and(|body| body.member.is_none());
                if is_down {
                    self.boot(*node);
                }
            }
            Change::Split(sides) => self.sim.links.split(sides.clone()),
            Change::Heal => self.sim.links.heal(),
            Change::Join(node) => {
                if let Some(body) = self.body(*node) {
                    body.is_member = true;
                }
                self.boot(*node);
                self.tell();
            }
            Change::Leave(node) => {
                let now = self.sim.now();
                if let Some(body) = self.body(*node) {
                    body.is_member = false;
                    let clock = body.clock.at(now);
                    if let Some(member) = &mut body.member {
                        member.handle_goodbye(clock);
                    }
                }
                self.send_all(*node);
                self.take_down(*node);
                self.tell();
            }
            Change::Weather(weather) => self.sim.links.weather = *weather,
        }
    }

    fn take_down(&mut self, node: u16) {
        if let Some(body) = self.body(node) {
            body.member = None;
        }
        self.sim.let_sleep(node);
        self.up = self.up().count() as u64;
    }

    fn boot(&mut self, node: u16) {
        let members = self.members();
        let (seed, now, fleet) = (self.plot.seed, self.sim.now(), self.fleet);
        if let Some(body) = self.body(node) {
            let place = u64::from(node) << 32 | u64::from(body.boots);
            body.member = Some(fleet.boot(&Seat {
                node,
                boot: body.boots,
                members,
                seed: scramble(seed ^ scramble(place ^ Purpose::Boots as u64)),
                now: body.clock.at(now),
            }));
            body.boots += 1;
        }
        self.sim.let_sleep(node);
        self.up = self.up().count() as u64;
        self.follow_up(node);
    }

    /// Tells everybody who is in the cluster.
    fn tell(&mut self) {
        let (members, now) = (self.members(), self.sim.now());
        for address in 0..u16::try_from(self.bodies.len()).unwrap_or(u16::MAX) {
            if let Some(body) = self.body(address) {
                let clock = body.clock.at(now);
                if let Some(member) = &mut body.member {
                    member.handle_members(&members, clock);
                }
            }
            self.follow_up(address);
        }
    }

    fn follow_up(&mut self, node: u16) {
        self.send_all(node);
        self.arm(node, 0);
    }

    fn send_all(&mut self, node: u16) {
        let nodes = self.plot.setting.nodes;
        while let Some((to, message)) = self
            .body(node)
            .and_then(|body| body.member.as_mut()?.poll_send())
        {
            if node >= nodes || to >= nodes {
                self.out.service_messages += 1;
            } else {
                self.out.messages += 1;
            }
            self.sim.post(node, to, message);
        }
    }

    /// Sees to it that a node is woken when it wants to be, but not before that long.
    fn arm(&mut self, node: u16, after: u64) {
        let Some(body) = self.bodies.get(usize::from(node)) else {
            return;
        };
        if let Some(due) = body.member.as_ref().and_then(Member::poll_timeout) {
            let at = body.clock.world(due).max(self.sim.now() + after);
            self.sim.wake_at(node, at);
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
        let now = self.sim.now();
        let looks = self.out.sums.checks;
        let wrong = if looks.is_multiple_of(setting.audit_every.max(1)) {
            self.fleet.wrong(&self.bodies, now)
        } else {
            0
        };
        let usable = self
            .bodies
            .iter()
            .take(usize::from(setting.nodes))
            .filter_map(|body| Some(body.member.as_ref()?.usable(body.clock.at(now)).max(0)));
        let sum = self.out.sums.look(usable, setting.rate * FINE, wrong);
        if setting
            .recovery
            .is_some_and(|(from, to)| (from..to).contains(&now))
        {
            self.out.recovered = self.out.recovered.max(sum);
        }
        self.hash.word(u64::try_from(sum).unwrap_or(u64::MAX));
    }

    fn sample(&mut self, at: u64) {
        while let Some(next) = self.plot.phases.get(self.phase + 1)
            && next.at <= at
        {
            self.phase += 1;
        }
        let nodes = usize::from(self.plot.setting.nodes);
        let usable = |body: &Body<F::Member>| Some(body.member.as_ref()?.usable(body.clock.at(at)));
        let phase = self.plot.phases.get(self.phase);
        self.out.samples.push(Sample {
            at,
            usable: self.bodies.iter().take(nodes).map(usable).collect(),
            demand: phase.map_or_else(Vec::new, |phase| phase.rates.clone()),
        });
    }

    fn note(&mut self, node: u16, what: u64) {
        self.hash.word(self.sim.now());
        self.hash.word(u64::from(node) << 8 | what);
    }

    fn finish(mut self) -> Outcome {
        // Where nothing is asked nothing happens, and nobody may have looked.
        self.advance(
            self.plot
                .setting
                .until
                .saturating_sub(1)
                .max(self.sim.now()),
        );
        self.look_now();
        Outcome {
            hash: self.hash.value(),
            excess: self.envelope.found(),
            ..self.out
        }
    }
}

/// A clock that drifts by up to that many millionths.
fn clock(dice: &mut Dice, drift_max: u64) -> Clock {
    let drift = dice.below(2 * drift_max + 1).cast_signed() - drift_max.cast_signed();
    let ahead = dice.below(AHEAD_MAX).cast_signed();
    Clock { ahead, drift }
}
