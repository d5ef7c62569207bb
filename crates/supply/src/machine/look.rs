//! Looks around: asks some peers how they stand, and whoever is richer for what makes all alike.
//!
//! Not here: the loans that come of it.

use tollgate_gossip::{ModeKey, NodeId};
use tollgate_limit::{Instant, Span};

use super::{Machine, Sender};
use crate::asking::PeerQuery;
use crate::fill::{Offer, Party, water_fill};
use crate::wire::{Message, Offered};

impl Machine {
    /// Looks around at once as a request was refused, unless that was tried a moment ago.
    pub(super) fn ask_soon(&mut self, key: ModeKey, now: Instant) {
        let least = self.own.config.ask_gap_min;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let asking = &mut cell.asking;
        if now < asking.again_at || asking.look.is_some() {
            return;
        }
        asking.again_at = now.saturating_add(asking.gap.max(least));
        self.recall(key, now);
        self.look(key, true, now);
        let most = self.own.config.probes_max;
        if let Some(cell) = self.cells.get_mut(key) {
            cell.asking.probes = cell.asking.probes.saturating_mul(2).min(most);
        }
    }

    /// Asks some peers how they stand: a few in a round, and others than a moment ago, more each time, as requests are
    /// `refused`.
    pub(super) fn look(&mut self, key: ModeKey, refused: bool, now: Instant) {
        let patience = self.patience();
        if self.has_left() {
            return;
        }
        let ticket = self.ticket();
        let config = &self.own.config;
        let Some(cell) = self.cells.get_mut(key) else {
            return;
        };
        let count = if refused {
            // Where answers take long, a look asks as many as several would have.
            let times = self.peers.answer_time() / config.ask_gap_min.as_nanos();
            let times = u32::try_from(times).unwrap_or(u32::MAX).max(1);
            cell.asking.probes.saturating_mul(times)
        } else {
            config.probes_min
        };
        let count = count.clamp(config.probes_min, config.probes_max);
        let peers = self.peers.some(count, refused);
        if peers.is_empty() || cell.asking.look.is_some() {
            return;
        }
        let deadline = now.saturating_add(patience);
        cell.asking.look = Some(PeerQuery {
            ticket,
            asked: peers.len(),
            offers: Vec::with_capacity(peers.len()),
            begin: now,
            deadline,
        });
        self.agenda.insert((deadline, key));
        self.figures.loans.looks += 1;
        for peer in peers {
            self.post.push(peer, Message::Look { key, ticket });
        }
    }

    fn patience(&self) -> Span {
        let config = &self.own.config;
        self.peers.patience(config.round, config.term)
    }

    /// How long a lender that was asked is not asked again.
    pub(super) fn ask_patience(&self) -> Span {
        Span::from_nanos(self.patience().as_nanos() * 2)
    }

    /// A peer says how it stands.
    pub(super) fn hear_offer(&mut self, from: Sender, offered: Offered, now: Instant) {
        let Offered {
            key,
            ticket,
            party,
            free,
        } = offered;
        let cell = self.cells.get_mut(key);
        let look = cell.and_then(|cell| cell.asking.look.as_mut());
        let Some(look) = look.filter(|look| look.ticket == ticket) else {
            // Too late for its look: how late counts, or no look would ever wait long enough.
            if from.echo > Instant::default() {
                self.peers.note_answer(now.nanos_since(from.echo));
            }
            return;
        };
        if look.offers.iter().any(|offer| offer.from == from.node) {
            return;
        }
        self.peers.note_answer(now.nanos_since(look.begin));
        look.offers.push(Offer {
            from: from.node,
            party,
            free,
        });
        if look.offers.len() >= look.asked {
            self.pour(key, now);
        }
    }

