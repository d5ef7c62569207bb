//! One grantor and some clients under a network that loses, doubles, delays and reorders, with clocks that run wrong.
//!
//! All messages travel as bytes. After every event the ghost compares. Not here: which faults happen when.

mod direct;
mod judge;
mod reign;

use std::collections::VecDeque;

use tollgate_limit::{Instant, Span};
use tollgate_sim::{self as sim, Links, Sim, Weather};

pub(crate) use super::dice::Dice;
use super::ghost::Ghost;
use super::naive::Naive;
use crate::window::Clock;
use crate::{
    Answer, By, Key, Lessee, Limits, Message, Pool, Rules, Setup, Stamp, Window, decode, encode,
};
use reign::Reigns;

impl sim::Dice for Dice {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }
}

/// A network that loses nothing.
pub(crate) const CALM: Weather = Weather::between(1_000_000, 1_200_000);
const POOL: u16 = 0;

/// So many thousandths in millionths.
pub(crate) fn thousandths(count: u64) -> u32 {
    u32::try_from(count * 1_000).unwrap()
}

/// The address of a client.
fn address(client: usize) -> u16 {
    u16::try_from(client + 1).unwrap()
}

/// What is planned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Arrive(usize),
    /// A client is gone, and back as another incarnation after that.
    Crash(usize, u64),
    Back(usize),
    /// A client does nothing for that long.
    Pause(usize, u64),
    GoOn(usize),
    /// A client's clock is set back by that.
    StepBack(usize, u64),
    /// Nothing passes between a client and the grantor for that long.
    Cut(usize, u64),
    /// The grantor is gone for that long; its successor knows its books or not.
    Fall(u64, bool),
    Rise(bool),
    /// A client's demand, in thousandths of a request per second.
    Demand(usize, u64),
    /// A client lets a request through that it promised, in that boot.
    Release(usize, u64, u64),
    /// Somebody without a lease asks the grantor.
    Direct,
    /// A request passes that a grantor promised.
    Pass(u64, u64),
    /// The time of day is set forward by that.
    Jump(u64),
}

pub(crate) struct Client {
    pub(crate) lessee: Option<Lessee>,
    boot: u64,
    per_second: f64,
    /// A grant of a grantor that fell: it may still arrive, and counts until then.
    orphan: Option<(Stamp, i128, u64)>,
    /// What was promised and is not let through yet.
    promised: u64,
    pub(crate) arrived: u64,
    pub(crate) admitted: u64,
}

/// What it cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) messages: u64,
    pub(crate) waited: u64,
    pub(crate) promised: u64,
    /// Promised by grantors.
    pub(crate) granted: u64,
}

/// How clients are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    drift_ppm: u32,
    /// How long requests may wait there; some cost more than one then.
    pub(crate) max_wait_ns: u64,
    /// Requests per second of those who never have a lease.
    pub(crate) direct: f64,
}

pub(crate) struct World {
    sim: Sim<Vec<u8>, Event, Dice>,
    pub(crate) dice: Dice,
    pub(crate) limits: Limits,
    pub(crate) rules: Rules,
    /// What is counted by, where that is no bucket, and how far the time of day is ahead.
    window: Option<(Window, u64)>,
    pub(crate) habits: Habits,
    pub(crate) pool: Option<Pool>,
    kept: Option<Pool>,
    reigns: Reigns,
    pub(crate) clients: Vec<Client>,
    pub(crate) ghost: Ghost,
    pub(crate) central: Ghost,
    pub(crate) tally: Tally,
}

impl World {
    pub(crate) fn new(
        seed: u64,
        per_second: u64,
        burst: u64,
        count: usize,
        weather: Weather,
    ) -> Self {
        let limits = Limits::new(per_second, 1_000_000_000, burst).unwrap();
        let rules = Rules::default();
        let start = Instant::from_nanos(0);
        let streams = [1, 2, 3].map(|stream| Dice::new(seed ^ stream << 60));
        let mut world = Self {
            sim: Sim::new(0, Links::new(weather, streams)),
            dice: Dice::new(seed),
            limits,
            rules,
            window: None,
            habits: Habits {
                drift_ppm: 500,
                max_wait_ns: 0,
                direct: 0.0,
            },
            pool: Some(Pool::new(limits, rules, 1, start)),
            kept: None,
            reigns: Reigns::first(),
            clients: Vec::new(),
            ghost: Ghost::new(per_second, burst),
            central: Ghost::new(per_second, burst),
            tally: Tally::default(),
        };
        for client in 0..count {
            let drift = world.dice.between(0, 1_000).cast_signed() - 500;
            let ahead = world.dice.between(10_000_000_000, 20_000_000_000);
            let ahead = ahead.cast_signed();
            world
                .sim
                .set_clock(address(client), sim::Clock { ahead, drift });
            world.clients.push(Client {
                lessee: None,
                boot: 0,
                per_second: 0.0,
                orphan: None,
                promised: 0,
                arrived: 0,
                admitted: 0,
            });
        }
        world
    }

