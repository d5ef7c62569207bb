//! The register that every give and every credit is written into before it counts elsewhere. One stands for several
//! that agree.
//!
//! Not here: how several agree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use super::LedgerDesign;
use super::book::{Book, Flow, Id, Word};
use super::plant::Plant;
use crate::supply::rival::fixed::share;
use crate::supply::stage::MemberStart;

#[derive(Debug)]
pub(crate) struct Service {
    rules: Rc<LedgerDesign>,
    me: Id,
    accounts: BTreeMap<Id, Account>,
    /// What fenced incarnations left, and what of it was passed on.
    pub(super) own: Book,
    /// What of its own grants is known to have arrived.
    own_got: BTreeMap<Id, u64>,
    /// The last incarnation of each node, and what it was asked for with.
    issued: BTreeMap<u16, (u64, Id)>,
    /// Whose buddy inherits next.
    left: u16,
    tick_at: u64,
    outbox: VecDeque<(u16, Word)>,
}

#[derive(Debug)]
pub(super) struct Account {
    pub(super) book: Rc<Book>,
    pub(super) is_fenced: bool,
    heard_at: u64,
    /// What of its grants is known to have arrived, once the service sends them.
    got: BTreeMap<Id, u64>,
}

impl Service {
    pub(super) fn new(rules: Rc<LedgerDesign>, seat: &MemberStart) -> Self {
        let setting = &rules.setting;
        let founder = |node| {
            let place = MemberStart {
                node,
                ..seat.clone()
            };
            let book = Book {
                held: share(setting, &place).unsigned_abs(),
                ..Book::default()
            };
            (Id { node, boot: 0 }, Account::new(Rc::new(book), seat.now))
        };
        Self {
            me: Id {
                node: seat.node,
                boot: 0,
            },
            accounts: (0..setting.founders).map(founder).collect(),
            own: Book::default(),
            own_got: BTreeMap::new(),
            issued: BTreeMap::new(),
            left: 0,
            tick_at: seat.now + setting.round_us,
            outbox: VecDeque::new(),
            rules,
        }
    }

    pub(super) fn accounts(&self) -> &BTreeMap<Id, Account> {
        &self.accounts
    }

