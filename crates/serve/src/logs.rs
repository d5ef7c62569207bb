//! Logs: for people on a terminal, otherwise one JSON object a line.
//!
//! Secrets are never logged, and keys of clients at `debug` only. What can happen a million times a second is logged
//! [`Rarely`]: a limiter must not drown its operator.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    pub format: LogFormat,
    /// What is logged: a level (`info`), or levels by part (`info,tollgate_serve::resp=debug`).
    pub filter: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Auto,
            filter: "info".into(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people if stderr is a terminal, otherwise JSON.
    #[default]
    Auto,
    Text,
    /// One JSON object a line.
    Json,
}

/// Why logs cannot be written as asked.
#[derive(Debug)]
pub enum LogError {
    Filter(String),
    Taken,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(error) => write!(
                f,
                "the log filter makes no sense: {error}; it is a level (error, warn, info, debug, trace), or levels by \
                 part, as in `info,tollgate_serve::resp=debug`"
            ),
            Self::Taken => f.write_str("this process logs already"),
        }
    }
}

impl std::error::Error for LogError {}

impl LogSettings {
    pub fn check(&self) -> Result<(), LogError> {
        self.filter().map(drop)
    }

    /// Starts logging to stderr.
    pub fn start(&self) -> Result<(), LogError> {
        let filter = self.filter()?;
        let json = match self.format {
            LogFormat::Auto => !stderr().is_terminal(),
            LogFormat::Text => false,
            LogFormat::Json => true,
        };
        let text = (!json).then(|| {
            tracing_subscriber::fmt::layer()
                .with_writer(stderr)
                .with_ansi(stderr().is_terminal())
                .with_target(false)
        });
        let lines = json.then(|| {
            tracing_subscriber::fmt::layer()
                .json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .with_writer(stderr)
        });
        let logs = tracing_subscriber::registry()
            .with(filter)
            .with(text)
            .with(lines);
        logs.try_init().map_err(|_| LogError::Taken)
    }

    fn filter(&self) -> Result<EnvFilter, LogError> {
        // The library logs every connection attempt; the store logs their outcome itself.
        let filter = EnvFilter::builder().parse(format!("redis=off,{}", self.filter));
        filter.map_err(|error| LogError::Filter(error.to_string()))
    }
}

/// Limits log lines about frequent events.
#[derive(Debug)]
pub struct Rarely {
    every: Duration,
    since: Instant,
    /// Milliseconds after `since` from which the next line is due.
    next: AtomicU64,
    unsaid: AtomicU64,
}

impl Rarely {
    /// One line per interval at most.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            since: Instant::now(),
            next: AtomicU64::new(0),
            unsaid: AtomicU64::new(0),
        }
    }

    /// Records an event. If a line is due, returns how many events were not logged before it.
    pub fn now(&self) -> Option<u64> {
        self.at(self.since.elapsed())
    }

    fn at(&self, elapsed: Duration) -> Option<u64> {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let now = millis(elapsed);
        let next = self.next.load(Relaxed);
        let then = now.saturating_add(millis(self.every));
        let mine = now >= next
            && self
                .next
                .compare_exchange(next, then, Relaxed, Relaxed)
                .is_ok();
        if mine {
            return Some(self.unsaid.swap(0, Relaxed));
        }
        self.unsaid.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_times_in_a_second_are_said_once() {
        let rarely = Rarely::new(Duration::from_mins(1));
        let said = (0..1_000).filter_map(|ms| rarely.at(Duration::from_millis(ms)));
        assert_eq!(said.collect::<Vec<_>>(), [0]);
        assert_eq!(rarely.at(Duration::from_secs(61)), Some(999));
        assert_eq!(rarely.at(Duration::from_secs(62)), None);
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_refused() {
        let filter = |filter: &str| LogSettings {
            filter: filter.into(),
            ..LogSettings::default()
        };
        assert!(filter("info,tollgate_serve=debug").check().is_ok());
        assert!(filter("tollgate_serve=loud").check().is_err());
    }
}
