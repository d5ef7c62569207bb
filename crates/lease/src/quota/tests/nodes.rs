//! Nodes of which one grants a key at a time: who that is changes, and what a node knew may be gone.
//!
//! Not here: data planes, and the way to them.

use tollgate_limit::Instant;

use crate::quota::QuotaFigures;
use crate::{Lender, LenderSetup, ModeKey, Pool};

pub(super) const KEY: ModeKey = ModeKey(1);

/// Nodes of which one grants.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) setup: LenderSetup,
    each: Vec<Lender>,
    /// The node that grants, and whether it does so in the place of another.
    owner: usize,
    is_acting: bool,
    /// The node that is not there until then, and whether it fell.
    away: Option<(usize, Instant, bool)>,
    /// Counted by nodes that fell.
    past: QuotaFigures,
    /// Answers that do not get to the node that has the stream, in thousandths.
    pub(super) deaf: u64,
}

impl Nodes {
    /// So many, of which the first grants.
    pub(super) fn new(setup: LenderSetup, count: usize) -> Self {
        let setup = LenderSetup {
            has_successors: count > 1,
            ..setup
        };
        Self {
            each: (0..count).map(|_| Lender::new(setup.clone())).collect(),
            setup,
            owner: 0,
            is_acting: false,
            away: None,
            past: QuotaFigures::default(),
            deaf: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.each.len()
    }

    /// Whoever grants.
    pub(super) fn grantor(&mut self, now: Instant) -> &mut Lender {
        let grantor = &mut self.each[self.owner];
        if self.is_acting {
            grantor.act(KEY, now);
        }
        grantor
    }

    /// The pool of whoever grants, where it has one.
    pub(super) fn pool(&mut self, now: Instant) -> Option<&Pool> {
        self.each[self.owner].inspect(KEY, now)
    }

    pub(super) fn figures(&self) -> QuotaFigures {
        let each = self.each.iter().map(|node| node.quota_stand().figures);
        each.fold(self.past, |sum, one| sum.with(&one))
    }

    /// Whoever grants begins again without its books.
    pub(super) fn fall(&mut self, now: Instant) {
        let begun = Lender::new(LenderSetup {
            generation: now.as_nanos(),
            since: now,
            ..self.setup.clone()
        });
        let before = std::mem::replace(&mut self.each[self.owner], begun);
        self.past = self.past.with(&before.quota_stand().figures);
    }

    /// From here on another node owns the key, as all of them know.
    pub(super) fn pass_to(&mut self, owner: usize, now: Instant) {
        self.bring_back(now);
        self.owner = owner;
        for (place, node) in self.each.iter_mut().enumerate() {
            node.retain(|_| place == owner, false, now);
        }
    }

    /// Whoever grants is not there until then, and the next one grants in its place.
    pub(super) fn stand_in(&mut self, until: Instant, falls: bool) {
        if self.away.is_some() {
            return;
        }
        self.away = Some((self.owner, until, falls));
        (self.owner, self.is_acting) = ((self.owner + 1) % self.each.len(), true);
    }

    /// Whoever is away grants again, if it is time.
    pub(super) fn come_back(&mut self, now: Instant) {
        if self.away.is_some_and(|(_, until, _)| until <= now) {
            self.bring_back(now);
        }
    }

    fn bring_back(&mut self, now: Instant) {
        if let Some((back, _, fell)) = self.away.take() {
            (self.owner, self.is_acting) = (back, false);
            if fell {
                self.fall(now);
            }
        }
    }

    /// Calls all that are there.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let away = self.away.map(|(away, ..)| away);
        let each = self.each.iter_mut().enumerate();
        let there = each.filter(|(place, _)| Some(*place) != away);
        there.for_each(|(_, node)| node.handle_timeout(now));
    }
}
