//! Permanent transfers with a ledger: a service writes down every give before it is sent and every credit before it is
//! confirmed.
//!
//! Cumulative flows make loss, copies and disorder harmless. In the lab only, to be compared with. Not here: loans.

mod asker;
mod book;
mod node;
mod plant;
mod service;

use std::rc::Rc;

use super::purse::fine;
use crate::nodes::Member;
use crate::supply::stage::{Fleet, MemberStart, Passed, Sharer, SupplySetting};
use book::{Book, Id, Word};
use node::LedgerNode;
pub(crate) use plant::Plant;
use service::{Account, Service};

#[derive(Clone, Debug)]
pub(crate) struct LedgerDesign {
    pub(crate) setting: SupplySetting,
    /// A node that the service has not answered for so long admits nothing.
    pub(crate) lease_us: u64,
    pub(crate) plant: Option<Plant>,
}

impl LedgerDesign {
    /// How long a node counts on its lease.
    fn own_lease(&self) -> u64 {
        self.lease_us - self.drift(2)
    }

    /// How long the service does.
    fn its_lease(&self) -> u64 {
        self.lease_us + self.drift(4)
    }

    fn drift(&self, times: u64) -> u64 {
        (self.lease_us * self.setting.drift * times).div_ceil(1_000_000)
    }
}

#[derive(Debug)]
pub(crate) enum LedgerMember {
    Node(Box<LedgerNode>),
    Service(Box<Service>),
}

impl Fleet for LedgerDesign {
    type Member = LedgerMember;

    fn services(&self) -> u16 {
        1
    }

    fn boot(&self, seat: &MemberStart) -> LedgerMember {
        let rules = Rc::new(self.clone());
        if seat.node == self.setting.nodes {
            LedgerMember::Service(Box::new(Service::new(rules, seat)))
        } else {
            LedgerMember::Node(Box::new(LedgerNode::new(rules, seat)))
        }
    }

    /// All books together must be the limit, and nothing may be confirmed that a crash of the receiver would undo.
    fn wrong(&self, net: &Passed<Self>) -> u64 {
        let members = &net.nodes;
        let service = members.iter().find_map(|member| match member {
            Some(LedgerMember::Service(service)) => Some(service),
            _ => None,
        });
        let Some(service) = service else {
            return 1;
        };
        // In the order of their ids.
        let books: Vec<(Id, &Book)> = service
            .accounts()
            .iter()
            .map(|(id, account)| (*id, live(members, *id, account).unwrap_or(&account.book)))
            .collect();
        let sum: i128 = books.iter().map(|(_, book)| book.balance()).sum();
        let balance = sum + service.own.balance();
        let has = |from: Id, to: Id, supply: u64| {
            let place = books.binary_search_by_key(&to, |(id, _)| *id);
            let book = place.ok().and_then(|place| books.get(place));
            let got = book.and_then(|(_, book)| book.got.get(&from));
            got.map_or(0, |flow| flow.supply) >= supply
        };
        let nodes = members.iter().filter_map(|member| match member {
            Some(LedgerMember::Node(node)) => Some(node),
            _ => None,
        });
        let missing = nodes
            .flat_map(|node| node.confirmed())
            .chain(service.confirmed())
            .filter(|&(from, to, supply)| !has(from, to, supply))
            .count() as u64;
        u64::from(balance != i128::from(self.setting.rate)) + missing
    }
}

/// The book of an incarnation that runs and is not fenced: its own counts, of any other the service's copy.
fn live<'a>(members: &'a [Option<LedgerMember>], id: Id, account: &Account) -> Option<&'a Book> {
    let Some(LedgerMember::Node(node)) = members.get(usize::from(id.node))? else {
        return None;
    };
    (node.id == Some(id) && !account.is_fenced).then_some(&node.book)
}

impl Member for LedgerMember {
    type Message = Word;

    fn handle_message(&mut self, from: u16, message: &Word, now: u64) {
        match self {
            Self::Node(node) => node.handle_word(from, message, now),
            Self::Service(service) => service.handle_word(from, message, now),
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        match self {
            Self::Node(node) => node.handle_timeout(now),
            Self::Service(service) => service.handle_timeout(now),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        Some(match self {
            Self::Node(node) => node.poll_timeout(),
            Self::Service(service) => service.poll_timeout(),
        })
    }

    fn poll_send(&mut self) -> Option<(u16, Word)> {
        match self {
            Self::Node(node) => node.poll_send(),
            Self::Service(service) => service.poll_send(),
        }
    }
}

impl Sharer for LedgerMember {
    fn handle_request(&mut self, now: u64) -> bool {
        match self {
            Self::Node(node) => node.handle_request(now),
            Self::Service(_) => false,
        }
    }

    fn handle_members(&mut self, members: &[u16], _now: u64) {
        match self {
            Self::Node(node) => node.handle_members(members),
            Self::Service(_) => {}
        }
    }

    fn usable(&self, now: u64) -> i128 {
        match self {
            Self::Node(node) => fine(node.usable(now).cast_signed()),
            Self::Service(_) => 0,
        }
    }
}
