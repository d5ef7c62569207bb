//! Measures memory per key: a fresh process per entry fills a table and reads its own size.
//!
//! The size is the resident set from `/proc/self/statm`, so it has the allocator's overhead and
//! the room a table grew for, but not address space that was never touched. Keys are made one at
//! a time and dropped; what remains is what the limiter keeps.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;

use crate::keys;
use crate::subject::{Build, Limit};
use crate::subjects::{self, SubjectEntry};

/// What the keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyKind {
    /// Integers of 8 bytes.
    Number,
    /// Strings of 21 bytes.
    Text21,
    /// Strings of 64 bytes.
    Text64,
    /// Integers, with two limits on each.
    Two,
}

/// Memory of one entry with one kind of key.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) subject: &'static str,
    /// What the keys were.
    pub(crate) kind: KeyKind,
    /// How many there were.
    pub(crate) keys: usize,
    /// Growth of the resident set over the number of keys.
    pub(crate) bytes_per_key: f64,
}

/// Measures every entry that keeps state per key, with `count` keys or as many as it may hold.
pub(crate) fn measure_all(count: usize) -> Result<Vec<Memory>> {
    let mut figures = Vec::new();
    for entry in subjects::all() {
        for &kind in KeyKind::value_variants() {
            if entry.keeps_own_state && takes(&entry, kind) {
                eprintln!("  filling {} with {kind:?} keys", entry.name);
                figures.push(in_child(&entry, kind, count.min(entry.keys_max))?);
            }
        }
    }
    Ok(figures)
}

fn takes(entry: &SubjectEntry, kind: KeyKind) -> bool {
    match kind {
        KeyKind::Number => entry.number.is_some(),
        KeyKind::Text21 | KeyKind::Text64 => entry.text.is_some(),
        KeyKind::Two => entry.two_limits.is_some(),
    }
}

fn in_child(entry: &SubjectEntry, kind: KeyKind, keys: usize) -> Result<Memory> {
    let program = std::env::current_exe().context("finding this program")?;
    let kind_name = kind
        .to_possible_value()
        .map_or_else(String::new, |kind| kind.get_name().into());
    let output = Command::new(program)
        .args(["memory", entry.name, &keys.to_string(), &kind_name])
        .output()
        .context("running this program")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} in a child: {complaint}",
        entry.name
    );
    let growth = String::from_utf8_lossy(&output.stdout);
    let growth: f64 = growth.trim().parse().context("reading the child's size")?;
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 keys")]
    let bytes_per_key = growth / keys as f64;
    Ok(Memory {
        subject: entry.name,
        kind,
        keys,
        bytes_per_key,
    })
}

/// The child's part: fills a table and answers by how many bytes the process grew.
pub(crate) fn growth(subject: &str, count: usize, kind: KeyKind) -> Result<u64> {
    let entry = subjects::find(subject).with_context(|| format!("no subject {subject}"))?;
    match (kind, entry.number, entry.text, entry.two_limits) {
        (KeyKind::Number, Some(build), ..) | (KeyKind::Two, _, _, Some(build)) => {
            grown(build, count, tollgate_kit::scramble)
        }
        (KeyKind::Text21, _, Some(build), _) => {
            grown(build, count, |number| keys::text(number, keys::TEXT_LENGTH))
        }
        (KeyKind::Text64, _, Some(build), _) => {
            grown(build, count, |number| keys::text(number, 64))
        }
        _ => bail!("{subject} does not take such keys"),
    }
}

fn grown<K>(build: Build<K>, count: usize, make: impl Fn(u64) -> K) -> Result<u64> {
    let before = resident_bytes()?;
    let mut runner = build(Limit::Open);
    for number in 0..count as u64 {
        runner.each(&[make(number)]);
    }
    let after = resident_bytes()?;
    drop(runner);
    Ok(after.saturating_sub(before))
}

fn resident_bytes() -> Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").context("reading /proc/self/statm")?;
    let pages = statm
        .split_whitespace()
        .nth(1)
        .context("no resident set in statm")?;
    let pages: u64 = pages.parse().context("reading the resident set")?;
    Ok(pages * rustix::param::page_size() as u64)
}
