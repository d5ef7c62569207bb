//! The algorithm of Ramsden's directed study as printed, and with sign and units made sound: a ring, two neighbours
//! each, ratios queried every round, half a transfer applied here and half told to the neighbour.
//!
//! Nothing here survives a lost message, a crash or a cut; that is the point. Not here: any repair of that.

use std::collections::{BTreeMap, VecDeque};

use super::fixed::{purse, share};
use super::purse::{Purse, fine};
use super::tide::Tide;
use crate::dice::{LabDice, Purpose};
use crate::nodes::Member;
use crate::supply::stage::{Fleet, MemberStart, PER_SECOND, Sharer, SupplySetting};

#[derive(Clone, Debug)]
pub(crate) struct DocumentDesign {
    pub(crate) setting: SupplySetting,
    /// The sign and the units of equation (2) as they stand in the document.
    pub(crate) as_printed: bool,
    /// Whether a buddy inherits what a silent neighbour last had.
    pub(crate) inherits: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum DocumentMessage {
    Query,
    Ratio { supply: i64, weight: u64 },
    Subtract(i64),
}

#[derive(Debug)]
pub(crate) struct DocumentNode {
    design: DocumentDesign,
    me: u16,
    supply: i64,
    purse: Purse,
    tide: Tide,
    neighbours: BTreeMap<u16, Neighbour>,
    /// Whose supply it inherits.
    ward: Option<u16>,
    round_at: u64,
    outbox: VecDeque<(u16, DocumentMessage)>,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    heard_at: u64,
    supply: i64,
    is_inherited: bool,
}

/// A neighbour that has not answered for so many rounds is taken for dead.
const SILENT_ROUNDS: u64 = 5;
/// Beyond this nothing can be told apart any more; the printed version gets there.
const SUPPLY_MAX: i128 = 1 << 60;

impl Fleet for DocumentDesign {
    type Member = DocumentNode;

    fn boot(&self, seat: &MemberStart) -> DocumentNode {
        // A node that comes back is passed supply, so it starts without.
        let supply = if seat.boot == 0 {
            share(&self.setting, seat)
        } else {
            0
        };
        let round_us = self.setting.round_us;
        let mut dice = LabDice::new(seat.seed, Purpose::Boots);
        let mut node = DocumentNode {
            design: self.clone(),
            me: seat.node,
            supply,
            purse: purse(&self.setting, supply, seat),
            tide: Tide::new(u64::try_from(supply).unwrap_or(0), seat.now, round_us),
            neighbours: BTreeMap::new(),
            ward: None,
            round_at: seat.now + dice.below(round_us),
            outbox: VecDeque::new(),
        };
        node.meet(seat, &mut dice);
        node
    }
}

impl DocumentNode {
    /// The two beside it on the ring of founders; any two for who comes later.
    fn meet(&mut self, seat: &MemberStart, dice: &mut LabDice) {
        let founders = self.design.setting.founders;
        let fresh = Neighbour {
            heard_at: seat.now,
            supply: 0,
            is_inherited: false,
        };
        if seat.node < founders {
            let before = (seat.node + founders - 1) % founders;
            let after = (seat.node + 1) % founders;
            self.ward = Some(before);
            self.neighbours.insert(before, fresh);
            self.neighbours.insert(after, fresh);
        } else {
            let others: Vec<u16> = seat
                .members
                .iter()
                .copied()
                .filter(|&own| own != self.me)
                .collect();
            while self.neighbours.len() < 2.min(others.len()) {
                let any = dice.below(others.len() as u64);
                if let Some(&peer) = others.get(usize::try_from(any).unwrap_or(0)) {
                    self.neighbours.insert(peer, fresh);
                }
            }
        }
        self.neighbours.remove(&self.me);
    }

    fn weight(&self, now: u64) -> u64 {
        let setting = &self.design.setting;
        self.tide.rate(now) + setting.rate / u64::from(setting.founders.max(1)) / 100
    }

    fn add(&mut self, amount: i64, now: u64) {
        self.purse.refill(self.supply, now);
        self.supply = clamp(i128::from(self.supply) + i128::from(amount));
        self.purse.take(0, self.supply);
    }

    /// What this node gains of a neighbour by its own step.
    fn step(&self, supply: i64, weight: u64, now: u64) -> i64 {
        let (own, its) = (i128::from(self.supply), i128::from(supply));
        if self.design.as_printed {
            let mine = i128::from(self.tide.rate(now).max(1));
            let theirs = i128::from(weight.max(1));
            // A ratio without a unit, added to requests per second; a quarter of it.
            let unit = i128::from(PER_SECOND);
            return clamp((own * unit / mine - its * unit / theirs) / 4);
        }
        let (mine, theirs) = (i128::from(self.weight(now)), i128::from(weight));
        let even = (its * mine - own * theirs) / (mine + theirs).max(1);
        // Half of what makes even, as each has two neighbours; that both ends run the step is the document.s own.
        clamp(even / 2)
    }

    fn inherit(&mut self, now: u64) {
        let patience = SILENT_ROUNDS * self.design.setting.round_us;
        let Some(ward) = self.ward.and_then(|ward| self.neighbours.get_mut(&ward)) else {
            return;
        };
        if ward.heard_at + patience < now && !ward.is_inherited {
            ward.is_inherited = true;
            let left = ward.supply;
            self.add(left, now);
        }
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value.clamp(-SUPPLY_MAX, SUPPLY_MAX)).unwrap_or(0)
}

impl Member for DocumentNode {
    type Message = DocumentMessage;

    fn handle_message(&mut self, from: u16, message: &DocumentMessage, now: u64) {
        match *message {
            DocumentMessage::Query => {
                let weight = if self.design.as_printed {
                    self.tide.rate(now)
                } else {
                    self.weight(now)
                };
                let supply = self.supply;
                self.outbox
                    .push_back((from, DocumentMessage::Ratio { supply, weight }));
            }
            DocumentMessage::Ratio { supply, weight } => {
                let Some(neighbour) = self.neighbours.get_mut(&from) else {
                    return;
                };
                *neighbour = Neighbour {
                    heard_at: now,
                    supply,
                    is_inherited: false,
                };
                let gained = self.step(supply, weight, now);
                if gained != 0 {
                    self.add(gained, now);
                    self.outbox
                        .push_back((from, DocumentMessage::Subtract(gained)));
                }
            }
            DocumentMessage::Subtract(amount) => self.add(amount.saturating_neg(), now),
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        if now < self.round_at {
            return;
        }
        self.tide.turn(now);
        self.round_at = now + self.design.setting.round_us;
        for &peer in self.neighbours.keys() {
            self.outbox.push_back((peer, DocumentMessage::Query));
        }
        if self.design.inherits {
            self.inherit(now);
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(self.round_at)
    }

    fn poll_send(&mut self) -> Option<(u16, DocumentMessage)> {
        self.outbox.pop_front()
    }
}

impl Sharer for DocumentNode {
    fn handle_request(&mut self, now: u64) -> bool {
        self.tide.note();
        self.purse.refill(self.supply, now);
        self.purse.spend()
    }

    fn usable(&self, _now: u64) -> i128 {
        fine(self.supply)
    }
}
