//! A contract's policies that are counted together with other nodes, and how they and its cells make one contract.
//!
//! Places of policies are those of the contract wherever anybody sees them; cells know only the policies they hold. Not
//! here: what is remembered of a key.

use smallvec::SmallVec;
use std::sync::Arc;

use tollgate_contract::Contract;
use tollgate_limit::{
    Charge, Cost, Forecast, Instant, KeyStatus, Lot, OnLimit, Policy, PolicySet, Span, Verdict,
};
use tollgate_mode::{self as mode, ModeKey, Settlement, Standing};
use tollgate_table::Print;

use super::seat::MachineGuard;
use super::tag::{key, shard};
use super::{Company, LockedMachine, Seats};
use crate::cells::Miss;
use crate::decide::{Bound, ContractTally, DecideRequest, PartProbe};

/// The policies of a contract that are counted together with other nodes.
#[derive(Debug)]
pub(crate) struct CoordinatedPolicies {
    company: Arc<Company>,
    /// For each policy in the cells, its place in the contract.
    locals: Box<[usize]>,
    each: Box<[PolicyPart]>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct PolicyPart {
    /// Its place in the contract.
    pub(crate) place: usize,
    policy: Policy,
    /// What it is called, as its first shard is between nodes.
    pub(crate) tag: u64,
    /// One machine for each shard of keys.
    pub(crate) shards: Box<[Arc<LockedMachine>]>,
    pub(crate) is_durable: bool,
}

/// What machines were charged for a request: contracts, and bits of their policies.
pub(crate) type Charged = SmallVec<[(usize, u64); 2]>;

/// A request that is foreseen: of which key, and in which place of a staged roll-out.
pub(crate) struct Foreseen {
    pub(crate) print: Print,
    pub(crate) cost: Cost,
    pub(crate) now: Instant,
    pub(crate) lot: Lot,
}

impl CoordinatedPolicies {
    /// The parts of a contract, and the policies that stay in its cells; `None` where all do. What [`super::countable`]
    /// refuses stays there too: whoever loads contracts asks first.
    pub(crate) fn of(
        company: &Arc<Company>,
        contract: &Contract,
        before: &Seats,
        now: Instant,
    ) -> Option<(Self, PolicySet)> {
        let policies = contract.policies.iter().enumerate();
        let each: Box<[_]> = policies
            .clone()
            .filter_map(|(place, named)| {
                let shards = company.shards(contract, named, before, now)?;
                let first = shards.first()?;
                Some(PolicyPart {
                    place,
                    policy: named.policy.clone(),
                    tag: first.tag,
                    is_durable: named.durable && first.saves_keys,
                    shards,
                })
            })
            .collect();
        if each.is_empty() {
            return None;
        }
        let is_here = |place: &usize| !each.iter().any(|part| part.place == *place);
        let locals: Box<[_]> = (0..contract.policies.len()).filter(is_here).collect();
        let here = locals
            .iter()
            .filter_map(|place| contract.policies.get(*place));
        let here = PolicySet::new(here.map(|named| named.policy.clone()).collect());
        let parts = Self {
            company: Arc::clone(company),
            locals,
            each,
        };
        Some((parts, here.unwrap_or_else(|_| PolicySet::none())))
    }

    pub(crate) fn each(&self) -> &[PolicyPart] {
        &self.each
    }

    /// Whether a policy that binds the key is among the parts.
    pub(crate) fn binds(&self, lot: Lot) -> bool {
        self.each.iter().any(|part| part.is_enforced(lot))
    }

    /// Whether a policy binds part of the keys only.
    pub(crate) fn is_staged(&self) -> bool {
        let percent = |part: &PolicyPart| part.policy.config().enforce_percent;
        self.each
            .iter()
            .any(|part| !matches!(percent(part), 0 | 100))
    }

    /// Bits of policies in the cells as bits of the contract's.
    pub(crate) fn widen(&self, bits: u64) -> u64 {
        let places = self.locals.iter().enumerate();
        let set = places.filter(|(local, _)| bits >> local & 1 != 0);
        set.fold(0, |wide, (_, place)| wide | 1 << place)
    }

