//! Which shapes this process has written down, and when: again from time to time, lest somebody emptied the database.

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
        // Those of contracts that are gone.
        shapes.retain(|_, at| at.elapsed() < 2 * AGAIN_AFTER);
        shapes.insert(id, Instant::now());
    }
}
