//! The run of a design: everything that happens, in order of time, and a look after every event of the protocol.
//!
//! Not here: the judges, and what happens when.

use tollgate_lease::{Answer, By, Centre, Grant, Lessee, Limits, Question, Replica};
use tollgate_limit::Instant;
use tollgate_sim::{Clock, Event, Sim};

use super::asking;
use super::bench::Bench;
use super::client::{Client, Orphan, Side};
use super::grantor::{Desk, Grantor};
use super::outcome::{Outcome, Tally};
use super::plot::{Change, Plot, Recovery};
use super::sight::sight;
use crate::dice::{Dice, Purpose, links, scramble};
use crate::lease::check::{Ghost, Replay};
use crate::lease::design::Design;
use crate::supply::stage::Arrivals;

/// Who never speaks has not begun long ago either.
const PHASE_MAX: u64 = 5_000_000_000;
const GRANTOR: u16 = 0;

/// The address of a client.
const fn address(client: u16) -> u16 {
    client + 1
}

/// Something to come.
#[derive(Clone)]
pub(super) enum What {
    Ask(u16, Box<Question>),
    Grant(u16, Box<Grant>),
    Nudge(u16),
    /// What a replica spent.
    Spent(u16, u64),
    /// What the centre has left.
    Level(u16, i128),
    /// A request that is decided elsewhere, and since when it waits.
    One(u16, u64),
    /// Whether it passes.
    Said(u16, u64, bool),
}

/// What is planned.
enum Planned {
    /// A client looks at its clock. A timer that is over counts as an event: it is followed by a look.
    Timer(u16),
    Change(usize),
}

pub(super) struct World<'a> {
    pub(super) plot: &'a Plot,
    pub(super) design: Design,
    limits: Limits,
    sim: Sim<What, Planned, Dice>,
    pub(super) grantor: Grantor,
    clients: Vec<Client>,
    phases: Dice,
    pub(super) bench: Bench,
}

/// Runs a design; a bucket that cannot be gives nothing.
pub(crate) fn simulate(design: Design, plot: &Plot) -> Outcome {
    let setting = &plot.setting;
    let Ok(limits) = Limits::new(setting.per_second, 1_000_000_000, setting.burst) else {
        return Outcome::default();
    };
    let mut world = World::new(design, plot, limits);
    let mut arrivals = Arrivals::new(&plot.phases, plot.seed);
    let mut next = arrivals.draw();
    loop {
        let arrival = next.map_or(u64::MAX, |(micros, _)| micros.saturating_mul(1_000));
        let event = world.sim.next_at().unwrap_or(u64::MAX);
        if arrival.min(event) > setting.until {
            break;
        }
        if arrival < event {
            world.sim.pass(arrival);
            if let Some((_, client)) = next {
                world.arrive(client);
            }
            next = arrivals.draw();
        } else if let Some(event) = world.sim.next(event) {
            world.step(event);
            world.look();
        }
    }
    world.outcome()
}

impl<'a> World<'a> {
    fn new(design: Design, plot: &'a Plot, limits: Limits) -> Self {
        let setting = &plot.setting;
        let mut clocks = Dice::new(plot.seed, Purpose::Clocks);
        let wide = u64::from(setting.drift_ppm);
        let mut client = |_| {
            let drift = clocks.below(2 * wide + 1).cast_signed() - wide.cast_signed();
            Client::new(Clock {
                drift: drift + i64::from(setting.drift_more),
                ahead: (10_000_000_000 + clocks.below(10_000_000_000)).cast_signed(),
            })
        };
        let start = Instant::from_nanos(0);
        let centre = design
            .sync(setting, limits)
            .map(|sync| Centre::new(sync, start));
        let slots = setting.until.checked_div(setting.slot_ns);
        let slots = slots.map_or(0, |count| usize::try_from(count + 1).unwrap_or(0));
        let new = || Ghost::new(setting.per_second, setting.burst);
        let mut world = Self {
            plot,
            design,
            limits,
            sim: Sim::new(0, links(setting.weather, plot.seed)),
            grantor: Grantor::new(limits, design.rules(setting), centre),
            clients: (0..setting.clients).map(&mut client).collect(),
            phases: Dice::new(plot.seed, Purpose::Boots),
            bench: Bench {
                ghost: new(),
                central: new(),
                replay: Replay::new(setting.per_second, setting.burst),
                fair: None,
                tally: Tally::default(),
                window: (0, 0),
                records: 0,
                idle: 0,
                slots: vec![(0, 0); slots],
                hash: plot.seed,
            },
        };
        for (number, (at, _)) in plot.changes.iter().enumerate() {
            world.sim.plan(*at, Planned::Change(number));
        }
        for client in 0..setting.clients {
            world.boot(client);
        }
        world
    }

