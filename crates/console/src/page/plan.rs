//! One plan: the editor, whom a change reaches, and its history.

use super::contract::changed;
use crate::chart::Tried;
use crate::editor::{Editor, editor};
use crate::frame::{Frame, Right, hidden};
use crate::html::{Html, el};
use crate::number;
use crate::part::{Action, Change, Difference, action, facts, head, history, name, panel};
use crate::section::Section;
use crate::url::Url;

/// The page of one plan.
#[derive(Clone, Debug, Default)]
pub struct PlanPage {
    /// Its id; empty for a new one.
    pub id: String,
    /// What is being edited.
    pub editor: Editor,
    /// What would be different, where something was typed.
    pub edited: Option<Vec<Difference>>,
    /// What the change would do.
    pub tried: Option<Tried>,
    /// Contracts that follow it.
    pub contracts: Vec<String>,
    /// Plans that follow it.
    pub plans: Vec<String>,
    /// Assignments to it.
    pub assignments: u64,
    /// Its changes, newest first.
    pub history: Vec<Change>,
}

/// The page.
pub fn plan(frame: &Frame, view: &PlanPage) -> String {
    let is_new = view.editor.version == 0;
    let title = if is_new {
        Html::from("New plan")
    } else {
        name(&view.id).into()
    };
    let note = Html::join([
        Html::from(el("a").url("href", &Section::Plans.url()).text("Plans")),
        Html::text(if is_new {
            " / new".to_owned()
        } else {
            format!(" / version {}", view.editor.version)
        }),
    ]);
    let body = Html::join([
        Html::from(head(title, note, (!is_new).then(|| delete(frame, view)))),
        (!is_new).then(|| reach(view)).into(),
        changed(view.edited.as_deref(), view.tried.as_ref()),
        panel("Limits").with(editor(frame, &view.editor)).into(),
        (!is_new)
            .then(|| {
                let back = Url::to("/console/plan/rollback").query("id", &view.id);
                panel("History").with(history(frame, &back, view.editor.version, &view.history))
            })
            .into(),
    ]);
    frame.page(
        Some(Section::Plans),
        if is_new { "New plan" } else { &view.id },
        body,
    )
}

/// Whom a change reaches.
fn reach(view: &PlanPage) -> Html {
    let links = |path: &'static str, ids: &[String]| -> Html {
        if ids.is_empty() {
            return "none".into();
        }
        el("span")
            .class("links")
            .each(ids.iter().map(|id| {
                el("a")
                    .url("href", &Url::to(path).query("id", id))
                    .with(name(id))
            }))
            .into()
    };
    panel("A change reaches")
        .with(facts([
            ("Contracts", links("/console/contract", &view.contracts)),
            ("Plans", links("/console/plan", &view.plans)),
            ("Assignments", Html::text(number::whole(view.assignments))),
        ]))
        .into()
}

fn delete(frame: &Frame, view: &PlanPage) -> Html {
    let what = format!(
        "Nobody may be on {} any more, or it is refused. Its history is kept.",
        view.id
    );
    let to = Url::to("/console/plan/delete").query("id", &view.id);
    action(
        frame,
        &to,
        Action {
            name: "Delete",
            what: &what,
            verb: "Delete the plan",
            is_hard: true,
            needs: Right::Edit,
        },
        hidden("version", view.editor.version),
    )
}
