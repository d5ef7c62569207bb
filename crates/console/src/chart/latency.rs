//! How long decisions take: a band from the median to the 99th percentile.

use super::axis::{Axis, area, line};
use super::frame::{ChartTable, Framed, framed};
use crate::html::{Html, el};
use crate::moment::Moment;
use crate::number;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// Half of the decisions took at most this.
    pub p50: f64,
    /// 99 of 100 took at most this.
    pub p99: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    pub from: Moment,
    pub step_ms: u64,
    pub points: Vec<Quantiles>,
}

pub fn latency(view: &Latency) -> Html {
    let most = view
        .points
        .iter()
        .map(|point| point.p99)
        .fold(0.0, f64::max);
    let Some(last) = view.points.last().filter(|_| most > 0.0) else {
        return Html::default();
    };
    let axis = Axis::new(view.from, view.step_ms, view.points.len(), most);
    let (low, high): (Vec<f64>, Vec<f64>) = view
        .points
        .iter()
        .map(|point| (point.p50, point.p99))
        .unzip();
    let drawn = Html::join([
        el("path").class("band").attr("d", area(&axis, &high, &low)),
        el("path").class("p99").attr("d", line(&axis, &high)),
        el("path").class("p50").attr("d", line(&axis, &low)),
    ]);
    framed(Framed {
        title: &format!(
            "99 of 100 decisions take at most {}",
            number::latency(last.p99)
        ),
        note: &format!(
            "Time of a decision: median {} below, 99th percentile above.",
            number::latency(last.p50)
        ),
        axis,
        unit: number::latency,
        drawn,
        legend: Html::default(),
        table: ChartTable {
            columns: &["Median", "99th percentile"],
            rows: view
                .points
                .iter()
                .map(|p| vec![number::latency(p.p50), number::latency(p.p99)])
                .collect(),
        },
    })
}
