//! What each fault may cost a contract whose keys have owners, from the rules in docs/owner.md.
//!
//! Let c be the bucket, r what it regains in a second, a what one client asks in a second, T the seconds of a phase.
//!
//! | | beyond the bucket | why |
//! |---|---|---|
//! | always | one for each answer that took as long as the deadline | the node that asked decided by itself |
//! | killed | c | nobody else had the count; who follows starts afresh, once |
//! | returned | c | it owns the key again, and knows nothing until the state comes |
//! | cut | k a T, at most k (c + r T) | each of the k nodes without the owner decides by itself until it has noticed |
//! | healed | 3 a t | the same for the time t that both sides need to find each other |
//! | paused | 5 a T, at most 4 (c + r T) | the owner is there and silent: each of the others decides by itself |
//! | resumed | r times the pause, at most c | the owner knows nothing of the pause, in which its bucket refilled |
//! | replaced | 2 c | killed and returned |
//! | rolled | c | a stop hands over; of the starts only that of the node which ranks first moves the key |
//!
//! By itself decides, in a cut, the side without the owner, and in a pause every other node.
//! Which node owns the key is left to the hash, so that a run may cost nothing at all. Not here: anything measured.

use std::time::Duration;

use crate::foretell::PhaseBound;
use crate::judge::TestBucket;
use crate::phases::{BUCKET, NODES, RATE};

/// How long an owner is waited for: the default of `cluster.owner_deadline`.
pub(crate) const DEADLINE: Duration = Duration::from_millis(20);

/// What befell the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hurt {
    Nobody,
    Killed,
    Returned,
    Cut,
    Healed,
    Paused,
    Resumed,
    Replaced,
    Rolled,
}

/// What a bound depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spans {
    /// Seconds of the phase.
    pub(crate) now: f64,
    /// Seconds of the one before.
    pub(crate) before: f64,
    /// Seconds until both sides had found each other.
    pub(crate) healing: f64,
    /// Admissions that took as long as the deadline, on the side of two nodes and on that of three.
    pub(crate) slow: [f64; 2],
}

/// The bound of a phase.
pub(crate) fn bound_of_owner(hurt: Hurt, spans: Spans) -> PhaseBound {
    let TestBucket { burst, per_second } = BUCKET;
    let client = f64::from(RATE) / f64::from(NODES);
    // Each client may have one request more in a time than its rate says.
    let asked = |clients: f64, seconds: f64| clients * (client * seconds + 1.0);
    let alone = |nodes: f64, seconds: f64| nodes * (burst + per_second * seconds);
    let cut_off = |nodes: f64| asked(nodes, spans.now).min(alone(nodes, spans.now));
    let [slow_two, slow_three] = spans.slow;
    let slow = slow_two + slow_three;
    let over = match hurt {
        Hurt::Nobody => slow,
        Hurt::Killed | Hurt::Returned | Hurt::Rolled => burst + slow,
        // The side without the owner waits for it in vain until it has noticed, the other never.
        Hurt::Cut if slow_two * 3.0 < slow_three * 2.0 => cut_off(3.0) + slow_two,
        Hurt::Cut => cut_off(2.0) + slow_three,
        Hurt::Healed => asked(3.0, spans.healing) + slow,
        Hurt::Paused => asked(5.0, spans.now).min(alone(4.0, spans.now)),
        Hurt::Resumed => (per_second * spans.before).min(burst) + slow,
        Hurt::Replaced => 2.0 * burst + slow,
    };
    PhaseBound { over, under: 0.0 }
}
