//! What is asked of a design besides carrying its messages: requests, who is there, and what its nodes hold.
//!
//! Not here: the designs.

use crate::nodes::{Member, Net};

/// One node of a design, or a service it leans on. Times are those of its own clock, in microseconds.
pub(crate) trait Sharer: Member {
    fn handle_request(&mut self, now: u64) -> bool;
    /// Who is in the cluster, as an operator has it: crashes and cuts are not told.
    fn handle_members(&mut self, _members: &[u16], _now: u64) {}
    /// The node is asked to go; what it sends now still leaves.
    fn handle_goodbye(&mut self, _now: u64) {}
    /// The supply it would spend from at this moment, in thousand-millionths of a request per second, which is as fine
    /// as any design counts.
    fn usable(&self, now: u64) -> i128;
}

/// Members by address; those of services follow those of the nodes.
pub(crate) type Passed<F> = Net<Option<<F as Fleet>::Member>>;

/// A design: starts its members, and knows what its books must say.
pub(crate) trait Fleet: Sized {
    type Member: Sharer;

    /// Services it leans on.
    fn services(&self) -> u16 {
        0
    }
    fn boot(&self, seat: &MemberStart) -> Self::Member;
    /// For how many microseconds a node that is asked to go still runs.
    fn goes_after(&self) -> u64 {
        0
    }
    /// How many entries of all books together are wrong.
    fn wrong(&self, _net: &Passed<Self>) -> u64 {
        0
    }
    /// What the books of all members say together.
    fn audit(&self, net: &Passed<Self>) -> Audited {
        Audited {
            wrong: self.wrong(net),
            usable: None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Audited {
    /// How many entries are wrong.
    pub(crate) wrong: u64,
    /// What each member that runs would spend from, where that is in the books too.
    pub(crate) usable: Option<Vec<i128>>,
}

#[derive(Clone, Debug)]
pub(crate) struct MemberStart {
    pub(crate) node: u16,
    /// How often it has been started before.
    pub(crate) boot: u32,
    /// Who is in the cluster.
    pub(crate) members: Vec<u16>,
    /// Decides its own choices.
    pub(crate) seed: u64,
    pub(crate) now: u64,
}
