//! Detects that the system's clock was set: logs it at once, and follows it when it has stayed so for a while.
//!
//! Until then time goes on as before, so a clock that jumps and comes back changes nothing. When it is followed, every
//! key is moved along, so that no tokens are regained. Not here: how a step is distinguished from NTP steering
//! (`tollgate-client`).

use std::time::Duration;

use crate::shared::Shared;

/// What was reported about the system's clock.
#[derive(Debug, Default)]
pub(super) struct ClockWatch {
    told_ns: Option<i64>,
}

impl ClockWatch {
    /// Checks the clock, logs steps, and follows one that is due.
    pub(super) fn look(&mut self, shared: &Shared) {
        let step = shared.engine.clock().step;
        let by_ns = step.map(|step| step.by_ns);
        let is_news = by_ns != self.told_ns;
        self.told_ns = by_ns;
        let Some(step) = step else {
            if is_news {
                tracing::warn!(
                    "the system's clock is back; its step was not followed and changed nothing"
                );
                shared.state.set_clock_error(None);
            }
            return;
        };
        let after = shared.settings.limits.clock_follow;
        let mut told = sentence(step.by_ns, after);
        if is_news {
            tracing::warn!("{told}");
        }
        let followed = (step.stood >= after).then(|| shared.engine.follow_clock());
        if let Some(Err(why)) = &followed {
            told = format!("{told}; now it cannot be followed: {why}");
        }
        shared.state.set_clock_error(Some(told));
        if let Some(Ok(())) = followed {
            if let Some(cluster) = shared.cluster.get().filter(|_| step.by_ns < 0) {
                cluster.write_anew();
            }
            tracing::warn!(
                by = %length(step.by_ns),
                "the system's clock was followed; every key was moved along, so that nothing is regained"
            );
            self.told_ns = None;
            shared.state.set_clock_error(None);
        }
    }
}

/// The step, and what happens next.
fn sentence(by_ns: i64, after: Duration) -> String {
    let way = if by_ns < 0 { "back" } else { "ahead" };
    let (by, after) = (length(by_ns), after.as_secs());
    format!(
        "the system's clock was set {way} by {by}; time goes on here as it did, and that is followed when it has stood for {after} s"
    )
}

/// A duration for people, to a tenth of a second if short.
fn length(nanos: i64) -> String {
    let tenths = nanos.unsigned_abs().saturating_add(50_000_000) / 100_000_000;
    let seconds = (tenths + 5) / 10;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{}.{} s", tenths / 10, tenths % 10),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_to_the_clock_is_told_with_what_happens_next() {
        let after = Duration::from_mins(1);
        let told = sentence(40 * 86_400_000_000_000 - 1_000, after);
        assert!(told.contains("ahead by 40 d 0 h"), "{told}");
        assert!(
            told.contains("followed when it has stood for 60 s"),
            "{told}"
        );
        let told = sentence(-7_260_000_000_000, after);
        assert!(told.contains("back by 2 h 1 min"), "{told}");
        assert_eq!(length(-61_000_000_000), "1 min 1 s");
        assert_eq!(length(700_000_000), "0.7 s");
    }
}
