//! How many connections the system has descriptors for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many of the connections asked for fit, after the limit on descriptors was raised as far as is allowed.
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

/// How many descriptors this process may have; `None` where there is no limit.
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

/// Descriptors for everything that is no connection: listeners, files, the database, wake-ups.
const KEPT: usize = 128;
