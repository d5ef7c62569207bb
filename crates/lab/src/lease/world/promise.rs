//! What was promised: requests that pass after a wait, at clients and at the grantor.
//!
//! What a grantor promised passes at its time even if the grantor is gone; what a client promised is gone with it. Not
//! here: who promises.

use std::collections::BTreeMap;

use tollgate_limit::Span;

use super::sim::{LeaseWorld, address};

/// Who has granted so far, and what each promised.
#[derive(Debug)]
pub(super) struct Reigns {
    /// Of the grantor that is there, or was last.
    pub(super) generation: u64,
    /// When the grantor fell last.
    pub(super) fell: u64,
    /// Requests that pass later, as they were promised.
    pub(super) dues: Vec<PromiseDue>,
    /// Whose books are gone on with.
    book: u64,
    /// What was promised by the books of each and has not passed yet.
    promised: BTreeMap<u64, u64>,
}

impl Reigns {
    /// The first grantor, which has promised nothing.
    pub(super) const fn first() -> Self {
        Self {
            generation: 1,
            fell: 0,
            dues: Vec::new(),
            book: 0,
            promised: BTreeMap::new(),
        }
    }

    /// Other books from here on.
    pub(super) const fn begin(&mut self, book: u64) {
        self.book = book;
    }

    /// Tokens that were promised and have not passed: by all, and by the books that are gone on with.
    pub(super) fn promised(&self) -> (u64, u64) {
        let own = self.promised.get(&self.book).copied();
        (self.promised.values().sum(), own.unwrap_or(0))
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum PromiseDue {
    /// At a client, in that boot.
    Client(u16, u64, u64),
    /// At the grantor, by these books.
    Grantor(u64, u64),
}

impl LeaseWorld<'_> {
    /// A request of a client's lease passes after that, on its clock.
    pub(super) fn keep(&mut self, number: u16, cost: u64, wait: Span) {
        if wait == Span::ZERO {
            return self.pass(number, cost);
        }
        let Some(client) = self.clients.get_mut(usize::from(number)) else {
            return;
        };
        client.promised += cost;
        let boot = client.boot;
        self.bench.tally.promised += 1;
        let shown = self.clock(address(number)).saturating_add(wait).as_nanos();
        let at = self.net.sim.clock(address(number)).world(shown);
        self.owe(at, PromiseDue::Client(number, boot, cost));
    }

    pub(super) fn promise(&mut self, cost: u64, wait: Span) {
        let time = self.time();
        if wait == Span::ZERO {
            return self.bench.charge(cost, time);
        }
        let book = self.reigns.book;
        *self.reigns.promised.entry(book).or_default() += cost;
        self.bench.tally.granted += 1;
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let at = self.net.sim.now().saturating_add(wait);
        self.owe(at, PromiseDue::Grantor(book, cost));
    }

    /// What was promised passes, unless whoever waited for it is gone.
    pub(super) fn pay(&mut self, due: PromiseDue) {
        match due {
            PromiseDue::Client(number, boot, cost) => {
                let is_up = self.site(address(number)).is_some_and(|site| site.is_up);
                let client = self.clients.get_mut(usize::from(number));
                if let Some(client) = client.filter(|client| is_up && client.boot == boot) {
                    client.promised -= cost;
                    self.pass(number, cost);
                }
            }
            PromiseDue::Grantor(book, cost) => {
                if let Some(promised) = self.reigns.promised.get_mut(&book) {
                    *promised -= cost;
                }
                let time = self.time();
                self.bench.charge(cost, time);
            }
        }
    }

    fn pass(&mut self, number: u16, cost: u64) {
        let time = self.time();
        self.bench.charge(cost, time);
        self.admit(number);
    }
}
