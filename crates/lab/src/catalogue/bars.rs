//! What must hold, and whether it does, as far as figures of runs can tell.
//!
//! Not here: how a bar is judged, laws, which property tests hold, comparisons decision by decision, and what is left
//! in memory after all has drained.

use super::cells::{LIMITED, Making, delay};
use super::faults::{Trouble, in_nodes, making, on_the_way, together};
use super::others::home_bare;
use super::plan::{Cell, Plan, Variant};
use super::thesis::{intervals, usual};
use crate::contender::Contender::{
    self, Counter, CounterFixed, Home, Queue, QueueFreq, QueueFreqLinf, QueueLinf, Segments,
};
use crate::report::{Bar, Report};

mod delay;
mod home;
mod list;
mod test;

/// The name it is run by.
pub(super) const NAME: &str = "bars";

pub(super) fn plan() -> Plan {
    let mut cells = sets();
    cells.extend(intervals(&[Counter, Queue, QueueFreq, Segments, Home]));
    cells.extend(odd());
    cells.extend(delays());
    cells.extend(faults());
    cells.extend(growth());
    Plan {
        title: "What must hold".to_owned(),
        about: "Bars that figures of runs can judge, on the sets of the thesis and ours, with and without faults. Laws are \
                held by property tests."
            .to_owned(),
        ..usual(cells, &[])
    }
}

/// Judges the rows.
pub(super) fn judge(report: &mut Report) {
    let judged = |check: &test::Check| check.judge(&report.rows);
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
fn sets() -> Vec<Cell> {
    let every = [
        Counter,
        CounterFixed,
        Queue,
        QueueLinf,
        QueueFreq,
        QueueFreqLinf,
        Segments,
        Home,
    ];
    let mut cells = Vec::new();
    for (name, label) in LIMITED.into_iter().chain([("b-calm", "B-calm")]) {
        cells.extend(Making::of(name, label).map(|making| {
            let mut variants: Vec<_> = every.into_iter().map(Variant::plain).collect();
            variants.push(home_bare(&making));
            making.variants(variants)
        }));
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
    cells.extend(few("a", "A", &[Counter, Segments, Home]).map(|cell| cell.at_most(5)));
    cells.extend(few("c", "C", &[Counter, Queue, Segments, Home]).map(|cell| cell.at_most(1)));
    cells
}

/// Pauses, drips, splits and shapes; larger buckets.
fn odd() -> Vec<Cell> {
    let one = |name, label, designs: &[Contender]| {
        Making::of(name, label).map(|making| making.plain(designs))
    };
    let mut cells = Vec::new();
    cells.extend(one(
        "idle",
        "idle",
        &[Counter, CounterFixed, Segments, Home],
    ));
    cells.extend(one("drip-1.11", "drip at 1.11", &[Segments, Home]).map(|cell| cell.at_most(5)));
    cells.extend(one("drip-1.5", "drip at 1.5", &[Segments, Home]));
    cells.extend(one("split", "split", &[Segments, Home]));
    for name in ["mob", "two", "drip"] {
        cells.extend(one(name, name, &[Segments, Home]));
    }
    cells.extend(Making::of("b-extreme", "B-extreme").map(|making| {
        let label = "B-extreme, c = 900".to_owned();
        making
            .sized(30, 900)
            .labelled(label, "")
            .plain(&[Counter, Segments])
    }));
    cells
}

fn delays() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, label) in LIMITED {
        for millis in [5, 20, 50, 100, 200] {
            cells.extend(Making::of(name, label).map(|making| {
                let making = making
                    .labelled(format!("{label}, {millis} ms"), "")
                    .with(delay(millis));
                let hybrid = making.tuned("home k auto", Home, |knobs| knobs.direct = None);
                making.variants(vec![Variant::plain(Segments), Variant::plain(Home), hybrid])
            }));
        }
    }
    cells
}

fn faults() -> Vec<Cell> {
    let judged = |trouble: &Trouble| !matches!(trouble.name, "none" | "20 % loss" | "50 % loss");
    let mut troubles: Vec<Trouble> = on_the_way().into_iter().filter(judged).collect();
    troubles.extend(in_nodes());
    troubles.push(together());
    let mut cells = Vec::new();
    for trouble in &troubles {
        for set in LIMITED {
            cells.extend(
                making(set.0, set.1, trouble).map(|making| making.plain(&[Segments, Home])),
            );
        }
    }
    cells
}

fn growth() -> Vec<Cell> {
    let one = |nodes: u16, seeds| {
        let making = Making::of("b-substantial", "B-substantial")?;
        let making = making
            .sized(nodes, u64::from(nodes) * 10)
            .labelled(format!("{nodes} nodes"), "");
        let tree = making.tuned("home tree 16", Home, |knobs| knobs.tree = Some(16));
        Some(
            making
                .variants(vec![Variant::plain(Home), tree])
                .at_most(seeds),
        )
    };
    [(100, 3), (300, 1), (1000, 1)]
        .into_iter()
        .filter_map(|(nodes, seeds)| one(nodes, seeds))
        .collect()
}
