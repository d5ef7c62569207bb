//! Contenders by name, and which of them are usual.
//!
//! Not here: what they do.

use tollgate_gossip::{Kind, UnknownKind};

use crate::world::{Contender, Lent};

impl Contender {
    /// Every contender that counts by itself or together with others, the central bucket first.
    pub fn all() -> Vec<Self> {
        let designs = Kind::ALL.into_iter().map(Self::Design);
        std::iter::once(Self::Central).chain(designs).collect()
    }

    /// The name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Design(kind) => kind.name(),
            Self::Lent(lent) => lent.name(),
        }
    }

    /// The contender of that name.
    pub fn named(name: &str) -> Result<Self, UnknownKind> {
        if name == Self::Central.name() {
            return Ok(Self::Central);
        }
        let lent = Lent::ALL.into_iter().find(|lent| lent.name() == name);
        lent.map_or_else(
            || name.parse().map(Self::Design),
            |lent| Ok(Self::Lent(lent)),
        )
    }
}

pub(super) const COUNTER: Contender = Contender::Design(Kind::Counter);
pub(super) const FIXED: Contender = Contender::Design(Kind::CounterFixed);
pub(super) const QUEUE: Contender = queue(false, false);
pub(super) const LINF: Contender = queue(false, true);
pub(super) const FREQ: Contender = queue(true, false);
pub(super) const BOTH: Contender = queue(true, true);
pub(super) const SEGMENTS: Contender = Contender::Design(Kind::Segments);
pub(super) const HOME: Contender = Contender::Design(Kind::Home);
pub(super) const AUTO: Contender = Contender::Design(Kind::Auto);

const fn queue(freq: bool, linf: bool) -> Contender {
    Contender::Design(Kind::Queue { freq, linf })
}
