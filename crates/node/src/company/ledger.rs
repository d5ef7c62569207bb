//! Keys whose books are in a store: the same pools, opened from bytes, asked at the store's time, and closed to bytes.
//!
//! Whoever has them open answers nobody before the bytes are written. Nothing here is remembered between two times. Not
//! here: stores, and who is asked in which order.

use std::sync::Arc;

use tollgate_contract::Contract;
use tollgate_lease::{
    BundleReply, LEDGER_LESSEES_MAX, Limits, ModeKey, Nudge, Pool, PoolFigures, Question, Rules,
    Waits, bucket_limits, decode_inquiry, decode_ledger, encode_ledger, encode_reply, rules, terms,
};
use tollgate_limit::{
    Charge, Cost, Decision, Forecast, Instant, KeyStatus, Outcome, Refusing, Span, Verdict,
};

use tollgate_mode::{Malformed, ModeProbe, Tag};

use super::lend::{LendAnswer, lender};
use super::parts::{after, verdict};
use super::tag::key;
use super::{Company, DividedAdmission};
use crate::answer::Answer;
use crate::apart::{Due, Spot};
use crate::node::Node;

/// The books of one key, open.
pub struct KeyLedger<'a> {
    node: &'a Node,
    contract: &'a Contract,
    spot: Spot,
    key: ModeKey,
    pools: Vec<(u64, Pool)>,
    at: Instant,
    told: Told,
}

/// What happened while books were open, for when they are written.
#[derive(Debug, Default)]
struct Told {
    /// Requests that were admitted: the tag of the policy, the cost, and after which waits.
    admitted: Vec<(u64, u64, Waits)>,
    questions: u64,
    is_changed: bool,
}

/// Books to be written.
#[derive(Debug)]
pub struct Closed {
    /// The bytes; `None` where nothing has changed.
    pub bytes: Option<Arc<[u8]>>,
    /// For how long they say more than none would.
    pub keep: Span,
    spot: Spot,
    told: Told,
    /// What each pool counted.
    figures: Vec<(u64, PoolFigures)>,
}

impl Node {
    /// Whether the books of a contract's keys are in a store.
    pub fn is_in_ledger(&self, contract: usize) -> bool {
        let contract = self.contracts().get(contract);
        contract.is_some_and(Contract::is_in_ledger)
    }

    /// Opens the books of a key as a store had them at that time of its own; with none the key was never seen. `None`
    /// where its contract keeps none.
    pub fn open_ledger(
        &self,
        spot: &Spot,
        bytes: Option<&[u8]>,
        at: Instant,
    ) -> Result<Option<KeyLedger<'_>>, Malformed> {
        let contract = self.contracts().get(spot.contract);
        let Some(contract) = contract.filter(|contract| contract.is_in_ledger()) else {
            return Ok(None);
        };
        let mut known = bytes.map_or_else(|| Ok(Vec::new()), decode_ledger)?;
        let mut pools = Vec::with_capacity(contract.policies.len());
        for named in &contract.policies {
            let tag = Tag::by_mode(contract, named).finish();
            let limits = bucket_limits(named.policy.config()).map_err(|_| Malformed::Value)?;
            let rules = bounded(rules(named), contract.policies.len());
            let place = known.iter().position(|(of, _)| *of == tag);
            let kept = place.map(|place| known.swap_remove(place).1);
            pools.push((tag, opened(kept, limits, rules, at)));
        }
        Ok(Some(KeyLedger {
            node: self,
            contract,
            spot: *spot,
            key: key(spot.print),
            pools,
            at,
            told: Told::default(),
        }))
    }

    /// Books were written: what happened is counted, and told to whoever writes down admissions, as of a time of this
    /// machine's.
    pub fn written(&self, closed: &Closed, at: Instant) {
        let node = self.newest();
        let Some((_, company, parts)) = node.lent_parts(closed.spot.contract) else {
            return;
        };
        for part in parts {
            let mut held = part.shard(key(closed.spot.print)).hold(company);
            let figures = closed.figures.iter().find(|(tag, _)| *tag == part.tag);
            if let (Some(lender), Some((_, figures))) = (lender(&mut held), figures) {
                lender.add_past(figures, closed.told.questions);
            }
            held.release();
        }
        closed.tell(company, at);
    }
}

/// The pool that was kept, by the numbers of today; a full one where none was.
fn opened(kept: Option<Pool>, limits: Limits, rules: Rules, at: Instant) -> Pool {
    let Some(pool) = kept else {
        // The time keeps its sessions apart from those of books that were dropped.
        return Pool::new(limits, rules, at.as_nanos(), at);
    };
    let mut pool = pool.under(rules);
    if *pool.limits() != limits {
        pool.change(limits, at);
    }
    pool
}

