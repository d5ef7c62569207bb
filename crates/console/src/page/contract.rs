//! One contract: the editor, what it does to traffic, how it is rolled out, and its history.

use crate::chart::{Traffic, Tried, preview, traffic};
use crate::editor::{Editor, editor};
use crate::frame::{Frame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::part::{
    Action, Change, Difference, Mode, action, differences, head, history, live, name, panel,
};
use crate::section::Section;
use crate::url::Url;

/// How far a policy is rolled out.
#[derive(Clone, Debug, Default)]
pub struct RolloutStep {
    /// The policy.
    pub policy: String,
    /// How it binds.
    pub mode: Mode,
    /// How many it would have refused where it is in shadow mode, in words.
    pub shadowed: Option<String>,
}

/// The page of one contract.
#[derive(Clone, Debug, Default)]
pub struct ContractPage {
    /// Its id; empty for a new one.
    pub id: String,
    /// What is being edited.
    pub editor: Editor,
    /// What would be different, where something was typed.
    pub edited: Option<Vec<Difference>>,
    /// What the change would do.
    pub tried: Option<Tried>,
    /// Requests of the last hour.
    pub traffic: Option<Traffic>,
    /// How far each policy is rolled out.
    pub rollout: Vec<RolloutStep>,
    /// Its changes, newest first.
    pub history: Vec<Change>,
}

/// The page.
pub fn contract(frame: &Frame, view: &ContractPage) -> String {
    let is_new = view.editor.version == 0;
    let here = Url::to("/console/contract").query("id", &view.id);
    let title = if is_new {
        Html::from("New contract")
    } else {
        name(&view.id).into()
    };
    let note = Html::join([
        Html::from(
            el("a")
                .url("href", &Section::Contracts.url())
                .text("Contracts"),
        ),
        Html::text(if is_new {
            " / new".to_owned()
        } else {
            format!(" / version {}", view.editor.version)
        }),
    ]);
    let chart = view.traffic.as_ref().map(|shown| {
        live("traffic", &here).with(el("div").class("panel").with(traffic(&shown.fact(), shown)))
    });
    let body = Html::join([
        Html::from(head(title, note, (!is_new).then(|| delete(frame, view)))),
        chart.into(),
        changed(view.edited.as_deref(), view.tried.as_ref()),
        panel("Limits").with(editor(frame, &view.editor)).into(),
        rollout(frame, view),
        (!is_new)
            .then(|| {
                let back = Url::to("/console/contract/rollback").query("id", &view.id);
                panel("History").with(history(frame, &back, view.editor.version, &view.history))
            })
            .into(),
    ]);
    let title = if is_new { "New contract" } else { &view.id };
    frame.page(Some(Section::Contracts), title, body)
}

/// What is different and what it would do, before it is saved.
pub(super) fn changed(edited: Option<&[Difference]>, tried: Option<&Tried>) -> Html {
    let edited = edited.map(|list| panel("What you changed").with(differences(list)));
    Html::join([edited.into(), tried.map(preview).unwrap_or_default()])
}

fn delete(frame: &Frame, view: &ContractPage) -> Html {
    let what = format!(
        "Requests that only {} bound will pass without a limit. Its history is kept, and it can be made again.",
        view.id
    );
    let to = Url::to("/console/contract/delete").query("id", &view.id);
    action(
        frame,
        &to,
        Action {
            name: "Delete",
            what: &what,
            verb: "Delete the contract",
            is_hard: true,
            needs: Right::Edit,
        },
        hidden("version", view.editor.version),
    )
}

fn rollout(frame: &Frame, view: &ContractPage) -> Html {
    if view.rollout.is_empty() {
        return Html::default();
    }
    let row = |step: &RolloutStep| {
        el("li")
            .with(name(&step.policy))
            .with(steps(frame, view, step))
            .with(
                step.shadowed
                    .as_ref()
                    .map(|text| el("span").class("note").text(text)),
            )
    };
    panel("Rollout")
        .with(el("p").class("note").text("A policy in shadow mode counts and refuses nothing. A percentage enforces it for that share of keys, always the same ones."))
        .with(el("ul").class("rollout").each(view.rollout.iter().map(row)))
        .into()
}

/// Shadow, a percentage, all: where the policy stands, and the way to each step.
fn steps(frame: &Frame, view: &ContractPage, step: &RolloutStep) -> Element {
    let now = match step.mode {
        Mode::Shadow => 0,
        Mode::Percent(percent) => percent,
        Mode::Enforce => 100,
    };
    let to = Url::to("/console/contract/rollout").query("id", &view.id);
    let mut stops = vec![0, 10, 50, 100];
    if !stops.contains(&now) {
        stops.push(now);
        stops.sort_unstable();
    }
    let button = |percent: u8| {
        let words = match percent {
            0 => "shadow".to_owned(),
            100 => "all".to_owned(),
            percent => format!("{percent}\u{202f}%"),
        };
        el("button")
            .attr("name", "percent")
            .attr("value", percent)
            .attr("aria-pressed", percent == now)
            .text(words)
            .flag("disabled", !frame.may(Right::Edit))
    };
    frame
        .form(&to)
        .class("steps")
        .attr("aria-label", "Enforced for")
        .with(hidden("version", view.editor.version))
        .with(hidden("policy", &step.policy))
        .each(stops.into_iter().map(button))
}
