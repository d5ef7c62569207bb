//! The experiment about the control plane: random schedules of faults.
//!
//! Not here: the schedules and the judge.

use std::sync::atomic::{AtomicU64, Ordering};

use super::RunRequest;
use crate::nodes::control::campaign::{ControlTrial, trial};
use crate::report::{Bar, Report};
use crate::run::each;

pub(super) fn faults(seeds: u64, ask: &RunRequest<'_>) -> Report {
    let numbers: Vec<u64> = (0..seeds)
        .map(|number| ask.first.wrapping_add(number))
        .collect();
    let done = AtomicU64::new(0);
    let trials = each(&numbers, ask.threads, |seed| {
        let trial = trial(*seed);
        (ask.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, seeds);
        trial
    });
    let died = trials.iter().filter(|trial| trial.is_none()).count();
    let mut bad: Vec<String> = Vec::new();
    for (seed, trial) in numbers.iter().zip(&trials) {
        let findings = trial.iter().flat_map(|trial| &trial.findings);
        bad.extend(findings.map(|finding| format!("seed {seed}: {finding}")));
    }
    let sum = |pick: fn(&ControlTrial) -> u64| trials.iter().flatten().map(pick).sum::<u64>();
    let bar = |name: &str, is_bad: fn(&str) -> bool| {
        let count = bad.iter().filter(|finding| is_bad(finding)).count();
        Bar {
            name: name.to_owned(),
            bar: String::from("0"),
            measured: count.to_string(),
            met: Some(count == 0),
        }
    };
    Report {
        title: String::from("No two nodes are sure of one slot"),
        about: String::from(
            "Three to eight nodes in up to three zones. For 45 s nodes crash, lose disks, die while writing, pause, come and go, disks are full, clocks jump, links are cut on both ways or \
             one, and messages are lost, doubled and late; clocks differ by up to a hundredth in speed. Then up to 40 s without faults.",
        ),
        parameters: vec![(String::from("seeds"), seeds.to_string())],
        bars: vec![
            bar("two nodes are sure of one slot", |finding| {
                finding.contains("are sure of a slot")
            }),
            bar("an epoch goes back", |finding| finding.contains("epoch")),
            bar("two commands at one place of the log", |finding| {
                finding.contains("committed another")
            }),
            bar("not whole 40 s after the last fault", |finding| {
                finding.contains("not whole")
            }),
        ],
        conclusion: format!(
            "{} comparisons of what nodes were sure of, {} places of the log, {died} runs that died.",
            sum(|trial| trial.checks),
            sum(|trial| trial.commits)
        ),
        failure: (died > 0)
            .then(|| format!("{died} runs died"))
            .or_else(|| bad.first().cloned()),
        ..Report::default()
    }
}
