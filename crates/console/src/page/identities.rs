//! Finding somebody.

use crate::frame::Frame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{Column, cell, empty, head, live, more, name, search, table};
use crate::section::Section;
use crate::url::Url;

/// Somebody who was found.
#[derive(Clone, Debug, Default)]
pub struct IdentityRow {
    /// Who: `user=42`.
    pub identity: String,
    /// The plan in force.
    pub plan: Option<String>,
    /// Until when.
    pub until: Option<Moment>,
    /// Whether anything blocks it at the moment.
    pub is_blocked: bool,
    /// What was noted.
    pub note: String,
}

/// A search.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    /// What was searched for.
    pub query: String,
    /// Those found.
    pub rows: Vec<IdentityRow>,
    /// From where the next page begins.
    pub next: Option<String>,
}

/// The page.
pub fn identities(frame: &Frame, view: &Identities) -> String {
    let page = Section::Identities.url().query("q", &view.query);
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(
            "Identities",
            "Who is limited: a user, a key, a tenant, an address or a range of them.",
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

pub(super) fn to(identity: &str) -> Url {
    Url::to("/console/identity").query("id", identity)
}

fn rows(frame: &Frame, view: &Identities) -> Element {
    if view.rows.is_empty() {
        return nobody(&view.query);
    }
    let row = |row: &IdentityRow| {
        let blocked = row
            .is_blocked
            .then(|| el("span").class("verdict denied").text("blocked"));
        let plan = row.plan.as_ref().map(|plan| {
            el("a")
                .url("href", &Url::to("/console/plan").query("id", plan))
                .with(name(plan))
        });
        el("tr")
            .with(cell(Html::join([
                Html::from(
                    el("a")
                        .url("href", &to(&row.identity))
                        .with(name(&row.identity)),
                ),
                " ".into(),
                blocked.into(),
            ])))
            .with(cell(plan))
            .with(cell(row.until.map(|at| at.ago(frame.now))))
            .with(cell(el("bdi").text(&row.note)))
    };
    let columns = [
        Column("Identity", false),
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
            "Who is it about?",
            "Type the beginning of an entry and its value, as user=42. Anybody can be looked at, also without an assignment.",
        );
    }
    if !query.contains('=') {
        return empty(
            &format!("No assignment begins with “{query}”."),
            "Write the entry too, as in user=42.",
        );
    }
    let next = Html::join([
        el("a")
            .url("href", &to(query))
            .text("Look at it all the same"),
        el("span").text(": it is bound by contracts as they are."),
    ]);
    empty(&format!("Nobody is assigned under “{query}”."), next)
}
