//! Policies whose tokens are lent to clients: one grantor each, and what clients say to all of a contract at a time.
//!
//! A node grants what it is asked for; which node is asked is decided elsewhere. Direct requests are served from the same pools. Not
//! here: the protocol (`tollgate-lease`), clients, and who carries their bytes.

use core::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::{Contract, NamedPolicy, OnFailure, Recovery};
use tollgate_gossip::Malformed;
use tollgate_lease::{
    BadLimits, Grant, Lender, LenderSetup, LenderStand, Limits, Nudge,
    OnFailure as ClientOnFailure, QuotaRules, Reply, Rules, Share as SharedBy, Terms, Waits,
    Window, decode_inquiry, encode_reply,
};
use tollgate_limit::{Instant, Policy, PolicyConfig, Span};
use tollgate_table::Print;

use super::build::wait_max;
use super::mind::Mind;
use super::parts::Part;
use super::seat::Held;
use super::tag::{key, lease_tag, print};
use super::{Admitted, Company, Journal, Seat, Seats, Steady};
use crate::apart::Spot;
use crate::node::Node;

/// A node's part in lending.
#[derive(Clone)]
pub struct Lend {
    /// Larger than that of any node that granted before.
    pub generation: u64,
    /// Whether others take over where this node is silent.
    pub has_successors: bool,
    /// On what terms are counted; the times of calls where there is none.
    pub steady: Option<Steady>,
    /// The time of day, by which windows are counted; the times of calls where there is none.
    pub day: Option<Steady>,
    /// Is told of every request that a grantor admits, where anybody is.
    pub journal: Option<Journal>,
    /// How data planes are assigned quotas, where they are.
    pub quota: Option<QuotaRules>,
}

impl fmt::Debug for Lend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lend")
            .field("generation", &self.generation)
            .field("has_successors", &self.has_successors)
            .finish_non_exhaustive()
    }
}

/// What a client is answered, and who should speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lent {
    /// The bytes of the answer.
    pub reply: Vec<u8>,
    /// Clients that should speak.
    pub nudges: Vec<Nudge>,
}

impl Lent {
    /// That a key is not lent.
    pub fn ask() -> Self {
        Self {
            reply: encode_reply(&Reply::Ask).to_vec(),
            nudges: Vec::new(),
        }
    }
}

/// How one policy that is lent stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLease {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// For how long leases are given.
    pub term: Span,
    /// Tokens that may be admitted too much each time that a node begins to grant.
    pub over_max: u64,
    /// All keys together, or the one that was asked for.
    pub stand: LenderStand,
}

/// The bucket of a policy.
pub(super) fn bucket_limits(config: &PolicyConfig) -> Result<Limits, BadLimits> {
    let burst = config.burst.unwrap_or(config.limit);
    Limits::new(config.limit, config.period.nanos(), burst)
}

/// The bucket that a policy lends out of, or the window and how much of it there is.
pub(super) fn lease_limits(policy: &Policy) -> Result<(Limits, Option<Window>), BadLimits> {
    if let Some(window) = Window::new(policy) {
        return Ok((window.limits(), Some(window)));
    }
    Ok((bucket_limits(policy.config())?, None))
}

