//! Time in which the machine did not schedule threads, so that tests of latency can subtract it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Measures how long the machine keeps a runnable thread from running.
pub struct Stalls {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Stalls {
    pub fn watch() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut stalled = Duration::ZERO;
            while !ends.load(SeqCst) {
                let begun = Instant::now();
                std::thread::sleep(NAP);
                stalled += begun.elapsed().saturating_sub(NAP);
            }
            stalled
        });
        Self { is_over, thread }
    }

    /// The total so far.
    pub fn end(self) -> Duration {
        self.is_over.store(true, SeqCst);
        self.thread.join().expect("the thread that watches")
    }
}

const NAP: Duration = Duration::from_millis(5);
