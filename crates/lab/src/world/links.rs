//! What faults make of the links between nodes.
//!
//! Not here: what becomes of a frame on them.

use tollgate_limit::Span;
use tollgate_sim::{Conditions, Links};

use crate::dice::{self, LabDice};
use crate::world::fault::WorldFault;

/// The links that `faults` describe. Delays and odds of several add up; times count from `start`.
pub(crate) fn links(faults: &[WorldFault], seed: u64, start: u64) -> Links<LabDice> {
    let mut weather = Conditions::default();
    let mut links = dice::links(weather, seed);
    for fault in faults {
        match fault {
            WorldFault::Delay { base, jitter } => {
                weather.delay_min = weather.delay_min.saturating_add(nanos(*base));
                let most = nanos(*base).saturating_add(nanos(*jitter));
                weather.delay_max = weather.delay_max.saturating_add(most);
            }
            WorldFault::Loss(odds) => weather.loss = weather.loss.saturating_add(*odds),
            WorldFault::Duplication(odds) => weather.copies = weather.copies.saturating_add(*odds),
            WorldFault::Cut {
                from,
                to,
                at,
                lasting,
            } => {
                let begins = start.saturating_add(nanos(*at));
                links.cut(from, to, begins..begins.saturating_add(nanos(*lasting)));
            }
            WorldFault::Skew(_)
            | WorldFault::Jump { .. }
            | WorldFault::Crash { .. }
            | WorldFault::Join { .. }
            | WorldFault::Leave { .. } => {}
        }
    }
    links.weather = weather;
    links
}

/// A span in nanoseconds, as long as a virtual clock can show.
pub(crate) fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