    /// What it knows to have arrived: from whom, to whom, how much.
    pub(super) fn confirmed(&self) -> impl Iterator<Item = (Id, Id, u64)> + '_ {
        let own = self.own_got.iter().map(|(to, got)| (self.me, *to, *got));
        let its = self.accounts.iter().flat_map(|(from, account)| {
            let got = account.got.iter();
            got.map(|(to, got)| (*from, *to, *got))
        });
        own.chain(its)
    }

    pub(super) fn handle_word(&mut self, from: u16, word: &Word, now: u64) {
        match word {
            Word::Journal { id, book, at } => self.store(*id, book, *at, now),
            Word::Register { nonce, at } => self.register(from, *nonce, *at, now),
            Word::Grant {
                from: source,
                to,
                flow,
            } => {
                let is_fenced = self.accounts.get(to).is_some_and(|own| own.is_fenced);
                if is_fenced {
                    self.receive(*source, *to, *flow);
                    let (from, to, supply) = (*source, *to, flow.supply);
                    self.say(source.node, Word::Got { from, to, supply });
                }
            }
            Word::Got { from, to, supply } => self.note(*from, *to, *supply),
            Word::Probe { .. }
            | Word::Reply { .. }
            | Word::Ask { .. }
            | Word::Stored { .. }
            | Word::Fenced { .. }
            | Word::Registered { .. } => {}
        }
    }

    fn store(&mut self, id: Id, book: &Rc<Book>, at: u64, now: u64) {
        let Some(account) = self.accounts.get_mut(&id) else {
            return;
        };
        if account.is_fenced {
            self.say(id.node, Word::Fenced { id });
            return;
        }
        account.heard_at = now;
        if book.version >= account.book.version {
            account.book = Rc::clone(book);
        }
        let version = book.version;
        self.say(id.node, Word::Stored { id, version, at });
    }

    fn register(&mut self, node: u16, nonce: u64, at: u64, now: u64) {
        let known = self.issued.get(&node).filter(|(own, _)| *own == nonce);
        let known = known.map(|(_, id)| *id);
        let id = known.unwrap_or_else(|| {
            let boots = self.accounts.keys().filter(|id| id.node == node).count();
            let boot = u32::try_from(boots).unwrap_or(u32::MAX);
            Id { node, boot }
        });
        let account = self
            .accounts
            .entry(id)
            .or_insert_with(|| Account::new(Rc::default(), now));
        if account.is_fenced {
            self.issued.remove(&node);
            return;
        }
        account.heard_at = now;
        self.issued.insert(node, (nonce, id));
        self.say(node, Word::Registered { id, nonce, at });
    }

    /// Takes what was sent to somebody who is fenced.
    fn receive(&mut self, from: Id, to: Id, flow: Flow) {
        if let Some(account) = self.accounts.get_mut(&to) {
            let book = Rc::make_mut(&mut account.book);
            if let Some(fresh) = book.credit(from, flow) {
                book.held -= fresh.supply;
                self.own.held = self.own.held.saturating_add(fresh.supply);
                self.own.got.entry(to).or_default().add(fresh.supply);
                book.sent.entry(self.me).or_default().add(fresh.supply);
            }
        }
    }

    fn note(&mut self, from: Id, to: Id, supply: u64) {
        let got = if from == self.me {
            Some(&mut self.own_got)
        } else {
            self.accounts.get_mut(&from).map(|own| &mut own.got)
        };
        if let Some(got) = got {
            let known = got.entry(to).or_default();
            *known = supply.max(*known);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: u64) {
        if now < self.tick_at {
            return;
        }
        self.tick_at = now + self.rules.setting.round_us;
        let patience = match self.rules.plant {
            Some(Plant::InheritEarly) => self.rules.lease_us / 4,
            _ => self.rules.its_lease(),
        };
        let silent = |account: &Account| !account.is_fenced && account.heard_at + patience < now;
        let silent: Vec<Id> = self
            .accounts
            .iter()
            .filter(|(_, account)| silent(account))
            .map(|(id, _)| *id)
            .collect();
        for id in silent {
            self.fence(id);
        }
        self.resend();
        self.pass_on(now);
    }

    fn fence(&mut self, id: Id) {
        let me = self.me;
        if let Some(account) = self.accounts.get_mut(&id) {
            account.is_fenced = true;
            let book = Rc::make_mut(&mut account.book);
            let held = std::mem::take(&mut book.held);
            book.sent.entry(me).or_default().add(held);
            self.own.held = self.own.held.saturating_add(held);
            self.own.got.entry(id).or_default().add(held);
            self.left = id.node;
        }
    }

    /// Sends what fenced incarnations and the service itself have sent and nobody confirmed; what was sent to the
    /// fenced comes back at once, in whichever order giver and taker were fenced.
    fn resend(&mut self) {
        let me = self.me;
        let open = |from: Id, book: &Book, got: &BTreeMap<Id, u64>| -> Vec<(Id, Id, Flow)> {
            let missing =
                |to: &Id, flow: &Flow| *to != me && got.get(to).copied().unwrap_or(0) < flow.supply;
            let sent = book.sent.iter().filter(|(to, flow)| missing(to, flow));
            sent.map(|(to, flow)| (from, *to, *flow)).collect()
        };
        let mut all = open(me, &self.own, &self.own_got);
        for (id, account) in self.accounts.iter().filter(|(_, own)| own.is_fenced) {
            all.extend(open(*id, &account.book, &account.got));
        }
        for (from, to, flow) in all {
            let is_fenced = self.accounts.get(&to).is_some_and(|own| own.is_fenced);
            if is_fenced && from != me && self.rules.plant == Some(Plant::ForgetFenced) {
                continue;
            }
            if is_fenced {
                self.receive(from, to, flow);
                self.note(from, to, flow.supply);
            } else {
                self.say(to.node, Word::Grant { from, to, flow });
            }
        }
    }

    /// Gives what is left to the buddy: the next node that was heard lately.
    fn pass_on(&mut self, now: u64) {
        if self.own.held == 0 {
            return;
        }
        let recent = 2 * self.rules.setting.round_us;
        let nodes = self.rules.setting.nodes;
        let alive: BTreeSet<Id> = self
            .accounts
            .iter()
            .filter(|(_, own)| !own.is_fenced && own.heard_at + recent >= now)
            .map(|(id, _)| *id)
            .collect();
        let after = |id: &&Id| (id.node + nodes - self.left - 1) % nodes;
        if let Some(&buddy) = alive.iter().min_by_key(after) {
            let all = self.own.held;
            self.own.give(buddy, all, 0);
        }
    }

    pub(super) fn poll_timeout(&self) -> u64 {
        self.tick_at
    }

    pub(super) fn poll_send(&mut self) -> Option<(u16, Word)> {
        self.outbox.pop_front()
    }

    fn say(&mut self, to: u16, word: Word) {
        self.outbox.push_back((to, word));
    }
}

impl Account {
    fn new(book: Rc<Book>, now: u64) -> Self {
        Self {
            book,
            is_fenced: false,
            heard_at: now,
            got: BTreeMap::new(),
        }
    }
}
