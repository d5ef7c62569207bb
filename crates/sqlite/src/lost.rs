//! Files that were lost under this process: how many, and the last of them, for readiness and metrics.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Files that were lost.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// How many.
    pub count: u64,
    /// What became of the last, where that was less than a minute ago.
    pub lately: Option<String>,
}

static LOST: Mutex<(u64, Option<(Instant, String)>)> = Mutex::new((0, None));

/// Files of this process that were lost: removed, or replaced by another, while they were open.
pub fn losses() -> Losses {
    let known = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    let lately = known.1.as_ref().filter(|(at, _)| at.elapsed() < LATELY);
    Losses {
        count: known.0,
        lately: lately.map(|(_, what)| what.clone()),
    }
}

pub(crate) fn note(what: String) {
    tracing::warn!("{what}");
    let mut known = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    *known = (known.0 + 1, Some((Instant::now(), what)));
}

/// As long as it is told.
const LATELY: Duration = Duration::from_mins(1);
