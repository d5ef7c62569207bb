//! What can be wrong with a run.
//!
//! Not here: when it is wrong, which the promises say.

use std::fmt;

use crate::world::KeyProbe;

/// Something that should not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nodes sent frames that their receivers could not read.
    Unread(u64),
    /// Frames came from nowhere, or went nowhere.
    Unbalanced {
        /// Sent by nodes, or copied by the network.
        made: u64,
        /// Arrived or lost.
        gone: u64,
    },
    /// Long after the last request nodes still had something to say.
    NeverQuiet,
    /// Requests were rejected although everything admitted left room for them.
    FalseRejections(u64),
    /// The answers are not the central bucket's.
    NotExact {
        /// Admitted beyond it.
        over: u64,
        /// Rejected beyond it.
        under: u64,
    },
    /// After all was said, a node is further from the truth than its silent neighbours explain.
    Astray(KeyProbe),
    /// After all was said, nodes that exchanged everything answer differently.
    Apart(KeyProbe),
    /// Bytes of state that outlived everything they were about.
    Kept(u64),
}

impl Finding {
    /// Whether nodes differ by more than rounding.
    pub(crate) fn is_apart(probe: &KeyProbe) -> bool {
        probe.most > probe.least.saturating_add(1)
    }

    /// Whether a node believes more left than what its neighbours may keep to themselves explains, or less than there
    /// is.
    ///
    /// Neighbours keep at most about what the node believes is left, rounded; so near exhaustion all must be close to
    /// the truth.
    pub(crate) fn is_astray(probe: &KeyProbe) -> bool {
        let KeyProbe {
            truth, least, most, ..
        } = *probe;
        let unknown = most.saturating_sub(truth);
        least.saturating_add(1) < truth || unknown > most.max(0).saturating_mul(2).saturating_add(2)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(frames) => write!(f, "{frames} frames could not be read"),
            Self::Unbalanced { made, gone } => {
                write!(
                    f,
                    "{made} frames were sent or copied, {gone} arrived or were lost"
                )
            }
            Self::NeverQuiet => f.write_str("the nodes never fell quiet"),
            Self::FalseRejections(count) => {
                write!(f, "{count} requests were rejected although there was room")
            }
            Self::NotExact { over, under } => {
                write!(f, "{over} too many were admitted, {under} too few")
            }
            Self::Astray(probe) => write!(
                f,
                "{:?}: {} tokens are left, nodes believe in {} to {}",
                probe.key, probe.truth, probe.least, probe.most
            ),
            Self::Apart(probe) => write!(
                f,
                "{:?}: nodes that told each other all believe in {} to {} tokens",
                probe.key, probe.least, probe.most
            ),
            Self::Kept(bytes) => write!(f, "{bytes} bytes were never forgotten"),
        }
    }
}