/// All policies of a key share the room for lessees.
fn bounded(rules: Rules, policies: usize) -> Rules {
    let most = LEDGER_LESSEES_MAX / policies.max(1);
    Rules {
        lessees_max: rules.lessees_max.min(most),
        ..rules
    }
}

impl Closed {
    fn tell(&self, company: &Company, at: Instant) {
        let journal = company.lend.as_ref().and_then(|lend| lend.journal.as_ref());
        let Some(journal) = journal else {
            return;
        };
        for (tag, cost, waits) in &self.told.admitted {
            for wait in waits.each() {
                journal(&DividedAdmission {
                    tag: *tag,
                    key: key(self.spot.print),
                    cost: *cost,
                    at,
                    wait,
                });
            }
        }
    }
}

impl KeyLedger<'_> {
    /// Takes what a client says, and answers it.
    pub fn lend(&mut self, inquiry: &[u8]) -> Result<LendAnswer, Malformed> {
        let inquiry = decode_inquiry(inquiry)?;
        let question = |tag: u64| inquiry.iter().find(|(of, _)| *of == tag).map(|(_, q)| q);
        let at = self.at;
        let mut served_max = u64::MAX;
        let is_joint = self.pools.len() > 1;
        for (tag, pool) in self.pools.iter_mut().filter(|_| is_joint) {
            if let Some(question) = question(*tag) {
                served_max = served_max.min(pool.servable(question, at));
            }
        }
        let (mut each, mut nudges) = (Vec::with_capacity(self.pools.len()), Vec::new());
        for (tag, pool) in &mut self.pools {
            let asked: Option<&Question> = question(*tag);
            let before = pool.figures().repeated;
            let grant = asked.and_then(|asked| pool.handle_shared(asked, served_max, at));
            // What is answered again was written down the first time.
            let is_new = pool.figures().repeated == before;
            if let (Some(asked), Some(grant), true) = (asked, grant, is_new) {
                let passes = grant.passes().into_iter();
                let told = passes.map(|waits| (*tag, asked.need.cost, waits));
                self.told.admitted.extend(told);
            }
            self.told.is_changed |= asked.is_some();
            nudges.extend(nudges_of(pool, self.key));
            each.push((*tag, grant));
        }
        self.told.questions += u64::from(!inquiry.is_empty());
        let terms = terms(self.contract);
        Ok(LendAnswer {
            reply: encode_reply(&BundleReply::Lent { terms, each }).to_vec(),
            nudges,
        })
    }

    /// Decides a request that nobody holds a lease for, and charges it.
    pub fn check(&mut self, cost: Cost) -> Answer {
        let (at, tokens) = (self.at, cost.tokens());
        let probes: Vec<_> = self.probes(tokens);
        let refusing = Self::refusing(&probes);
        let longest =
            refusing.iter().copied().reduce(
                |longest, one| {
                    if one.outlasts(&longest) { one } else { longest }
                },
            );
        let refused_by = longest.map(|one| one.policy);
        let verdict = joint(&probes);
        let is_charged = refused_by.is_none() && tokens > 0;
        let wait = u64::try_from(verdict.wait().as_nanos()).unwrap_or(u64::MAX);
        let waits = Waits {
            first_ns: wait,
            ..Waits::none(1)
        };
        for (tag, pool) in &mut self.pools {
            if is_charged {
                pool.spend(tokens, at);
                self.told.admitted.push((*tag, tokens, waits));
            } else if tokens > 0 {
                pool.miss(tokens, at);
            }
        }
        self.told.is_changed |= tokens > 0;
        let policy = refused_by.unwrap_or_else(|| least(&probes));
        let spent = if is_charged { tokens } else { 0 };
        let told = probes.get(policy);
        let all = self.pools.iter().fold(0_u64, |all, _| all << 1 | 1);
        let outcome = Outcome {
            decision: Decision {
                verdict,
                refused_by,
                policy,
                limit: self.limit(policy),
                remaining: told.map_or(0, |probe| probe.remaining.saturating_sub(spent)),
                debt: told.map_or(0, |probe| probe.over),
                reset_after: self.full_after(policy),
            },
            receipt: Charge {
                at,
                cost: tokens,
                charged: if is_charged { all } else { 0 },
            },
            refusing: if refusing.len() > 1 {
                refusing
            } else {
                Vec::new()
            },
            shadowed: 0,
        };
        self.node.answer_elsewhere(&self.spot, &outcome, None)
    }

    /// Charges without asking.
    pub fn charge(&mut self, cost: Cost) {
        let at = self.at;
        let policies = self.contract.policies.iter();
        for ((_, pool), named) in self.pools.iter_mut().zip(policies) {
            pool.charge(cost.tokens(), named.policy.config().max_debt, at);
        }
        self.told.is_changed = true;
    }

    /// Gives tokens back.
    pub fn refund(&mut self, cost: Cost) {
        for (_, pool) in &mut self.pools {
            pool.refund(cost.tokens(), self.at);
        }
        self.told.is_changed = true;
    }

    /// Forgets what was spent; what is lent stays lent.
    pub fn reset(&mut self) {
        for (_, pool) in &mut self.pools {
            pool.reset(self.at);
        }
        self.told.is_changed = true;
    }

    /// Settles what was charged.
    pub fn settle(&mut self, due: &Due, actual: Cost) {
        let (charged, actual) = (due.charge.cost, actual.tokens());
        let difference = actual.abs_diff(charged);
        let at = self.at;
        let policies = self.contract.policies.iter();
        for (place, ((_, pool), named)) in self.pools.iter_mut().zip(policies).enumerate() {
            if due.charge.charged >> place & 1 == 0 || difference == 0 {
                continue;
            }
            if actual > charged {
                pool.charge(difference, named.policy.config().max_debt, at);
            } else {
                pool.refund(difference, at);
            }
            self.told.is_changed = true;
        }
    }

    /// How each policy stands.
    pub fn status(&mut self) -> Vec<KeyStatus> {
        let probes = self.probes(1);
        let each = self.pools.iter().zip(&self.contract.policies).zip(probes);
        each.map(|(((_, pool), named), probe)| KeyStatus {
            limit: named.policy.config().limit,
            remaining: probe.remaining,
            debt: probe.over,
            reset_after: pool.full_after(),
            next_token_after: after(probe.verdict),
        })
        .collect()
    }

    /// What each policy would say.
    pub fn foresee(&mut self, cost: Cost) -> Vec<Forecast> {
        let probes = self.probes(cost.tokens());
        let each = self.pools.iter().zip(&self.contract.policies).zip(probes);
        each.map(|(((_, pool), named), probe)| Forecast {
            limit: named.policy.config().limit,
            capacity: named.policy.capacity(),
            remaining: probe.remaining,
            debt: probe.over,
            is_enforced: true,
            verdict: verdict(probe.verdict),
            reset_after: pool.full_after(),
        })
        .collect()
    }

    /// Closes the books.
    pub fn close(self) -> Closed {
        let fresh_at = self.pools.iter().map(|(_, pool)| pool.fresh_at()).max();
        let keep = fresh_at.map_or(0, |fresh_at| fresh_at.nanos_since(self.at));
        let is_changed = self.told.is_changed;
        Closed {
            bytes: is_changed.then(|| encode_ledger(&self.pools)),
            keep: Span::from_nanos(u128::from(keep)),
            spot: self.spot,
            told: self.told,
            figures: self
                .pools
                .iter()
                .map(|(tag, pool)| (*tag, pool.figures()))
                .collect(),
        }
    }

    fn probes(&mut self, cost: u64) -> Vec<ModeProbe> {
        let each = self.pools.iter_mut();
        each.map(|(_, pool)| pool.probe(cost, self.at)).collect()
    }

    fn limit(&self, place: usize) -> u64 {
        let named = self.contract.policies.get(place);
        named.map_or(0, |named| named.policy.config().limit)
    }

    fn full_after(&self, place: usize) -> Span {
        let pool = self.pools.get(place);
        pool.map_or(Span::ZERO, |(_, pool)| pool.full_after())
    }

    /// The policies that refuse what was asked of their pools.
    fn refusing(probes: &[ModeProbe]) -> Vec<Refusing> {
        let refusing = |(policy, probe): (usize, &ModeProbe)| {
            let verdict = verdict(probe.verdict);
            (!verdict.is_allowed()).then(|| Refusing {
                policy,
                remaining: probe.remaining,
                debt: probe.over,
                retry_after: verdict.retry_after(),
            })
        };
        probes.iter().enumerate().filter_map(refusing).collect()
    }
}

fn nudges_of(pool: &mut Pool, key: ModeKey) -> impl Iterator<Item = Nudge> {
    std::iter::from_fn(move || pool.poll_nudge(key))
}

/// The place of the policy with the least left.
fn least(probes: &[ModeProbe]) -> usize {
    let each = probes.iter().enumerate();
    let least = each.min_by_key(|(place, probe)| (probe.remaining, *place));
    least.map_or(0, |(place, _)| place)
}

/// What all policies say together: a request passes where all let it, with the last of them; and is refused for as long
/// as any refuses.
fn joint(probes: &[ModeProbe]) -> Verdict {
    let (mut retry_after, mut wait) = (None, Span::ZERO);
    for probe in probes {
        match verdict(probe.verdict) {
            Verdict::Never => return Verdict::Never,
            Verdict::Deny { retry_after: one } => retry_after = retry_after.max(Some(one)),
            Verdict::Delay { wait: one } => wait = wait.max(one),
            Verdict::Allow => {}
        }
    }
    match retry_after {
        Some(retry_after) => Verdict::Deny { retry_after },
        None if wait > Span::ZERO => Verdict::Delay { wait },
        None => Verdict::Allow,
    }
}
