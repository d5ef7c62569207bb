//! Shapes that this process has stored, and when: stored again at intervals, as the database may have been flushed.

use core::time::Duration;
use std::collections::BTreeMap;

use parking_lot::RwLock;
use tokio::time::Instant;

const AGAIN_AFTER: Duration = Duration::from_mins(1);

#[derive(Default)]
pub(crate) struct Shapes(RwLock<BTreeMap<u64, Instant>>);

impl Shapes {
    pub(crate) fn is_due(&self, id: u64) -> bool {
        let shapes = self.0.read();
        shapes.get(&id).is_none_or(|at| at.elapsed() > AGAIN_AFTER)
    }

    pub(crate) fn written(&self, id: u64) {
        let mut shapes = self.0.write();
        // Drops those of removed contracts.
        shapes.retain(|_, at| at.elapsed() < 2 * AGAIN_AFTER);
        shapes.insert(id, Instant::now());
    }
}
