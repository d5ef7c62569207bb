//! All contracts: what they bind, by which policies, and how much they refuse.

use crate::chart::Tally;
use crate::frame::{Frame, Right};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{
    Chip, Column, Mode, cell, chips, empty, head, live, more, name, number_cell, search, table,
};
use crate::section::Section;
use crate::url::Url;

/// One contract.
#[derive(Clone, Debug, Default)]
pub struct ContractRow {
    /// Its id.
    pub id: String,
    /// Entries with their values that a request must have.
    pub matches: Vec<(String, String)>,
    /// Entries that it counts by.
    pub key: Vec<String>,
    /// The plan it follows.
    pub plan: Option<String>,
    /// Its policies, the plan's included.
    pub policies: Vec<Chip>,
    /// How nodes agree about it.
    pub coordination: String,
    /// The mode of all of it.
    pub mode: Mode,
    /// Requests of the last hour.
    pub tally: Tally,
    /// When it was changed last.
    pub changed: Option<Moment>,
}

/// A page of contracts.
#[derive(Clone, Debug, Default)]
pub struct Contracts {
    /// What was searched for.
    pub query: String,
    /// Those found.
    pub rows: Vec<ContractRow>,
    /// How many there are in all, where somebody counts them.
    pub all: Option<u64>,
    /// From where the next page begins.
    pub next: Option<String>,
}

/// The page.
pub fn contracts(frame: &Frame, view: &Contracts) -> String {
    let new = frame.may(Right::Edit).then(|| {
        el("a")
            .class("button main")
            .url("href", &Url::to("/console/contract"))
            .text("New contract")
    });
    let page = Section::Contracts.url().query("q", &view.query);
    let all = view.all.map(|all| number::counted(all, "contract"));
    let note = format!(
        "{}Every one that binds a request must admit it.",
        all.map_or_else(String::new, |all| format!("{all}. "))
    );
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head("Contracts", note, new)),
        search(&Section::Contracts.url(), "Search contracts", &view.query).into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Contracts), "Contracts", body)
}

fn rows(frame: &Frame, view: &Contracts) -> Element {
    if view.rows.is_empty() {
        return none(
            frame,
            &view.query,
            "contract",
            &Url::to("/console/contract"),
        );
    }
    let row = |row: &ContractRow| {
        el("tr")
            .with(cell(
                el("a")
                    .url("href", &Url::to("/console/contract").query("id", &row.id))
                    .with(name(&row.id)),
            ))
            .with(cell(binds(row)))
            .with(cell(chips(&row.policies)))
            .with(cell(row.coordination.as_str()))
            .with(cell(row.mode.text()))
            .with(number_cell(if row.tally.all() == 0 {
                "–".to_owned()
            } else {
                row.tally.denied_share()
            }))
            .with(cell(row.changed.map(|at| at.ago(frame.now))))
    };
    let columns = [
        Column("Contract", false),
        Column("Binds", false),
        Column("Policies", false),
        Column("Agreed by", false),
        Column("Mode", false),
        Column("Denied", true),
        Column("Changed", false),
    ];
    el("div").class("panel").with(table(
        "Contracts",
        &columns,
        view.rows.iter().map(row).collect(),
    ))
}

/// Nothing was found, or there is nothing yet.
pub(super) fn none(frame: &Frame, query: &str, kind: &str, new: &Url) -> Element {
    if !query.is_empty() {
        return empty(
            &format!("No {kind} has “{query}” in its name."),
            "Search for less, or for something else.",
        );
    }
    let next = if frame.may(Right::Edit) {
        Html::join([
            el("a")
                .url("href", new)
                .text(format!("Make the first {kind}")),
            el("span").text(", or load a file with tollgate contract put."),
        ])
    } else {
        Html::text("Somebody with the role admin can make one.")
    };
    empty(&format!("There is no {kind} yet."), next)
}

/// Which requests, in words.
fn binds(row: &ContractRow) -> Html {
    let pairs = row.matches.iter().map(|(entry, value)| {
        Html::from(
            el("span")
                .class("pair-of")
                .with(el("bdi").text(entry))
                .text("=")
                .with(el("bdi").text(value)),
        )
    });
    let plan = row.plan.as_ref().map(|plan| {
        el("span")
            .class("note")
            .text("plan ")
            .with(el("bdi").text(plan))
    });
    let by = if row.key.is_empty() {
        el("span").class("note").text("one counter")
    } else {
        let keys = row.key.iter().enumerate().map(|(i, key)| {
            Html::join([
                Html::text(if i > 0 { ", " } else { "" }),
                el("bdi").text(key).into(),
            ])
        });
        el("span").class("note").text("by ").each(keys)
    };
    el("span")
        .class("binds")
        .each(pairs)
        .with(" ")
        .with(by)
        .with(" ")
        .with(plan)
        .into()
}
