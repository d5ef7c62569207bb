//! Two nodes, however they run: what they are asked, and what they answer.
//!
//! Not here: either way to run them.

use tollgate_contract::{Coordination, Feature};

/// A key: entries and values.
pub(crate) type PairKey<'a> = [(&'a str, &'a str)];

/// What a node is asked to do to a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PairAct<'a> {
    Check(u64),
    CheckOnce(&'a str, u64),
    Reserve(&'a str, u64),
    Commit(&'a str, u64),
    Cancel(&'a str),
    /// The check before, at what it cost in the end.
    Settle(u64),
    Charge(u64),
    ChargeOnce(&'a str, u64),
    Refund(u64),
    RefundOnce(&'a str, u64),
    Reset,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairAnswer {
    /// Whether it passed, or was done.
    pub(crate) is_done: bool,
    pub(crate) wait_ms: u64,
}

/// How a policy stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) policy: String,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) debt: u64,
}

/// What a policy would say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreseen {
    pub(crate) is_enforced: bool,
    pub(crate) is_allowed: bool,
}

/// Two nodes.
pub(crate) trait Pair {
    /// What they are called where something is wrong.
    fn what(&self) -> &'static str;

    /// Whether they can be asked for a feature.
    fn can(&self, feature: Feature) -> bool;

    /// Whether each knows of every token that the other admitted.
    fn shares(&self, mode: Coordination) -> bool;

    /// Whether the other admits nothing more of a key that one has used up.
    fn ends(&self, mode: Coordination) -> bool {
        mode == Coordination::Gossip || self.shares(mode)
    }

    /// Does something at a node.
    fn act(&mut self, node: usize, key: &PairKey<'_>, act: PairAct<'_>) -> PairAnswer;

    /// How the policies of a key stand, as a node sees it.
    fn stands(&mut self, node: usize, key: &PairKey<'_>) -> Vec<Stand>;

    /// What the policies of a key would say.
    fn foresees(&mut self, node: usize, key: &PairKey<'_>, cost: u64) -> Vec<Foreseen>;

    /// Lets a moment pass, so that nodes hear of each other.
    fn pass(&mut self);

    /// Has both count by another contract of that id.
    fn change(&mut self, id: &str, contract: &str);

    /// Gives a user other terms.
    fn assign(&mut self, assignment: &str);

    /// Ends a node as it should, and starts it again by what it kept.
    fn restart(&mut self, node: usize);
}