    /// Bits of the contract's policies as bits of those in the cells.
    pub(crate) fn narrow(&self, bits: u64) -> u64 {
        let places = self.locals.iter().enumerate();
        let set = places.filter(|(_, place)| bits >> **place & 1 != 0);
        set.fold(0, |narrow, (local, _)| narrow | 1 << local)
    }

    /// The place in the cells of a policy of the contract.
    pub(crate) fn local(&self, place: usize) -> Option<usize> {
        self.locals.iter().position(|local| *local == place)
    }

    /// The place in the contract of a policy in the cells.
    pub(crate) fn place(&self, local: usize) -> usize {
        self.locals.get(local).copied().unwrap_or(local)
    }

    /// Something for each policy of the contract, of that for those in the cells and that for each part.
    fn weave<T>(
        &self,
        here: Vec<T>,
        key: ModeKey,
        of: impl Fn(&PolicyPart, MachineGuard<'_>) -> T,
    ) -> Vec<T> {
        let mut here = here.into_iter();
        let mut parts = self.each.iter().peekable();
        let count = self.locals.len() + self.each.len();
        let each = (0..count).filter_map(|place| match parts.next_if(|part| part.place == place) {
            Some(part) => Some(of(part, part.shard(key).hold(&self.company))),
            None => here.next(),
        });
        each.collect()
    }

    /// How each policy of the contract stands, given those in the cells.
    pub(crate) fn status(
        &self,
        here: Vec<KeyStatus>,
        print: Print,
        now: Instant,
    ) -> Vec<KeyStatus> {
        let key = key(print);
        self.weave(here, key, |part, mut held| {
            let now = held.at(Some(now));
            let probe = held.machine().probe(key, 1, now);
            let standing = held.machine().standing(key, now);
            KeyStatus {
                limit: part.policy.config().limit,
                remaining: standing.remaining,
                debt: part.debt(probe),
                reset_after: standing.reset_after,
                next_token_after: after(probe.verdict),
            }
        })
    }

    /// What each policy of the contract would say, given those in the cells.
    pub(crate) fn foresee(&self, here: Vec<Forecast>, asked: &Foreseen) -> Vec<Forecast> {
        let Foreseen {
            print,
            cost,
            now,
            lot,
        } = *asked;
        let key = key(print);
        self.weave(here, key, |part, mut held| {
            let now = held.at(Some(now));
            let probe = held.machine().probe(key, cost.tokens(), now);
            Forecast {
                limit: part.policy.config().limit,
                capacity: part.policy.capacity(),
                remaining: probe.remaining,
                debt: part.debt(probe),
                is_enforced: part.is_enforced(lot),
                verdict: verdict(probe.verdict),
                reset_after: held.machine().standing(key, now).reset_after,
            }
        })
    }

    /// Charges every part without asking. Says whether all had room for the key.
    pub(crate) fn charge(&self, print: Print, cost: Cost, now: Instant) -> bool {
        let key = key(print);
        let mut has_room = true;
        self.edit(print, |part, held| {
            let now = held.at(Some(now));
            if held.has_room(key, now) {
                let debt_max = part.policy.config().max_debt;
                held.machine().charge(key, cost.tokens(), debt_max, now);
            } else {
                has_room = false;
            }
        });
        has_room
    }

    /// Gives tokens back to this node.
    pub(crate) fn refund(&self, print: Print, cost: Cost, now: Instant) {
        let key = key(print);
        self.edit(print, |_, held| {
            let now = held.at(Some(now));
            held.machine().refund(key, cost.tokens(), now);
        });
    }

    /// Settles a receipt whose bits are those of the contract.
    pub(crate) fn settle(&self, print: Print, receipt: &Charge, actual: Cost, now: Instant) {
        let key = key(print);
        if actual.tokens() == receipt.cost {
            return;
        }
        self.edit(print, |part, held| {
            if receipt.charged >> part.place & 1 == 0 {
                return;
            }
            let now = held.at(Some(now));
            let due = Settlement {
                receipt,
                actual,
                debt_max: part.policy.config().max_debt,
            };
            held.machine().settle(key, &due, now);
        });
    }

    /// Gives this node everything back that it knows of a key.
    pub(crate) fn reset(&self, print: Print) {
        let key = key(print);
        self.edit(print, |_, held| {
            let now = held.at(None);
            held.machine().reset(key, now);
        });
    }

    /// Takes a key out of every part: what each knows to be spent of it, with the places of their policies. Parts of
    /// other nodes that divide a limit count as spent.
    pub(crate) fn take_spent(&self, print: Print, now: Instant) -> SmallVec<[(usize, u64); 2]> {
        let key = key(print);
        let mut spent = SmallVec::new();
        self.edit(print, |part, held| {
            let now = held.at(Some(now));
            let machine = held.machine();
            if machine.knows(key) {
                let probe = machine.probe(key, 1, now);
                let missing = part.policy.capacity().saturating_sub(probe.remaining);
                let tokens = missing.saturating_add(part.debt(probe));
                machine.refund(key, tokens, now);
                spent.push((part.place, tokens));
            }
        });
        spent
    }

    /// Puts a key back of which so much is spent, by the place of each policy.
    pub(crate) fn put_spent(&self, print: Print, spent: impl Fn(usize) -> u64, now: Instant) {
        let key = key(print);
        self.edit(print, |part, held| {
            let now = held.at(Some(now));
            held.machine().charge(key, spent(part.place), None, now);
        });
    }

    /// The places in the cells of the contract's policies.
    pub(crate) fn locals(&self) -> Box<[Option<usize>]> {
        let places = 0..self.locals.len() + self.each.len();
        places.map(|place| self.local(place)).collect()
    }

    /// Changes every part of a key, one after the other.
    fn edit(&self, print: Print, mut change: impl FnMut(&PolicyPart, &mut MachineGuard<'_>)) {
        let (mut wakes, key) = (false, key(print));
        for part in &self.each {
            let mut held = part.shard(key).hold(&self.company);
            change(part, &mut held);
            part.note(print);
            wakes |= held.release();
        }
        if wakes {
            self.company.outbox().wake();
        }
    }
}

impl PolicyPart {
    /// Its limit.
    pub(crate) const fn limit(&self) -> u64 {
        self.policy.config().limit
    }

    /// Whole tokens that its limit grants in that time.
    pub(crate) fn refill_in(&self, span_ns: u64) -> u128 {
        let config = self.policy.config();
        u128::from(config.limit) * u128::from(span_ns) / u128::from(config.period.nanos().max(1))
    }

    /// The machine that has a key.
    pub(super) fn shard(&self, key: ModeKey) -> &LockedMachine {
        let shard = self.shards.get(shard(key, self.shards.len()));
        shard.unwrap_or_else(|| unreachable!("a policy has as many machines as shards"))
    }

    /// Notes that a key changed here, where that is kept.
    fn note(&self, print: Print) {
        if self.is_durable {
            self.shard(key(print)).dirty.mark(print);
        }
    }

    /// Tokens below zero. What a shaper lets wait is no debt.
    fn debt(&self, probe: mode::ModeProbe) -> u64 {
        match self.policy.config().on_limit {
            OnLimit::Deny => probe.over,
            OnLimit::Delay { .. } => 0,
        }
    }

    fn is_enforced(&self, lot: Lot) -> bool {
        lot.is_within(self.policy.config().enforce_percent)
    }
}

/// A machine that a request is asked of.
struct Asked<'a> {
    bound: &'a Bound<'a>,
    part: &'a PolicyPart,
    held: MachineGuard<'a>,
    key: ModeKey,
    probe: mode::ModeProbe,
    /// The time for the machine.
    now: Instant,
}

/// Asks the machines of all contracts, and charges them by what these and all cells said. The innermost step of a
/// decision.
#[inline(never)]
pub(crate) fn enter_company(
    bound: &[Bound<'_>],
    ask: DecideRequest,
    tally: &mut ContractTally,
) -> Result<(), Miss> {
    let mut parts: SmallVec<[(&Bound<'_>, &PolicyPart, &LockedMachine); 4]> = SmallVec::new();
    let mut company = None;
    for bound in bound {
        let Some(coordinated) = bound.cells.parts() else {
            continue;
        };
        let key = key(bound.print);
        let each = coordinated.each.iter();
        parts.extend(each.map(|part| (bound, part, part.shard(key))));
        company = Some(&coordinated.company);
    }
    let Some(company) = company else {
        return Ok(());
    };
    // All threads lock in this order, so no two wait for each other.
    parts.sort_unstable_by_key(|(_, _, shard)| shard.order);
    let mut asked: SmallVec<[Asked<'_>; 4]> = SmallVec::new();
    let mut has_room = true;
    for (bound, part, shard) in parts {
        let mut held = shard.hold(company);
        let key = key(bound.print);
        let now = held.at(Some(ask.now));
        has_room = has_room && held.has_room(key, now);
        let probe = held.machine().probe(key, ask.cost.tokens(), now);
        asked.push(Asked {
            bound,
            part,
            held,
            key,
            probe,
            now,
        });
    }
    if has_room {
        asked.iter_mut().for_each(|asked| asked.tell(tally, ask));
        asked.iter_mut().for_each(|asked| asked.charge(tally, ask));
    }
    let mut wakes = false;
    for Asked { held, .. } in asked {
        wakes |= held.release();
    }
    if wakes {
        company.outbox().wake();
    }
    if has_room { Ok(()) } else { Err(Miss::Full) }
}

impl Asked<'_> {
    /// Adds what the machine said to the tally.
    fn tell(&mut self, tally: &mut ContractTally, ask: DecideRequest) {
        let over = &mut self.held.talked().over_max;
        *over = (*over).max(self.probe.over);
        tally.add_part(&self.said(ask, self.probe));
    }

    fn said(&self, ask: DecideRequest, probe: mode::ModeProbe) -> PartProbe {
        let lot = self.bound.lot;
        let is_enforced = self.part.is_enforced(lot);
        PartProbe {
            contract: self.bound.contract,
            policy: self.part.place,
            limit: self.part.policy.config().limit,
            verdict: verdict(probe.verdict),
            remaining: probe.remaining,
            debt: self.part.debt(probe),
            cost: ask.cost,
            is_enforced,
            counts: is_enforced || !self.bound.is_bound(),
        }
    }

    /// Charges the machine by what all together said, and adds how it stands then.
    fn charge(&mut self, tally: &mut ContractTally, ask: DecideRequest) {
        let (cost, now) = (ask.cost.tokens(), self.now);
        let config = self.part.policy.config();
        let is_allowed = tally.verdict.is_allowed();
        let machine = self.held.machine();
        let takes = if is_allowed {
            self.probe.verdict.is_allowed()
        } else {
            config.count_refused
        };
        if takes && ask.cost != Cost::PEEK {
            if is_allowed {
                machine.take(self.key, cost, now);
                self.held.tell_admitted(self.key, cost, self.probe, now);
            } else {
                machine.charge(self.key, cost, config.max_debt, now);
                machine.miss(self.key, cost, now);
            }
            self.part.note(self.bound.print);
            tally.charge_part(self.bound.contract, self.part.place);
        } else if ask.cost != Cost::PEEK {
            machine.miss(self.key, cost, now);
        }
        let machine = self.held.machine();
        let Standing { reset_after, .. } = machine.standing(self.key, now);
        if is_allowed {
            let spot = (self.bound.contract, self.part.place);
            tally.reset(spot, || reset_after);
        } else {
            let left = machine.probe(self.key, cost, now);
            tally.add_refused_part(&self.said(ask, left), reset_after);
        }
    }
}

/// How long until a request passes that machines said that of.
pub(super) const fn after(said: mode::ModeVerdict) -> Span {
    match said {
        mode::ModeVerdict::Allow { wait, .. } => wait,
        mode::ModeVerdict::Deny { retry_after } => retry_after,
        mode::ModeVerdict::Never => Span::from_nanos(u128::MAX),
    }
}

/// The words of decisions for those of machines.
pub(super) fn verdict(said: mode::ModeVerdict) -> Verdict {
    match said {
        mode::ModeVerdict::Allow { wait, .. } if wait == Span::ZERO => Verdict::Allow,
        mode::ModeVerdict::Allow { wait, .. } => Verdict::Delay { wait },
        mode::ModeVerdict::Deny { retry_after } => Verdict::Deny { retry_after },
        mode::ModeVerdict::Never => Verdict::Never,
    }
}
