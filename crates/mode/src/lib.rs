//! The boundary between a node and its ways to agree with other nodes: one trait, and the words that both sides use.
//!
//! A [`Mode`] is one node's part in one policy. Requests, frames, events and the time go in; answers, frames to send
//! and what must survive a crash come out. A [`ModeKind`] is the row of a mode in the registry of `node`: which
//! policies it can count, and how its part is built. `node` drives every mode by these two traits and adds a mode by
//! one line.
//!
//! Not here: any mode, sockets, clocks, who is alive, and which policies are counted by which mode.

mod answer;
mod figure;
mod frame;
mod ids;
mod keyed;
mod kind;
mod mode;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod plant;
mod tag;

pub use answer::{ModeProbe, ModeVerdict, Standing};
pub use figure::{Figure, FigureValue, Joined, Metric, MetricKind, counter, gauge};
pub use frame::{Footprint, Malformed, Saved, Send, VERSION};
pub use ids::{ModeKey, NodeId, Writer};
pub use keyed::{Keyed, Weigh};
pub use kind::{Build, ModeKind, NodeNumbers, RosterPart, SHARDS, promised_wait, wait_max};
pub use mode::{ClockKind, Mode, ModeEvent, Settlement};
pub use tag::Tag;

/// Chooses the wrong expression when the bug of that name is planted, and otherwise the right one.
#[cfg(feature = "planted")]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal, $right:expr, $wrong:expr) => {
        if $crate::plant::is($name) {
            $wrong
        } else {
            $right
        }
    };
}

/// The right expression: no bug is ever planted in this build.
#[cfg(not(feature = "planted"))]
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($name:literal, $right:expr, $wrong:expr) => {
        $right
    };
}

/// The methods of [`Mode`] that a part leaves to its `machine` as they are.
#[macro_export]
macro_rules! by_machine {
    () => {
        fn probe(&mut self, key: $crate::ModeKey, cost: u64, now: Instant) -> $crate::ModeProbe {
            self.machine.probe(key, cost, now)
        }

        fn take(&mut self, key: $crate::ModeKey, cost: u64, now: Instant) {
            self.machine.take(key, cost, now);
        }

        fn charge(&mut self, key: $crate::ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
            self.machine.charge(key, cost, debt_max, now);
        }

        fn refund(&mut self, key: $crate::ModeKey, cost: u64, now: Instant) {
            self.machine.refund(key, cost, now);
        }

        fn reset(&mut self, key: $crate::ModeKey, now: Instant) {
            self.machine.reset(key, now);
        }

        fn standing(&mut self, key: $crate::ModeKey, now: Instant) -> $crate::Standing {
            self.machine.standing(key, now)
        }

        fn is_quiet(&self) -> bool {
            self.machine.is_quiet()
        }

        fn keys_count(&self) -> usize {
            self.machine.keys_count()
        }

        fn keys(&self) -> Vec<$crate::ModeKey> {
            self.machine.keys()
        }

        fn held(&self) -> u64 {
            self.machine.held()
        }

        fn knows(&self, key: $crate::ModeKey) -> bool {
            self.machine.knows(key)
        }

        fn evict(&mut self, now: Instant) -> bool {
            self.machine.evict(now)
        }

        fn footprint(&self) -> $crate::Footprint {
            self.machine.footprint()
        }
    };
}

/// Those of them that are about frames and timeouts.
#[macro_export]
macro_rules! told_by_machine {
    () => {
        fn handle_frame(
            &mut self,
            from: $crate::NodeId,
            frame: &[u8],
            now: Instant,
        ) -> Result<(), $crate::Malformed> {
            self.machine.handle_frame(from, frame, now)
        }

        fn handle_timeout(&mut self, now: Instant) {
            self.machine.handle_timeout(now);
        }

        fn poll_timeout(&self) -> Option<Instant> {
            self.machine.poll_timeout()
        }

        fn poll_send(&mut self) -> Option<$crate::Send> {
            self.machine.poll_send()
        }
    };
}
