//! Searching identities: those with assignments, and those seen recently.

use super::why::to;
use crate::chart::Tally;
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{Column, cell, empty, head, live, more, name, number_cell, search, table};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct IdentityRow {
    pub identity: String,
    /// The key that the `why` page is opened with.
    pub key: String,
    pub plan: Option<String>,
    pub until: Option<Moment>,
    /// Requests of the last week, of the last day where all are shown; `None` where they are not counted.
    pub tally: Option<Tally>,
    pub note: String,
}

#[derive(Clone, Debug, Default)]
pub struct Identities {
    pub query: String,
    pub rows: Vec<IdentityRow>,
    pub next: Option<String>,
}

pub fn identities(frame: &PageFrame, view: &Identities) -> String {
    let page = Section::Identities.url().query("q", &view.query);
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(
            "Identities",
            format!(
                "Who is limited: a user, a tenant, an address or a range of them; assigned, or seen in the last {}.",
                span(&view.query)
            ),
            Html::default(),
        )),
        search(
            &Section::Identities.url(),
            "user=42, tenant=acme, ip=10.0.0.0/8",
            &view.query,
        )
        .into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Identities), "Identities", body)
}

/// How far back the search finds identities without an assignment.
const fn span(query: &str) -> &'static str {
    if query.is_empty() { "day" } else { "week" }
}

fn rows(frame: &PageFrame, view: &Identities) -> Element {
    if view.rows.is_empty() {
        return nobody(&view.query);
    }
    let row = |row: &IdentityRow| {
        let plan = row.plan.as_ref().map(|plan| {
            el("a")
                .url("href", &Url::to("/console/plan").query("id", plan))
                .with(name(plan))
        });
        let count = |count: fn(&Tally) -> u64| {
            let count = row.tally.as_ref().map(count);
            number_cell(count.map_or_else(|| "–".to_owned(), number::whole))
        };
        el("tr")
            .with(cell(
                el("a").url("href", &to(&row.key)).with(name(&row.identity)),
            ))
            .with(count(|tally| tally.all()))
            .with(count(|tally| tally.denied))
            .with(cell(plan))
            .with(cell(row.until.map(|at| at.ago(frame.now))))
            .with(cell(el("bdi").text(&row.note)))
    };
    let columns = [
        Column("Identity", false),
        Column("Requests", true),
        Column("Denied", true),
        Column("Plan", false),
        Column("Ends", false),
        Column("Note", false),
    ];
    el("div").class("panel").with(table(
        "Identities",
        &columns,
        view.rows.iter().map(row).collect(),
    ))
}

fn nobody(query: &str) -> Element {
    if query.is_empty() {
        return empty(
            "Nobody is assigned, and nobody came in the last day.",
            "Any key can be asked about all the same: type its entries, as user=42.",
        );
    }
    let next = Html::join([
        el("a")
            .url("href", &to(query))
            .text("Ask about it all the same"),
        el("span").text(": contracts bind it as they are."),
    ]);
    empty(
        &format!("Nobody is assigned under “{query}”, and nobody came in the last week."),
        next,
    )
}
