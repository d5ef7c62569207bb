//! What stands around every drawing: the fact as a title, what is drawn, and the numbers behind it.

use super::axis::Axis;
use crate::html::{Element, Html, el};

pub(super) struct Framed<'a> {
    pub(super) title: &'a str,
    pub(super) note: &'a str,
    pub(super) axis: Axis,
    pub(super) unit: fn(f64) -> String,
    pub(super) drawn: Html,
    pub(super) legend: Html,
    pub(super) table: ChartTable<'a>,
}

/// The numbers: a column of times, and one for each thing that is drawn.
pub(super) struct ChartTable<'a> {
    pub(super) columns: &'a [&'static str],
    pub(super) rows: Vec<Vec<String>>,
}

pub(super) fn framed(chart: Framed<'_>) -> Html {
    let Framed {
        title,
        note,
        axis,
        unit,
        drawn,
        legend,
        table,
    } = chart;
    el("figure")
        .class("chart")
        .attr("data-from", axis.from.0)
        .attr("data-until", axis.until().0)
        .with(
            el("figcaption").with(el("h3").text(title)).with(
                el("p")
                    .class("note")
                    .text(note)
                    .with(" ")
                    .with(el("output").class("readout")),
            ),
        )
        .with(axis.plot(title, unit, drawn))
        .with(legend)
        .with(behind(&axis, table))
        .into()
}

fn behind(axis: &Axis, table: ChartTable<'_>) -> Element {
    let step = i64::try_from(axis.step_ms).unwrap_or(i64::MAX);
    let head = table
        .columns
        .iter()
        .map(|name| el("th").attr("scope", "col").text(name));
    let rows = table.rows.into_iter().enumerate().map(|(i, row)| {
        let i = i64::try_from(i).unwrap_or(i64::MAX);
        let time = axis.from.plus(step.saturating_mul(i));
        el("tr")
            .with(el("th").attr("scope", "row").with(time.at()))
            .each(row.into_iter().map(|cell| el("td").class("n").text(cell)))
    });
    el("details")
        .class("behind")
        .with(el("summary").text("Numbers"))
        .with(
            el("div")
                .class("scroll")
                .attr("tabindex", "0")
                .attr("role", "region")
                .attr("aria-label", "Numbers of the chart")
                .with(
                    el("table")
                        .with(
                            el("thead").with(
                                el("tr")
                                    .with(el("th").attr("scope", "col").text("Time (UTC)"))
                                    .each(head),
                            ),
                        )
                        .with(el("tbody").each(rows)),
                ),
        )
}
