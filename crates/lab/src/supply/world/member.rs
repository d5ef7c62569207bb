//! What the world asks of a design: nodes that are driven by requests, messages and time, and say what they hold.
//!
//! Not here: the designs.

use tollgate_sim::Clock;

/// One node of a design, or a service it leans on. Times are those of its own clock, in microseconds.
pub(crate) trait Member {
    /// What members say to each other.
    type Message: Clone;

    /// Whether a request is admitted.
    fn handle_request(&mut self, now: u64) -> bool;
    /// Something arrived.
    fn handle_message(&mut self, from: u16, message: &Self::Message, now: u64);
    /// Time has passed; early calls do nothing.
    fn handle_timeout(&mut self, now: u64);
    /// Who is in the cluster, as an operator has it: crashes and cuts are not told.
    fn handle_members(&mut self, _members: &[u16], _now: u64) {}
    /// The node is asked to go; what it sends now still leaves.
    fn handle_goodbye(&mut self, _now: u64) {}
    /// When it wants to be woken.
    fn poll_timeout(&self) -> Option<u64>;
    /// The next message to send, and to whom.
    fn poll_send(&mut self) -> Option<(u16, Self::Message)>;
    /// The supply it would spend from at this moment, in thousand-millionths of a request per second, which is as fine
    /// as any design counts.
    fn usable(&self, now: u64) -> i128;
}

/// A design: starts its members, and knows what its books must say.
pub(crate) trait Fleet {
    /// Its members.
    type Member: Member;

    /// Services it leans on; their addresses follow those of the nodes.
    fn services(&self) -> u16 {
        0
    }
    /// Starts a member.
    fn boot(&self, seat: &Seat) -> Self::Member;
    /// How many entries of all books together are wrong; the time is the world's.
    fn wrong(&self, _members: &[Body<Self::Member>], _now: u64) -> u64 {
        0
    }
}

/// Where and when a member starts.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    /// Its address.
    pub(crate) node: u16,
    /// How often it has been started before.
    pub(crate) boot: u32,
    /// Who is in the cluster.
    pub(crate) members: Vec<u16>,
    /// Decides its own choices.
    pub(crate) seed: u64,
    /// What its clock shows.
    pub(crate) now: u64,
}

/// A member and its surroundings.
#[derive(Debug)]
pub(crate) struct Body<M> {
    /// The member, while it runs.
    pub(crate) member: Option<M>,
    pub(crate) clock: Clock,
    pub(super) boots: u32,
    pub(super) is_member: bool,
}

impl<M> Body<M> {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            member: None,
            clock,
            boots: 0,
            is_member: false,
        }
    }
}
