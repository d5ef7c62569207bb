//! All plans: what they promise, and who is on them.

use super::contracts::none;
use crate::frame::{Frame, Right};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{Chip, Column, cell, chips, head, live, more, name, number_cell, search, table};
use crate::section::Section;
use crate::url::Url;

/// One plan.
#[derive(Clone, Debug, Default)]
pub struct PlanRow {
    /// Its id.
    pub id: String,
    /// The plan it follows.
    pub follows: Option<String>,
    /// Its policies, those it follows included.
    pub policies: Vec<Chip>,
    /// Contracts that follow it.
    pub contracts: u64,
    /// Assignments to it.
    pub assignments: u64,
    /// When it was changed last.
    pub changed: Option<Moment>,
}

/// A page of plans.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// What was searched for.
    pub query: String,
    /// Those found.
    pub rows: Vec<PlanRow>,
    /// How many there are in all, where somebody counts them.
    pub all: Option<u64>,
    /// From where the next page begins.
    pub next: Option<String>,
}

/// The page.
pub fn plans(frame: &Frame, view: &Plans) -> String {
    let new = frame.may(Right::Edit).then(|| {
        el("a")
            .class("button main")
            .url("href", &Url::to("/console/plan"))
            .text("New plan")
    });
    let page = Section::Plans.url().query("q", &view.query);
    let all = view.all.map(|all| number::counted(all, "plan"));
    let note = format!(
        "{}A change of a plan changes everybody on it.",
        all.map_or_else(String::new, |all| format!("{all}. "))
    );
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head("Plans", note, new)),
        search(&Section::Plans.url(), "Search plans", &view.query).into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Plans), "Plans", body)
}

fn rows(frame: &Frame, view: &Plans) -> Element {
    if view.rows.is_empty() {
        return none(frame, &view.query, "plan", &Url::to("/console/plan"));
    }
    let link = |id: &str| {
        el("a")
            .url("href", &Url::to("/console/plan").query("id", id))
            .with(name(id))
    };
    let row = |row: &PlanRow| {
        el("tr")
            .with(cell(link(&row.id)))
            .with(cell(row.follows.as_deref().map(link)))
            .with(cell(chips(&row.policies)))
            .with(number_cell(number::whole(row.contracts)))
            .with(number_cell(number::whole(row.assignments)))
            .with(cell(row.changed.map(|at| at.ago(frame.now))))
    };
    let columns = [
        Column("Plan", false),
        Column("Follows", false),
        Column("Policies", false),
        Column("Contracts", true),
        Column("Assigned", true),
        Column("Changed", false),
    ];
    el("div").class("panel").with(table(
        "Plans",
        &columns,
        view.rows.iter().map(row).collect(),
    ))
}
