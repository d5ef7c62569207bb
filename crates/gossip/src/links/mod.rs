//! `links`: a key needs no history, because each report counts once on its link.
//!
//! A node counts what it admits silently, up to its share of the room that it sees; beyond that it reports the tokens
//! to every other node at once. Reports are deltas in numbered frames, and a link applies each number once, so what is
//! known of a key is one level and what it cost to get there is forgotten. A calm key takes a cell of 24 bytes, a busy
//! one a record, and links the same however many keys there are.
//!
//! Deliberately not here: who is alive, which is told, and relays and hubs, which spread reports in other ways.

mod buckets;
mod cell;
mod interval;
mod join;
mod keep;
mod law;
mod level;
mod link;
mod log;
mod machine;
mod meet;
mod ours;
mod part;
mod post;
mod saved;
mod stream;
#[cfg(test)]
mod tests;
mod upkeep;
mod window;
mod windows;
mod wire;

use tollgate_limit::Span;
use tollgate_mode::{Mode, Numbers};

use crate::bucket::Bucket;
use crate::setup::{Knobs, Ratio};
use crate::windows::Window;

use self::level::Buckets;
use self::machine::{Machine, Plan};
use self::window::Windows;

/// What a policy is counted by.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    /// A bucket.
    Bucket {
        /// How much it holds, and how fast it refills.
        bucket: Bucket,
        /// Whether admitted requests wait for those before them.
        leaks: bool,
        /// How long requests may be made to wait.
        wait_max: Span,
    },
    /// A window.
    Window(Window),
}

/// Own segments of a key at most.
const SEGS_MAX: usize = 8;

/// A node's part in one policy, from `start` on.
pub(crate) fn build(
    limit: Limit,
    numbers: &Numbers,
    knobs: &Knobs,
    start: tollgate_limit::Instant,
) -> Box<dyn Mode> {
    let sigma = knobs.beta.unwrap_or(Ratio::new(1, 1));
    let plan = Plan {
        me: numbers.me,
        writer: numbers.writer,
        was: numbers.was,
        members: numbers.members.clone(),
        seed: numbers.seed,
        start,
        delay: numbers.delay,
        keep: knobs.buddy.then_some(knobs.interval),
        linger: Span::ZERO,
    };
    match limit {
        Limit::Bucket {
            bucket,
            leaks,
            wait_max,
        } => {
            let law = Buckets {
                bucket,
                wait_max,
                leaks,
                sigma,
                fade: knobs.fade,
                grace: knobs.grace,
                segs_max: SEGS_MAX,
                nodes: 1,
            };
            Box::new(Machine::new(law, &plan))
        }
        Limit::Window(window) => {
            let law = Windows {
                window,
                sigma,
                grace: knobs.grace,
                nodes: 1,
            };
            Box::new(Machine::new(law, &plan))
        }
    }
}
