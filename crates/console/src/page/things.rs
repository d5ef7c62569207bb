//! All contracts, or all plans: what they bind or promise, by which policies, and how much they refuse or how many
//! are on
//! them.

use crate::chart::Tally;
use crate::editor::DraftKind;
use crate::frame::{PageFrame, Right};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{
    BindingMode, Chip, Column, cell, chips, empty, head, live, more, name, number_cell, search,
    table,
};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct ThingRow {
    pub id: String,
    pub plan: Option<String>,
    pub policies: Vec<Chip>,
    pub changed: Option<Moment>,
    pub more: More,
}

#[derive(Clone, Debug)]
pub enum More {
    Contract(Binding),
    Plan(Followers),
}

impl Default for More {
    fn default() -> Self {
        Self::Contract(Binding::default())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Entries with their values that a request must have.
    pub matches: Vec<(String, String)>,
    pub key: Vec<String>,
    pub coordination: String,
    pub mode: BindingMode,
    pub tally: Tally,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Followers {
    pub contracts: u64,
    pub assignments: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Things {
    pub kind: DraftKind,
    pub query: String,
    pub rows: Vec<ThingRow>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// Words and addresses that differ between contracts and plans.
pub(super) struct SectionWords {
    pub(super) section: Section,
    /// Singular.
    pub(super) one: &'static str,
    pub(super) new: &'static str,
    pub(super) path: &'static str,
    pub(super) delete: &'static str,
    pub(super) rollback: &'static str,
    search: &'static str,
    note: &'static str,
}

pub(super) const fn words(kind: DraftKind) -> &'static SectionWords {
    match kind {
        DraftKind::Contract => &CONTRACTS,
        DraftKind::Plan => &PLANS,
    }
}

const CONTRACTS: SectionWords = SectionWords {
    section: Section::Contracts,
    one: "contract",
    new: "New contract",
    path: "/console/contract",
    delete: "/console/contract/delete",
    rollback: "/console/contract/rollback",
    search: "Search contracts",
    note: "Every one that binds a request must admit it.",
};
const PLANS: SectionWords = SectionWords {
    section: Section::Plans,
    one: "plan",
    new: "New plan",
    path: "/console/plan",
    delete: "/console/plan/delete",
    rollback: "/console/plan/rollback",
    search: "Search plans",
    note: "A change of a plan changes everybody on it.",
};

pub fn things(frame: &PageFrame, view: &Things) -> String {
    let words = words(view.kind);
    let new = frame.may(Right::Edit).then(|| {
        el("a")
            .class("button main")
            .url("href", &Url::to(words.path))
            .text(words.new)
    });
    let page = words.section.url().query("q", &view.query);
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(words.section.title(), words.note, new)),
        search(&words.section.url(), words.search, &view.query).into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(words.section), words.section.title(), body)
}

fn rows(frame: &PageFrame, view: &Things) -> Element {
    if view.rows.is_empty() {
        return none(frame, view);
    }
    let columns: &[Column] = match view.kind {
        DraftKind::Contract => &[
            Column("Contract", false),
            Column("Binds", false),
            Column("Policies", false),
            Column("Agreed by", false),
            Column("Mode", false),
            Column("Denied", true),
            Column("Changed", false),
        ],
        DraftKind::Plan => &[
            Column("Plan", false),
            Column("Follows", false),
            Column("Policies", false),
            Column("Contracts", true),
            Column("Assigned", true),
            Column("Changed", false),
        ],
    };
    let rows = view.rows.iter().map(|one| row(frame, view.kind, one));
    el("div").class("panel").with(table(
        words(view.kind).section.title(),
        columns,
        rows.collect(),
    ))
}

fn row(frame: &PageFrame, kind: DraftKind, row: &ThingRow) -> Element {
    let first = el("tr").with(cell(link(words(kind).path, &row.id)));
    let filled = match &row.more {
        More::Contract(binding) => first
            .with(cell(binds(row, binding)))
            .with(cell(chips(&row.policies)))
            .with(cell(binding.coordination.as_str()))
            .with(cell(binding.mode.text()))
            .with(number_cell(if binding.tally.all() == 0 {
                "–".to_owned()
            } else {
                binding.tally.denied_share()
            })),
        More::Plan(followers) => first
            .with(cell(
                row.plan.as_deref().map(|plan| link("/console/plan", plan)),
            ))
            .with(cell(chips(&row.policies)))
            .with(number_cell(number::whole(followers.contracts)))
            .with(number_cell(number::whole(followers.assignments))),
    };
    filled.with(cell(row.changed.map(|at| at.ago(frame.now))))
}

pub(super) fn link(path: &'static str, id: &str) -> Element {
    el("a")
        .url("href", &Url::to(path).query("id", id))
        .with(name(id))
}

/// Distinguishes a search without results from an empty catalogue.
fn none(frame: &PageFrame, view: &Things) -> Element {
    let SectionWords { one, path, .. } = words(view.kind);
    if !view.query.is_empty() {
        return empty(
            &format!("The name of no {one} begins with “{}”.", view.query),
            "Search for less, or for something else.",
        );
    }
    let next = if frame.may(Right::Edit) {
        Html::join([
            el("a")
                .url("href", &Url::to(path))
                .text(format!("Make the first {one}")),
            el("span").text(", or load a file with tollgate contract put."),
        ])
    } else {
        Html::text("Somebody with the role admin can make one.")
    };
    empty(&format!("There is no {one} yet."), next)
}

/// Which requests, in words.
fn binds(row: &ThingRow, binding: &Binding) -> Html {
    let pairs = binding.matches.iter().map(|(entry, value)| {
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
    let by = if binding.key.is_empty() {
        el("span").class("note").text("one counter")
    } else {
        let keys = binding.key.iter().enumerate().map(|(i, key)| {
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