/// How a policy lends.
pub(super) fn rules(named: &NamedPolicy) -> Rules {
    let (lending, usual) = (named.lending(), Rules::default());
    let part = |percent: Option<u64>| percent.map(|percent| percent.min(100) * ONE / 100);
    Rules {
        term_ns: lending.term(named.policy.config()),
        depth_min: lending.min_depth.unwrap_or(usual.depth_min),
        uses_min: lending.min_uses.unwrap_or(usual.uses_min),
        pool_rate: part(lending.pool_rate).unwrap_or(usual.pool_rate),
        lent_depth: part(lending.pool_depth).map_or(usual.lent_depth, |kept| ONE - kept),
        lessees_max: lending
            .max_lessees
            .and_then(|most| usize::try_from(most).ok())
            .unwrap_or(usual.lessees_max),
        spill: lending.spill.unwrap_or(usual.spill),
        share: if lending.shares_by_client {
            SharedBy::Client
        } else {
            SharedBy::Request
        },
        begins_full: lending.recovery == Recovery::Fresh,
        max_wait_ns: nanos(wait_max(named.policy.config())),
        ..usual
    }
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// What clients should know of a contract that is lent: the strictest of what its policies say.
pub(super) fn terms(contract: &Contract) -> Terms {
    let mut terms = Terms {
        term_ns: u64::MAX,
        uses_min: 1,
        drift_ppm: 0,
        timeout_ns: u64::MAX,
        on_failure: ClientOnFailure::Allow,
        max_wait_ns: 0,
    };
    for named in &contract.policies {
        let (lending, rules) = (named.lending(), rules(named));
        let drift_ppm = lending
            .drift_ppm
            .map(|ppm| u32::try_from(ppm).unwrap_or(u32::MAX));
        terms.term_ns = terms.term_ns.min(rules.term_ns);
        terms.uses_min = terms.uses_min.max(rules.uses_min);
        terms.drift_ppm = terms.drift_ppm.max(drift_ppm.unwrap_or(DRIFT_PPM));
        terms.timeout_ns = terms
            .timeout_ns
            .min(lending.timeout_ns.unwrap_or(TIMEOUT_NS));
        terms.on_failure = stricter(terms.on_failure, wish(named));
        // Of several policies none waits: contracts refuse to lend such.
        terms.max_wait_ns = rules.max_wait_ns;
    }
    terms
}

/// What a client does of a policy when nobody answers.
fn wish(named: &NamedPolicy) -> ClientOnFailure {
    match (named.lending().safe_capacity, named.on_failure) {
        (Some(per_second), _) => ClientOnFailure::Safe {
            per_second,
            burst: per_second,
        },
        (None, OnFailure::Allow) => ClientOnFailure::Allow,
        // A client knows nothing that it could decide by.
        (None, OnFailure::Deny | OnFailure::Local) => ClientOnFailure::Deny,
    }
}

fn stricter(one: ClientOnFailure, other: ClientOnFailure) -> ClientOnFailure {
    use ClientOnFailure::{Allow, Deny, Safe};
    match (one, other) {
        (Deny, _) | (_, Deny) => Deny,
        (
            Safe { per_second, burst },
            Safe {
                per_second: less, ..
            },
        ) if per_second <= less => Safe { per_second, burst },
        (_, safe @ Safe { .. }) | (safe @ Safe { .. }, Allow) => safe,
        (Allow, Allow) => Allow,
    }
}

impl Company {
    /// The time of day, by which windows that are lent are counted.
    pub(super) fn day(&self, now: Instant) -> Instant {
        let day = self.lend.as_ref().and_then(|lend| lend.day.as_ref());
        day.map_or(now, |day| day())
    }

    /// The seat of a policy that is lent: the one there was, by the numbers of today, or a new one.
    pub(super) fn lent(
        &self,
        (contract, named): (&Contract, &NamedPolicy),
        before: &Seats,
        order: u64,
        now: Instant,
    ) -> Option<Arc<Seat>> {
        let lend = self.lend.as_ref()?;
        let tag = lease_tag(contract, named);
        let (limits, window) = lease_limits(&named.policy).ok()?;
        let rules = rules(named);
        if let Some(seat) = before.get(&tag) {
            let mut held = seat.hold(self);
            let now = held.at(Some(now));
            if let Some(lender) = held.machine().lease() {
                if let Some(window) = &window {
                    lender.recount(window, now);
                }
                lender.change(limits, rules, now);
            }
            held.release();
            return Some(Arc::clone(seat));
        }
        let setup = LenderSetup {
            limits,
            window,
            rules,
            generation: lend.generation,
            since: self.steady(now),
            has_successors: lend.has_successors,
            quota: lend.quota,
        };
        let mind = Mind::Lease(Box::new(Lender::new(setup)));
        Some(Arc::new(Seat::new(order, (tag, None), mind)))
    }
}

impl Node {
    /// Takes what a client says of a key, and answers it. A contract of which not every policy is lent is asked each time.
    pub fn lend(&self, spot: &Spot, inquiry: &[u8], now: Instant) -> Result<Lent, Malformed> {
        let inquiry = decode_inquiry(inquiry)?;
        let node = self.newest();
        let mut lent = Lent::default();
        let Some((contract, company, parts)) = node.lent_parts(spot.contract) else {
            return Ok(Lent::ask());
        };
        let key = key(spot.print);
        let mut held: SmallVec<[(&Part, Held<'_>); 2]> = SmallVec::new();
        // Everybody locks in this order, so no two wait for each other.
        let mut order: SmallVec<[&Part; 2]> = parts.iter().collect();
        order.sort_unstable_by_key(|part| part.seat.order);
        for part in order {
            held.push((part, part.seat.hold(company)));
        }
        let question = |tag: u64| inquiry.iter().find(|(of, _)| *of == tag).map(|(_, q)| q);
        let (mut served_max, mut has_room) = (u64::MAX, true);
        for (_, held) in &mut held {
            let now = held.at(Some(now));
            has_room &= inquiry.is_empty() || held.has_room(key, now);
        }
        for (part, held) in held.iter_mut().filter(|_| has_room && parts.len() > 1) {
            let now = held.at(Some(now));
            let question = question(part.seat.tag);
            if let (Some(question), Some(lender)) = (question, held.machine().lease()) {
                served_max = served_max.min(lender.servable(key, question, now));
            }
        }
        let mut each = Vec::with_capacity(held.len());
        for (part, held) in &mut held {
            let now = held.at(Some(now));
            let asked = question(part.seat.tag).filter(|_| has_room);
            let mut grant = None;
            if let (Some(asked), Some(lender)) = (asked, held.machine().lease()) {
                grant = lender.handle_question(key, asked, served_max, now);
                lent.nudges
                    .extend(std::iter::from_fn(|| lender.poll_nudge()));
                for waits in grant.iter().flat_map(Grant::passes) {
                    held.tell_served(key, asked.need.cost, (waits, now));
                }
            }
            each.push((part.seat.tag, grant));
        }
        let mut wakes = false;
        for (_, held) in held {
            wakes |= held.release();
        }
        if wakes {
            company.outbox().wake();
        }
        let terms = terms(contract);
        lent.reply = encode_reply(&Reply::Lent { terms, each }).to_vec();
        Ok(lent)
    }

    /// Whether clients may hold leases of a contract's keys.
    pub fn is_lent(&self, contract: usize) -> bool {
        self.lent_parts(contract).is_some()
    }

    pub(super) fn lent_parts(&self, place: usize) -> Option<(&Contract, &Company, &[Part])> {
        let contract = self.contracts().get(place)?;
        let parts = self
            .cells_of(place)?
            .parts()
            .filter(|_| contract.is_lent())?;
        let company = self.company()?;
        let is_whole = parts.each().len() == contract.policies.len();
        (is_whole && company.lend.is_some()).then(|| (contract, &**company, parts.each()))
    }

    /// The place of the policy that clients know by this tag in leases of a contract's keys.
    pub fn leased_policy(&self, contract: usize, tag: u64) -> Option<usize> {
        let contract = self.contracts().get(contract)?;
        let is_it = |named: &NamedPolicy| lease_tag(contract, named) == tag;
        contract.policies.iter().position(is_it)
    }

    /// Grants a key in the place of a node that has gone.
    pub fn act_for(&self, spot: &Spot, now: Instant) {
        let node = self.newest();
        let Some((_, company, parts)) = node.lent_parts(spot.contract) else {
            return;
        };
        for part in parts {
            let mut held = part.seat.hold(company);
            let now = held.at(Some(now));
            if let Some(lender) = held.machine().lease() {
                lender.act(key(spot.print), now);
            }
            held.release();
        }
    }

    /// From here on this node grants only the keys that are its own, by the place of the contract and the print of the key.
    pub fn retain_lent(&self, is_mine: &dyn Fn(usize, Print) -> bool, now: Instant) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        for (place, _, parts) in node.placed_parts() {
            for part in parts.each() {
                let mut held = part.seat.hold(company);
                let now = held.at(Some(now));
                if let Some(lender) = held.machine().lease() {
                    lender.retain(|key| is_mine(place, print(key)), now);
                }
                held.release();
            }
        }
    }

    /// How what is lent stands, in the order of the contracts: for one key of one contract, or all.
    pub fn lease_status(&self, of: Option<(usize, Print)>, now: Instant) -> Vec<PolicyLease> {
        self.told(of, now, |title, held, now| {
            let lender = held.machine().lease()?;
            Some(PolicyLease {
                contract: title.contract,
                policy: title.policy,
                tag: title.tag,
                over_max: lender.over_max(),
                term: Span::from_nanos(u128::from(lender.rules().term_ns)),
                stand: match of {
                    Some((_, print)) => lender.stand_of(key(print), now),
                    None => lender.stand(),
                },
            })
        })
    }
}

impl Held<'_> {
    /// Writes down requests that a grantor admitted for a client that waits.
    fn tell_served(&self, key: tollgate_gossip::Key, cost: u64, (waits, at): (Waits, Instant)) {
        if let Some(journal) = self.journal() {
            for wait in waits.each() {
                journal(&Admitted {
                    tag: self.tag(),
                    key,
                    cost,
                    at,
                    wait,
                });
            }
        }
    }
}

/// One, in which shares are counted.
const ONE: u64 = 1 << 16;
const DRIFT_PPM: u32 = 500;
const TIMEOUT_NS: u64 = 200_000_000;
