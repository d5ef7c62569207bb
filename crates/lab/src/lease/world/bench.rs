//! Those who judge a run, and what they are told.
//!
//! Not here: their arithmetic.

use super::outcome::LeaseTally;
use super::plot::Plot;
use crate::lease::check::{LabReferenceBucket, Replay};

pub(super) struct Bench {
    pub(super) ghost: LabReferenceBucket,
    pub(super) central: LabReferenceBucket,
    pub(super) replay: Replay,
    /// The central bucket of the window, from its beginning on.
    pub(super) fair: Option<LabReferenceBucket>,
    pub(super) tally: LeaseTally,
    pub(super) window: (u64, u64),
    pub(super) records: usize,
    /// Sum of what was idle at all looks.
    pub(super) idle: i128,
    pub(super) slots: Vec<(u32, u32)>,
    pub(super) hash: u64,
}

impl Bench {
    pub(super) fn charge(&mut self, cost: u64, time: u64) {
        self.tally.charged += cost;
        self.ghost.charge(cost, time);
        self.replay.admit(cost, time);
    }

    pub(super) fn count(&mut self, plot: &Plot, now: u64, is_ours: bool) {
        if is_ours {
            self.tally.admitted += 1;
            self.window.0 += u64::from(self.fair.is_some());
        } else {
            self.tally.central += 1;
        }
        let slot = now.checked_div(plot.setting.slot_ns);
        let slot = slot.and_then(|slot| self.slots.get_mut(usize::try_from(slot).ok()?));
        if let Some(slot) = slot {
            slot.0 += u32::from(is_ours);
            slot.1 += u32::from(!is_ours);
        }
    }
}
