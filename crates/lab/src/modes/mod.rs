//! Designs that are simulated only: baselines, and what a paper proposes.
//!
//! They run in the place of the daemon's own designs, behind the same boundary. What only a daemon needs of a design
//! they have not: nothing is kept for a restart, a newcomer asks nobody, and no key makes room for another. Not here:
//! the designs that contracts can name, which are in `tollgate-gossip`.

mod alone;
mod counter;
mod queue;
mod rounds;

use std::sync::Arc;

use tollgate_gossip::{CustomDesign, Design, Gossip, Knobs, Setup};
use tollgate_limit::Span;

use crate::contender::Contender;

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
pub(crate) fn mode(contender: Contender, frequency: Frequency, knobs: &Knobs) -> Option<Gossip> {
    let is_named = matches!(contender, Contender::Links | Contender::Sync);
    if contender.kind().is_some() || is_named {
        return None;
    }
    Some(Gossip {
        knobs: knobs.clone(),
        custom: Some(CustomDesign {
            name: contender.name(),
            begin: Arc::new(move |setup| design(contender, frequency, setup)),
        }),
    })
}

/// A node's part in what is put to the test.
pub fn design(contender: Contender, frequency: Frequency, setup: &Setup) -> Box<dyn Design> {
    let queue = |freq: bool, linf| queue::build(setup, freq.then_some(frequency), linf);
    match contender {
        Contender::Counter => counter::build(setup, false),
        Contender::CounterFixed => counter::build(setup, true),
        Contender::Queue => queue(false, false),
        Contender::QueueLinf => queue(false, true),
        Contender::QueueFreq => queue(true, false),
        Contender::QueueFreqLinf => queue(true, true),
        _ => match contender.kind() {
            Some(kind) => kind.build(setup),
            None => alone::build(setup),
        },
    }
}
