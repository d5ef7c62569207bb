//! What every node of a world enforces: a bucket in one of the designs, or a window.
//!
//! Not here: what it does, which is the daemon's own machine.

use tollgate_gossip::{Machine, Setup, Window, WindowReplica};

use crate::contender::Contender;
use crate::modes::{self, Frequency};

/// What every node of a world enforces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit<'a> {
    /// The cluster's bucket, in that design.
    Bucket(Contender),
    Window(&'a Window),
}

impl Limit<'_> {
    /// A node that has just started.
    pub(crate) fn boot(self, frequency: Frequency, setup: &Setup) -> Box<dyn Machine> {
        match self {
            Self::Bucket(design) => modes::machine(design, frequency, setup),
            Self::Window(window) => Box::new(WindowReplica::new(window.clone(), setup)),
        }
    }
}
