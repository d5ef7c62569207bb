//! A node of the ledger design: admits while its lease holds, and gives what the service has written down first.
//!
//! Not here: the service.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::LedgerDesign;
use super::asker::{Asker, even};
use super::book::{Book, Flow, Id, Offer, Word};
use super::plant::Plant;
use crate::dice::{LabDice, Purpose};
use crate::supply::rival::fixed::{purse, share};
use crate::supply::rival::purse::Purse;
use crate::supply::rival::tide::Tide;
use crate::supply::stage::MemberStart;

/// Nothing is given when the service was not heard for so many rounds.
const GIVE_ROUNDS: u64 = 3;

#[derive(Debug)]
pub(crate) struct LedgerNode {
    rules: Rc<LedgerDesign>,
    peers: Vec<u16>,
    pub(super) me: u16,
    pub(super) id: Option<Id>,
    pub(super) book: Book,
    nonce: u64,
    lease: Lease,
    /// Gives that the service has not written down yet.
    gives: Vec<(u64, Id, Flow)>,
    /// Credits that the service has not written down yet, and whom to tell then.
    credits: Vec<(u64, u16, Id, u64)>,
    debts: BTreeMap<Id, Debt>,
    purse: Purse,
    tide: Tide,
    asker: Asker,
    round_at: u64,
    outbox: VecDeque<(u16, Word)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    until: u64,
    /// When the service last answered.
    heard_at: u64,
    /// The last version it has.
    stored: u64,
}

/// What was sent and is not known to have arrived.
#[derive(Clone, Copy, Debug)]
struct Debt {
    flow: Flow,
    got: u64,
    since: u64,
}

struct Transfer {
    sender: u16,
    source: Id,
    to: Id,
    flow: Flow,
}

impl LedgerNode {
    pub(super) fn new(rules: Rc<LedgerDesign>, seat: &MemberStart) -> Self {
        let setting = &rules.setting;
        let is_founder = seat.boot == 0 && seat.node < setting.founders;
        let held = if is_founder { share(setting, seat) } else { 0 };
        let book = Book {
            held: held.unsigned_abs(),
            ..Book::default()
        };
        let mut dice = LabDice::new(seat.seed, Purpose::Boots);
        let until = if is_founder {
            seat.now + rules.own_lease()
        } else {
            0
        };
        Self {
            peers: others(&seat.members, seat.node),
            me: seat.node,
            id: is_founder.then_some(Id {
                node: seat.node,
                boot: 0,
            }),
            purse: purse(setting, held, seat),
            tide: Tide::new(book.held, seat.now, setting.round_us),
            book,
            nonce: dice.roll(),
            lease: Lease {
                until,
                heard_at: seat.now,
                stored: 0,
            },
            gives: Vec::new(),
            credits: Vec::new(),
            debts: BTreeMap::new(),
            round_at: seat.now + dice.below(setting.round_us),
            asker: Asker::new(dice, 4 * setting.weather.delay_max + 1_000),
            outbox: VecDeque::new(),
            rules,
        }
    }

    pub(super) fn usable(&self, now: u64) -> u64 {
        if self.is_valid(now) {
            self.book.held
        } else {
            0
        }
    }

