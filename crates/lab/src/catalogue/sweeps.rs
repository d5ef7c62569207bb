//! One parameter turned: nodes, capacity, delay, loss, skew.
//!
//! Not here: faults that have no size.

#![allow(clippy::cast_precision_loss, reason = "places in plots")]

use tollgate_limit::Span;

use super::cells::{LIMITED, Making, delay, ms};
use super::figures::View;
use super::plan::{ExperimentCell, ExperimentPlan};
use super::thesis::usual;
use super::told_sweeps::SWEEPS;
use crate::contender::Contender::{Counter, Links, QueueFreq, QueueFreqLinf};
use crate::report::Column;
use crate::world::WorldFault;

pub(super) fn growth() -> ExperimentPlan {
    let mut cells = Vec::new();
    for per_node in [10, 3] {
        for nodes in [10u16, 30, 100, 300] {
            let label = format!("{nodes} nodes, c = {}", u64::from(nodes) * per_node);
            let series = format!("c = {per_node} N");
            cells.extend(sized(nodes, u64::from(nodes) * per_node).map(|making| {
                let placed = making.labelled(label, SWEEPS).at(&series, f64::from(nodes));
                // The queue's traffic grows with the third power; two sizes show it.
                if nodes <= 30 {
                    placed.plain(&[Counter, QueueFreq, Links])
                } else {
                    placed.plain(&[Counter, Links])
                }
            }));
        }
    }
    ExperimentPlan {
        title: "10 to 300 nodes".to_owned(),
        about: "B-substantial on more and more nodes, with buckets of ten and of three tokens per node.".to_owned(),
        ..usual(cells, &over("nodes", &[Column::Bytes, Column::State, Column::Busiest, Column::Over]))
    }
}

pub(super) fn small() -> ExperimentPlan {
    let mut cells = Vec::new();
    for per_node in [1, 3, 10, 30] {
        for nodes in [2u16, 3, 5, 7, 10, 20] {
            let burst = u64::from(nodes) * per_node;
            let label = format!("{nodes} nodes, c = {burst}");
            cells.extend(sized(nodes, burst).map(|making| {
                let placed = making.labelled(label, SWEEPS);
                let placed = placed.at(&format!("c = {per_node} N"), f64::from(nodes));
                placed.plain(&[Links])
            }));
        }
    }
    ExperimentPlan {
        title: "2 to 20 nodes".to_owned(),
        about: "B-substantial on few nodes, with buckets of one to thirty tokens per node."
            .to_owned(),
        ..usual(cells, &over("nodes", &[Column::Bytes, Column::State]))
    }
}

fn sized(nodes: u16, burst: u64) -> Option<Making> {
    Making::of("b-substantial", "B-substantial").map(|making| making.sized(nodes, burst))
}

pub(super) fn capacity() -> ExperimentPlan {
    let mut cells = Vec::new();
    for (name, label) in LIMITED {
        for burst in [90u64, 150, 300, 900, 3000] {
            let set = format!("{label}, c = {burst}");
            cells.extend(Making::of(name, label).map(|making| {
                let placed = making
                    .sized(30, burst)
                    .labelled(set, SWEEPS)
                    .at(label, burst as f64);
                // A queue element per token: beyond this the queue needs a machine of its own.
                if burst <= 300 {
                    placed.plain(&[Counter, QueueFreqLinf, Links])
                } else {
                    placed.plain(&[Counter, Links])
                }
            }));
        }
    }
    ExperimentPlan {
        title: "Buckets of 3 to 100 tokens per node".to_owned(),
        about: "The three limited users of set B with smaller and larger buckets on 30 nodes."
            .to_owned(),
        ..usual(
            cells,
            &over(
                "capacity, tokens",
                &[Column::Bytes, Column::Area, Column::State],
            ),
        )
    }
}

pub(super) fn delays() -> ExperimentPlan {
    let cell = |(name, label): (&str, &str), millis: u64| {
        let making = Making::of(name, label)?;
        let making = making.labelled(format!("{label}, {millis} ms"), SWEEPS);
        let making = making.with(delay(millis)).at(label, millis as f64);
        // The thesis' designs beside it once.
        let thesis: &[_] = if millis == 50 {
            &[Counter, QueueFreq]
        } else {
            &[]
        };
        Some(making.plain(&[thesis, &[Links]].concat()))
    };
    ExperimentPlan {
        title: "Messages that take up to 200 ms".to_owned(),
        about: "Every message takes that long, one way. Who answers at once must admit what others admitted meanwhile."
            .to_owned(),
        ..usual(
            each(&[5, 20, 50, 100, 200], &cell),
            &over("delay, ms", &[Column::Over, Column::Total, Column::Bytes]),
        )
    }
}

pub(super) fn losses() -> ExperimentPlan {
    let cell = |(name, label): (&str, &str), percent: u64| {
        let making = Making::of(name, label)?;
        let fault = match percent {
            0 => "none".to_owned(),
            percent => format!("{percent} % loss"),
        };
        let making = making.labelled(format!("{label}, {fault}"), super::told_faults::FAULTS);
        let making = making.with(delay(5)).at(label, percent as f64);
        let millionths = u32::try_from(percent * 10_000).unwrap_or(0);
        Some(
            making
                .with(WorldFault::Loss(millionths))
                .plain(&[Counter, Links]),
        )
    };
    ExperimentPlan {
        title: "Up to all messages lost".to_owned(),
        about: "Every message takes 5 ms and is lost with that probability.".to_owned(),
        ..usual(
            each(&[0, 1, 5, 20, 50, 100], &cell),
            &over("lost, %", &[Column::Total, Column::Over, Column::Bytes]),
        )
    }
}

pub(super) fn skews() -> ExperimentPlan {
    let cell = |(name, label): (&str, &str), millis: u64| {
        let making = Making::of(name, label)?;
        let set = match millis {
            0 => format!("{label}, none"),
            millis => format!("{label}, clocks off by {millis} ms"),
        };
        let making = making.labelled(set, super::told_faults::FAULTS);
        let making = making.with(delay(5)).with(WorldFault::Skew(ms(millis)));
        Some(making.at(label, millis as f64).plain(&[Counter, Links]))
    };
    ExperimentPlan {
        title: "Clocks that are off by up to a second".to_owned(),
        about: "Each node's clock is off by a fixed amount, up to that much either way; messages take 5 ms.".to_owned(),
        ..usual(
            each(&[0, 10, 50, 200, 1000], &cell),
            &over("skew, ms", &[Column::Total, Column::Over, Column::False]),
        )
    }
}

/// Makes the cell of a set, by its name and its label, for a value.
type Make<'a> = dyn Fn((&str, &str), u64) -> Option<ExperimentCell> + 'a;

/// A cell for each limited user of set B and each value.
fn each(values: &[u64], cell: &Make<'_>) -> Vec<ExperimentCell> {
    let of_set = |set| values.iter().filter_map(move |value| cell(set, *value));
    LIMITED.into_iter().flat_map(of_set).collect()
}

fn over(label: &'static str, columns: &[Column]) -> Vec<View> {
    columns
        .iter()
        .map(|column| View::Over(*column, label))
        .collect()
}

/// Messages take that long and up to that much longer.
pub(super) const fn reordering(base_ms: u64, jitter: Span) -> WorldFault {
    WorldFault::Delay {
        base: ms(base_ms),
        jitter,
    }
}
