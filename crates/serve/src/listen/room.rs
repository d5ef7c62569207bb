//! How many connections the system has descriptors for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on descriptors as far as is allowed; returns how many of the requested connections fit.
pub(crate) fn connections(asked: usize) -> usize {
    let Some(descriptors) = descriptors() else {
        return asked;
    };
    let room = usize::try_from(descriptors)
        .unwrap_or(usize::MAX)
        .saturating_sub(KEPT)
        .max(1);
    if room < asked {
        tracing::warn!(
            asked,
            room,
            "the system allows fewer connections than asked for; raise `ulimit -n`"
        );
    }
    asked.min(room)
}

/// The descriptors this process may have; `None` if unlimited.
fn descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}

/// Descriptors for everything but connections: listeners, files, the database, wake-ups.
const KEPT: usize = 128;
