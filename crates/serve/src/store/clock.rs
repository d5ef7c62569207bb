//! The store's clock against ours: told as metrics, and warned of where they are apart.
//!
//! Not here: comparing them, which engines do.

use std::time::Duration;

use tollgate_store::ClockComparison;

use super::Decides;
use crate::meter::Exposition;

/// Looks at the clock for as long as it is polled, and warns where it is apart: at once, then seldom.
pub(super) async fn watch(engine: &dyn Decides) {
    let mut warned = None;
    loop {
        tokio::time::sleep(EVERY).await;
        let apart = engine.clock().filter(ClockComparison::is_apart);
        let now = tokio::time::Instant::now();
        let is_due = warned.is_none_or(|at| now.duration_since(at) >= AGAIN);
        if let Some(clock) = apart.filter(|_| is_due) {
            warned = Some(now);
            tracing::warn!(
                "the clock of the store is {:.3} s ahead of ours, give or take {:.3} s: servers whose clocks differ \
                 refill and forget counts at different times; set the clocks right",
                ahead(clock),
                clock.error.as_secs_f64()
            );
        }
    }
}

/// Adds the comparison, for Prometheus; nothing where there is none.
pub(super) fn render(clock: Option<ClockComparison>, text: &mut Exposition) {
    if let Some(clock) = clock {
        text.one("tollgate_store_clock_offset_seconds", ahead(clock));
        let error = clock.error.as_secs_f64();
        text.one("tollgate_store_clock_error_seconds", error);
    }
}

#[allow(clippy::cast_precision_loss, reason = "a metric needs no more digits")]
fn ahead(clock: ClockComparison) -> f64 {
    clock.ahead_ns as f64 / 1e9
}

/// How often the clock is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// How long nothing is said after a warning.
const AGAIN: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_told_in_seconds() {
        let mut text = Exposition::new();
        render(None, &mut text);
        assert_eq!(text.finish(), "");
        let clock = ClockComparison {
            ahead_ns: -1_500_000_000,
            error: Duration::from_millis(2),
        };
        let mut text = Exposition::new();
        render(Some(clock), &mut text);
        let out = text.finish();
        assert!(
            out.contains("\ntollgate_store_clock_offset_seconds -1.5\n"),
            "{out}"
        );
        assert!(
            out.contains("\ntollgate_store_clock_error_seconds 0.002\n"),
            "{out}"
        );
    }
}
