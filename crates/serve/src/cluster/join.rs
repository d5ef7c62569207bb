//! When a node that starts is ready: once it knows as much as the others, or nobody is there to learn from.
//!
//! Bounded either way: a node that cannot catch up serves with what it has, and says so.

use std::time::Duration;

use tollgate_limit::Instant;

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joining {
    /// Looks for others, at the latest until then.
    Looking { until: Instant },
    /// Learns from others, at the latest until then.
    Learning { until: Instant },
    /// Nobody is there.
    Alone,
    /// Ready.
    Over,
}

impl Joining {
    /// A node that starts; one that was told of nobody need not look.
    pub(super) fn new(has_seeds: bool, now: Instant) -> Self {
        if has_seeds {
            let until = after(now, LOOK_MAX);
            Self::Looking { until }
        } else {
            Self::Alone
        }
    }

    /// Somebody is there.
    pub(super) fn joined(&mut self, now: Instant) {
        if matches!(self, Self::Looking { .. }) {
            *self = Self::Learning {
                until: after(now, LEARN_MAX),
            };
        }
    }

    /// Nobody is there.
    pub(super) fn alone(&mut self) {
        if *self != Self::Over {
            *self = Self::Alone;
        }
    }

    /// Whether the node just became ready.
    pub(super) fn is_over(&mut self, now: Instant, is_caught_up: impl Fn() -> bool) -> bool {
        let is_over = match *self {
            Self::Over => return false,
            Self::Alone => true,
            Self::Looking { until } => now >= until,
            Self::Learning { until } => {
                let is_late = now >= until;
                if is_late {
                    tracing::warn!(
                        "the others did not tell all they know in time; serving without"
                    );
                }
                is_late || is_caught_up()
            }
        };
        if is_over {
            *self = Self::Over;
        }
        is_over
    }

    /// How long until somebody should look again.
    pub(super) const fn rest(self) -> Duration {
        match self {
            Self::Over => Duration::MAX,
            Self::Looking { .. } | Self::Learning { .. } | Self::Alone => LOOK_EVERY,
        }
    }
}

fn after(now: Instant, span: Duration) -> Instant {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(now.as_nanos().saturating_add(nanos))
}

/// How long a node looks for others.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// How long it learns from them.
const LEARN_MAX: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000);

    #[test]
    fn a_node_that_was_told_of_nobody_is_ready_at_once() {
        assert!(Joining::new(false, START).is_over(START, || false));
    }

    #[test]
    fn a_node_that_finds_others_is_ready_when_it_knows_as_much() {
        let mut joining = Joining::new(true, START);
        assert!(!joining.is_over(START, || true));
        joining.joined(START);
        assert!(!joining.is_over(START, || false));
        assert!(joining.is_over(START, || true));
        assert!(!joining.is_over(START, || true), "only once");
        joining.alone();
        assert_eq!(joining, Joining::Over);
    }

    #[test]
    fn neither_looking_nor_learning_lasts_for_ever() {
        let mut joining = Joining::new(true, START);
        assert!(joining.is_over(after(START, LOOK_MAX), || false));
        let mut joining = Joining::new(true, START);
        joining.joined(START);
        assert!(joining.is_over(after(START, LEARN_MAX), || false));
        let mut joining = Joining::new(true, START);
        joining.alone();
        assert!(joining.is_over(START, || false));
    }
}
