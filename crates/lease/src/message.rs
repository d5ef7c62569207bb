//! What clients and grantors say to each other: one question, one answer, one hint.
//!
//! A client has at most one question per key out and says in each all that it holds, so that there is no log of
//! transfers to keep. When a question was first sent is remembered by the client, and not in it. Not here: the bytes.

use tollgate_gossip::ModeKey;
use tollgate_limit::Span;

/// A grant by name: the grantor's generation and the question it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Grows with every grantor of the key.
    pub generation: u64,
    /// The question's number; zero names no grant.
    pub seq: u64,
}

/// Requests that wait for the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// What each costs.
    pub cost: u64,
    /// How many there are.
    pub count: u64,
}

/// From a client: what it holds, and what it wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Who asks.
    pub client: u64,
    /// Which incarnation of it; grows.
    pub boot: u64,
    /// What is limited.
    pub key: ModeKey,
    /// Grows with every question of a boot.
    pub seq: u64,
    /// The last grant that was applied.
    pub got: Stamp,
    /// The session, by the number that it was opened under.
    pub session: Stamp,
    /// Rate it holds, in mites per nanosecond.
    pub rate: i128,
    /// Level that it will not exceed until it is answered.
    pub cap: i128,
    /// Its level.
    pub have: i128,
    /// What it returned so far in this session.
    pub give: i128,
    /// Its demand in thousandths of a token per second; zero where it wishes no lease.
    pub want: u64,
    /// Requests that wait.
    pub need: Need,
    /// Tokens asked for since its last message.
    pub seen: u64,
    /// Tokens that were spent beyond what it held.
    pub charge: u64,
    /// Whether an answer is wished; otherwise it only tells.
    pub is_ask: bool,
}

/// Requests that pass one after the other, each after a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many there are.
    pub count: u64,
    /// After which time the first passes.
    pub first_ns: u64,
    /// How long after the one before each other passes.
    pub gap_ns: u64,
}

impl Waits {
    /// So many that pass at once.
    pub const fn none(count: u64) -> Self {
        Self {
            count,
            first_ns: 0,
            gap_ns: 0,
        }
    }

    /// The wait of each, the shortest first.
    pub fn each(self) -> impl Iterator<Item = Span> {
        let wait = move |place: u64| {
            let nanos = u128::from(self.first_ns) + u128::from(place) * u128::from(self.gap_ns);
            Span::from_nanos(nanos)
        };
        (0..self.count).map(wait)
    }

    /// After which time the last passes.
    pub(crate) const fn last_ns(&self) -> u64 {
        let behind = self.count.saturating_sub(1).saturating_mul(self.gap_ns);
        self.first_ns.saturating_add(behind)
    }
}

/// The answer to a question that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who asked.
    pub client: u64,
    /// The question's.
    pub boot: u64,
    /// The question's.
    pub key: ModeKey,
    /// The question's number and the grantor's generation.
    pub stamp: Stamp,
    /// The session from here on.
    pub session: Stamp,
    /// Waiting requests that pass, decided at the grantor.
    pub served: u64,
    /// Those behind them that pass after a wait, counted from the answer.
    pub waits: Waits,
    /// Tokens lent at once.
    pub tokens: i128,
    /// Rate lent.
    pub rate: i128,
    /// Depth lent; zero where there is no lease.
    pub depth: i128,
    /// For how long, counted from the first sending of the question.
    pub term_ns: u64,
    /// How long the client refuses by itself when it is dry.
    pub deny_ns: u64,
}

impl Grant {
    /// The waits of all that pass, decided at the grantor.
    pub const fn passes(&self) -> [Waits; 2] {
        [Waits::none(self.served), self.waits]
    }
}

/// From a grantor: speak now. May be lost, doubled or forged without harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nudge {
    /// To whom.
    pub client: u64,
    /// Of what.
    pub key: ModeKey,
}

/// Any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseMessage {
    /// What a client says.
    Question(Question),
    /// What a grantor answers.
    Grant(Grant),
    /// What a grantor hints.
    Nudge(Nudge),
}
