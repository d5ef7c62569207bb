//! The assignments of an identity, and the way to another plan.

use super::identity::Identity;
use crate::editor::assignment_form;
use crate::frame::{Frame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{Action, Column, action, cell, empty, name, panel, table};
use crate::url::Url;

/// An assignment.
#[derive(Clone, Debug, Default)]
pub struct AssignmentRow {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: u64,
    /// The plan.
    pub plan: Option<String>,
    /// In which contract alone.
    pub contract: Option<String>,
    /// Since when.
    pub from: Option<Moment>,
    /// Until when.
    pub until: Option<Moment>,
    /// What is otherwise, in words.
    pub overrides: String,
    /// What was noted.
    pub note: String,
}

pub(super) fn assignments(frame: &Frame, view: &Identity) -> Element {
    let columns = [
        Column("Plan", false),
        Column("In", false),
        Column("From", false),
        Column("Until", false),
        Column("Otherwise", false),
        Column("Note", false),
        Column("", false),
    ];
    let list = if view.assignments.is_empty() {
        empty(
            "Not assigned.",
            "Contracts are as they are for it. Give it a plan of its own below.",
        )
    } else {
        table(
            "Assignments",
            &columns,
            view.assignments
                .iter()
                .map(|one| row(frame, &view.identity, one))
                .collect(),
        )
    };
    let version = view
        .assignments
        .iter()
        .find(|row| row.id == view.draft.word("id"))
        .map_or(0, |row| row.version);
    let fields = Html::join([
        Html::from(hidden("identity", &view.identity)),
        hidden("id", view.draft.word("id")).into(),
        hidden("version", version).into(),
        assignment_form(&view.draft, &view.plans, &view.contracts),
    ]);
    let change = action(
        frame,
        &Url::to("/console/identity/assign"),
        Action {
            name: "Change the plan",
            what: "In force on every node within a second.",
            verb: "Assign",
            is_hard: false,
            needs: Right::Assign,
        },
        fields,
    );
    panel("Assignments")
        .with(list)
        .with(el("div").class("buttons").with(change))
}

fn row(frame: &Frame, identity: &str, row: &AssignmentRow) -> Element {
    let fields = Html::join([
        hidden("id", &row.id),
        hidden("identity", identity),
        hidden("version", row.version),
    ]);
    let end = action(
        frame,
        &Url::to("/console/identity/unassign"),
        Action {
            name: "End",
            what: "The contract is as it is again.",
            verb: "End the assignment",
            is_hard: true,
            needs: Right::Assign,
        },
        fields,
    );
    el("tr")
        .with(cell(row.plan.as_ref().map(name)))
        .with(cell(row.contract.as_ref().map_or_else(
            || Html::text("every contract"),
            |contract| name(contract).into(),
        )))
        .with(cell(row.from.map(|at| at.ago(frame.now))))
        .with(cell(row.until.map(|at| at.ago(frame.now))))
        .with(cell(el("bdi").text(&row.overrides)))
        .with(cell(el("bdi").text(&row.note)))
        .with(cell(end))
}
