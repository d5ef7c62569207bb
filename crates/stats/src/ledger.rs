//! Sheets folded into minutes and hours, within bounds, until they are stored.
//!
//! A [`Line`] is an increment, so that lines of several nodes, and of one node at several times, combine
//! by adding. A contract's line without an identity is the sum of all its requests; the part that the lines with
//! identities lack
//! belongs to identities without a row. Not here: storage of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::pulse::{Pulse, RecentCounts};
use crate::sheet::{Of, Sheet, SheetCount, Who};
use crate::time::Step;

/// Bounds of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerLimits {
    /// Identities with a row of their own, in a minute and in an hour.
    pub identities: usize,
    /// Rows with identities that may wait to be stored.
    pub waiting: usize,
    /// Minutes whose sums may wait to be kept.
    pub minutes: usize,
}

impl LedgerLimits {
    /// Room for so many identities, for ten times as many rows that wait, and for the sums of a day.
    pub const fn of(identities: usize) -> Self {
        Self {
            identities,
            waiting: identities.saturating_mul(10),
            minutes: 1440,
        }
    }
}

/// An increment for a contract, or for one identity in it, in a minute or an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub step: Step,
    /// Number of the minute or hour since the epoch.
    pub at: u64,
    /// The contract; empty for the sum over all contracts.
    pub contract: Arc<str>,
    /// Empty for the sum of all.
    pub identity: Arc<str>,
    pub counts: Counts,
}

/// Counts that could not be kept in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Decisions in the sums of minutes but in no row of an identity, because there were too many identities or
    /// rows waited for too long.
    pub unnamed: u64,
    /// Decisions in no sum, because the sums waited for too long.
    pub lost: u64,
}

/// Minutes and hours that are not stored yet.
#[derive(Debug)]
pub struct Ledger {
    limits: LedgerLimits,
    minutes: BTreeMap<u64, Page>,
    hours: BTreeMap<u64, Page>,
    names: Names,
    /// Counts of keys that no sheet has named yet.
    nameless: Vec<(u64, Arc<str>, Who, Counts)>,
    ids: BTreeSet<Arc<str>>,
    pulse: Pulse,
    losses: Losses,
}

#[derive(Debug, Default)]
struct Page {
    sums: BTreeMap<Arc<str>, Counts>,
    /// By contract and identity; a row stays as long as its page.
    rows: BTreeMap<(Arc<str>, Arc<str>), Counts>,
}

impl Ledger {
    pub fn new(limits: LedgerLimits) -> Self {
        Self {
            limits,
            minutes: BTreeMap::new(),
            hours: BTreeMap::new(),
            names: Names::default(),
            nameless: Vec::new(),
            ids: BTreeSet::new(),
            pulse: Pulse::default(),
            losses: Losses::default(),
        }
    }

    /// Adds the counts of a sheet since the last call. Call [`Self::beat`] after all sheets.
    pub fn fold(&mut self, sheet: &mut Sheet) {
        let minute = sheet.minute();
        sheet.tell(|told| self.add(minute, &told));
    }

    fn add(&mut self, minute: u64, told: &SheetCount<'_>) {
        let contract = self.id(told.contract);
        let identity = match told.of {
            Of::Everybody | Of::Rest => None,
            Of::Named(who, name) => Some(self.names.learn(who, name)),
            Of::Nameless(who) => {
                // The sheet that has the name may be folded after this one.
                self.nameless.push((minute, contract, who, told.counts));
                return;
            }
        };
        let is_named = self.enter(minute, &contract, identity.as_ref(), &told.counts);
        if !is_named || told.of == Of::Rest {
            self.losses.unnamed += told.counts.asked();
        }
    }

    /// Returns whether there was room for the identity's row.
    fn enter(
        &mut self,
        minute: u64,
        contract: &Arc<str>,
        identity: Option<&Arc<str>>,
        counts: &Counts,
    ) -> bool {
        self.pulse.add(contract, counts);
        let room = self.limits.identities;
        let all = &self.id("");
        let minutes = self.minutes.entry(minute).or_default();
        minutes.add(all, None, counts, room);
        let is_named = minutes.add(contract, identity, counts, room);
        let hours = self.hours.entry(minute / 60).or_default();
        hours.add(all, None, counts, room);
        hours.add(contract, identity, counts, room);
        is_named
    }

    /// Shares one allocation per contract name.
    fn id(&mut self, contract: &str) -> Arc<str> {
        if let Some(id) = self.ids.get(contract) {
            return Arc::clone(id);
        }
        if self.ids.len() >= IDS_MAX {
            self.ids.clear();
        }
        let id: Arc<str> = contract.into();
        self.ids.insert(Arc::clone(&id));
        id
    }

    /// Ends an interval: counts folded since the last call happened until `now_ms`.
    pub fn beat(&mut self, now_ms: u64) {
        for (minute, contract, who, counts) in std::mem::take(&mut self.nameless) {
            let identity = self.names.find(who);
            self.enter(minute, &contract, identity.as_ref(), &counts);
        }
        self.pulse.beat(now_ms);
        self.names.turn(now_ms / NAMES_TURN_MS);
        self.trim();
    }

    /// Request rates over the last seconds, by contract.
    pub fn pace(&self, window_ms: u64) -> Vec<(Arc<str>, RecentCounts)> {
        self.pulse.pace(window_ms)
    }

