//! Who did what, and what was refused.

use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{Column, button, cell, empty, field, head, live, more, name, object, table};
use crate::section::Section;

#[derive(Clone, Debug, Default)]
pub struct AuditRow {
    pub at: Moment,
    pub who: String,
    pub from: String,
    /// What: `put`, `ban`, `sign in`.
    pub action: String,
    /// `contract`, `plan`, `assignment`, `key`, `token`.
    pub kind: String,
    pub object: String,
    /// What became of it: `done`, or why not.
    pub outcome: String,
    /// Whether it was done.
    pub is_done: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Filter; empty for all.
    pub who: String,
    /// Filter; empty for all.
    pub object: String,
    /// Newest first.
    pub rows: Vec<AuditRow>,
    /// Where the next page begins.
    pub next: Option<String>,
}

pub fn audit(frame: &PageFrame, view: &Audit) -> String {
    let page = Section::Audit
        .url()
        .query("who", &view.who)
        .query("object", &view.object);
    let filter = el("form")
        .class("filter")
        .url("action", &Section::Audit.url())
        .with(field("Who", "who", &view.who))
        .with(field("What", "object", &view.object))
        .with(button("Show"));
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(
            "Audit",
            "Every write, every refusal and every sign-in. Nothing here can be changed.",
            Html::default(),
        )),
        filter.into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Audit), "Audit", body)
}

fn rows(frame: &PageFrame, view: &Audit) -> Element {
    if view.rows.is_empty() {
        return empty(
            "Nothing was tried.",
            "Leave both fields empty to see everything.",
        );
    }
    let row = |row: &AuditRow| {
        let what = match object(&row.kind, &row.object) {
            Some(url) => el("a").url("href", &url).with(name(&row.object)),
            None => name(&row.object),
        };
        let class = if row.is_done {
            "outcome"
        } else {
            "outcome bad"
        };
        el("tr")
            .with(cell(row.at.ago(frame.now)))
            .with(cell(name(&row.who)))
            .with(cell(name(&row.from)))
            .with(cell(row.action.as_str()))
            .with(cell(Html::join([
                Html::text(&row.kind),
                " ".into(),
                what.into(),
            ])))
            .with(cell(
                el("span").class(class).with(el("bdi").text(&row.outcome)),
            ))
    };
    let columns = [
        Column("When", false),
        Column("Who", false),
        Column("From", false),
        Column("Did", false),
        Column("What", false),
        Column("Outcome", false),
    ];
    el("div").class("panel").with(table(
        "Audit",
        &columns,
        view.rows.iter().map(row).collect(),
    ))
}
