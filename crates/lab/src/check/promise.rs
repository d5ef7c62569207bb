//! What a contender promises in a given world.
//!
//! Not here: whether it keeps it.

use tollgate_gossip::{Knobs, Ratio};

use crate::contender::Contender;
use crate::world::{Cluster, Request, WorldFault};

/// What must hold in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is asked alone")]
pub struct Promises {
    /// Every frame can be read by whoever knows its sender.
    pub readable: bool,
    /// The answers are the central bucket's, every one.
    pub exact: bool,
    /// Nothing is rejected for which everything admitted left room.
    pub no_false_rejection: bool,
    /// After the last request all is said within minutes.
    pub quiet: bool,
    /// Then nodes know what their neighbours must have told.
    pub agrees: bool,
    /// Then all nodes give the same answer.
    pub equal: bool,
    /// Once everything has drained no byte is left.
    pub frees: bool,
}

/// What is promised of that run.
pub fn promises(contender: Contender, cluster: &Cluster, trace: &[Request]) -> Promises {
    let has_true_clocks = !cluster
        .faults
        .iter()
        .any(|fault| matches!(fault, WorldFault::Skew(_) | WorldFault::Jump { .. }));
    let is_calm = cluster.faults.iter().all(is_harmless);
    // Late and twice is no excuse for not knowing in the end.
    let is_lossless = cluster
        .faults
        .iter()
        .all(|fault| is_harmless(fault) || only_delays(fault));
    let is_alone = is_calm && cluster.nodes == 1;
    let common = Promises {
        readable: true,
        quiet: has_true_clocks,
        ..Promises::default()
    };
    match contender {
        // Judged by other means; nothing that is checked here is promised.
        Contender::Sync | Contender::Lent(_) => Promises::default(),
        Contender::Central => Promises {
            exact: true,
            no_false_rejection: true,
            ..common
        },
        Contender::Local => Promises {
            exact: is_alone,
            no_false_rejection: has_true_clocks,
            frees: false,
            ..common
        },
        // The printed limit grows while a key rests, even on one node.
        Contender::Counter => common,
        // Each node clamps the limit by what it knows, so limits differ until the key is used up.
        Contender::CounterFixed => Promises {
            exact: is_alone,
            ..common
        },
        Contender::Queue
        | Contender::QueueLinf
        | Contender::QueueFreq
        | Contender::QueueFreqLinf => Promises {
            exact: is_alone,
            equal: is_lossless,
            ..common
        },
        Contender::Links => Promises {
            exact: is_alone || (is_calm && is_strict(cluster, trace)),
            no_false_rejection: has_true_clocks,
            agrees: is_lossless,
            frees: has_true_clocks && cluster.knobs.fade.of(1_000) > 0,
            ..common
        },
    }
}

/// What is promised of windows in that world: nothing fades there.
pub(crate) fn window_promises(cluster: &Cluster, trace: &[Request]) -> Promises {
    let like = Cluster {
        knobs: Knobs {
            fade: Ratio::new(0, 1),
            ..cluster.knobs.clone()
        },
        ..cluster.clone()
    };
    let bucket = promises(Contender::Links, &like, trace);
    // What comes back from a copy after a crash may be what a report told others just before it, and counts twice until
    // its slice is over.
    let is_crash = |fault: &WorldFault| matches!(fault, WorldFault::Crash { .. });
    let may_double = cluster.knobs.buddy && cluster.faults.iter().any(is_crash);
    Promises {
        agrees: false,
        frees: bucket.no_false_rejection,
        no_false_rejection: bucket.no_false_rejection && !may_double,
        ..bucket
    }
}

/// Nothing is kept back beyond a share, nothing is forgotten, and no request is larger than what a share is counted in.
fn is_strict(cluster: &Cluster, trace: &[Request]) -> bool {
    is_at_most_one(cluster.knobs.beta)
        && cluster.knobs.fade.of(1_000_000) == 0
        && trace.iter().all(|request| request.cost <= 1)
}

fn is_at_most_one(ratio: Ratio) -> bool {
    ratio.of(1_000_000) <= 1_000_000
}

fn only_delays(fault: &WorldFault) -> bool {
    matches!(fault, WorldFault::Delay { .. } | WorldFault::Duplication(_))
}

fn is_harmless(fault: &WorldFault) -> bool {
    match fault {
        WorldFault::Delay { base, jitter } => base.as_nanos() == 0 && jitter.as_nanos() == 0,
        WorldFault::Loss(odds) | WorldFault::Duplication(odds) => *odds == 0,
        WorldFault::Skew(most) => most.as_nanos() == 0,
        WorldFault::Cut { lasting, .. } => lasting.as_nanos() == 0,
        WorldFault::Jump { .. }
        | WorldFault::Crash { .. }
        | WorldFault::Join { .. }
        | WorldFault::Leave { .. } => false,
    }
}