    pub const fn losses(&self) -> Losses {
        self.losses
    }

    pub fn waiting(&self) -> usize {
        let pages = self.minutes.values().chain(self.hours.values());
        let fresh = |counts: &&Counts| !counts.is_zero();
        pages
            .map(|page| {
                page.sums.values().filter(fresh).count() + page.rows.values().filter(fresh).count()
            })
            .sum()
    }

    /// Takes the lines to store, in order; at most `lines_max`. Another call
    /// returns the increments since.
    pub fn take(&mut self, now_minute: u64, lines_max: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for (step, pages) in [
            (Step::Minute, &mut self.minutes),
            (Step::Hour, &mut self.hours),
        ] {
            for (at, page) in pages {
                page.take(step, *at, lines_max, &mut lines);
            }
        }
        let is_full = lines.len() >= lines_max;
        let last = |now: u64| now.saturating_sub(1);
        // A page may still grow while threads may have a sheet of its minute.
        let keeps = |page: &Page, is_old: bool| is_full && !page.is_empty() || !is_old;
        self.minutes
            .retain(|at, page| keeps(page, *at < last(now_minute)));
        self.hours
            .retain(|at, page| keeps(page, *at < last(now_minute / 60)));
        lines
    }

    /// Drops entries beyond the bounds: first rows of identities, then sums, oldest first.
    fn trim(&mut self) {
        let rows = |pages: &BTreeMap<u64, Page>| pages.values().map(|page| page.rows.len()).sum();
        let mut waiting: usize = rows(&self.minutes);
        for page in self.minutes.values_mut() {
            if waiting <= self.limits.waiting {
                break;
            }
            waiting -= page.rows.len();
            let unnamed = page.rows.values().map(Counts::asked);
            self.losses.unnamed += unnamed.sum::<u64>();
            page.rows.clear();
        }
        let mut waiting: usize = rows(&self.hours);
        for page in self.hours.values_mut() {
            if waiting <= self.limits.waiting {
                break;
            }
            waiting -= page.rows.len();
            page.rows.clear();
        }
        while self.minutes.len() > self.limits.minutes {
            if let Some((_, page)) = self.minutes.pop_first() {
                let lost = page.sums.get("").map_or(0, Counts::asked);
                self.losses.lost += lost;
            }
        }
        while self.hours.len() > self.limits.minutes {
            self.hours.pop_first();
        }
    }
}

impl Page {
    /// Adds to the sum of a contract and to the row of an identity; returns whether there was room for it.
    fn add(
        &mut self,
        contract: &Arc<str>,
        identity: Option<&Arc<str>>,
        counts: &Counts,
        rows_max: usize,
    ) -> bool {
        let sum = self.sums.entry(Arc::clone(contract)).or_default();
        sum.add(counts);
        let Some(identity) = identity else {
            return true;
        };
        let key = (Arc::clone(contract), Arc::clone(identity));
        if let Some(row) = self.rows.get_mut(&key) {
            row.add(counts);
            return true;
        }
        let has_room = self.rows.len() < rows_max;
        if has_room {
            self.rows.insert(key, *counts);
        }
        has_room
    }

    fn is_empty(&self) -> bool {
        let mut all = self.sums.values().chain(self.rows.values());
        all.all(Counts::is_zero)
    }

    fn take(&mut self, step: Step, at: u64, lines_max: usize, lines: &mut Vec<Line>) {
        let mut push = |contract: &Arc<str>, identity: Arc<str>, counts: &mut Counts| {
            if counts.is_zero() || lines.len() >= lines_max {
                return;
            }
            lines.push(Line {
                step,
                at,
                contract: Arc::clone(contract),
                identity,
                counts: std::mem::take(counts),
            });
        };
        for (contract, counts) in &mut self.sums {
            push(contract, "".into(), counts);
        }
        for ((contract, identity), counts) in &mut self.rows {
            push(contract, Arc::clone(identity), counts);
        }
    }
}

/// Names of keys, for as long as a receipt can be settled: receipts have no name.
#[derive(Debug, Default)]
struct Names {
    turn: u64,
    new: BTreeMap<Who, Arc<str>>,
    old: BTreeMap<Who, Arc<str>>,
}

impl Names {
    fn learn(&mut self, who: Who, name: &str) -> Arc<str> {
        if let Some(known) = self.new.get(&who)
            && **known == *name
        {
            return Arc::clone(known);
        }
        let known = self.old.get(&who).filter(|known| ***known == *name);
        let name = known.cloned().unwrap_or_else(|| name.into());
        if self.new.len() < NAMES_MAX {
            self.new.insert(who, Arc::clone(&name));
        }
        name
    }

    fn find(&self, who: Who) -> Option<Arc<str>> {
        let found = self.new.get(&who).or_else(|| self.old.get(&who));
        found.cloned()
    }

    /// Forgets names that were not used for two turns.
    fn turn(&mut self, turn: u64) {
        if turn != self.turn {
            self.turn = turn;
            self.old = std::mem::take(&mut self.new);
        }
    }
}

/// Names of contracts that are shared.
const IDS_MAX: usize = 65_536;
/// Names that are remembered of one turn.
const NAMES_MAX: usize = 65_536;
/// As long as a receipt is valid.
const NAMES_TURN_MS: u64 = 900_000;
