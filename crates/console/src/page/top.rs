//! The identities with the most requests, refusals or cost.

use super::why::to;
use crate::chart::{Bar, Meaning, Tally, bar};
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, cell, empty, head, live, name, number_cell, table};
use crate::section::Section;
use crate::url::Url;

/// Sort order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Requests,
    Denied,
    Cost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopWindow {
    #[default]
    Minute,
    Hour,
    /// A day.
    Day,
}

impl By {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Requests, "requests", "Talkers"),
        (Self::Denied, "denied", "Denied"),
        (Self::Cost, "cost", "Most expensive"),
    ];

    /// The value in the query string.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(by, ..)| *by == self)
            .map_or("requests", |(_, name, _)| name)
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, is, _)| *is == name);
        found.map(|(by, ..)| *by)
    }
}

impl TopWindow {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Minute, "minute"),
        (Self::Hour, "hour"),
        (Self::Day, "day"),
    ];

    /// The value in the query string.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(window, _)| *window == self)
            .map_or("minute", |(_, name)| name)
    }

    /// Unknown names give a minute.
    pub fn from_name(name: &str) -> Self {
        Self::ALL
            .iter()
            .find(|(_, is)| *is == name)
            .map_or_else(Self::default, |(window, _)| *window)
    }
}

#[derive(Clone, Debug, Default)]
pub struct TopRow {
    pub identity: String,
    /// The key that the `why` page is opened with: the identity and the entries that the contract matches.
    pub key: String,
    pub contract: String,
    pub tally: Tally,
    pub cost: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Top {
    pub by: By,
    pub window: TopWindow,
    pub rows: Vec<TopRow>,
}

pub fn top(frame: &PageFrame, view: &Top) -> String {
    let page = |by: By, window: TopWindow| {
        Section::Top
            .url()
            .query("by", by.name())
            .query("window", window.name())
    };
    let sorts = By::ALL.map(|(by, _, words)| tab(words, &page(by, view.window), by == view.by));
    let windows = TopWindow::ALL
        .map(|(window, words)| tab(words, &page(view.by, window), window == view.window));
    let tabs = el("div")
        .class("tabs")
        .with(
            el("nav")
                .class("seg")
                .attr("aria-label", "Sorted by")
                .each(sorts),
        )
        .with(
            el("nav")
                .class("seg")
                .attr("aria-label", "In the last")
                .each(windows),
        );
    let note = format!(
        "Of the last {}, as far as nodes remember them.",
        view.window.name()
    );
    let body = Html::join([
        Html::from(head("Top", note, Html::default())),
        tabs.into(),
        live("results", &page(view.by, view.window))
            .with(rows(view))
            .into(),
    ]);
    frame.page(Some(Section::Top), "Top", body)
}

pub(super) fn tab(text: &'static str, url: &Url, is_shown: bool) -> Element {
    let link = el("a").url("href", url).text(text);
    if is_shown {
        link.attr("aria-current", "true")
    } else {
        link
    }
}

fn rows(view: &Top) -> Element {
    if view.rows.is_empty() {
        return empty("Nobody came.", "Look at a longer time, or send a request.");
    }
    let most = view
        .rows
        .iter()
        .map(|row| row.tally.all())
        .max()
        .unwrap_or(1);
    let row = |(i, row): (usize, &TopRow)| {
        let parts = [
            Bar {
                value: row.tally.allowed,
                meaning: Meaning::Allowed,
            },
            Bar {
                value: row.tally.delayed,
                meaning: Meaning::Delayed,
            },
            Bar {
                value: row.tally.denied,
                meaning: Meaning::Denied,
            },
        ];
        let words = format!(
            "{} allowed, {} delayed, {} denied",
            row.tally.allowed, row.tally.delayed, row.tally.denied
        );
        el("tr")
            .with(number_cell(i + 1))
            .with(cell(
                el("a").url("href", &to(&row.key)).with(name(&row.identity)),
            ))
            .with(cell(name(&row.contract)))
            .with(cell(bar(&parts, most, &words)).class("wide"))
            .with(number_cell(number::short(number::float(row.tally.all()))))
            .with(number_cell(number::short(number::float(row.tally.denied))))
            .with(number_cell(row.tally.denied_share()))
            .with(number_cell(number::short(number::float(row.cost))))
    };
    let columns = [
        Column("", true),
        Column("Key", false),
        Column("Contract", false),
        Column("Requests, by answer", false),
        Column("Requests", true),
        Column("Denied", true),
        Column("Share", true),
        Column("Cost", true),
    ];
    el("div").class("panel").with(table(
        "Top",
        &columns,
        view.rows.iter().enumerate().map(row).collect(),
    ))
}
