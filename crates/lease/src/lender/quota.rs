//! Data planes of all keys of a policy: each key's are assigned quotas out of its pool.
//!
//! Where others may have assigned before, nothing is said for as long as that may be in use: who has something goes on
//! with it. Not here: what is assigned (`quota`), and who asks whom.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::{Beginning, Lender, LenderSetup};
use crate::ModeKey;
use crate::pool::Pool;
use crate::quota::{Action, KeyQuota, PlaneId, QuotaFigures, QuotaReport, QuotaRules};

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
    quotas: BTreeMap<ModeKey, KeyQuota>,
    /// Of keys that have none any more.
    past: QuotaFigures,
    /// Where to look next for some that nobody speaks for any more.
    cursor: ModeKey,
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
                restated: 0,
            },
            cursor: ModeKey(0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.quotas.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.quotas.len()
    }

    /// Forgets those of all other keys.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(ModeKey) -> bool) {
        let past = &mut self.past;
        self.quotas.retain(|key, quota| {
            let keeps = is_kept(*key);
            if !keeps {
                *past = past.with(&quota.figures());
            }
            keeps
        });
    }

    /// Forgets those that nobody speaks for any more, of so many keys.
    pub(super) fn sweep(&mut self, keys: usize, now: Instant) {
        for _ in 0..keys.min(self.quotas.len()) {
            let mut next = self.quotas.range((Excluded(self.cursor), Unbounded));
            let next = next.next().or_else(|| self.quotas.first_key_value());
            let Some(key) = next.map(|(key, _)| *key) else {
                return;
            };
            if let Some(quota) = self.quotas.get_mut(&key) {
                quota.forget_gone(now);
            }
            self.cursor = key;
            self.tidy(key);
        }
    }

    /// Forgets a key that has none any more.
    fn tidy(&mut self, key: ModeKey) {
        let quota = self.quotas.get(&key).filter(|quota| quota.planes() == 0);
        if let Some(figures) = quota.map(KeyQuota::figures) {
            self.past = self.past.with(&figures);
            self.quotas.remove(&key);
        }
    }
}

impl LenderSetup {
    /// How data planes are assigned quotas. What they are assigned fills by itself, which no window does.
    fn assigned(&self) -> Option<QuotaRules> {
        self.quota.filter(|_| self.window.is_none())
    }

    /// For how long that may be in use which a predecessor lent or assigned last.
    pub(super) fn out_ns(&self) -> u64 {
        // Data planes cannot say what they hold.
        let assigned = self.assigned().map_or(0, |quota| quota.hold_ns());
        self.rules.term_ns.max(planted!("lease-22", assigned, 0))
    }
}

impl Lender {
    /// Takes a report of a data plane about a key; `None` where nothing is assigned.
    pub fn handle_report(
        &mut self,
        key: ModeKey,
        plane: PlaneId,
        report: &QuotaReport,
        now: Instant,
    ) -> Option<QuotaTold> {
        let rules = self.setup.assigned()?;
        self.look(now);
        let quotas = &mut self.planes.quotas;
        let quota = quotas.entry(key);
        // Others promise that nothing is admitted too much, whoever takes over.
        quota.or_insert_with(|| KeyQuota::new(rules, !self.setup.has_successors));
        Some(self.of_planes(key, plane, now, |quota, pool| {
            quota.handle_report(pool, plane, report, now)
        }))
    }

    /// Does what is due for a data plane.
    pub fn handle_due(&mut self, key: ModeKey, plane: PlaneId, now: Instant) -> QuotaTold {
        self.look(now);
        self.of_planes(key, plane, now, |quota, pool| {
            quota.handle_due(pool, plane, now)
        })
    }

