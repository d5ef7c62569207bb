//! Where a node stands: which limits and shares, what of it is its home, and who has not agreed yet.
//!
//! A change takes away at once and gives only when every node that has or had a part stands on the same. Each asks all
//! the others, with a count of its own changes; an answer counts only for the change that asked. So when a node's home
//! rises, each of the others had, at some time since this node came to stand here, no more than its home here, and
//! cannot have risen elsewhere since, for that would need this node to stand there. Hence at every time all homes
//! together are at most the limit under which one rose last. Not here: leases, and keys.

use std::collections::BTreeSet;

use tollgate_gossip::NodeId;
use tollgate_kit::scramble;
use tollgate_limit::{Instant, Span};

use crate::ground::BaseShare;
use crate::limits::Limits;
use crate::planted;
use crate::setup::{Begin, SupplyRecord};
use crate::shares::Shares;
use crate::wire::{IS_BLIND, IS_CLEAR, IS_SETTLED};

/// Where a node stands.
#[derive(Debug)]
pub(crate) struct Home {
    me: NodeId,
    pub(crate) ground: BaseShare,
    shares: Shares,
    number: u64,
    /// What the home is once all have agreed.
    target: u64,
    /// Counts this node's changes.
    change: u64,
    /// Who has, or had and has not agreed to be without.
    party: BTreeSet<NodeId>,
    /// Who has not agreed.
    awaited: BTreeSet<NodeId>,
    /// Whether this node does not know who stood where before.
    is_blind: bool,
    /// Whether everybody who agreed is blind too.
    all_blind: bool,
    /// Whether somebody who agreed is settled.
    has_voucher: bool,
    /// Where it may have stood before a restart.
    was: Option<u64>,
}

/// A number for limits and shares together.
pub(crate) fn number(limits: Limits, shares: &Shares) -> u64 {
    scramble(scramble(limits.rate()) ^ scramble(limits.burst() ^ 1) ^ shares.number())
}

impl Home {
    /// Where a node begins to stand. Its home is valid from when its ground is.
    pub(crate) fn new(me: NodeId, shares: Shares, begin: &Begin, ground: BaseShare) -> Self {
        let limits = ground.limits;
        let target = shares.home(me, limits.rate());
        let number = number(limits, &shares);
        let mut home = Self {
            me,
            ground: BaseShare {
                home: target,
                ..ground
            },
            number,
            target,
            change: 1,
            party: shares.nodes().collect(),
            awaited: BTreeSet::new(),
            is_blind: false,
            all_blind: true,
            has_voucher: false,
            was: None,
            shares,
        };
        match begin {
            Begin::Fresh => {}
            Begin::Restart(None) => home.go_blind(),
            Begin::Restart(Some(kept)) => home.come_back(kept),
        }
        home
    }

    /// Knows nothing of before.
    fn go_blind(&mut self) {
        self.ground.home = 0;
        self.is_blind = true;
        self.await_all();
    }

    /// Knows where it stood.
    fn come_back(&mut self, kept: &SupplyRecord) {
        self.ground.home = self.target.min(kept.home);
        self.party.extend(&kept.nodes);
        self.was = Some(kept.number);
        let is_slower = is_slower(kept.limits, self.ground.limits);
        self.ground.slowest = is_slower.then_some(kept.limits);
        let is_same = kept.number == self.number && kept.limits == self.ground.limits;
        if !is_same || self.ground.home < self.target {
            self.await_all();
        }
    }

