//! What must hold, and whether it does, as far as figures of runs can tell.
//!
//! Not here: how a bar is judged, laws, which property tests hold, comparisons decision by decision, and what is left
//! in memory after all has drained.

use super::cells::{LIMITED, Making, delay};
use super::faults::{Trouble, in_nodes, making, on_the_way, together};
use super::plan::{ExperimentCell, ExperimentPlan};
use super::thesis::{intervals, usual};
use crate::contender::Contender::{
    self, Counter, CounterFixed, Links, Queue, QueueFreq, QueueFreqLinf, QueueLinf,
};
use crate::report::{Bar, Report};

mod list;
mod test;

pub(super) const NAME: &str = "bars";

pub(super) fn plan() -> ExperimentPlan {
    let mut cells = sets();
    cells.extend(intervals(&[Counter, Queue, QueueFreq, Links]));
    cells.extend(odd());
    cells.extend(delays());
    cells.extend(faults());
    cells.extend(growth());
    ExperimentPlan {
        title: "What must hold".to_owned(),
        about: "Bars that figures of runs can judge, on the sets of the thesis and ours, with and without faults. Laws are \
                held by property tests."
            .to_owned(),
        ..usual(cells, &[])
    }
}

pub(super) fn judge(report: &mut Report) {
    let judged = |check: &test::BarCheck| check.judge(&report.rows);
    report.bars = list::checks().iter().map(judged).collect();
    let missed: Vec<&str> = report
        .bars
        .iter()
        .filter(|bar| bar.met == Some(false))
        .map(|bar| &*bar.name)
        .collect();
    let count = |met| {
        report
            .bars
            .iter()
            .filter(|bar: &&Bar| bar.met == met)
            .count()
    };
    let mut told = vec![format!(
        "{} of {} bars are met.",
        count(Some(true)),
        report.bars.len()
    )];
    if !missed.is_empty() {
        told.push(format!("Missed: {}.", missed.join("; ")));
    }
    if count(None) > 0 {
        told.push(format!("{} were not run.", count(None)));
    }
    report.conclusion = told.join(" ");
}

/// The thesis' sets with instant messages.
fn sets() -> Vec<ExperimentCell> {
    let every = [
        Counter,
        CounterFixed,
        Queue,
        QueueLinf,
        QueueFreq,
        QueueFreqLinf,
        Links,
    ];
    let mut cells = Vec::new();
    for (name, label) in LIMITED.into_iter().chain([("b-calm", "B-calm")]) {
        cells.extend(Making::of(name, label).map(|making| making.plain(&every)));
    }
    let few = |name, label, designs: &[Contender]| {
        Making::of(name, label).map(|making| making.plain(designs))
    };
    cells.extend(Making::of("a", "A").map(|making| {
        let alone = making.labelled("A, one node".to_owned(), "");
        alone
            .cluster(|cluster| cluster.nodes = 1)
            .plain(&[CounterFixed, Queue])
    }));
    cells.extend(few("a", "A", &[Counter, Links]).map(|cell| cell.at_most(5)));
    cells.extend(few("c", "C", &[Counter, Queue, Links]).map(|cell| cell.at_most(1)));
    cells
}

/// Pauses, drips, splits and shapes; larger buckets.
fn odd() -> Vec<ExperimentCell> {
    let one = |name, label, designs: &[Contender]| {
        Making::of(name, label).map(|making| making.plain(designs))
    };
    let mut cells = Vec::new();
    cells.extend(one("idle", "idle", &[Counter, CounterFixed, Links]));
    cells.extend(one("drip-1.11", "drip at 1.11", &[Links]).map(|cell| cell.at_most(5)));
    cells.extend(one("drip-1.5", "drip at 1.5", &[Links]));
    cells.extend(one("split", "split", &[Links]));
    for name in ["mob", "two", "drip"] {
        cells.extend(one(name, name, &[Links]));
    }
    cells.extend(Making::of("b-extreme", "B-extreme").map(|making| {
        let label = "B-extreme, c = 900".to_owned();
        making
            .sized(30, 900)
            .labelled(label, "")
            .plain(&[Counter, Links])
    }));
    cells
}

fn delays() -> Vec<ExperimentCell> {
    let one = |millis: u64| {
        let making = Making::of("b-extreme", "B-extreme")?;
        let making = making.labelled(format!("B-extreme, {millis} ms"), "");
        Some(making.with(delay(millis)).plain(&[Links]))
    };
    [5, 50, 150].into_iter().filter_map(one).collect()
}

fn faults() -> Vec<ExperimentCell> {
    let judged = |trouble: &Trouble| !matches!(trouble.name, "none" | "50 % loss");
    let mut troubles: Vec<Trouble> = on_the_way().into_iter().filter(judged).collect();
    troubles.extend(in_nodes());
    troubles.push(together());
    let of = |trouble: &Trouble, set: (&str, &str)| {
        making(set.0, set.1, trouble).map(|making| making.plain(&[Links]))
    };
    let all = |trouble| LIMITED.into_iter().filter_map(move |set| of(trouble, set));
    troubles.iter().flat_map(all).collect()
}

fn growth() -> Vec<ExperimentCell> {
    let one = |(nodes, seeds): (u16, u64)| {
        let making = Making::of("b-substantial", "B-substantial")?;
        let making = making
            .sized(nodes, u64::from(nodes) * 10)
            .labelled(format!("{nodes} nodes"), "");
        Some(making.plain(&[Links]).at_most(seeds))
    };
    let sizes = [(3, 10), (10, 10), (100, 3), (300, 1)];
    sizes.into_iter().filter_map(one).collect()
}
