//! The run of a design: everything that happens, in order of time, and a look after every event of the protocol.
//!
//! Not here: the judges, what goes wrong (`change`), and what happens when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tollgate_contract::Contracts;
use tollgate_lease::{Centre, DecidedBy, Limits, Pool, Replica};
use tollgate_limit::{Instant, Span};
use tollgate_node::Steady;
use tollgate_sim::SimClock;

use super::bench::Bench;
use super::client::LeaseClient;
use super::outcome::{LeaseOutcome, LeaseTally};
use super::party::{GRANTOR, Party};
use super::plot::{Plot, SECOND};
use super::promise::{PromiseDue, Reigns};
use crate::dice::{LabDice, Purpose, links, scramble};
use crate::envelope::Envelope;
use crate::lease::check::LabReferenceBucket;
use crate::lease::design::{Design, setup};
use crate::naive::Naive;
use crate::nodes::site::{Fate, LenderBegin, Site, SiteEvent, SiteLog, Wish, lender};
use crate::nodes::{Happened, Member, Net, OneBucket};
use crate::supply::stage::DemandArrivals;

/// Who never speaks has not begun long ago either.
const PHASE_MAX: u64 = 5_000_000_000;
/// Numbers of plans from here on are of what was promised.
pub(super) const DUES: u64 = 1 << 40;
/// What is counted.
pub(super) const KEY: u64 = 1;

pub(super) const fn address(client: u16) -> u16 {
    client + 1
}

pub(super) struct LeaseWorld<'a> {
    pub(super) plot: &'a Plot,
    pub(super) design: Design,
    limits: Limits,
    contracts: Contracts,
    pub(super) net: Net<Party>,
    /// When the run begins, by the network's time: before, a grantor learns that nothing is lent.
    pub(super) begun: u64,
    /// What was promised, and by whose books.
    pub(super) reigns: Reigns,
    /// How far the time of day is ahead of that of the run; and what it is, for nodes.
    pub(super) ahead: u64,
    day: Arc<AtomicU64>,
    pub(super) clients: Vec<LeaseClient>,
    /// What clients know of the key when the run begins.
    terms: Vec<u8>,
    phases: LabDice,
    costs: LabDice,
    log: SiteLog,
    pub(super) bench: Bench,
}

/// Runs a design; a bucket that cannot be gives nothing.
pub(crate) fn simulate(design: Design, plot: &Plot) -> LeaseOutcome {
    let Some(mut world) = LeaseWorld::new(design, plot) else {
        return LeaseOutcome::default();
    };
    world.start();
    let mut arrivals = DemandArrivals::new(&plot.phases, plot.seed);
    let mut next = arrivals.draw();
    loop {
        let arrival = next.map_or(u64::MAX, |(micros, _)| micros.saturating_mul(1_000));
        let event = world
            .net
            .sim
            .next_at()
            .map_or(u64::MAX, |at| at - world.begun);
        if arrival.min(event) > plot.setting.until {
            break;
        }
        if arrival < event {
            world.net.sim.pass(world.begun + arrival);
            if let Some((_, client)) = next {
                world.arrive(client);
            }
            next = arrivals.draw();
        } else {
            world.step(world.begun + event);
        }
    }
    world.outcome()
}