    /// A data plane is gone. What it was assigned stays in the books as long as it may be in use.
    pub fn leave(&mut self, key: ModeKey, plane: PlaneId) {
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
        key: ModeKey,
        plane: PlaneId,
        now: Instant,
        act: impl FnOnce(&mut KeyQuota, &mut Pool) -> Option<Action>,
    ) -> QuotaTold {
        let Some(quota) = self.planes.quotas.get_mut(&key) else {
            return QuotaTold::default();
        };
        let beginning = Beginning {
            setup: &self.setup,
            terms: &self.terms,
            clock: self.clock,
            is_proven: self.past.is_proven,
        };
        let pool = self.pools.get_or_insert_with(key, || beginning.fresh(now));
        let action = act(quota, pool);
        // What another assigned, or an earlier process, ends by itself and is counted as in use until then.
        let is_silent = pool.is_learning();
        let action = action.filter(|action| !(is_silent && matches!(action, Action::Deny(_))));
        let due_ns = quota.due(plane).map(|due| due.nanos_since(now));
        self.planes.tidy(key);
        QuotaTold { action, due_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, QuotaRules, Rules};

    const SECOND: u64 = 1_000_000_000;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn lender() -> Lender {
        Lender::new(LenderSetup {
            limits: Limits::new(100, SECOND, 100).unwrap(),
            window: None,
            rules: Rules::default(),
            generation: 1,
            since: at(0),
            has_successors: false,
            quota: Some(QuotaRules::default()),
        })
    }

    /// Of one that has nothing yet.
    fn report(denied: u64) -> QuotaReport {
        QuotaReport {
            elapsed_ns: SECOND,
            allowed: 0,
            denied,
        }
    }

    #[test]
    fn quotas_and_requests_come_out_of_one_pool() {
        let mut lender = lender();
        let told = lender.handle_report(ModeKey(1), 7, &report(50), at(1_000));
        // It may have something of before, which ends by itself.
        assert_eq!(told.expect("quotas are on").action, None);
        // Everything of before is over, and the bucket full.
        let told = lender.handle_report(ModeKey(1), 7, &report(50), at(20_000));
        let Some(Action::Assign(bucket, 10)) = told.expect("on").action else {
            panic!("{told:?}")
        };
        let left = lender.probe(ModeKey(1), 1, at(20_000)).remaining;
        assert_eq!(left + u64::from(bucket.max_tokens), 100);
        lender.take(ModeKey(1), left, at(20_000));
        assert_eq!(lender.probe(ModeKey(1), 1, at(20_000)).remaining, 0);
        // Another one has to wait for what nobody has.
        let told = lender
            .handle_report(ModeKey(1), 8, &report(50), at(20_000))
            .expect("on");
        assert!(matches!(told.action, Some(Action::Deny(_))), "{told:?}");
        assert_eq!(lender.quota_stand().planes, 2);
        // One that is gone is kept room for as long as it may use it.
        lender.leave(ModeKey(1), 7);
        lender.leave(ModeKey(1), 8);
        let left = |lender: &mut Lender, now| lender.probe(ModeKey(1), 1, now).remaining;
        assert!(left(&mut lender, at(30_000)) <= 100 - u64::from(bucket.max_tokens));
        assert_eq!(left(&mut lender, at(60_000)), 100);
    }

    #[test]
    fn nothing_is_assigned_where_it_is_off() {
        let setup = LenderSetup {
            quota: None,
            ..lender().setup
        };
        let told = Lender::new(setup).handle_report(ModeKey(1), 7, &report(50), at(20_000));
        assert_eq!(told, None);
    }

    #[test]
    fn whoever_takes_over_says_nothing_until_all_of_before_is_over() {
        let setup = LenderSetup {
            has_successors: true,
            ..lender().setup
        };
        let takes_over: [fn(&mut Lender, Instant); 3] = [
            |lender, now| lender.retain(|_| false, false, now),
            |lender, now| lender.act(ModeKey(1), now),
            // A pause, which the next call notices.
            |_, _| {},
        ];
        for (case, take_over) in takes_over.into_iter().enumerate() {
            let mut lender = Lender::new(setup.clone());
            let told = lender.handle_report(ModeKey(1), 7, &report(50), at(20_000));
            assert!(matches!(told.unwrap().action, Some(Action::Assign(..))));
            let begun = 22_000;
            take_over(&mut lender, at(begun));
            let mut now = begun;
            let first = loop {
                if case == 1 {
                    lender.act(ModeKey(1), at(now));
                }
                let told = lender.handle_report(ModeKey(1), 8, &report(50), at(now));
                if let Some(action) = told.unwrap().action {
                    break action;
                }
                now += 100;
            };
            // A time to live, drift and delivery; and a second in which others may not have heard.
            let least = begun + 11_010 + if case == 1 { 0 } else { 1_000 };
            assert!((least..least + 200).contains(&now), "{case}: {now}");
            assert!(matches!(first, Action::Assign(..)), "{case}: {first:?}");
        }
    }

    #[test]
    fn a_data_plane_that_nobody_speaks_for_is_forgotten() {
        let mut lender = lender();
        let told = lender.handle_report(ModeKey(1), 7, &report(50), at(20_000));
        assert!(told.is_some());
        lender.handle_timeout(at(69_000));
        assert_eq!(lender.quota_stand().planes, 1, "it may be due");
        lender.handle_timeout(at(70_000));
        assert_eq!(lender.quota_stand().planes, 0);
    }
}
