//! The circuit breaker of an engine.
//!
//! After some failures in a row the breaker opens: no requests are sent, and answers cost nothing. From time to time
//! one
//! request is sent as a probe; if it succeeds the breaker closes, otherwise it waits longer. Pure: time and chance are
//! given. Not here: fallback answers.

use core::time::Duration;

use tollgate_limit::{Instant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerConfig {
    /// Failures in a row after which it opens.
    pub failures: u32,
    /// How long it waits before the first probe; every probe that fails doubles it.
    pub wait: Duration,
    /// The longest wait.
    pub wait_max: Duration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            wait: Duration::from_millis(100),
            wait_max: Duration::from_secs(5),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    Ask,
    /// Ask; other requests are refused until its result.
    Probe,
    Not,
}

#[derive(Clone, Debug)]
pub struct Breaker {
    config: BreakerConfig,
    state: State,
    opened: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
        wait: Duration,
    },
    /// A probe is in flight; without a result, the next one goes at `until`.
    Probing {
        until: Instant,
        wait: Duration,
    },
}

impl Breaker {
    pub const fn new(config: BreakerConfig) -> Self {
        Self {
            config,
            state: State::Closed { failures: 0 },
            opened: 0,
        }
    }

    pub fn go(&mut self, now: Instant) -> Go {
        match self.state {
            State::Closed { .. } => Go::Ask,
            State::Open { until, .. } | State::Probing { until, .. } if now < until => Go::Not,
            State::Open { wait, .. } | State::Probing { wait, .. } => {
                let until = after(now, wait);
                self.state = State::Probing { until, wait };
                Go::Probe
            }
        }
    }

    pub const fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    /// `chance` spreads the probes of many nodes: they wait between half and the whole of the time.
    pub fn failed(&mut self, now: Instant, chance: u32) {
        let wait = match self.state {
            State::Closed { failures } if failures + 1 < self.config.failures => {
                let failures = failures + 1;
                self.state = State::Closed { failures };
                return;
            }
            State::Closed { .. } => {
                self.opened += 1;
                self.config.wait
            }
            // From requests in flight when it opened.
            State::Open { .. } => return,
            State::Probing { wait, .. } => wait.saturating_mul(2).min(self.config.wait_max),
        };
        let half = wait.as_nanos() / 2;
        let part = half + half * u128::from(chance) / u128::from(u32::MAX);
        let until = now.saturating_add(Span::from_nanos(part));
        self.state = State::Open { until, wait };
    }

    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// Counts openings.
    pub const fn opened(&self) -> u64 {
        self.opened
    }
}

fn after(now: Instant, wait: Duration) -> Instant {
    now.saturating_add(Span::from_nanos(wait.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(SECOND + ms * 1_000_000)
    }

    fn open() -> Breaker {
        let mut breaker = Breaker::new(BreakerConfig::default());
        for _ in 0..5 {
            assert_eq!(breaker.go(at(0)), Go::Ask);
            breaker.failed(at(0), u32::MAX);
        }
        breaker
    }

    #[test]
    fn opens_after_five_failures_in_a_row_and_not_before() {
        let mut breaker = Breaker::new(BreakerConfig::default());
        for round in 0..10 {
            for _ in 0..4 {
                breaker.failed(at(round), 0);
            }
            assert!(breaker.is_closed());
            breaker.succeeded();
        }
        assert!(!open().is_closed());
        assert_eq!(open().opened(), 1);
    }

    #[test]
    fn one_probe_at_a_time_and_each_that_fails_waits_longer() {
        let mut breaker = open();
        assert_eq!(breaker.go(at(99)), Go::Not);
        assert_eq!(breaker.go(at(100)), Go::Probe);
        assert_eq!(breaker.go(at(101)), Go::Not);
        breaker.failed(at(120), u32::MAX);
        assert_eq!(breaker.go(at(319)), Go::Not);
        assert_eq!(breaker.go(at(320)), Go::Probe);
        breaker.succeeded();
        assert_eq!(breaker.go(at(321)), Go::Ask);
    }

    #[test]
    fn a_probe_that_nothing_comes_of_is_made_again() {
        let mut breaker = open();
        assert_eq!(breaker.go(at(100)), Go::Probe);
        assert_eq!(breaker.go(at(199)), Go::Not);
        assert_eq!(breaker.go(at(200)), Go::Probe);
    }

    #[test]
    fn chance_spreads_the_probes_over_half_the_wait() {
        let first = |chance| {
            let mut breaker = Breaker::new(BreakerConfig::default());
            for _ in 0..5 {
                breaker.failed(at(0), chance);
            }
            (0..1_000).find(|ms| breaker.go(at(*ms)) == Go::Probe)
        };
        assert_eq!(first(0), Some(50));
        assert_eq!(first(u32::MAX), Some(100));
    }
}
