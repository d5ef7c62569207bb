//! Supply over time as lines: the fill ratio of every node, and the sum of all.
//!
//! Not here: how lines are drawn.

#![allow(clippy::cast_precision_loss, reason = "figures of three digits")]

use super::stage::{HoldingSample, SupplySetting};
use crate::report::{Line, PlotFigure};

/// Nodes drawn one by one; of more, every so many-th.
const LINES_MAX: usize = 12;
/// Ratios above that, or below -1, say nothing more.
const RATIO_MAX: f64 = 4.0;

pub(super) fn ratios(
    name: &str,
    title: String,
    samples: &[HoldingSample],
    setting: &SupplySetting,
) -> PlotFigure {
    let count = samples.first().map_or(0, |sample| sample.usable.len());
    let every = count.div_ceil(LINES_MAX).max(1);
    let least = setting.rate as f64 / f64::from(setting.founders.max(1)) / 100.0;
    let line = |node: usize| Line {
        name: format!("node {node}"),
        is_reference: false,
        points: samples
            .iter()
            .map(|sample| (seconds(sample.at), ratio(sample, node, least)))
            .collect(),
    };
    PlotFigure {
        name: name.to_owned(),
        title,
        x_label: "time, s".to_owned(),
        y_label: "fill ratio (supply over demand), cut off at −1 and 4".to_owned(),
        lines: (0..count).step_by(every).map(line).collect(),
        ..PlotFigure::default()
    }
}

fn ratio(sample: &HoldingSample, node: usize, least: f64) -> f64 {
    let usable = sample.usable.get(node).copied().flatten();
    let demand = sample.demand.get(node).copied().unwrap_or(0) as f64;
    usable.map_or(f64::NAN, |usable| {
        (usable as f64 / 1_000.0 / (demand + least)).clamp(-1.0, RATIO_MAX)
    })
}

/// What all nodes could use together, in parts of the limit.
pub(super) fn sum(name: &str, samples: &[HoldingSample], setting: &SupplySetting) -> Line {
    let whole = setting.rate as f64 * 1_000.0;
    let of = |sample: &HoldingSample| {
        let usable = sample.usable.iter().flatten().map(|one| (*one).max(0));
        usable.sum::<i128>() as f64 / whole
    };
    Line {
        name: name.to_owned(),
        is_reference: false,
        points: samples
            .iter()
            .map(|sample| (seconds(sample.at), of(sample)))
            .collect(),
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
