//! What was used, by identity and day, for bills.

use super::identities;
use crate::chart::{Bar, Meaning, Tally, bar};
use crate::frame::Frame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, button, cell, empty, field, head, live, more, name, number_cell, table};
use crate::section::Section;
use crate::url::Url;

/// A day of somebody.
#[derive(Clone, Debug, Default)]
pub struct UsageRow {
    /// Which day: `2026-11-16`.
    pub day: String,
    /// Who.
    pub identity: String,
    /// In which contract.
    pub contract: String,
    /// The requests.
    pub tally: Tally,
    /// What they cost.
    pub cost: u64,
}

/// The page.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Only this identity; empty for all.
    pub identity: String,
    /// The first day.
    pub from: String,
    /// The last day.
    pub until: String,
    /// The days.
    pub rows: Vec<UsageRow>,
    /// From where the next page begins.
    pub next: Option<String>,
}

/// The page.
pub fn usage(frame: &Frame, view: &Usage) -> String {
    let query = |url: Url| {
        url.query("q", &view.identity)
            .query("from", &view.from)
            .query("until", &view.until)
    };
    let page = query(Section::Usage.url());
    let export = |format: &'static str, words: &'static str| {
        el("a")
            .class("button")
            .url(
                "href",
                &query(Url::to("/console/usage/export")).query("format", format),
            )
            .flag("download", true)
            .text(words)
    };
    let filter = el("form")
        .class("filter")
        .url("action", &Section::Usage.url())
        .with(field("Identity", "q", &view.identity))
        .with(field("From", "from", &view.from))
        .with(field("Until", "until", &view.until))
        .with(button("Show"));
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(
            "Usage",
            "By identity and day (UTC). Sums equal what was decided.",
            Html::join([export("csv", "Export CSV"), export("json", "Export JSON")]),
        )),
        filter.into(),
        live("results", &page)
            .with(rows(view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Usage), "Usage", body)
}

fn rows(view: &Usage) -> Element {
    if view.rows.is_empty() {
        return empty(
            "Nothing was used in these days.",
            "Choose other days, or leave the identity empty.",
        );
    }
    let most = view.rows.iter().map(|row| row.cost).max().unwrap_or(1);
    let row = |row: &UsageRow| {
        let words = format!("{} of {}", row.cost, most);
        el("tr")
            .with(cell(row.day.as_str()))
            .with(cell(
                el("a")
                    .url("href", &identities::to(&row.identity))
                    .with(name(&row.identity)),
            ))
            .with(cell(name(&row.contract)))
            .with(number_cell(number::whole(row.tally.allowed)))
            .with(number_cell(number::whole(row.tally.delayed)))
            .with(number_cell(number::whole(row.tally.denied)))
            .with(number_cell(number::whole(row.cost)))
            .with(
                cell(bar(
                    &[Bar {
                        value: row.cost,
                        meaning: Meaning::Plain,
                    }],
                    most,
                    &words,
                ))
                .class("wide"),
            )
    };
    let columns = [
        Column("Day", false),
        Column("Identity", false),
        Column("Contract", false),
        Column("Allowed", true),
        Column("Delayed", true),
        Column("Denied", true),
        Column("Cost", true),
        Column("", false),
    ];
    el("div").class("panel").with(table(
        "Usage",
        &columns,
        view.rows.iter().map(row).collect(),
    ))
}
