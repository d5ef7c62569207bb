//! What an incarnation has, has given and has got, and what members of the ledger design say to each other.
//!
//! Not here: when it is said.

use std::collections::BTreeMap;
use std::rc::Rc;

/// One incarnation of a node; the service issues them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) node: u16,
    pub(crate) boot: u32,
}

/// Supply and the tokens that go with it, since the beginning; neither ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) supply: u64,
    pub(crate) tokens: u64,
}

impl Flow {
    pub(crate) fn add(&mut self, supply: u64) {
        self.supply = self.supply.saturating_add(supply);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    pub(crate) held: u64,
    pub(crate) sent: BTreeMap<Id, Flow>,
    pub(crate) got: BTreeMap<Id, Flow>,
    pub(crate) version: u64,
}

impl Book {
    pub(crate) fn give(&mut self, to: Id, amount: u64, tokens: u64) {
        let sent = self.sent.entry(to).or_default();
        sent.supply = sent.supply.saturating_add(amount);
        sent.tokens = sent.tokens.saturating_add(tokens);
        self.held -= amount;
        self.version += 1;
    }

    /// Takes what is new of a flow; returns it.
    pub(crate) fn credit(&mut self, from: Id, flow: Flow) -> Option<Flow> {
        let got = self.got.entry(from).or_default();
        if flow.supply <= got.supply {
            return None;
        }
        let fresh = Flow {
            supply: flow.supply - got.supply,
            tokens: flow.tokens.saturating_sub(got.tokens),
        };
        *got = flow;
        self.held = self.held.saturating_add(fresh.supply);
        self.version += 1;
        Some(fresh)
    }

    /// What it stands for: what it has and what it has sent, less what it got. All books together are the limit.
    pub(crate) fn balance(&self) -> i128 {
        let all = |flows: &BTreeMap<Id, Flow>| -> i128 {
            flows.values().map(|flow| i128::from(flow.supply)).sum()
        };
        i128::from(self.held) + all(&self.sent) - all(&self.got)
    }
}

/// What members say to each other. Times are the sender's.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Probe { number: u64 },
    Reply { number: u64, offer: Offer },
    Ask { asker: Offer, want: u64 },
    Grant { from: Id, to: Id, flow: Flow },
    Got { from: Id, to: Id, supply: u64 },
    Journal { id: Id, book: Rc<Book>, at: u64 },
    Stored { id: Id, version: u64, at: u64 },
    Fenced { id: Id },
    Register { nonce: u64, at: u64 },
    Registered { id: Id, nonce: u64, at: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) id: Id,
    pub(crate) supply: u64,
    pub(crate) weight: u64,
}
