//! Counts instructions per decision, by running this program again under `callgrind`.
//!
//! Only [`counted`] is collected, so start-up, key making and filling do not appear in the count,
//! and neither does the calibration of a clock. Time spent inside the kernel has no count.

use std::hint::black_box;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Serialize;

use crate::keys::{self, BenchKey, HOT};
use crate::rows::fill;
use crate::subject::{Build, Limit};
use crate::subjects::{self, SubjectEntry};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CountedWork {
    /// One key, again and again.
    Hot,
    /// A hundred thousand keys in random order.
    Keys,
}

/// Keys in the table while [`CountedWork::Keys`] is counted; filling it also runs under callgrind.
pub(crate) const KEYS: usize = 100_000;

/// Instructions per decision of one entry.
#[derive(Debug, Serialize)]
pub(crate) struct Instructions {
    pub(crate) subject: &'static str,
    /// One hot key.
    pub(crate) hot: Option<f64>,
    /// Random keys out of [`KEYS`].
    pub(crate) keys: Option<f64>,
}

/// Counts every entry. Nothing if valgrind is not installed.
pub(crate) fn count_all(quick: bool) -> Result<Option<Vec<Instructions>>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    let count = |entry: &SubjectEntry| {
        eprintln!("  counting {}", entry.name);
        let slow = entry.instructions_about > ABOUT_MAX;
        let keys = if quick || slow || !entry.holds(KEYS) {
            None
        } else {
            Some(per_decision(entry, CountedWork::Keys)?)
        };
        let hot = Some(per_decision(entry, CountedWork::Hot)?);
        Ok(Instructions {
            subject: entry.name,
            hot,
            keys,
        })
    };
    subjects::all()
        .iter()
        .map(count)
        .collect::<Result<_>>()
        .map(Some)
}

/// Runs one entry under callgrind with two lengths; the difference is that of the decisions alone.
fn per_decision(entry: &SubjectEntry, counted: CountedWork) -> Result<f64> {
    let long = (INSTRUCTIONS_TOTAL / entry.instructions_about).min(KEYS as u64);
    let short = long / 10;
    let difference =
        callgrind(entry, counted, long)?.saturating_sub(callgrind(entry, counted, short)?);
    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    Ok(difference as f64 / (long - short) as f64)
}

fn callgrind(entry: &SubjectEntry, counted: CountedWork, count: u64) -> Result<u64> {
    let program = std::env::current_exe().context("finding this program")?;
    let row = counted
        .to_possible_value()
        .map_or_else(String::new, |row| row.get_name().to_owned());
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*instructions::counted*")
        .arg(program)
        .args(["count", entry.name, &row, &count.to_string()])
        .output()
        .context("running valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} under valgrind: {text}", entry.name);
    }
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, number) = collected.with_context(|| format!("no count in: {text}"))?;
    let number: u64 = number
        .trim()
        .parse()
        .context("reading the count of callgrind")?;
    if number < count {
        bail!(
            "{}: callgrind collected {number} instructions for {count} decisions",
            entry.name
        );
    }
    Ok(number)
}

/// The child's part: makes `count` decisions inside the collected function.
pub(crate) fn run_counted(subject: &str, what: CountedWork, count: u64) -> Result<()> {
    let entry = subjects::find(subject).with_context(|| format!("no subject {subject}"))?;
    match (entry.number, entry.text) {
        (Some(build), _) => run_as(&entry, build, what, count),
        (None, Some(build)) => run_as(&entry, build, what, count),
        (None, None) => bail!("{subject} takes no keys"),
    }
    Ok(())
}

fn run_as<K: BenchKey>(entry: &SubjectEntry, build: Build<K>, what: CountedWork, count: u64) {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let (mut runner, keys) = match what {
        CountedWork::Hot => (build(Limit::Open), vec![K::numbered(HOT)]),
        CountedWork::Keys => {
            let keys = keys::shuffled(0..KEYS as u64);
            (fill(entry.name, build, &keys), keys)
        }
    };
    // The first decision of a key and of a thread sets things up; it is not counted.
    runner.each(&keys[..1]);
    match what {
        CountedWork::Hot => counted(|| runner.same(&keys[0], count as u64)),
        CountedWork::Keys => counted(|| runner.each(&keys[..count.min(KEYS)])),
    };
}

/// The only function whose instructions are collected, with all it calls.
#[inline(never)]
fn counted(mut decide: impl FnMut() -> u64) -> u64 {
    black_box(decide())
}

/// Instructions to spend on one count: about a second under callgrind.
const INSTRUCTIONS_TOTAL: u64 = 10_000_000;

/// Entries dearer than this are not counted with many keys: filling would take a minute.
const ABOUT_MAX: u64 = 5_000;