    /// Lends of a window instead, judged by a naive one; before anything happens.
    pub(crate) fn count_by(&mut self, window: Window, naive: &Naive, ahead: u64) {
        self.limits = window.limits();
        self.window = Some((window, ahead));
        self.ghost = Ghost::of(naive.clone());
        self.central = Ghost::of(naive.clone());
    }

    /// A pool of what is lent here.
    fn fit(&self, pool: Pool) -> Pool {
        match &self.window {
            Some((window, _)) => pool.counting(window, self.time()),
            None => pool,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.sim.now()
    }

    fn instant(&self) -> Instant {
        Instant::from_nanos(self.now())
    }

    fn time(&self) -> Clock {
        Clock {
            ahead: i128::from(self.day() - self.now()),
            asked: None,
        }
    }

    /// The time of day.
    fn day(&self) -> u64 {
        self.now() + self.window.as_ref().map_or(0, |(_, ahead)| *ahead)
    }

    /// Sets the term, and how wrong clocks may be and are; before anything happens.
    pub(crate) fn tune(&mut self, term_ns: u64, drift_ppm: u32) {
        self.rules.term_ns = term_ns;
        self.habits.drift_ppm = drift_ppm;
        let start = Instant::from_nanos(0);
        self.pool = Some(self.fit(Pool::new(self.limits, self.rules, 1, start)));
        for client in 0..self.clients.len() {
            let drift = self.dice.below(2 * u64::from(drift_ppm) + 1).cast_signed();
            self.drift(client, drift - i64::from(drift_ppm));
        }
    }

    /// Lets every clock run as fast as it may.
    pub(crate) fn hurry(&mut self) {
        for client in 0..self.clients.len() {
            self.drift(client, self.habits.drift_ppm.into());
        }
    }

    fn drift(&mut self, client: usize, drift: i64) {
        let clock = self.sim.clock(address(client));
        self.sim
            .set_clock(address(client), sim::Clock { drift, ..clock });
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.sim.plan(time, event);
    }

    pub(crate) fn run(&mut self, until: u64) {
        for client in 0..self.clients.len() {
            if self.clients[client].lessee.is_none() && self.clients[client].boot == 0 {
                self.boot(client);
            }
        }
        while let Some(event) = self.sim.next(until) {
            match event {
                sim::Event::Message { from, to, message } if to == POOL => {
                    self.ask(usize::from(from) - 1, &message);
                }
                sim::Event::Message { to, message, .. } => {
                    self.tell(usize::from(to) - 1, &message);
                }
                sim::Event::Wake { node } => self.tick(usize::from(node) - 1),
                sim::Event::Plan(event) => self.step(event),
            }
            self.check();
        }
        self.sim.pass(until);
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Arrive(client) => self.arrive(client),
            Event::Crash(client, back) => {
                self.clients[client].lessee = None;
                self.clients[client].promised = 0;
                self.sim.reset(address(client));
                self.at(self.now() + back, Event::Back(client));
            }
            Event::Back(client) => self.boot(client),
            Event::Pause(client, time) => {
                self.sim.pause(address(client));
                self.at(self.now() + time, Event::GoOn(client));
            }
            Event::GoOn(client) => self.sim.go_on(address(client)),
            Event::StepBack(client, by) => {
                let mut clock = self.sim.clock(address(client));
                clock.ahead -= by.cast_signed();
                self.sim.set_clock(address(client), clock);
            }
            Event::Cut(client, time) => {
                let (client, times) = ([address(client)], self.now()..self.now() + time);
                self.sim.links.cut(&client, &[POOL], times.clone());
                self.sim.links.cut(&[POOL], &client, times);
            }
            Event::Fall(time, is_kept) => self.fall(time, is_kept),
            Event::Rise(is_kept) => self.rise(is_kept),
            Event::Demand(client, milli) => self.demand(client, milli),
            Event::Release(client, boot, cost) => self.release(client, boot, cost),
            Event::Direct => self.ask_directly(),
            Event::Pass(name, cost) => self.pass(name, cost),
            Event::Jump(by) => {
                if let Some((_, ahead)) = self.window.as_mut() {
                    *ahead += by;
                }
            }
        }
    }

    pub(crate) fn clock(&self, client: usize) -> Instant {
        Instant::from_nanos(self.sim.local(address(client)))
    }

