//! Changes: author, time, reason, differences, and the rollback.

use super::action::{Action, action};
use super::list::{Column, cell, empty, name, table};
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::url::Url;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeRow {
    pub revision: u64,
    /// `contract`, `plan` or `assignment`.
    pub kind: String,
    pub id: String,
    /// The version that it created.
    pub version: u64,
    pub author: String,
    pub at: Moment,
    pub reason: String,
    pub differences: Vec<Difference>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// As `policies.burst.limit`.
    pub path: String,
    /// `None` for a new field.
    pub before: Option<String>,
    /// `None` for a removed field.
    pub after: Option<String>,
}

/// Signs repeat what the colours say.
pub fn differences(list: &[Difference]) -> Html {
    if list.is_empty() {
        return el("p").class("note").text("Nothing is different.").into();
    }
    let line = |difference: &Difference| {
        let path = el("span")
            .class("path")
            .with(el("bdi").text(&difference.path));
        let before = difference
            .before
            .as_ref()
            .map(|value| el("del").with(el("bdi").text(value)));
        let after = difference
            .after
            .as_ref()
            .map(|value| el("ins").with(el("bdi").text(value)));
        el("li")
            .with(path)
            .with(" ")
            .with(before)
            .with(" ")
            .with(after)
    };
    el("ul").class("diff").each(list.iter().map(line)).into()
}

/// Newest first, each with a rollback.
pub fn history(frame: &PageFrame, rollback: &Url, present: u64, changes: &[ChangeRow]) -> Html {
    if changes.is_empty() {
        return empty(
            "No changes yet.",
            "Every change is kept here with its author, its reason and what was different.",
        )
        .into();
    }
    let item = |change: &ChangeRow| {
        let back = (change.version < present && change.version > 0).then(|| {
            let fields = Html::join([hidden("version", present), hidden("to", change.version)]);
            let what = format!(
                "Version {} becomes version {}: the same document again, as a new change.",
                change.version,
                present + 1
            );
            action(
                frame,
                rollback,
                Action {
                    name: "Roll back to this",
                    what: &what,
                    verb: "Roll back",
                    is_hard: false,
                    needs: Right::Edit,
                },
                fields,
            )
        });
        el("li")
            .with(
                el("div")
                    .class("who")
                    .with(el("b").text("v").text(change.version))
                    .with(" ")
                    .with(name(&change.author))
                    .with(" ")
                    .with(change.at.ago(frame.now))
                    .with(" ")
                    .with(
                        el("span")
                            .class("note")
                            .text("revision ")
                            .text(change.revision),
                    ),
            )
            .with(el("p").class("reason").with(el("bdi").text(&change.reason)))
            .with(differences(&change.differences))
            .with(back)
    };
    el("ol")
        .class("history")
        .each(changes.iter().map(item))
        .into()
}

pub(crate) fn changes(frame: &PageFrame, list: &[ChangeRow]) -> Element {
    let row = |change: &ChangeRow| {
        let to = object(&change.kind, &change.id);
        let what = match to {
            Some(url) => el("a").url("href", &url).with(name(&change.id)),
            None => name(&change.id),
        };
        el("tr")
            .with(cell(change.at.ago(frame.now)))
            .with(cell(name(&change.author)))
            .with(cell(Html::join([
                Html::text(&change.kind),
                " ".into(),
                what.into(),
            ])))
            .with(cell(el("bdi").text(&change.reason)))
    };
    let columns = [
        Column("When", false),
        Column("Who", false),
        Column("What", false),
        Column("Why", false),
    ];
    table("Changes", &columns, list.iter().map(row).collect())
}

/// The address of the page of a catalogue object.
pub(crate) fn object(kind: &str, id: &str) -> Option<Url> {
    let path = match kind {
        "contract" => "/console/contract",
        "plan" => "/console/plan",
        _ => return None,
    };
    Some(Url::to(path).query("id", id))
}
