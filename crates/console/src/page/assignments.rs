//! The assignments of the entries of a key, and the form that changes the plan.

use super::acts::whose;
use super::things::link;
use super::why::{Unfollowed, Why};
use crate::editor::assignment_form;
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::part::{Action, Column, action, cell, empty, name, panel, table};
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct AssignmentRow {
    pub id: String,
    pub version: u64,
    pub identity: String,
    pub plan: Option<String>,
    pub contract: Option<String>,
    /// Since when.
    pub from: Option<Moment>,
    pub until: Option<Moment>,
    pub overrides: String,
    pub note: String,
}

pub(super) fn assignments(frame: &PageFrame, view: &Why) -> Element {
    let columns = [
        Column("Whose", false),
        Column("Plan", false),
        Column("In", false),
        Column("From", false),
        Column("Until", false),
        Column("Otherwise", false),
        Column("Note", false),
        Column("", false),
    ];
    let list = if view.assigned.rows.is_empty() {
        empty(
            "Not assigned.",
            "Contracts are as they are for it. Give it a plan of its own below.",
        )
    } else {
        table(
            "Assignments",
            &columns,
            view.assigned
                .rows
                .iter()
                .map(|one| row(frame, view, one))
                .collect(),
        )
    };
    let version = view
        .assigned
        .rows
        .iter()
        .find(|row| row.id == view.assigned.draft.word("id"))
        .map_or(0, |row| row.version);
    let fields = Html::join([
        hidden("key", &view.key).into(),
        whose(view),
        hidden("id", view.assigned.draft.word("id")).into(),
        hidden("version", version).into(),
        assignment_form(
            &view.assigned.draft,
            &view.assigned.plans,
            &view.assigned.contracts,
        ),
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
        .with(view.assigned.unfollowed.as_ref().map(unfollowed))
        .with(el("div").class("buttons").with(change))
}

/// Warns that the plan of an assignment has no effect, and says what to do.
fn unfollowed(view: &Unfollowed) -> Element {
    let Unfollowed {
        entry,
        plan,
        contracts,
    } = view;
    let fix = |contract: &String| {
        let to = Url::to("/console/contract").query("id", contract);
        let to = to.query("plan", plan);
        el("a")
            .class("button")
            .url("href", &to)
            .with(name(contract))
    };
    let text = format!(
        "No contract that counts by {entry} follows a plan, so that the assignment changes nothing."
    );
    let next = match &**contracts {
        [] => el("p").text("Make a contract that counts by it and follows the plan."),
        some => el("p")
            .class("links")
            .text(format!("Let one follow {plan}:"))
            .each(some.iter().map(fix)),
    };
    el("div")
        .class("banner bad")
        .attr("role", "status")
        .with(el("p").with(el("b").text(text)))
        .with(next)
}

fn row(frame: &PageFrame, view: &Why, row: &AssignmentRow) -> Element {
    let fields = Html::join([
        hidden("id", &row.id),
        hidden("key", &view.key),
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
    let plan = row.plan.as_ref();
    el("tr")
        .with(cell(name(&row.identity)))
        .with(cell(plan.map(|plan| link("/console/plan", plan))))
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