    /// The time of the world.
    pub(super) fn now(&self) -> u64 {
        self.sim.now()
    }

    fn boot(&mut self, number: u16) {
        let setting = &self.plot.setting;
        let (now, sync) = (self.now(), self.design.sync(setting, self.limits));
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return;
        };
        client.boot += 1;
        let clock = client.local(now);
        let setup = self.design.setup(setting, number.into(), client.boot);
        client.side = match sync {
            None if self.design.is_asked() => Side::Asker,
            Some(sync) => {
                // Clients did not all start at once: each has spoken some time ago.
                let ago = self.phases.below(sync.interval_ns.min(PHASE_MAX));
                let born = Instant::from_nanos(clock.as_nanos().saturating_sub(ago));
                Side::Replica(Replica::new(sync, born))
            }
            None => Side::Lessee(Box::new(Lessee::new(setup, clock))),
        };
        (client.timer, client.orphan) = (u64::MAX, None);
        client.waiting.clear();
        self.drain(number);
    }

    fn step(&mut self, event: Event<What, Planned>) {
        match event {
            Event::Message { message, .. } => self.arrived(message),
            Event::Plan(Planned::Timer(client)) => self.tick(client),
            Event::Plan(Planned::Change(number)) => self.change(number),
            Event::Wake { .. } => {}
        }
    }

    fn arrived(&mut self, message: What) {
        match message {
            What::Ask(client, question) => self.ask(client, &question),
            What::Spent(client, spent) => {
                let now = Instant::from_nanos(self.now());
                if let Desk::Centre(centre) = &mut self.grantor.desk
                    && self.grantor.is_up
                {
                    let level = centre.handle_spent(spent, now);
                    self.post(client, false, What::Level(client, level));
                }
            }
            What::Grant(..) | What::Nudge(_) | What::Level(..) => self.tell(&message),
            What::One(client, since) => self.decide(client, since),
            What::Said(client, since, is_allowed) => self.hear(client, since, is_allowed),
        }
    }

    /// A request comes to a client; one that is down is not asked.
    fn arrive(&mut self, number: u16) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return;
        };
        if !client.is_up() {
            return;
        }
        let clock = client.local(now);
        self.bench.tally.arrived += 1;
        if self.bench.central.take(now) {
            client.central += 1;
            self.bench.count(self.plot, now, false);
        }
        if self.bench.fair.as_mut().is_some_and(|fair| fair.take(now)) {
            self.bench.window.1 += 1;
        }
        let is_allowed = match &mut client.side {
            Side::Down => false,
            Side::Asker => return self.ask_one(number),
            Side::Replica(replica) => replica.check(1, clock),
            Side::Lessee(lessee) => match lessee.check(1, clock) {
                Answer::Allow(_) | Answer::Delay { .. } => true,
                Answer::Deny { .. } => false,
                Answer::Wait(ticket) => {
                    self.bench.tally.waited += 1;
                    client.waiting.push_back((ticket, now));
                    false
                }
                Answer::Failed { is_allowed } => {
                    self.bench.tally.failed += 1;
                    is_allowed
                }
            },
        };
        if is_allowed {
            self.admit(number, true);
        }
        if self.design == Design::Cut {
            asking::note_parts(&mut self.bench, &self.clients, now);
        }
        if self.drain(number) {
            self.look();
        }
    }

    /// Counts an admission; whether it is charged now, or was at the grantor.
    pub(super) fn admit(&mut self, number: u16, is_here: bool) {
        let now = self.now();
        if let Some(client) = self.clients.get_mut(usize::from(number)) {
            client.admitted += 1;
        }
        if is_here {
            self.bench.charge(1, now);
        }
        self.bench.hash = scramble(self.bench.hash ^ scramble(now ^ u64::from(number)));
        self.bench.count(self.plot, now, true);
    }

    /// Carries out what a client wants, and comes back when it says; whether it had anything to say.
    fn drain(&mut self, number: u16) -> bool {
        let now = self.now();
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return false;
        };
        let clock = client.local(now);
        let mut out = Vec::new();
        let mut decided = Vec::new();
        let next = match &mut client.side {
            Side::Down | Side::Asker => None,
            Side::Replica(replica) => {
                while let Some(spent) = replica.poll_spent(clock) {
                    out.push(What::Spent(number, spent));
                }
                Some(replica.poll_timeout())
            }
            Side::Lessee(lessee) => {
                while let Some(question) = lessee.poll_send() {
                    out.push(What::Ask(number, Box::new(question)));
                }
                while let Some(one) = lessee.poll_decided() {
                    decided.push(one);
                }
                lessee.poll_timeout()
            }
        };
        if let Some(next) = next {
            let time = now.saturating_add(next.nanos_since(clock).max(1));
            if client.timer <= now || time < client.timer {
                client.timer = time;
                self.sim.plan(time, Planned::Timer(number));
            }
        }
        for one in &decided {
            self.bench.tally.wait_ns += client.waited(one.number, now);
            self.bench.tally.failed += u64::from(one.by == By::Nobody);
        }
        for _ in decided
            .iter()
            .filter(|one| one.is_allowed && one.by == By::Lease)
        {
            self.admit(number, true);
        }
        for _ in decided
            .iter()
            .filter(|one| one.is_allowed && one.by != By::Lease)
        {
            self.admit(number, false);
        }
        let has_said = !out.is_empty();
        for message in out {
            self.post(number, true, message);
        }
        has_said
    }

    /// Puts a message on its way, from a client or to it.
    pub(super) fn post(&mut self, client: u16, is_up: bool, message: What) {
        self.bench.tally.messages += 1;
        let (from, to) = if is_up {
            (address(client), GRANTOR)
        } else {
            (GRANTOR, address(client))
        };
        self.sim.post(from, to, message);
    }

    fn ask(&mut self, client: u16, question: &Question) {
        let now = self.now();
        if !self.grantor.hears(now) {
            return;
        }
        let Desk::Pool(pool) = &mut self.grantor.desk else {
            return;
        };
        let before = pool.figures().served;
        let grant = pool.handle_question(question, Instant::from_nanos(now));
        let served = pool.figures().served - before;
        let mut nudges = Vec::new();
        while let Some(nudge) = pool.poll_nudge(question.key) {
            nudges.push(u16::try_from(nudge.client).unwrap_or(0));
        }
        self.bench.records = self.bench.records.max(pool.lessees());
        self.bench.charge(served * question.need.cost, now);
        if let Some(grant) = grant {
            self.post(client, false, What::Grant(client, Box::new(grant)));
        }
        for to in nudges {
            self.post(to, false, What::Nudge(to));
        }
    }

    fn tell(&mut self, event: &What) {
        let (What::Grant(number, _) | What::Nudge(number) | What::Level(number, _)) = event else {
            return;
        };
        let now = self.now();
        let Some(client) = self.clients.get_mut(usize::from(*number)) else {
            return;
        };
        let clock = client.local(now);
        match (&mut client.side, event) {
            (Side::Lessee(lessee), What::Grant(_, grant)) => lessee.handle_grant(grant, clock),
            (Side::Lessee(lessee), What::Nudge(_)) => lessee.handle_nudge(clock),
            (Side::Replica(replica), What::Level(_, level)) => replica.handle_level(*level, clock),
            _ => {}
        }
        self.drain(*number);
    }

    fn tick(&mut self, number: u16) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return;
        };
        if client.timer != now {
            return;
        }
        client.timer = u64::MAX;
        let clock = client.local(now);
        if let Side::Lessee(lessee) = &mut client.side {
            lessee.handle_timeout(clock);
        }
        self.drain(number);
    }

    fn change(&mut self, number: usize) {
        let Some((_, change)) = self.plot.changes.get(number) else {
            return;
        };
        match change {
            Change::Crash(client) => {
                if let Some(client) = self.clients.get_mut(usize::from(*client)) {
                    client.side = Side::Down;
                }
            }
            Change::Restart(client) => self.boot(*client),
            Change::Cut(clients) => {
                let mut sides = vec![0; self.clients.len() + 1];
                for client in clients {
                    if let Some(side) = sides.get_mut(usize::from(*client) + 1) {
                        *side = 1;
                    }
                }
                self.sim.links.split(sides);
            }
            Change::Heal => self.sim.links.heal(),
            Change::Calm => {
                let weather = &mut self.sim.links.weather;
                (weather.loss, weather.copies) = (0, 0);
            }
            Change::Fall => self.grantor.fall(self.now()),
            Change::Rise(recovery) => self.rise(*recovery),
            Change::Step(client, by) => {
                if let Some(client) = self.clients.get_mut(usize::from(*client)) {
                    client.clock.ahead += by;
                }
            }
        }
    }

    /// A successor comes. Answers of a predecessor whose books are lost may still be under way.
    fn rise(&mut self, recovery: Recovery) {
        let until = self.grantor.fell + self.plot.setting.term_ns;
        if recovery != Recovery::Ledger
            && let Desk::Pool(pool) = &self.grantor.desk
        {
            for (number, client) in self.clients.iter_mut().enumerate() {
                let booked = pool.booked(number as u64);
                let booked = booked.filter(|booked| booked.boot == client.boot);
                client.orphan = booked.map(|booked| Orphan {
                    stamp: booked.stamp,
                    tokens: booked.tokens,
                    until,
                });
            }
        }
        self.grantor.rise(recovery, self.now());
    }

    /// Compares what everybody has with the bucket. Books of a grantor that fell hold until it has a successor.
    fn look(&mut self) {
        let now = self.now();
        if let Desk::Pool(pool) = &mut self.grantor.desk {
            let (sight, idle) = sight(pool, &self.clients, now);
            self.bench.idle += idle >> 20;
            let window = self.plot.setting.window;
            if window.is_some_and(|(from, _)| now >= from) && self.bench.fair.is_none() {
                self.bench.fair = Some(self.bench.ghost.beside(sight.potential, now));
            }
            self.bench.ghost.look(&sight, now);
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "figures of three digits")]
    fn outcome(self) -> Outcome {
        let bench = self.bench;
        let looks = bench.ghost.checks.max(1) as f64;
        let burst = (self.limits.depth() >> 20) as f64;
        let records = match &self.grantor.desk {
            Desk::Pool(pool) => pool.lessees(),
            Desk::Centre(_) => 0,
        };
        let clients = self.clients.iter();
        Outcome {
            checks: bench.ghost.checks,
            broken: bench.ghost.broken,
            excess: bench.replay.excess,
            clients: clients.map(|own| (own.admitted, own.central)).collect(),
            tally: bench.tally,
            window: bench.window,
            records: (bench.records, records),
            idle: bench.idle as f64 / looks / burst,
            slots: bench.slots,
            hash: bench.hash,
        }
    }
}
