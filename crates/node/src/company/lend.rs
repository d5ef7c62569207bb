//! Policies whose tokens are lent to clients: one grantor each, and what clients say to all of a contract at a time.
//!
//! A node grants what it is asked for; which node is asked is decided elsewhere. Direct requests are served from the
//! same pools. Not here: the protocol (`tollgate-lease`), clients, and who carries their bytes.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_contract::{Contract, NamedPolicy};
use tollgate_lease::{
    BundleReply, Grant, Lender, Nudge, QuotaRules, Waits, decode_inquiry, encode_reply, terms,
};
use tollgate_limit::Instant;
use tollgate_mode::{Malformed, Tag};
use tollgate_table::Print;

use super::parts::PolicyPart;
use super::seat::MachineGuard;
use super::tag::{key, print};
use super::{Company, DividedAdmission, DivisionJournal, Steady};
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
    pub journal: Option<DivisionJournal>,
    /// How data planes are assigned quotas, where they are.
    pub quota: Option<QuotaRules>,
    /// Under which name it leases keys of other nodes, where it does.
    pub holder: Option<u64>,
    /// Whether it never ran before, so that it has lent nothing: until its node is made.
    pub is_first: Arc<AtomicBool>,
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
pub struct LendAnswer {
    /// The bytes of the answer.
    pub reply: Vec<u8>,
    /// Clients that should speak.
    pub nudges: Vec<Nudge>,
}

impl LendAnswer {
    /// That a key is not lent.
    pub fn ask() -> Self {
        Self {
            reply: encode_reply(&BundleReply::Ask).to_vec(),
            nudges: Vec::new(),
        }
    }
}

/// The grantor of a policy that is lent.
pub(super) fn lender<'h>(held: &'h mut MachineGuard<'_>) -> Option<&'h mut Lender> {
    held.machine().extension()?.downcast_mut()
}

/// Does something with the grantor of each part that has one, at a time or at the latest it heard of.
pub(super) fn each_lender(
    company: &Company,
    parts: &[PolicyPart],
    now: Option<Instant>,
    mut act: impl FnMut(&mut Lender, Instant),
) {
    for shard in parts.iter().flat_map(|part| &part.shards) {
        let mut held = shard.hold(company);
        let now = held.at(now);
        if let Some(lender) = lender(&mut held) {
            act(lender, now);
        }
        held.release();
    }
}

impl Company {
    /// The time of day, by which windows that are lent are counted.
    pub(super) fn day(&self, now: Instant) -> Instant {
        let day = self.lend.as_ref().and_then(|lend| lend.day.as_ref());
        day.map_or(now, |day| day())
    }

    /// What is lent from here on may have been lent before by this node, whether or not it ran before.
    pub(crate) fn has_begun(&self) {
        if let Some(lend) = &self.lend {
            lend.is_first.store(false, Relaxed);
        }
    }
}

