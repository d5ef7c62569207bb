//! Data planes of all keys of a policy: each key's are assigned quotas out of its pool.
//!
//! Not here: what is assigned (`quota`), and grantors that others succeed, whose data planes could not be known.

use std::collections::BTreeMap;

use tollgate_limit::Instant;

use super::Lender;
use crate::Key;
use crate::pool::Pool;
use crate::quota::{Action, Quota, QuotaFigures, Report};

/// What a data plane is told, and in how many nanoseconds to look after it again; never where it is not subscribed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaTold {
    /// What it is told.
    pub action: Option<Action>,
    /// When to look after it.
    pub due_ns: Option<u64>,
}

/// How data planes stand, all keys together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaStand {
    /// Keys that have some.
    pub keys: u64,
    /// Data planes that are subscribed.
    pub planes: u64,
    /// What was counted.
    pub figures: QuotaFigures,
}

/// Data planes of keys that have some.
#[derive(Debug)]
pub(super) struct Planes {
    quotas: BTreeMap<Key, Quota>,
    /// Of keys that have none any more.
    past: QuotaFigures,
}

impl Planes {
    pub(super) const fn new() -> Self {
        Self {
            quotas: BTreeMap::new(),
            past: QuotaFigures {
                reports: 0,
                changed: 0,
                extended: 0,
                denied: 0,
                abandoned: 0,
            },
        }
    }

    /// Forgets them all.
    pub(super) fn clear(&mut self) {
        while let Some((_, quota)) = self.quotas.pop_first() {
            self.past = self.past.with(&quota.figures());
        }
    }

    /// Forgets a key that has none any more.
    fn tidy(&mut self, key: Key) {
        let quota = self.quotas.get(&key).filter(|quota| quota.planes() == 0);
        if let Some(figures) = quota.map(Quota::figures) {
            self.past = self.past.with(&figures);
            self.quotas.remove(&key);
        }
    }
}

impl Lender {
    /// Takes a report of a data plane about a key; `None` where nothing is assigned.
    pub fn handle_report(
        &mut self,
        key: Key,
        (plane, report): (u64, &Report),
        now: Instant,
    ) -> Option<QuotaTold> {
        let rules = self.setup.quota.filter(|_| !self.setup.has_successors)?;
        self.look(now);
        let quotas = &mut self.planes.quotas;
        quotas.entry(key).or_insert_with(|| Quota::new(rules));
        Some(self.of_planes(key, plane, now, |quota, pool| {
            quota.handle_report(pool, plane, report, now)
        }))
    }

    /// Does what is due for a data plane.
    pub fn handle_due(&mut self, key: Key, plane: u64, now: Instant) -> QuotaTold {
        self.look(now);
        self.of_planes(key, plane, now, |quota, pool| {
            quota.handle_due(pool, plane, now)
        })
    }

    /// A data plane is gone. What it was assigned stays in the books as long as it may be in use.
    pub fn leave(&mut self, key: Key, plane: u64) {
        if let Some(quota) = self.planes.quotas.get_mut(&key) {
            quota.leave(plane);
            self.planes.tidy(key);
        }
    }

    /// How data planes stand.
    pub fn quota_stand(&self) -> QuotaStand {
        let mut stand = QuotaStand {
            figures: self.planes.past,
            ..QuotaStand::default()
        };
        for quota in self.planes.quotas.values() {
            stand.keys += 1;
            stand.planes += quota.planes() as u64;
            stand.figures = stand.figures.with(&quota.figures());
        }
        stand
    }

    fn of_planes(
        &mut self,
        key: Key,
        plane: u64,
        now: Instant,
        act: impl FnOnce(&mut Quota, &mut Pool) -> Option<Action>,
    ) -> QuotaTold {
        let Some(quota) = self.planes.quotas.get_mut(&key) else {
            return QuotaTold::default();
        };
        let setup = &self.setup;
        let pool = self.pools.entry(key).or_insert_with(|| setup.fresh(now));
        let action = act(quota, pool);
        let due_ns = quota.due(plane).map(|due| due.nanos_since(now));
        self.planes.tidy(key);
        QuotaTold { action, due_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lender::LenderSetup;
    use crate::{Limits, QuotaRules, Rules};

    const SECOND: u64 = 1_000_000_000;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn lender() -> Lender {
        Lender::new(LenderSetup {
            limits: Limits::new(100, SECOND, 100).unwrap(),
            rules: Rules::default(),
            generation: 1,
            since: at(0),
            has_successors: false,
            quota: Some(QuotaRules::default()),
        })
    }

    fn report(allowed: u64) -> Report {
        Report {
            elapsed_ns: SECOND,
            allowed,
            denied: 0,
        }
    }

    #[test]
    fn quotas_and_requests_come_out_of_one_pool() {
        let mut lender = lender();
        let told = lender.handle_report(Key(1), (7, &report(50)), at(1_000));
        let told = told.expect("quotas are on");
        assert_eq!(
            told.action.map(|action| matches!(action, Action::Deny(_))),
            Some(true)
        );
        // Everything of before is over, and the bucket full.
        let told = lender.handle_report(Key(1), (7, &report(50)), at(20_000));
        let Some(Action::Assign(bucket, 10)) = told.expect("on").action else {
            panic!("{told:?}")
        };
        let left = lender.probe(Key(1), 1, at(20_000)).remaining;
        assert_eq!(left + u64::from(bucket.max_tokens), 100);
        lender.take(Key(1), left, at(20_000));
        assert_eq!(lender.probe(Key(1), 1, at(20_000)).remaining, 0);
        // Another one has to wait for what nobody has.
        let told = lender
            .handle_report(Key(1), (8, &report(50)), at(20_000))
            .expect("on");
        assert!(matches!(told.action, Some(Action::Deny(_))), "{told:?}");
        assert_eq!(lender.quota_stand().planes, 2);
        // One that is gone is kept room for as long as it may use it.
        lender.leave(Key(1), 7);
        lender.leave(Key(1), 8);
        let left = |lender: &mut Lender, now| lender.probe(Key(1), 1, now).remaining;
        assert!(left(&mut lender, at(30_000)) <= 100 - u64::from(bucket.max_tokens));
        assert_eq!(left(&mut lender, at(60_000)), 100);
    }

    #[test]
    fn nothing_is_assigned_where_it_is_off_or_others_succeed() {
        let setup = lender().setup;
        let off = LenderSetup {
            quota: None,
            ..setup
        };
        let followed = LenderSetup {
            has_successors: true,
            ..setup
        };
        for setup in [off, followed] {
            let mut lender = Lender::new(setup);
            let told = lender.handle_report(Key(1), (7, &report(50)), at(20_000));
            assert_eq!(told, None);
        }
    }
}
