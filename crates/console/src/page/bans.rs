//! Bans, which deny whatever tokens are left, with the way to lift each.

use super::why::{as_part, to};
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{Action, Column, action, cell, empty, head, live, more, name, search, table};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct BanRow {
    pub id: String,
    pub version: u64,
    pub identity: String,
    /// `None` applies to every contract.
    pub contract: Option<String>,
    /// `None` never ends.
    pub until: Option<Moment>,
    pub reason: String,
    /// Since when.
    pub since: Option<Moment>,
}

#[derive(Clone, Debug, Default)]
pub struct Bans {
    pub query: String,
    pub rows: Vec<BanRow>,
    /// Where the next page begins.
    pub next: Option<String>,
}

pub fn bans(frame: &PageFrame, view: &Bans) -> String {
    let page = Section::Bans.url().query("q", &view.query);
    let next = view
        .next
        .as_ref()
        .map(|after| page.clone().query("after", after));
    let body = Html::join([
        Html::from(head(
            "Bans",
            "Whoever is denied on every node, whatever is left of their limits. Somebody is banned on their own page.",
            Html::default(),
        )),
        search(&Section::Bans.url(), "user=42, ip=10.0.0.0/8", &view.query).into(),
        live("results", &page)
            .with(rows(frame, view))
            .with(more(next.as_ref()))
            .into(),
    ]);
    frame.page(Some(Section::Bans), "Bans", body)
}

fn rows(frame: &PageFrame, view: &Bans) -> Element {
    if view.rows.is_empty() {
        let next = el("a")
            .url("href", &Section::Identities.url())
            .text("Find somebody to ban");
        return empty("Nobody is banned.", next);
    }
    let columns = [
        Column("Identity", false),
        Column("In", false),
        Column("Since", false),
        Column("Until", false),
        Column("Why", false),
        Column("", false),
    ];
    let rows = view.rows.iter().map(|one| row(frame, one)).collect();
    el("div").class("panel").with(table("Bans", &columns, rows))
}

fn row(frame: &PageFrame, row: &BanRow) -> Element {
    let until = match row.until {
        Some(until) if until <= frame.now => Html::from("over"),
        Some(until) => until.ago(frame.now).into(),
        None => "for ever".into(),
    };
    el("tr")
        .with(cell(
            el("a")
                .url("href", &to(&as_part(&row.identity)))
                .with(name(&row.identity)),
        ))
        .with(cell(row.contract.as_ref().map_or_else(
            || Html::text("every contract"),
            |contract| name(contract).into(),
        )))
        .with(cell(row.since.map(|at| at.ago(frame.now))))
        .with(cell(until))
        .with(cell(el("bdi").text(&row.reason)))
        .with(cell(lift(frame, row)))
}

pub(super) fn lift(frame: &PageFrame, row: &BanRow) -> Html {
    let fields = Html::join([
        hidden("id", &row.id),
        hidden("key", as_part(&row.identity)),
        hidden("version", row.version),
    ]);
    action(
        frame,
        &Url::to("/console/identity/unban"),
        Action {
            name: "Lift the ban",
            what: "Contracts decide again, from what is spent.",
            verb: "Lift the ban",
            is_hard: false,
            needs: Right::Assign,
        },
        fields,
    )
}
