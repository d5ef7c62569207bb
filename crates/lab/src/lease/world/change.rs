//! What goes wrong: clients and the grantor come and go, are cut off, and their clocks step.
//!
//! Not here: when it does.

use tollgate_limit::Instant;

use super::client::Orphan;
use super::party::{GRANTOR, Party};
use super::plot::{LeaseChange, Recovery};
use super::sim::{DUES, LeaseWorld, address};
use crate::nodes::Member;

/// Numbers of plans from here on are of clients that look at their clocks then.
const LOOKS: u64 = 1 << 32;

impl LeaseWorld<'_> {
    /// Carries out what was planned.
    pub(super) fn change(&mut self, number: u64) {
        if let Some(due) = number.checked_sub(DUES) {
            let due = self
                .reigns
                .dues
                .get(usize::try_from(due).unwrap_or(usize::MAX));
            return due.copied().map_or((), |due| self.pay(due));
        }
        if let Some(client) = number.checked_sub(LOOKS) {
            return self.wake(usize::try_from(client).unwrap_or(usize::MAX));
        }
        let plot = self.plot;
        let change = plot
            .changes
            .get(usize::try_from(number).unwrap_or(usize::MAX));
        match change.map(|(_, change)| change) {
            Some(LeaseChange::Crash(client)) => self.crash(*client),
            Some(LeaseChange::Restart(client)) => self.boot(*client),
            Some(LeaseChange::Cut(clients)) => {
                let mut sides = vec![0; self.clients.len() + 1];
                for client in clients {
                    if let Some(side) = sides.get_mut(usize::from(address(*client))) {
                        *side = 1;
                    }
                }
                self.net.sim.links.split(sides);
            }
            Some(LeaseChange::Heal) => self.net.sim.links.heal(),
            Some(LeaseChange::Calm) => {
                let weather = &mut self.net.sim.links.weather;
                (weather.loss, weather.copies) = (0, 0);
            }
            Some(LeaseChange::Fall) => self.fall(),
            Some(LeaseChange::Rise(recovery)) => self.rise(*recovery),
            Some(LeaseChange::Step(client, by)) => self.set_back(address(*client), *by),
            Some(LeaseChange::Pause(client)) => self.net.sim.pause(address(*client)),
            Some(LeaseChange::GoOn(client)) => self.net.sim.go_on(address(*client)),
            Some(LeaseChange::Away(client, long)) => {
                let (client, now) = ([address(*client)], self.net.sim.now());
                let links = &mut self.net.sim.links;
                links.cut(&client, &[GRANTOR], now..now + long);
                links.cut(&[GRANTOR], &client, now..now + long);
            }
            Some(LeaseChange::Set(by)) => self.ahead += by,
            None => {}
        }
    }

    fn crash(&mut self, client: u16) {
        if let Some(client) = self.clients.get_mut(usize::from(client)) {
            client.promised = 0;
        }
        match self.net.nodes.get_mut(usize::from(address(client))) {
            Some(Party::Site(site)) => site.crash(),
            Some(Party::Replica(replica, _)) => *replica = None,
            _ => {}
        }
        self.net.sim.reset(address(client));
    }

    /// A clock jumps, and nobody takes note of it; what was to be done in some time is done then all the same.
    fn set_back(&mut self, place: u16, by: i64) {
        let clock = self.net.sim.clock(place);
        let member = self.net.nodes.get(usize::from(place));
        if let Some(due) = member.and_then(Member::poll_timeout) {
            let at = clock.world(due);
            self.net.sim.plan(at, LOOKS + u64::from(place));
        }
        let ahead = clock.ahead + by;
        self.net
            .sim
            .set_clock(place, tollgate_sim::SimClock { ahead, ..clock });
    }

    fn wake(&mut self, place: usize) {
        let now = self.clock(crate::nodes::address(place));
        let site = self.net.nodes.get_mut(place).and_then(Party::site_mut);
        if let Some(site) = site.filter(|site| site.is_up) {
            site.look(now);
        }
        self.hear();
        self.net.follow_up(place);
    }

    /// The grantor is gone. Its books stay here for those who judge.
    fn fall(&mut self) {
        self.reigns.fell = self.now();
        match self.net.nodes.first_mut() {
            Some(Party::Site(site)) => site.is_up = false,
            Some(Party::Centre { is_up, .. }) => *is_up = false,
            _ => {}
        }
        self.net.sim.reset(GRANTOR);
    }

    /// A successor comes, or the grantor with its books. Answers of one whose books are lost may still be under way.
    fn rise(&mut self, recovery: Recovery) {
        let (term, now) = (self.plot.setting.term_ns, self.net.sim.now());
        let pool = self.site(GRANTOR).and_then(|site| {
            let clock = self.clock(GRANTOR);
            site.pool(super::sim::KEY, clock)
        });
        if let Some(pool) = pool.filter(|_| recovery != Recovery::Ledger) {
            let until = self.reigns.fell + term;
            for client in &mut self.clients {
                let booked = client.booked(&pool);
                client.orphan = booked.map(|booked| Orphan {
                    stamp: booked.stamp,
                    tokens: booked.tokens,
                    until,
                });
            }
            self.reigns.generation += 1;
            self.reigns.begin(self.reigns.generation);
            let since = match recovery {
                // Whoever grants for so long has a full bucket.
                Recovery::Careless => now.saturating_sub(self.begun),
                _ => now,
            };
            self.appoint(GRANTOR, Instant::from_nanos(since));
        }
        if let Some(Party::Centre { is_up, .. }) = self.net.nodes.first_mut() {
            *is_up = true;
        }
        if let Some(site) = self.site_mut(GRANTOR) {
            site.is_up = true;
            if recovery == Recovery::Quarantine {
                site.deaf_until = now + term;
            }
        }
        self.net.follow_up(usize::from(GRANTOR));
    }
}
