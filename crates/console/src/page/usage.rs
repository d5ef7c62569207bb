//! What was used, by identity and day, for bills.

use super::top::{By, tab};
use super::why::to;
use crate::chart::{Bar, Meaning, Tally, Traffic, bar, traffic};
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{
    Column, button, cell, empty, head, labelled, live, more, name, number_cell, table,
};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct UsageRow {
    /// As `2026-11-16`.
    pub day: String,
    pub identity: String,
    /// The key that the `why` page is opened with.
    pub key: String,
    pub contract: String,
    pub tally: Tally,
    pub cost: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Filter; empty for all identities.
    pub identity: String,
    /// First day, inclusive.
    pub from: String,
    /// Last day, inclusive.
    pub until: String,
    pub complaint: Option<String>,
    /// `None` sorts by day.
    pub by: Option<By>,
    /// Everything counted in these days, in equal steps.
    pub traffic: Traffic,
    /// Of all rows, not only those of this page.
    pub cost: u64,
    /// The rows of a page, or the first of the sort order.
    pub rows: Vec<UsageRow>,
    /// Where the next page begins.
    pub next: Option<String>,
}

pub fn usage(frame: &PageFrame, view: &Usage) -> String {
    let of = |url: Url, (from, until): (&str, &str), by: Option<By>| {
        let url = url.query("q", &view.identity).query("from", from);
        let url = url.query("until", until);
        match by {
            None => url,
            Some(by) => url.query("by", by.name()),
        }
    };
    let days = (&*view.from, &*view.until);
    let page = of(Section::Usage.url(), days, view.by);
    let export = |format: &'static str, words: &'static str| {
        let url = of(Url::to("/console/usage/export"), days, None);
        el("a")
            .class("button")
            .url("href", &url.query("format", format))
            .flag("download", true)
            .text(words)
    };
    let last = |count: i64| frame.now.plus(-(count - 1) * DAY_MS).day();
    let today = last(1);
    let month = format!("{}-01", today.get(..7).unwrap_or_default());
    let ranges = [
        ("today", today.clone()),
        ("7 days", last(7)),
        ("30 days", last(30)),
        ("90 days", last(90)),
        ("this month", month),
    ];
    let ranges = ranges.map(|(words, from)| {
        let is_shown = view.from == from && view.until == today;
        tab(
            words,
            &of(Section::Usage.url(), (&from, &today), view.by),
            is_shown,
        )
    });
    let sorts = [None, Some(By::Requests), Some(By::Denied), Some(By::Cost)];
    let sorts = sorts.map(|by| {
        let words = by.map_or("day", By::name);
        tab(words, &of(Section::Usage.url(), days, by), by == view.by)
    });
    let seg = |label: &'static str| el("nav").class("seg").attr("aria-label", label);
    let tabs = el("div")
        .class("tabs")
        .with(seg("Days").each(ranges))
        .with(seg("Sorted by").each(sorts));
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let results = match &view.complaint {
        Some(text) => el("p").class("banner bad").attr("role", "alert").text(text),
        None => live("results", &page)
            .with(totals(view))
            .with(rows(view))
            .with(more(next.as_ref())),
    };
    let body = Html::join([
        Html::from(head(
            "Usage",
            "By identity and day (UTC). Sums equal what was decided.",
            Html::join([export("csv", "Export CSV"), export("json", "Export JSON")]),
        )),
        filter(view).into(),
        tabs.into(),
        results.into(),
    ]);
    frame.page(Some(Section::Usage), "Usage", body)
}

fn filter(view: &Usage) -> Element {
    let day = |label: &'static str, name: &'static str, value: &str| {
        let gap = el("input").attr("type", "date").attr("name", name);
        labelled(label, gap.attr("value", value))
    };
    let who = el("input")
        .attr("name", "q")
        .attr("value", &view.identity)
        .attr("autocomplete", "off")
        .attr("spellcheck", "false");
    el("form")
        .class("filter")
        .url("action", &Section::Usage.url())
        .with(labelled("Identity", who))
        .with(day("From", "from", &view.from))
        .with(day("Until", "until", &view.until))
        .with(button("Show"))
}

/// All of these days: a chart and one line.
fn totals(view: &Usage) -> Html {
    let sum = view.traffic.total();
    if sum.all() == 0 {
        return Html::default();
    }
    let tile = |label: &'static str, value: u64, class: &'static str| {
        let value = el("b").text(number::whole(value));
        el("div")
            .class(class)
            .with(el("dt").text(label))
            .with(el("dd").with(value))
    };
    let fact = format!(
        "{} denied of {}",
        sum.denied_share(),
        number::counted(sum.all(), "request")
    );
    Html::join([
        el("dl")
            .class("tiles")
            .with(tile("Allowed", sum.allowed, "tile"))
            .with(tile("Delayed", sum.delayed, "tile delayed"))
            .with(tile("Denied", sum.denied, "tile denied"))
            .with(tile("Cost", view.cost, "tile")),
        el("div").class("panel").with(traffic(&fact, &view.traffic)),
    ])
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
            .with(cell(row.day.as_str()).class("nowrap"))
            .with(cell(
                el("a").url("href", &to(&row.key)).with(name(&row.identity)),
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

const DAY_MS: i64 = 86_400_000;