    /// Asks those who are richer for what makes all alike. Ends the look.
    pub(super) fn pour(&mut self, key: ModeKey, now: Instant) {
        let Some(look) = self
            .cells
            .get_mut(key)
            .and_then(|cell| cell.asking.look.take())
        else {
            return;
        };
        self.agenda.remove(&(look.deadline, key));
        if self.settled(key, now).is_none() {
            return;
        }
        let Some(cell) = self.cells.get(key) else {
            return;
        };
        let me = self.party(cell, now);
        let deep = self.deep_wants(key, me, &look.offers);
        // Who has nothing free to lend may have borrowed what it can give back.
        let mut offers = look.offers.clone();
        for offer in &mut offers {
            offer.free = offer.party.supply;
        }
        let pour = water_fill(me, &offers);
        let wants = pour.asks.into_iter().filter(|(from, amount)| {
            let party = look.offers.iter().find(|offer| offer.from == *from);
            party.is_some_and(|offer| !self.is_trifle(*amount, me, offer.party))
        });
        let wants = no_more_than(wanted(me, cell.asking.has_refused), wants.collect());
        // Taking from those who are short themselves helps nobody.
        let spare = |(from, amount): &(NodeId, u64)| {
            let offer = look.offers.iter().find(|offer| offer.from == *from);
            let party = offer.map(|offer| offer.party);
            let spare = party.map_or(0, |party| party.supply.saturating_sub(party.weight));
            u128::from(spare.min(*amount))
        };
        let gain: u128 = wants.iter().map(spare).sum();
        let short = u128::from(me.weight.saturating_sub(me.supply));
        let has_helped = gain * GAIN_PART >= short && gain > 0;
        let fills = look.offers.iter().map(|offer| offer.party.fill_milli());
        self.figures.peers_fill_min_milli = fills.clone().min().unwrap_or(0);
        self.figures.peers_fill_max_milli = fills.max().unwrap_or(0);
        let config = &self.own.config;
        if let Some(cell) = self.cells.get_mut(key) {
            cell.asking.pace(has_helped || !deep.is_empty(), config);
            cell.asking.has_rich = has_helped;
        }
        if deep.is_empty() {
            self.ask_all(key, wants, false, now);
        } else {
            self.ask_all(key, deep, true, now);
        }
    }

    /// What to ask of whom for a cost that does not fit: whatever they can spare until it does.
    fn deep_wants(&self, key: ModeKey, me: Party, offers: &[Offer<NodeId>]) -> Vec<(NodeId, u64)> {
        let need = self.cells.get(key).and_then(|cell| cell.asking.need);
        let mut short = need.map_or(0, |(need, _)| need.saturating_sub(me.supply));
        let mut wants = Vec::new();
        for offer in offers {
            let want = offer.free.min(short);
            if want > 0 {
                wants.push((offer.from, want));
                short -= want;
            }
        }
        wants
    }
}

/// What a key asks for at most: until it has enough, or twice as much where that was too little. What nobody is asked
/// for is best where it is, as who asks next may be anybody.
fn wanted(me: Party, has_refused: bool) -> u64 {
    let enough = u128::from(me.weight) * u128::from(ENOUGH_MILLI) / 1_000;
    let enough = u64::try_from(enough).unwrap_or(u64::MAX);
    let more = enough.saturating_sub(me.supply);
    if has_refused {
        more.max(me.supply)
    } else {
        more
    }
}

/// The same wants, in proportion, that are no more than so much together.
fn no_more_than(most: u64, mut wants: Vec<(NodeId, u64)>) -> Vec<(NodeId, u64)> {
    let sum: u128 = wants.iter().map(|(_, amount)| u128::from(*amount)).sum();
    if sum > u128::from(most) {
        for (_, amount) in &mut wants {
            let part = u128::from(*amount) * u128::from(most) / sum;
            *amount = u64::try_from(part).unwrap_or(u64::MAX);
        }
        wants.retain(|(_, amount)| *amount > 0);
    }
    wants
}

/// A key has enough that may use so many thousandths of what is asked of it.
pub(super) const ENOUGH_MILLI: u64 = 2_000;
/// A look that finds less than one part in so many of what is missing has not helped.
const GAIN_PART: u128 = 20;