impl<'a> LeaseWorld<'a> {
    fn new(design: Design, plot: &'a Plot) -> Option<Self> {
        let setting = &plot.setting;
        let limits = Limits::new(setting.per_second, SECOND, setting.burst).ok()?;
        let contracts = Contracts::parse(&design.contract(setting)).ok()?;
        let slots = setting.until.checked_div(setting.slot_ns);
        let slots = slots.map_or(0, |count| usize::try_from(count + 1).unwrap_or(0));
        let new = || match setting.window_of {
            Some(of) => LabReferenceBucket::of(Naive::new(of.shape, setting.burst, of.period_ns)),
            None => LabReferenceBucket::new(setting.per_second, setting.burst),
        };
        let client = |client| LeaseClient {
            address: address(client),
            name: design.name_of(address(client)),
            ..LeaseClient::default()
        };
        let fills = setting.burst * SECOND / setting.per_second.max(1);
        Some(Self {
            plot,
            design,
            limits,
            contracts,
            net: Net::on(0, links(setting.weather, plot.seed)),
            begun: 2 * (setting.term_ns + setting.window_of.map_or(0, |of| of.period_ns))
                + fills
                + SECOND,
            reigns: Reigns::first(),
            ahead: setting.window_of.map_or(0, |window| window.day),
            day: Arc::default(),
            clients: (0..setting.clients).map(client).collect(),
            terms: Vec::new(),
            phases: LabDice::new(plot.seed, Purpose::Boots),
            costs: LabDice::new(plot.seed, Purpose::Keys),
            log: SiteLog::default(),
            bench: Bench {
                ghost: new(),
                central: new(),
                replay: Envelope::of(OneBucket::full(setting.per_second, setting.burst, 0)),
                fair: None,
                tally: LeaseTally::default(),
                window: (0, 0),
                records: 0,
                idle: 0,
                slots: vec![(0, 0); slots],
                hash: plot.seed,
            },
        })
    }

    /// Everybody is there, and whoever lends has learnt that nothing is lent.
    fn start(&mut self) {
        let (setting, at) = (&self.plot.setting, Instant::from_nanos(self.begun));
        let centre = self.design.sync(self.limits);
        self.net.nodes.push(match centre {
            Some(sync) => Party::Centre {
                centre: Centre::new(sync, at),
                is_up: true,
                out: Vec::new(),
            },
            None => Party::Site(Box::new(Site::new(GRANTOR, &self.log))),
        });
        let mut clocks = LabDice::new(self.plot.seed, Purpose::Clocks);
        let wide = u64::from(setting.drift_ppm);
        for client in 0..setting.clients {
            let drawn = clocks.below(2 * wide + 1);
            let drawn = if setting.is_hurried { 2 * wide } else { drawn };
            let drift = drawn.cast_signed() - wide.cast_signed();
            let clock = SimClock {
                drift: drift + i64::from(setting.drift_more),
                ahead: (10_000_000_000 + clocks.below(10_000_000_000)).cast_signed(),
            };
            self.net.sim.set_clock(address(client), clock);
            let site = Site::new(address(client), &self.log);
            self.net.nodes.push(match centre {
                Some(_) => Party::Replica(None, None),
                None => Party::Site(Box::new(site)),
            });
        }
        for place in self.design.nodes(self.plot) {
            self.appoint(place, Instant::from_nanos(0));
            // Time is what the clock of whoever decides says.
            if place == self.home() {
                self.net.sim.set_clock(place, SimClock::default());
            }
        }
        self.net.sim.pass(self.begun);
        let grantor = self.site(GRANTOR);
        self.terms = grantor
            .and_then(|site| site.terms(KEY, at))
            .unwrap_or_default();
        for (number, (at, _)) in (0..).zip(&self.plot.changes) {
            self.net.sim.plan(self.begun + at, number);
        }
        for client in 0..setting.clients {
            self.boot(client);
        }
        self.terms.clear();
    }

    /// A place is a node from here on, which has been one since then.
    pub(super) fn appoint(&mut self, place: u16, since: Instant) {
        let begin = LenderBegin {
            generation: self.reigns.generation,
            since,
            rules: self.design.rules(&self.plot.setting),
            holder: None,
            day: self.plot.setting.window_of.map(|_| {
                let day = Arc::clone(&self.day);
                Arc::new(move || Instant::from_nanos(day.load(Relaxed))) as Steady
            }),
        };
        let node = lender(self.contracts.clone(), begin, &self.log);
        if let Some(site) = self.site_mut(place) {
            site.node = Some(node);
        }
    }

    /// Where requests are decided or keys lent.
    pub(super) fn home(&self) -> u16 {
        self.design.home(self.plot)
    }

    pub(super) fn site(&self, place: u16) -> Option<&Site> {
        self.net.nodes.get(usize::from(place))?.site()
    }

    pub(super) fn site_mut(&mut self, place: u16) -> Option<&mut Site> {
        self.net.nodes.get_mut(usize::from(place))?.site_mut()
    }

