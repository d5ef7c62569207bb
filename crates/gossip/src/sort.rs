//! What a frame is for, for whoever counts them.
//!
//! Not here: what it says.

use crate::kind::Kind;
use crate::{home, rounds, talk};

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Tells what was admitted.
    Publication,
    /// Asks for what did not come.
    Pull,
    /// Compares what is known.
    Digest,
    /// A copy of what is unpublished, for the day a node is restarted.
    Copy,
    /// Asks for, or brings, what a newcomer or whoever lacks something should know.
    Memory,
}

impl Sort {
    /// What a frame of that design is for. Windows speak as `segments`.
    pub fn of(kind: Kind, frame: &[u8]) -> Self {
        let number = frame.first().map_or(0, |first| first & 0x0f);
        match kind {
            Kind::Segments | Kind::Auto => talk::sort(number),
            Kind::Home => home::sort(number),
            Kind::Counter | Kind::CounterFixed | Kind::Queue { .. } => rounds::sort(number),
            Kind::Local => Self::Publication,
        }
    }
}