impl Node {
    /// Takes what a client says of a key, and answers it. A contract of which not every policy is lent is asked each
    /// time.
    pub fn lend(&self, spot: &Spot, inquiry: &[u8], now: Instant) -> Result<LendAnswer, Malformed> {
        let inquiry = decode_inquiry(inquiry)?;
        let node = self.newest();
        let mut lent = LendAnswer::default();
        let lent_parts = node.lent_parts(spot.contract);
        let is_lent = !node.is_beside(spot.contract, spot.print);
        let Some((contract, company, parts)) = lent_parts.filter(|_| is_lent) else {
            return Ok(LendAnswer::ask());
        };
        let key = key(spot.print);
        let mut held: SmallVec<[(&PolicyPart, MachineGuard<'_>); 2]> = SmallVec::new();
        // All threads lock in this order, so no two wait for each other.
        let mut order: SmallVec<[&PolicyPart; 2]> = parts.iter().collect();
        order.sort_unstable_by_key(|part| part.shard(key).order);
        for part in order {
            held.push((part, part.shard(key).hold(company)));
        }
        let question = |tag: u64| inquiry.iter().find(|(of, _)| *of == tag).map(|(_, q)| q);
        let (mut served_max, mut has_room) = (u64::MAX, true);
        for (_, held) in &mut held {
            let now = held.at(Some(now));
            has_room &= inquiry.is_empty() || held.has_room(key, now);
        }
        for (part, held) in held.iter_mut().filter(|_| has_room && parts.len() > 1) {
            let now = held.at(Some(now));
            let question = question(part.tag);
            if let (Some(question), Some(lender)) = (question, lender(held)) {
                served_max = served_max.min(lender.servable(key, question, now));
            }
        }
        let mut each = Vec::with_capacity(held.len());
        for (part, held) in &mut held {
            let now = held.at(Some(now));
            let asked = question(part.tag).filter(|_| has_room);
            let mut grant = None;
            if let (Some(asked), Some(lender)) = (asked, lender(held)) {
                let before = lender.repeated(key);
                grant = lender.handle_question(key, asked, served_max, now);
                lent.nudges
                    .extend(std::iter::from_fn(|| lender.poll_nudge()));
                // What is answered again was written down the first time.
                let is_new = lender.repeated(key) == before;
                for waits in grant.iter().filter(|_| is_new).flat_map(Grant::passes) {
                    held.tell_served(key, asked.need.cost, waits, now);
                }
            }
            each.push((part.tag, grant));
        }
        let mut wakes = false;
        for (_, held) in held {
            wakes |= held.release();
        }
        if wakes {
            company.outbox().wake();
        }
        let terms = terms(contract);
        lent.reply = encode_reply(&BundleReply::Lent { terms, each }).to_vec();
        Ok(lent)
    }

    /// Whether clients may hold leases of a contract's keys.
    pub fn is_lent(&self, contract: usize) -> bool {
        self.lent_parts(contract).is_some()
    }

    pub(super) fn lent_parts(&self, place: usize) -> Option<(&Contract, &Company, &[PolicyPart])> {
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
        let is_it = |named: &NamedPolicy| Tag::by_mode(contract, named).finish() == tag;
        contract.policies.iter().position(is_it)
    }

    /// Grants a key in the place of a node that has gone.
    pub fn act_for(&self, spot: &Spot, now: Instant) {
        let node = self.newest();
        if let Some((_, company, parts)) = node.lent_parts(spot.contract) {
            let act = |lender: &mut Lender, now| lender.act(key(spot.print), now);
            each_lender(company, parts, Some(now), act);
        }
    }

    /// From here on this node grants only the keys that are its own, by the place of the contract and the print of the
    /// key; where nodes only came, it granted all of them before.
    pub fn retain_lent(&self, is_mine: &dyn Fn(usize, Print) -> bool, grew: bool, now: Instant) {
        self.each_lent(Some(now), |place, lender, now| {
            lender.retain(|key| is_mine(place, print(key)), grew, now);
        });
    }

    /// Whether it would know that nobody has lent what it lends: until then its keys begin as those of a successor.
    pub fn wants_proof(&self) -> bool {
        let mut wants = false;
        self.each_lent(None, |_, lender, _| wants |= lender.wants_proof());
        wants
    }

    /// All who may have lent before say that they did not.
    pub fn prove_lent(&self) {
        self.each_lent(None, |_, lender, _| lender.prove());
    }

    /// Whether all is over that it lent of keys which others lend by now.
    pub fn has_settled(&self, now: Instant) -> bool {
        let mut has = true;
        self.each_lent(Some(now), |_, lender, now| has &= lender.is_settled(now));
        has
    }

    fn each_lent(&self, now: Option<Instant>, mut act: impl FnMut(usize, &mut Lender, Instant)) {
        let node = self.newest();
        let Some(company) = node.company() else {
            return;
        };
        for (place, _, parts) in node.placed_parts() {
            each_lender(company, parts.each(), now, |lender, now| {
                act(place, lender, now);
            });
        }
    }
}

impl MachineGuard<'_> {
    /// Writes down requests that a grantor admitted for a client that waits.
    fn tell_served(&self, key: tollgate_mode::ModeKey, cost: u64, waits: Waits, at: Instant) {
        if let Some(journal) = self.journal() {
            for wait in waits.each() {
                journal(&DividedAdmission {
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
