//! Stops the store and resumes it at the times of a plan, and samples the server meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Signal;

use super::host::Host;

/// A sample of the server.
pub(crate) struct WatchSample {
    /// Since the load began.
    pub(crate) at: Duration,
    /// Whether the store answers.
    pub(crate) store: &'static str,
    /// Bytes in memory.
    pub(crate) resident: f64,
    /// Answers by `on_failure` so far.
    pub(crate) fell_back: f64,
    /// Whether the breaker is open.
    pub(crate) open: f64,
    /// Keys with admissions that the store lacks.
    pub(crate) owing: f64,
}

/// Stops the store and samples the server.
pub(crate) struct ProcessWatch<'a> {
    store: &'a Host,
    server: &'a Host,
    /// Pending signals to the store, and their times.
    to_do: Vec<(Duration, Signal)>,
    state: &'static str,
    sample_at: Duration,
    seen: Result<Vec<WatchSample>>,
}

impl<'a> ProcessWatch<'a> {
    /// Stops the store at the first mark, and resumes it at the last.
    pub(crate) fn new(marks: &[Duration], store: &'a Host, server: &'a Host) -> Self {
        let signals = marks.last().map(|mark| (*mark, Signal::CONT));
        let signals = signals
            .into_iter()
            .chain(marks.first().map(|mark| (*mark, Signal::STOP)));
        Self {
            store,
            server,
            to_do: signals.collect(),
            state: "answers",
            sample_at: Duration::ZERO,
            seen: Ok(Vec::new()),
        }
    }

    /// Called every second; waits for actions due within the next.
    pub(crate) fn look(&mut self, elapsed: Duration) {
        let begun = Instant::now();
        if elapsed >= self.sample_at {
            self.sample_at = elapsed + EVERY;
            self.sample(elapsed);
        }
        let Some((at, signal)) = self
            .to_do
            .pop_if(|(at, _)| at.saturating_sub(elapsed) <= Duration::from_secs(1))
        else {
            return;
        };
        thread::sleep(at.saturating_sub(elapsed + SAMPLING + begun.elapsed()));
        self.sample(at);
        self.sample_at = at + EVERY;
        thread::sleep(at.saturating_sub(elapsed + begun.elapsed()));
        self.state = if signal == Signal::STOP {
            "stopped"
        } else {
            "goes on"
        };
        if let Err(error) = self.store.signal(signal) {
            self.seen = Err(error);
        }
    }

    /// The samples, after the load.
    pub(crate) fn end(mut self, at: Duration) -> Result<Vec<WatchSample>> {
        self.sample(at);
        self.seen
    }

    fn sample(&mut self, at: Duration) {
        let sample = WatchSample::take(self.server, at, self.state);
        match (&mut self.seen, sample) {
            (Ok(seen), Ok(sample)) => seen.push(sample),
            (Ok(_), Err(error)) => self.seen = Err(error),
            (Err(_), _) => {}
        }
    }
}

impl WatchSample {
    fn take(server: &Host, at: Duration, store: &'static str) -> Result<Self> {
        let resident = server.resident_bytes()?;
        let page = server.get("/metrics")?;
        Ok(Self {
            at,
            store,
            resident,
            fell_back: page.metric("tollgate_store_fallback_total"),
            open: page.metric("tollgate_store_open"),
            owing: page.metric("tollgate_store_owing"),
        })
    }
}

/// Interval between samples.
const EVERY: Duration = Duration::from_secs(10);
/// How long before a change a sample is taken: longer than sampling takes.
const SAMPLING: Duration = Duration::from_millis(50);
