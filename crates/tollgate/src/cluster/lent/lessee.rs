//! One client process: asks for one key at random times, and writes down what it admits by itself.
//!
//! An admission is written before the request hears of it, so that the log is whole when the process is killed. Not
//! here: what nodes admit, which they write themselves.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tollgate_client::{Client, ClientConfig};
use tollgate_kit::Dice;

use super::KEY;
use crate::cluster::options::LesseeOptions;
use crate::failure::Failure;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LesseeCounts {
    pub(super) decided: u64,
    /// Messages both ways.
    pub(super) messages: u64,
    /// Requests that waited for a node.
    pub(super) waited: u64,
    /// Requests that nobody answered.
    pub(super) failed: u64,
}

/// Runs until standard input ends.
pub(in super::super) fn run(options: &LesseeOptions) -> Result<(), Failure> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&options.log);
    let file = file.map_err(|error| Failure::file(&options.log, &error))?;
    let config = ClientConfig {
        journal: Some(Arc::new(move |admitted| {
            let (at, cost) = (admitted.at.as_nanos(), admitted.cost);
            // Whoever judges sees what is missing.
            let _ = (&file).write_all(format!("{at} {KEY} {cost} 0\n").as_bytes());
        })),
        ..ClientConfig::new(options.nodes.iter().cloned())
    };
    let client =
        Client::connect(config).map_err(|error| Failure::usage(format!("error: {error}")))?;
    let client = Arc::new(client);
    let decided = Arc::new(AtomicU64::new(0));
    for number in 0..THREADS {
        let (client, decided) = (Arc::clone(&client), Arc::clone(&decided));
        let rate = options.rate;
        thread::spawn(move || ask(&client, &decided, rate, number));
    }
    let counted = options.counts.clone();
    thread::spawn(move || {
        loop {
            thread::sleep(TELL);
            tell(&counted, &client, decided.load(Relaxed));
        }
    });
    // The other end is held by whoever started this.
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest);
    Ok(())
}

/// Asks at times that a Poisson process would.
#[allow(clippy::cast_precision_loss, reason = "a rate")]
fn ask(client: &Client, decided: &AtomicU64, rate: u64, number: u64) {
    let mean = THREADS as f64 / rate.max(1) as f64;
    let mut dice = Dice::new(getrandom::u64().unwrap_or(number));
    let mut due = Instant::now();
    loop {
        due += Duration::from_secs_f64(dice.exponential(mean));
        let now = Instant::now();
        if due > now {
            thread::sleep(due - now);
        } else if now - due > BEHIND_MAX {
            // What was not asked while the process stood still is not asked later.
            due = now;
        }
        let _ = client.check(KEY, 1);
        decided.fetch_add(1, Relaxed);
    }
}

fn tell(path: &Path, client: &Client, decided: u64) {
    let counts = client.counts();
    let told = LesseeCounts {
        decided,
        messages: counts.sent + counts.heard,
        waited: counts.waited,
        failed: counts.failed,
    };
    let text = serde_json::to_string(&told).unwrap_or_default();
    let fresh = path.with_extension("new");
    // The next one is a moment away.
    let _ = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path));
}

/// Who wait for an answer hold nobody else up.
const THREADS: u64 = 8;
const TELL: Duration = Duration::from_millis(100);
const BEHIND_MAX: Duration = Duration::from_millis(200);
