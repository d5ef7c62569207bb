//! Designs that are simulated only: baselines, and what a paper proposes.
//!
//! They run in the place of the daemon's gossip, behind the same boundary. Not here: what contracts can name.

mod alone;
mod counter;
mod design;
mod queue;
mod rounds;

use std::sync::Arc;

use tollgate_limit::Span;
use tollgate_mode::ModeKind;

pub use self::design::{PaperPart, PaperSetup};

use self::design::{PaperDesign, PaperMode};
use crate::contender::Contender;
use crate::world::Cluster;

/// What frequency analysis goes by (`queue+freq`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// Elements that are looked at; by default a node's share of the burst.
    pub window: Option<u64>,
    /// A mean gap below this is sent at once.
    pub threshold: Span,
}

impl Default for Frequency {
    fn default() -> Self {
        Self {
            window: None,
            threshold: Span::from_nanos(2_400_000_000),
        }
    }
}

/// The mode of a contender that contracts cannot name.
pub(crate) fn mode(contender: Contender, cluster: &Cluster) -> Option<Arc<dyn ModeKind>> {
    if matches!(contender, Contender::Links | Contender::Sync) {
        return None;
    }
    Some(Arc::new(PaperMode {
        contender,
        frequency: cluster.frequency,
        bucket: cluster.bucket,
        interval: cluster.knobs.interval,
    }))
}

/// A node's part in what is put to the test.
fn design(contender: Contender, frequency: Frequency, setup: &PaperSetup) -> Box<dyn PaperDesign> {
    let queue = |freq: bool, linf| queue::build(setup, freq.then_some(frequency), linf);
    match contender {
        Contender::Counter => counter::build(setup, false),
        Contender::CounterFixed => counter::build(setup, true),
        Contender::Queue => queue(false, false),
        Contender::QueueLinf => queue(false, true),
        Contender::QueueFreq => queue(true, false),
        Contender::QueueFreqLinf => queue(true, true),
        _ => alone::build(setup),
    }
}
