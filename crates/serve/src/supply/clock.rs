//! The clock of terms, the number of a start, and the log of admissions.
//!
//! The clock of the engine follows the time of day, which can be set; this one is monotonic, also while the machine
//! sleeps, and is common to all processes of a machine.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use tollgate_limit::Instant;
use tollgate_node::{DividedAdmission, DivisionJournal};

/// The time since the machine was started, its sleep included.
pub fn steady_now() -> Instant {
    #[cfg(target_os = "linux")]
    let time = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(NANOS).saturating_add(nanos))
}

/// A number that grows from start to start, as far as the time of day does.
pub(crate) fn boot() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// Writes every admission to a file before it is answered: `steady-ns key cost wait-ns`, a line each.
pub(super) fn journal(folder: &Path, name: &str, boot: u64) -> io::Result<DivisionJournal> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let safe: String = name
        .chars()
        .map(|letter| if letter == '/' { '_' } else { letter })
        .collect();
    let path = folder.join(format!("{safe}.{boot}.log"));
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(path)?;
    Ok(Arc::new(move |admitted: &DividedAdmission| {
        let DividedAdmission {
            tag,
            key,
            cost,
            at,
            wait,
        } = admitted;
        let (at, wait) = (at.as_nanos(), wait.as_nanos());
        let line = format!("{at} {tag:016x}{:032x} {cost} {wait}\n", key.0);
        // One write, so that a killed process has logged all it admitted. A checker notices missing lines.
        let _ = (&file).write_all(line.as_bytes());
    }))
}

const NANOS: u64 = 1_000_000_000;
