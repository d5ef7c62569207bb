//! How everything is, in two seconds: is anything wrong, what is refused, for which identities.

use crate::chart::{Latency, Tally, Traffic, latency, traffic};
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{ChangeRow, Column, cell, changes, empty, live, name, number_cell, panel, table};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HealthLevel {
    #[default]
    Good,
    Warn,
    Bad,
}

impl HealthLevel {
    pub(crate) fn sign(self) -> Element {
        let (class, path) = match self {
            Self::Good => ("state good", "M2.5 6.5L5 9L9.5 3.5"),
            Self::Warn => ("state warn", "M6 1.5L11 10.5H1ZM6 5V7.2M6 8.8V9"),
            Self::Bad => ("state bad", "M2.5 2.5L9.5 9.5M9.5 2.5L2.5 9.5"),
        };
        el("svg")
            .class(class)
            .attr("width", 12)
            .attr("height", 12)
            .attr("viewBox", "0 0 12 12")
            .attr("aria-hidden", "true")
            .with(el("path").attr("d", path))
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Good => "health good",
            Self::Warn => "health warn",
            Self::Bad => "health bad",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Health {
    pub state: HealthLevel,
    pub sentence: String,
    pub advice: Option<String>,
    pub parts: Vec<(String, String, HealthLevel)>,
}

#[derive(Clone, Debug, Default)]
pub struct ContractLoad {
    pub contract: String,
    /// Requests in the time shown.
    pub tally: Tally,
    /// Per second.
    pub rate: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub health: Health,
    /// Per second, now.
    pub rate: f64,
    pub traffic: Traffic,
    pub latency: Latency,
    /// Those that refuse most.
    pub denying: Vec<ContractLoad>,
    /// Newest first.
    pub changes: Vec<ChangeRow>,
}

pub fn overview(frame: &PageFrame, view: &Overview) -> String {
    let page = Section::Overview.url();
    let body = Html::join([
        Html::from(live("health", &page).with(health(&view.health))),
        live("figures", &page).with(figures(view)).into(),
        live("traffic", &page)
            .with(
                el("div")
                    .class("panel")
                    .with(traffic(&view.traffic.fact(), &view.traffic)),
            )
            .into(),
        live("latency", &page)
            .with(el("div").class("panel").with(times(&view.latency)))
            .into(),
        el("div")
            .class("pair")
            .with(live("denying", &page).with(denying(view)))
            .with(live("changes", &page).with(recent(frame, view)))
            .into(),
    ]);
    frame.page(
        Some(Section::Overview),
        "Overview",
        Html::join([el("h1").class("unseen").text("Overview").into(), body]),
    )
}

fn health(health: &Health) -> Element {
    let part = |(name, text, state): &(String, String, HealthLevel)| {
        el("li")
            .with(state.sign())
            .with(" ")
            .with(el("span").class("note").text(name))
            .with(" ")
            .with(el("b").text(text))
    };
    el("section")
        .class(health.state.class())
        .attr("aria-label", "Health")
        .with(
            el("p")
                .with(health.state.sign())
                .with(" ")
                .with(el("b").text(&health.sentence))
                .with(" ")
                .with(health.advice.as_ref().map(|advice| el("span").text(advice))),
        )
        .with(el("ul").each(health.parts.iter().map(part)))
}

/// The few numbers that matter most, in large type.
fn figures(view: &Overview) -> Element {
    let total = view.traffic.total();
    let p99 = view
        .latency
        .points
        .last()
        .map_or_else(|| "–".to_owned(), |point| number::latency(point.p99));
    let tile = |label: &'static str, value: String, note: String, class: &'static str| {
        el("div").class(class).with(el("dt").text(label)).with(
            el("dd")
                .with(el("b").text(value))
                .with(el("span").class("note").text(note)),
        )
    };
    el("dl")
        .class("tiles")
        .with(tile(
            "Now",
            number::rate(view.rate),
            "requests".to_owned(),
            "tile",
        ))
        .with(tile(
            "Denied",
            total.denied_share(),
            format!(
                "{} in the last {}",
                number::short(number::float(total.denied)),
                view.traffic.length()
            ),
            "tile denied",
        ))
        .with(tile(
            "Delayed",
            number::share(total.delayed, total.all()),
            format!(
                "{} in the last {}",
                number::short(number::float(total.delayed)),
                view.traffic.length()
            ),
            "tile delayed",
        ))
        .with(tile(
            "Decided within",
            p99,
            "99 of 100 requests".to_owned(),
            "tile",
        ))
}

fn times(view: &Latency) -> Html {
    let drawn = latency(view);
    if drawn.is_empty() {
        return empty(
            "No decision was timed yet.",
            "Times are drawn as soon as there are requests.",
        )
        .into();
    }
    drawn
}

fn denying(view: &Overview) -> Element {
    let panel = panel("Contracts that deny most");
    if view.denying.is_empty() {
        return panel.with(empty(
            "Nothing was denied.",
            "Every request of this hour passed.",
        ));
    }
    let row = |load: &ContractLoad| {
        el("tr")
            .with(cell(
                el("a")
                    .url(
                        "href",
                        &Url::to("/console/contract").query("id", &load.contract),
                    )
                    .with(name(&load.contract)),
            ))
            .with(number_cell(number::rate(load.rate)))
            .with(number_cell(number::short(number::float(load.tally.denied))))
            .with(number_cell(load.tally.denied_share()))
    };
    let columns = [
        Column("Contract", false),
        Column("Requests", true),
        Column("Denied", true),
        Column("Share", true),
    ];
    panel.with(table(
        "Contracts that deny most",
        &columns,
        view.denying.iter().map(row).collect(),
    ))
}

fn recent(frame: &PageFrame, view: &Overview) -> Element {
    let panel = panel("Recent changes");
    if view.changes.is_empty() {
        let next = Html::join([
            Html::from("Begin with "),
            el("a")
                .url("href", &Url::to("/console/contract"))
                .text("a contract")
                .into(),
            ".".into(),
        ]);
        return panel.with(empty("Nothing was changed yet.", next));
    }
    panel.with(changes(frame, &view.changes))
}