    fn await_all(&mut self) {
        self.awaited = self.party.clone();
        self.awaited.remove(&self.me);
        (self.all_blind, self.has_voucher) = (true, false);
        self.rise();
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    pub(crate) const fn change_count(&self) -> u64 {
        self.change
    }

    pub(crate) const fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Every other node that has or had a part.
    pub(crate) fn party(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.party.iter().copied().filter(|node| *node != self.me)
    }

    pub(crate) fn awaited(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.awaited.iter().copied()
    }

    pub(crate) fn is_awaited(&self, node: NodeId) -> bool {
        self.awaited.contains(&node)
    }

    /// Whether every node has agreed to where this one stands.
    pub(crate) fn is_settled(&self) -> bool {
        self.awaited.is_empty() && !self.is_blind
    }

    /// Whether a restart has to be told that nobody stands anywhere else.
    pub(crate) const fn is_back(&self) -> bool {
        self.was.is_some()
    }

    /// What a restart must know.
    pub(crate) fn kept(&self) -> SupplyRecord {
        SupplyRecord {
            number: self.number,
            home: self.ground.home,
            limits: self.ground.slowest.unwrap_or(self.ground.limits),
            nodes: self.party.iter().copied().collect(),
            waited: Span::ZERO,
        }
    }

    /// What to say to who asks; `is_clear` by the keys.
    pub(crate) fn flags(&self, is_clear: bool) -> u8 {
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        flag(is_clear, IS_CLEAR)
            | flag(self.is_settled(), IS_SETTLED)
            | flag(self.is_blind, IS_BLIND)
    }

    /// Stands elsewhere: less at once, more when all agree. Says whether that is another place.
    pub(crate) fn move_to(&mut self, limits: Limits, shares: Shares) -> bool {
        let there = number(limits, &shares);
        if there == self.number {
            return false;
        }
        self.target = shares.home(self.me, limits.rate());
        self.ground.home = planted!(
            "rise-before-agreed",
            self.ground.home.min(self.target),
            self.target
        );
        self.slow_down(limits);
        self.party.extend(shares.nodes());
        self.shares = shares;
        self.number = there;
        self.change += 1;
        self.await_all();
        true
    }

    /// Takes other limits, and the smaller depth of both until all agree.
    pub(crate) fn slow_down(&mut self, limits: Limits) {
        let old = self.ground.slowest.unwrap_or(self.ground.limits);
        let now = self.ground.limits;
        let slowest = if is_slower(now, old) { now } else { old };
        self.ground.slowest = is_slower(slowest, limits).then_some(slowest);
        self.ground.limits = limits;
    }

    /// Hears where a peer stands, in answer to this change. Says whether this node is settled by it.
    pub(crate) fn hear(&mut self, from: NodeId, change: u64, number: u64, flags: u8) -> bool {
        if planted!("agreed-to-an-old-change", change != self.change, false) {
            return false;
        }
        if number != self.number {
            if self.was.is_some_and(|was| was != number) && !self.is_blind {
                // What was kept is older than what others know.
                self.go_blind();
            }
            return false;
        }
        let is_clear = planted!("agreed-while-too-much-is-lent", flags & IS_CLEAR != 0, true);
        if !is_clear || !self.awaited.contains(&from) {
            return false;
        }
        if self.is_blind {
            self.all_blind &= flags & IS_BLIND != 0;
            self.has_voucher |= flags & IS_SETTLED != 0;
        }
        self.awaited.remove(&from);
        self.rise();
        if self.is_blind && self.awaited.is_empty() {
            // All agree, but nobody knows whether there were others: ask again until somebody does.
            self.await_all();
        }
        self.is_settled()
    }

    /// Takes what all have agreed to.
    pub(crate) fn rise(&mut self) {
        let knows = !self.is_blind || self.has_voucher || self.all_blind;
        if !self.awaited.is_empty() || !knows {
            return;
        }
        self.ground.home = self.target;
        self.ground.slowest = None;
        self.is_blind = false;
        self.party = self.shares.nodes().collect();
    }

    /// Forgets that this is a restart: whoever stands elsewhere had time to say so.
    pub(crate) fn forget_restart(&mut self) {
        self.was = None;
    }

    /// A home by lease.
    pub(crate) fn lease(&mut self, home: u64, until: Instant, now: Instant) {
        if now >= self.ground.until {
            self.ground.from = self.ground.from.max(now);
        }
        self.ground.home = home;
        self.ground.until = until;
    }

    /// Uses the home no more.
    pub(crate) fn leave(&mut self, now: Instant) {
        self.ground.until = self.ground.until.min(now);
    }

    /// All stand on the same limits, says the authority.
    pub(crate) fn agree(&mut self) {
        self.awaited.clear();
        self.is_blind = false;
        self.ground.slowest = None;
        self.party = self.shares.nodes().collect();
    }
}

/// Whether one limit has the smaller burst for its rate.
fn is_slower(one: Limits, other: Limits) -> bool {
    u128::from(one.burst()) * u128::from(other.rate())
        < u128::from(other.burst()) * u128::from(one.rate())
}

/// How long nothing of a home is used after a restart: all that was lent and promised before has ended then.
pub(crate) fn quarantine(config: &crate::SupplyConfig, wait_max: Span) -> Span {
    config.longer(config.term.max(wait_max), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGREES: u8 = IS_CLEAR;

    fn limits() -> Limits {
        Limits::new(90, 9).unwrap()
    }

    fn shares(tag: u64, weights: [u32; 3]) -> Shares {
        Shares::new(tag, (0..).map(NodeId).zip(weights)).unwrap()
    }

    fn home(begin: &Begin) -> Home {
        let ground = BaseShare::new(limits(), Instant::default(), 0);
        Home::new(NodeId(0), shares(1, [1, 1, 1]), begin, ground)
    }

    fn answer(home: &mut Home, from: u16, change: u64, number: u64, flags: u8) -> u64 {
        home.hear(NodeId(from), change, number, flags);
        home.ground.home
    }

    #[test]
    fn less_counts_at_once_and_more_when_all_have_agreed() {
        let mut own = home(&Begin::Fresh);
        assert_eq!(own.ground.home, 30);
        assert!(own.move_to(limits(), shares(2, [0, 1, 2])));
        assert_eq!(own.ground.home, 0);
        assert!(own.move_to(limits(), shares(3, [7, 1, 1])));
        let (change, number) = (own.change_count(), own.number());
        assert_eq!(answer(&mut own, 1, change, number, AGREES), 0);
        assert_eq!(
            answer(&mut own, 2, change, number, 0),
            0,
            "it lends too much yet"
        );
        assert_eq!(
            answer(&mut own, 2, change, number + 1, AGREES),
            0,
            "it is elsewhere"
        );
        assert_eq!(answer(&mut own, 2, change, number, AGREES), 70);
        assert!(own.is_settled());
    }

    #[test]
    fn an_answer_to_an_earlier_change_to_the_same_place_does_not_count() {
        let mut own = home(&Begin::Fresh);
        own.move_to(limits(), shares(2, [2, 1, 0]));
        let (change, number) = (own.change_count(), own.number());
        own.move_to(limits(), shares(3, [0, 1, 2]));
        own.move_to(limits(), shares(2, [2, 1, 0]));
        assert_eq!(own.number(), number);
        assert_eq!(answer(&mut own, 1, change, number, AGREES), 0);
        assert_eq!(answer(&mut own, 2, change, number, AGREES), 0);
        assert!(!own.is_settled());
    }

    #[test]
    fn who_knows_nothing_of_before_waits_for_one_who_does() {
        let mut own = home(&Begin::Restart(None));
        let (change, number) = (own.change_count(), own.number());
        assert_eq!(answer(&mut own, 1, change, number, AGREES), 0);
        assert_eq!(
            answer(&mut own, 2, change, number, AGREES),
            0,
            "neither is settled"
        );
        assert_eq!(answer(&mut own, 1, change, number, AGREES | IS_SETTLED), 0);
        assert_eq!(answer(&mut own, 2, change, number, AGREES), 30);
    }

    #[test]
    fn where_nobody_knows_of_before_nothing_was_before() {
        let mut own = home(&Begin::Restart(None));
        let (change, number) = (own.change_count(), own.number());
        assert_eq!(answer(&mut own, 1, change, number, AGREES | IS_BLIND), 0);
        assert_eq!(answer(&mut own, 2, change, number, AGREES | IS_BLIND), 30);
    }

    #[test]
    fn a_disk_older_than_what_others_know_is_not_believed() {
        let kept = home(&Begin::Fresh).kept();
        let mut own = home(&Begin::Restart(Some(kept)));
        assert_eq!(own.ground.home, 30);
        let (change, number) = (own.change_count(), own.number());
        assert_eq!(
            answer(&mut own, 1, change, number ^ 1, AGREES | IS_SETTLED),
            0
        );
        assert!(!own.is_settled());
    }

    #[test]
    fn a_restart_elsewhere_has_the_less_of_both_and_remembers_who_was_there() {
        let mut before = home(&Begin::Fresh);
        before.move_to(limits(), shares(2, [1, 1, 4]));
        let kept = before.kept();
        assert_eq!((kept.home, kept.nodes.len()), (15, 3));
        let begin = Begin::Restart(Some(kept));
        let ground = BaseShare::new(limits(), Instant::default(), 0);
        let own = Home::new(NodeId(0), shares(3, [1, 0, 0]), &begin, ground);
        assert_eq!(own.ground.home, 15);
        assert_eq!(own.awaited().count(), 2);
    }

    #[test]
    fn the_smaller_depth_counts_until_all_have_agreed() {
        let mut own = home(&Begin::Fresh);
        own.move_to(Limits::new(90, 90).unwrap(), shares(1, [1, 1, 1]));
        assert_eq!(own.ground.depth(30), Limits::tokens(3));
        let (change, number) = (own.change_count(), own.number());
        answer(&mut own, 1, change, number, AGREES);
        answer(&mut own, 2, change, number, AGREES);
        assert_eq!(own.ground.depth(30), Limits::tokens(30));
    }
}