    /// What it knows to have arrived: from whom, to whom, how much.
    pub(super) fn confirmed(&self) -> impl Iterator<Item = (Id, Id, u64)> + '_ {
        let debts = self.debts.iter().filter(|(_, debt)| debt.got > 0);
        debts.filter_map(|(to, debt)| Some((self.id?, *to, debt.got)))
    }

    fn is_valid(&self, now: u64) -> bool {
        self.id.is_some() && now < self.lease.until
    }

    /// Brings the bucket up to now; nothing is gained, and nothing kept, without a lease.
    fn settle(&mut self, now: u64) {
        let usable = self.usable(now).cast_signed();
        self.purse.refill(usable, now);
    }

    fn offer(&self, now: u64) -> Option<Offer> {
        let setting = &self.rules.setting;
        let least = setting.rate / u64::from(setting.founders.max(1)) / 100;
        let id = self.id.filter(|_| self.is_valid(now))?;
        Some(Offer {
            id,
            supply: self.book.held,
            weight: self.tide.rate(now) + least,
        })
    }

    pub(super) fn handle_request(&mut self, now: u64) -> bool {
        self.tide.note();
        self.settle(now);
        let is_admitted = self.is_valid(now) && self.purse.spend();
        if !is_admitted && self.asker.refused(now) {
            self.probe(now);
        }
        is_admitted
    }

    fn probe(&mut self, now: u64) {
        if self.offer(now).is_none() {
            return;
        }
        let (number, chosen) = self.asker.begin(&self.peers, now);
        for peer in chosen {
            self.say(peer, Word::Probe { number });
        }
    }

    pub(super) fn handle_word(&mut self, from: u16, word: &Word, now: u64) {
        match *word {
            Word::Probe { number } => {
                if let Some(offer) = self.offer(now) {
                    self.say(from, Word::Reply { number, offer });
                }
            }
            Word::Reply { number, offer } => {
                self.asker.answer(number, offer);
                self.ask(now);
            }
            Word::Ask { asker, want } => self.give(asker, want, now),
            Word::Grant {
                from: source,
                to,
                flow,
            } => self.credit(
                &Transfer {
                    sender: from,
                    source,
                    to,
                    flow,
                },
                now,
            ),
            Word::Got { from, to, supply } => {
                if let Some(debt) = self.debts.get_mut(&to).filter(|_| self.id == Some(from)) {
                    debt.got = debt.got.max(supply);
                }
            }
            Word::Stored { id, version, at } => {
                if self.id == Some(id) {
                    self.stored(version, at, now);
                }
            }
            Word::Fenced { id } => {
                if self.id == Some(id) {
                    self.begin_anew(now);
                }
            }
            Word::Registered { id, nonce, at } => {
                if self.id.is_none() && nonce == self.nonce {
                    self.id = Some(id);
                    self.settle(now);
                    self.lease.until = at + self.rules.own_lease();
                    self.lease.heard_at = now;
                }
            }
            Word::Journal { .. } | Word::Register { .. } => {}
        }
    }

    fn ask(&mut self, now: u64) {
        let Some(asker) = self.offer(now) else {
            return;
        };
        for (id, want) in self.asker.finish(asker, now) {
            self.say(id.node, Word::Ask { asker, want });
        }
    }

    fn give(&mut self, asker: Offer, want: u64, now: u64) {
        let Some(me) = self.offer(now) else {
            return;
        };
        let patience = GIVE_ROUNDS * self.rules.setting.round_us;
        if self.lease.heard_at + patience < now {
            return;
        }
        let amount = even(me, asker).min(want).min(self.book.held);
        if amount == 0 {
            return;
        }
        self.settle(now);
        let tokens = self.purse.give(amount, self.book.held.cast_signed());
        self.book.give(asker.id, amount, tokens);
        let flow = self.book.sent.get(&asker.id).copied().unwrap_or_default();
        self.gives.push((self.book.version, asker.id, flow));
        if self.rules.plant == Some(Plant::GrantFirst) {
            self.owe(asker.id, flow, now);
        }
        self.journal(now);
    }

    /// Sends what is written down, and remembers to send it again.
    fn owe(&mut self, to: Id, flow: Flow, now: u64) {
        let Some(from) = self.id else {
            return;
        };
        let debt = self.debts.entry(to).or_insert(Debt {
            flow,
            got: 0,
            since: now,
        });
        if debt.got >= debt.flow.supply {
            debt.since = now;
        }
        debt.flow = flow;
        self.say(to.node, Word::Grant { from, to, flow });
    }

    fn credit(&mut self, transfer: &Transfer, now: u64) {
        let Transfer {
            sender,
            source,
            to,
            flow,
        } = *transfer;
        if self.id != Some(to) || !self.is_valid(now) {
            return;
        }
        self.settle(now);
        let before = self.book.got.get(&source).copied().unwrap_or_default();
        if let Some(fresh) = self.book.credit(source, flow) {
            self.purse.take(fresh.tokens, self.book.held.cast_signed());
            let version = self.book.version;
            self.credits.push((version, sender, source, flow.supply));
            self.journal(now);
            if self.rules.plant == Some(Plant::AckFirst) {
                self.acknowledge(sender, source, flow.supply);
            }
            return;
        }
        if self.rules.plant == Some(Plant::CreditTwice) && before == flow {
            let again = (flow.supply / 2).min(self.rules.setting.rate);
            self.book.held = self.book.held.saturating_add(again);
            self.book.version += 1;
        }
        let waits = self.credits.iter().any(|(_, _, own, _)| *own == source);
        if !waits {
            self.acknowledge(sender, source, before.supply);
        }
    }

    fn acknowledge(&mut self, sender: u16, from: Id, supply: u64) {
        if let Some(to) = self.id {
            self.say(sender, Word::Got { from, to, supply });
        }
    }

    fn stored(&mut self, version: u64, at: u64, now: u64) {
        self.settle(now);
        self.lease.until = self.lease.until.max(at + self.rules.own_lease());
        self.lease.heard_at = now;
        self.lease.stored = self.lease.stored.max(version);
        let stored = self.lease.stored;
        let gives: Vec<_> = self.gives.extract_if(.., |give| give.0 <= stored).collect();
        for (_, to, flow) in gives {
            self.owe(to, flow, now);
        }
        let credits: Vec<_> = self.credits.extract_if(.., |own| own.0 <= stored).collect();
        for (_, sender, source, supply) in credits {
            self.acknowledge(sender, source, supply);
        }
    }

    fn journal(&mut self, now: u64) {
        if let Some(id) = self.id {
            let book = Rc::new(self.book.clone());
            let service = self.rules.setting.nodes;
            self.say(service, Word::Journal { id, book, at: now });
        }
    }

    /// A fenced node is somebody else, who has nothing.
    fn begin_anew(&mut self, now: u64) {
        self.id = None;
        self.settle(now);
        self.book = Book::default();
        self.lease = Lease::default();
        self.gives.clear();
        self.credits.clear();
        self.debts.clear();
        self.nonce = self.nonce.wrapping_add(1);
        self.register(now);
    }

    fn register(&mut self, now: u64) {
        let (service, nonce) = (self.rules.setting.nodes, self.nonce);
        self.say(service, Word::Register { nonce, at: now });
    }

    pub(super) fn handle_timeout(&mut self, now: u64) {
        if self.asker.due().is_some_and(|due| due <= now) {
            self.ask(now);
            // Without a lease nobody takes the answers.
            if let Some(me) = self
                .id
                .filter(|_| self.asker.due().is_some_and(|due| due <= now))
            {
                let nothing = Offer {
                    id: me,
                    supply: u64::MAX / 4,
                    weight: 1,
                };
                let _ = self.asker.finish(nothing, now);
            }
        }
        if now < self.round_at {
            return;
        }
        self.round_at = now + self.rules.setting.round_us;
        self.tide.turn(now);
        self.settle(now);
        let Some(from) = self.id else {
            self.register(now);
            return;
        };
        self.journal(now);
        let (lease, service) = (self.rules.lease_us, self.rules.setting.nodes);
        let open: Vec<_> = self
            .debts
            .iter()
            .filter(|(_, debt)| debt.got < debt.flow.supply)
            .map(|(to, debt)| (*to, *debt))
            .collect();
        for (to, Debt { flow, since, .. }) in open {
            self.say(to.node, Word::Grant { from, to, flow });
            if since + lease < now {
                self.say(service, Word::Grant { from, to, flow });
            }
        }
        if self.asker.is_idle() {
            self.probe(now);
        }
    }

    pub(super) fn handle_members(&mut self, members: &[u16]) {
        self.peers = others(members, self.me);
    }

    pub(super) fn poll_timeout(&self) -> u64 {
        let asked = self.asker.due().unwrap_or(u64::MAX);
        self.round_at.min(asked)
    }

    pub(super) fn poll_send(&mut self) -> Option<(u16, Word)> {
        self.outbox.pop_front()
    }

    fn say(&mut self, to: u16, word: Word) {
        self.outbox.push_back((to, word));
    }
}

fn others(members: &[u16], me: u16) -> Vec<u16> {
    members.iter().copied().filter(|&own| own != me).collect()
}