    pub(super) fn now(&self) -> u64 {
        self.net.sim.now() - self.begun
    }

    /// The time of day, where a window is lent.
    pub(super) fn time(&self) -> u64 {
        self.now() + self.ahead
    }

    /// Something passes at a time of the network's.
    pub(super) fn owe(&mut self, at: u64, due: PromiseDue) {
        let number = DUES + self.reigns.dues.len() as u64;
        self.reigns.dues.push(due);
        self.net.sim.plan(at, number);
    }

    pub(super) fn clock(&self, place: u16) -> Instant {
        Instant::from_nanos(self.net.sim.local(place))
    }

    fn wish(&self, client: u16, cost: u64) -> Wish {
        let boot = self
            .clients
            .get(usize::from(client))
            .map_or(0, |own| own.boot);
        Wish {
            key: KEY,
            cost,
            lender: GRANTOR,
            setup: setup(&self.plot.setting, address(client), boot),
        }
    }

    pub(super) fn boot(&mut self, number: u16) {
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return;
        };
        client.boot += 1;
        client.orphan = None;
        client.waiting.clear();
        client.promised = 0;
        let (wish, clock) = (self.wish(number, 1), self.clock(address(number)));
        let sync = self.design.sync(self.limits);
        let place = usize::from(address(number));
        match (self.net.nodes.get_mut(place), sync) {
            (Some(Party::Replica(replica, _)), Some(sync)) => {
                // Clients did not all start at once: each has spoken some time ago.
                let ago = self.phases.below(sync.interval_ns.min(PHASE_MAX));
                let born = Instant::from_nanos(clock.as_nanos().saturating_sub(ago));
                *replica = Some(Replica::new(sync, born));
            }
            (Some(Party::Site(site)), _) => {
                site.crash();
                site.is_up = true;
                if self.design.is_of_nodes() {
                    let begin = LenderBegin {
                        generation: wish.setup.boot,
                        since: clock,
                        rules: self.design.rules(&self.plot.setting),
                        day: None,
                        holder: Some(self.design.name_of(address(number))),
                    };
                    // What leases admit is told by the place.
                    let unheard = SiteLog::default();
                    site.node = Some(lender(self.contracts.clone(), begin, &unheard));
                } else if !self.design.is_asked() {
                    site.learn(&wish, &self.terms, clock);
                }
            }
            _ => {}
        }
        self.net.sim.reset(address(number));
        self.net.follow_up(place);
    }

    fn step(&mut self, at: u64) {
        self.day.store(at - self.begun + self.ahead, Relaxed);
        match self.net.step(at) {
            Some(Happened::Plan(number)) => self.change(number),
            Some(Happened::Member) => self.hear(),
            Some(Happened::Nothing) | None => return,
        }
        self.look();
    }

    /// A request comes to a client; one that is down is not asked.
    fn arrive(&mut self, number: u16) {
        let (now, time, place) = (self.now(), self.time(), usize::from(address(number)));
        self.day.store(time, Relaxed);
        if number == self.plot.setting.clients {
            return self.serve();
        }
        let is_paused = self.net.sim.is_paused(address(number));
        if is_paused || !self.net.nodes.get(place).is_some_and(Member::is_up) {
            return;
        }
        self.bench.tally.arrived += 1;
        if self.bench.central.take(time) {
            if let Some(client) = self.clients.get_mut(usize::from(number)) {
                client.central += 1;
            }
            self.bench.count(self.plot, now, false);
        }
        if self.bench.fair.as_mut().is_some_and(|fair| fair.take(time)) {
            self.bench.window.1 += 1;
        }
        let said = self.net.sent().messages;
        let cost = self.cost();
        match self.ask(number, cost) {
            Fate::Passes(wait) => self.keep(number, cost, wait),
            Fate::Failed(true) => self.keep(number, cost, Span::ZERO),
            Fate::Refused => {}
            Fate::Failed(false) => self.bench.tally.failed += 1,
            Fate::Later(ticket) => {
                self.bench.tally.waited += 1;
                if let Some(client) = self.clients.get_mut(usize::from(number)) {
                    client.waiting.insert(ticket, now);
                }
            }
        }
        self.hear();
        self.net.follow_up(place);
        if self.design == Design::Cut {
            self.look_at_parts();
        }
        if self.net.sent().messages > said {
            self.look();
        }
    }

    fn cost(&mut self) -> u64 {
        if self.plot.setting.max_wait_ns == 0 {
            1
        } else {
            1 + self.costs.below(3)
        }
    }

    /// The grantor decides a request of somebody who asks each time.
    fn serve(&mut self) {
        let (cost, clock) = (self.cost(), self.clock(GRANTOR));
        if let Some(site) = self.site(GRANTOR).filter(|site| site.is_up) {
            site.decide(KEY, cost, clock);
        }
        self.hear();
        self.net.follow_up(usize::from(GRANTOR));
    }

    /// Has a client decide, or send a request to where it is decided.
    fn ask(&mut self, number: u16, cost: u64) -> Fate {
        let (place, home) = (address(number), self.home());
        let (wish, clock) = (self.wish(number, cost), self.clock(place));
        let is_asked = self.design.is_asked();
        let passes = |is_allowed| {
            if is_allowed {
                Fate::Passes(Span::ZERO)
            } else {
                Fate::Refused
            }
        };
        match self.net.nodes.get_mut(usize::from(place)) {
            Some(Party::Replica(Some(replica), _)) => passes(replica.check(cost, clock)),
            Some(Party::Site(site)) if site.node.is_some() && !site.is_holder() => {
                let answer = site.decide(KEY, cost, clock);
                passes(answer.is_some_and(|answer| answer.is_allowed()))
            }
            Some(Party::Site(site)) if is_asked => Fate::Later(site.ask(KEY, cost, home)),
            Some(Party::Site(site)) => site.check(&wish, clock),
            _ => Fate::Refused,
        }
    }

    pub(super) fn hear(&mut self) {
        let now = self.now();
        for event in self.log.take() {
            match event {
                SiteEvent::Served { cost, wait } => self.promise(cost, wait),
                SiteEvent::Decided {
                    site,
                    ticket,
                    cost,
                    passes,
                    by,
                    ..
                } => {
                    let number = site.saturating_sub(1);
                    if let Some(client) = self.clients.get_mut(usize::from(number)) {
                        self.bench.tally.wait_ns += client.waited(ticket, now);
                    }
                    self.bench.tally.failed += u64::from(by == DecidedBy::Nobody);
                    match passes {
                        Some(wait) if by == DecidedBy::Lease => self.keep(number, cost, wait),
                        Some(_) => self.admit(number),
                        None => {}
                    }
                }
            }
        }
    }

    /// Counts an admission, which is charged where it was decided.
    pub(super) fn admit(&mut self, number: u16) {
        let now = self.now();
        if let Some(client) = self.clients.get_mut(usize::from(number)) {
            client.admitted += 1;
        }
        self.bench.hash = scramble(self.bench.hash ^ scramble(now ^ u64::from(number)));
        self.bench.count(self.plot, now, true);
    }

    #[allow(clippy::cast_precision_loss, reason = "figures of three digits")]
    fn outcome(mut self) -> LeaseOutcome {
        let grantor = self.site(GRANTOR);
        let pool = grantor.and_then(|site| site.pool(KEY, self.clock(GRANTOR)));
        self.bench.tally.messages = self.net.sent().messages;
        let bench = self.bench;
        let looks = bench.ghost.checks.max(1) as f64;
        let burst = (self.limits.depth() >> 20) as f64;
        let clients = self.clients.iter();
        LeaseOutcome {
            checks: bench.ghost.checks,
            broken: bench.ghost.broken,
            excess: bench.replay.found(),
            clients: clients.map(|own| (own.admitted, own.central)).collect(),
            tally: bench.tally,
            window: bench.window,
            records: (bench.records, pool.as_ref().map_or(0, Pool::lessees)),
            #[cfg(test)]
            reserved: pool.map_or(0, |pool| pool.reserved().0 * 100 / self.limits.rate()),
            idle: bench.idle as f64 / looks / burst,
            slots: bench.slots,
            hash: scramble(bench.hash ^ self.net.hash()),
        }
    }
}
