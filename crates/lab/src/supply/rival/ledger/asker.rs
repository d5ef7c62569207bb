//! Asks several others at once and takes from the richest, as water finds its level.
//!
//! Not here: what a giver makes of it.

use super::book::{Id, Offer};
use crate::dice::LabDice;

const COUNT_MIN: usize = 3;
const COUNT_MAX: usize = 32;
const GAP_US_MIN: u64 = 10_000;
const GAP_US_MAX: u64 = 320_000;

#[derive(Debug)]
pub(crate) struct Asker {
    dice: LabDice,
    count: usize,
    gap_us: u64,
    next_at: u64,
    was_refused: bool,
    number: u64,
    patience_us: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    until: u64,
    missing: usize,
    offers: Vec<Offer>,
}

impl Asker {
    pub(crate) fn new(dice: LabDice, patience_us: u64) -> Self {
        Self {
            dice,
            count: COUNT_MIN,
            gap_us: GAP_US_MIN,
            next_at: 0,
            was_refused: false,
            number: 0,
            patience_us,
            open: None,
        }
    }

    /// Whether a refusal is a reason to ask now.
    pub(crate) fn refused(&mut self, now: u64) -> bool {
        self.was_refused = true;
        self.open.is_none() && now >= self.next_at
    }

    /// Whether nobody is being asked.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_none()
    }

    /// Chooses whom to probe; answers carry the number.
    pub(crate) fn begin(&mut self, peers: &[u16], now: u64) -> (u64, Vec<u16>) {
        let mut chosen = peers.to_vec();
        let count = self.count.min(chosen.len());
        for at in 0..count {
            let rest = (chosen.len() - at) as u64;
            let other = at + usize::try_from(self.dice.below(rest)).unwrap_or(0);
            chosen.swap(at, other);
        }
        chosen.truncate(count);
        self.number += 1;
        self.next_at = now + self.gap_us;
        self.open = Some(Open {
            until: now + self.patience_us,
            missing: count,
            offers: Vec::new(),
        });
        (self.number, chosen)
    }

    pub(crate) fn answer(&mut self, number: u64, offer: Offer) {
        if let Some(open) = self.open.as_mut().filter(|_| number == self.number)
            && open.offers.iter().all(|own| own.id != offer.id)
        {
            open.offers.push(offer);
            open.missing = open.missing.saturating_sub(1);
        }
    }

    /// When waiting for answers ends.
    pub(crate) fn due(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.until)
    }

    /// What to ask of whom, once all have answered or time is up.
    pub(crate) fn finish(&mut self, me: Offer, now: u64) -> Vec<(Id, u64)> {
        let is_over = self
            .open
            .as_ref()
            .is_some_and(|open| open.missing == 0 || open.until <= now);
        let Some(open) = self.open.take_if(|_| is_over) else {
            return Vec::new();
        };
        let (wants, gain) = pour(me, open.offers);
        let helps = gain * 20 >= u128::from(me.supply);
        if std::mem::take(&mut self.was_refused) && helps {
            self.count = (2 * self.count).min(COUNT_MAX);
        } else {
            self.count = (self.count / 2).max(COUNT_MIN);
        }
        self.gap_us = if helps {
            GAP_US_MIN
        } else {
            (2 * self.gap_us).min(GAP_US_MAX)
        };
        self.next_at = self.next_at.max(now) + self.gap_us - GAP_US_MIN;
        wants
    }
}

/// What to take of each so that all who give end at one level, and how much that is altogether.
fn pour(me: Offer, mut offers: Vec<Offer>) -> (Vec<(Id, u64)>, u128) {
    let richer = |a: &Offer, b: &Offer| {
        let left = u128::from(a.supply) * u128::from(b.weight.max(1));
        let right = u128::from(b.supply) * u128::from(a.weight.max(1));
        right.cmp(&left).then(a.id.cmp(&b.id))
    };
    offers.sort_by(richer);
    let (mut supply, mut weight) = (u128::from(me.supply), u128::from(me.weight.max(1)));
    let mut givers = Vec::new();
    for offer in offers {
        let its_weight = u128::from(offer.weight.max(1));
        if u128::from(offer.supply) * weight <= supply * its_weight {
            break;
        }
        supply += u128::from(offer.supply);
        weight += its_weight;
        givers.push(offer);
    }
    let mut wants = Vec::new();
    let mut gain = 0;
    for giver in givers {
        let level = supply * u128::from(giver.weight.max(1)) / weight;
        let want = u128::from(giver.supply).saturating_sub(level);
        let smaller = giver.supply.min(me.supply);
        if want * 50 > u128::from(smaller) {
            gain += want;
            wants.push((giver.id, u64::try_from(want).unwrap_or(u64::MAX)));
        }
    }
    (wants, gain)
}

/// What a giver parts with: what makes both even, if that is worth a message.
pub(crate) fn even(giver: Offer, asker: Offer) -> u64 {
    let (own, its) = (i128::from(giver.supply), i128::from(asker.supply));
    let (mine, theirs) = (
        i128::from(giver.weight.max(1)),
        i128::from(asker.weight.max(1)),
    );
    let amount = (own * theirs - its * mine) / (mine + theirs);
    let smaller = giver.supply.min(asker.supply);
    let is_worth = amount * 50 > i128::from(smaller);
    u64::try_from(amount).ok().filter(|_| is_worth).unwrap_or(0)
}
