//! What happened, counted: decisions, refusals, connections, bytes; and which keys come most.
//!
//! Counting must cost a decision next to nothing: no lock, and no line of memory that two threads write.

mod event;
mod top;

use std::time::Duration;

use crate::engine::Engine;

pub use event::{Decided, Door, Event, Judgement};
pub use top::{Percentiles, Rates, Top, TopKey};

/// Counts what happens.
pub struct Meter {}

impl Meter {
    /// Nothing happened yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self {}
    }

    /// A request was decided, by contracts or by a policy of its own.
    pub fn decided(&self, _decided: &Decided<'_>) {}

    /// So many requests that came in together were answered in this time.
    pub fn served(&self, _door: Door, _requests: u64, _took: Duration) {}

    /// Something happened that has a counter of its own.
    pub fn count(&self, _event: Event) {}

    /// Everything in Prometheus' text format 0.0.4: the body of `/metrics`.
    pub fn render(&self, _engine: &Engine) -> String {
        String::new()
    }

    /// What happens now: rates, latencies, and the keys that come and are refused most.
    pub fn top(&self, _engine: &Engine) -> Top {
        Top::default()
    }
}