    fn boot(&mut self, client: usize) {
        self.clients[client].boot += 1;
        let boot = self.clients[client].boot;
        let mut setup = Setup::new(client as u64, boot, Key(1));
        setup.drift_ppm = self.habits.drift_ppm;
        let weather = self.sim.links.weather;
        setup.trip_ns = weather.delay_min + weather.delay_max;
        setup.timeout_ns = 10 * setup.trip_ns + 50_000_000;
        setup.term_ns = self.rules.term_ns;
        setup.max_wait_ns = self.habits.max_wait_ns;
        self.clients[client].lessee = Some(Lessee::new(setup, self.clock(client)));
        self.clients[client].orphan = None;
        self.sim.let_sleep(address(client));
    }

    #[allow(clippy::cast_precision_loss)]
    fn demand(&mut self, client: usize, milli: u64) {
        let was = self.clients[client].per_second;
        self.clients[client].per_second = milli as f64 / 1000.0;
        if was == 0.0 && milli > 0 {
            self.next_arrival(client);
        }
    }

    fn next_arrival(&mut self, client: usize) {
        let rate = self.clients[client].per_second;
        if rate > 0.0 {
            let wait = self.dice.wait_ns(rate);
            self.at(self.now() + wait, Event::Arrive(client));
        }
    }

    fn arrive(&mut self, client: usize) {
        self.next_arrival(client);
        let now = self.clock(client);
        self.central.try_admit(self.day());
        let is_paused = self.sim.is_paused(address(client));
        let one = &mut self.clients[client];
        one.arrived += 1;
        if is_paused {
            return;
        }
        let Some(lessee) = one.lessee.as_mut() else {
            return;
        };
        let cost = if self.habits.max_wait_ns == 0 {
            1
        } else {
            self.dice.between(1, 3)
        };
        match lessee.check(cost, now) {
            Answer::Allow(_) => self.keep(client, cost, Span::ZERO),
            Answer::Delay { wait, .. } => self.keep(client, cost, wait),
            Answer::Wait(_) => self.tally.waited += 1,
            Answer::Deny { .. } => {}
            Answer::Failed { is_allowed } => assert!(!is_allowed, "so it is set up"),
        }
        self.drain(client);
    }

    /// Carries out what a client wants, and comes back when it says.
    fn drain(&mut self, client: usize) {
        let shown = self.clock(client);
        let Some(mut lessee) = self.clients[client].lessee.take() else {
            return;
        };
        while let Some(question) = lessee.poll_send() {
            let bytes = encode(&Message::Question(question)).to_vec();
            self.post(address(client), POOL, bytes);
        }
        while let Some(decided) = lessee.poll_decided() {
            if decided.is_allowed && decided.by == By::Lease {
                self.keep(client, decided.cost, decided.wait);
            } else if decided.is_allowed {
                // What the grantor admits was charged at its own time.
                self.clients[client].admitted += 1;
            }
        }
        if let Some(next) = lessee.poll_timeout() {
            let time = self.now() + next.nanos_since(shown).max(1);
            self.sim.wake_at(address(client), time);
        }
        self.clients[client].lessee = Some(lessee);
    }

    fn post(&mut self, from: u16, to: u16, bytes: Vec<u8>) {
        self.tally.messages += 1;
        self.sim.post(from, to, bytes);
    }

    fn ask(&mut self, client: usize, bytes: &[u8]) {
        let Ok(Message::Question(question)) = decode(bytes) else {
            panic!("no question: {bytes:?}");
        };
        let Some(mut pool) = self.pool.take() else {
            return;
        };
        let now = self.instant();
        pool.tell_time(self.time());
        let before = pool.figures();
        let grant = pool.handle_question(&question, now);
        let waits = grant.map(|grant| grant.waits).unwrap_or_default();
        self.pass_line(question.need.cost, before, pool.figures(), waits);
        if let Some(grant) = grant {
            let bytes = encode(&Message::Grant(grant)).to_vec();
            self.post(POOL, address(client), bytes);
        }
        let mut nudges = VecDeque::new();
        while let Some(nudge) = pool.poll_nudge(question.key) {
            nudges.push_back(nudge);
        }
        for nudge in nudges {
            let to = usize::try_from(nudge.client).unwrap();
            let bytes = encode(&Message::Nudge(nudge)).to_vec();
            self.post(POOL, address(to), bytes);
        }
        self.pool = Some(pool);
    }

    fn tell(&mut self, client: usize, bytes: &[u8]) {
        let now = self.clock(client);
        let Some(lessee) = self.clients[client].lessee.as_mut() else {
            return;
        };
        match decode(bytes).unwrap() {
            Message::Grant(grant) => lessee.handle_grant(&grant, now),
            Message::Nudge(_) => lessee.handle_nudge(now),
            Message::Question(_) => panic!("a client is asked"),
        }
        self.drain(client);
    }

    fn tick(&mut self, client: usize) {
        let now = self.clock(client);
        if let Some(lessee) = self.clients[client].lessee.as_mut() {
            lessee.handle_timeout(now);
        }
        self.drain(client);
    }
}
