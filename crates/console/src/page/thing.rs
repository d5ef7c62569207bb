//! One contract or plan: the editor, what it does to traffic or which contracts and assignments it reaches, how it is
//! rolled out, and its history.

use super::things::{link, words};
use crate::chart::{Traffic, Tried, preview, traffic};
use crate::editor::{DraftKind, Editor, editor};
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{
    Action, BindingMode, ChangeRow, Difference, action, differences, facts, head, history,
    labelled, live, name, panel,
};
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct RolloutStep {
    pub policy: String,
    pub mode: BindingMode,
}

/// Contracts, plans and assignments that a change of a plan affects.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    pub contracts: Vec<String>,
    pub plans: Vec<String>,
    pub assignments: u64,
}

/// The page of one contract or plan; `editor.kind` says which.
#[derive(Clone, Debug, Default)]
pub struct Thing {
    /// Empty for a new one.
    pub id: String,
    pub editor: Editor,
    /// `None` unless the form was edited.
    pub edited: Option<Vec<Difference>>,
    pub tried: Option<Tried>,
    /// Why a requested preview is not available.
    pub untried: Option<String>,
    /// The last hour.
    pub traffic: Option<Traffic>,
    /// Of the requests that passed in the last hour, how many policies in shadow mode would have refused.
    pub shadowed: Option<u64>,
    pub rollout: Vec<RolloutStep>,
    /// The step that waits for confirmation.
    pub asked: Option<RolloutStep>,
    /// Only for a plan.
    pub reach: Option<Reach>,
    /// Newest first.
    pub history: Vec<ChangeRow>,
}

pub fn thing(frame: &PageFrame, view: &Thing) -> String {
    let words = words(view.editor.kind);
    // Documents that come from a file have no version.
    let is_new = view.editor.version == 0 && frame.read_only.is_none();
    let here = Url::to(words.path).query("id", &view.id);
    let title = if is_new {
        Html::from(words.new)
    } else {
        name(&view.id).into()
    };
    let note = Html::join([
        Html::from(
            el("a")
                .url("href", &words.section.url())
                .text(words.section.title()),
        ),
        Html::text(match view.editor.version {
            _ if is_new => " / new".to_owned(),
            0 => " / from a file".to_owned(),
            version => format!(" / version {version}"),
        }),
    ]);
    let chart = view.traffic.as_ref().map(|shown| {
        live("traffic", &here).with(el("div").class("panel").with(traffic(&shown.fact(), shown)))
    });
    let past = (!is_new).then(|| {
        let back = Url::to(words.rollback).query("id", &view.id);
        panel("History").with(history(frame, &back, view.editor.version, &view.history))
    });
    let body = Html::join([
        Html::from(head(title, note, (!is_new).then(|| delete(frame, view)))),
        view.asked.as_ref().map(|step| confirm(view, step)).into(),
        chart.into(),
        view.reach.as_ref().map(reach).into(),
        changed(view),
        panel("Limits").with(editor(frame, &view.editor)).into(),
        rollout(frame, view),
        past.into(),
    ]);
    let title = if is_new { words.new } else { &view.id };
    frame.page(Some(words.section), title, body)
}

/// The pending difference and its effect, before it is saved.
fn changed(view: &Thing) -> Html {
    let edited = view
        .edited
        .as_deref()
        .map(|list| panel("What you changed").with(differences(list)));
    let untried = view
        .untried
        .as_ref()
        .map(|why| panel("No preview").with(el("p").class("note").text(why)));
    Html::join([
        edited.into(),
        untried.into(),
        view.tried.as_ref().map(preview).unwrap_or_default(),
    ])
}

fn reach(reach: &Reach) -> Element {
    let links = |path: &'static str, ids: &[String]| -> Html {
        if ids.is_empty() {
            return "none".into();
        }
        el("span")
            .class("links")
            .each(ids.iter().map(|id| link(path, id)))
            .into()
    };
    panel("A change reaches").with(facts([
        ("Contracts", links("/console/contract", &reach.contracts)),
        ("Plans", links("/console/plan", &reach.plans)),
        ("Assignments", Html::text(number::whole(reach.assignments))),
    ]))
}

fn delete(frame: &PageFrame, view: &Thing) -> Html {
    let id = &view.id;
    let (what, verb) = match view.editor.kind {
        DraftKind::Contract => (
            format!(
                "Requests that only {id} bound will pass without a limit. Its history is kept, and it can be made again."
            ),
            "Delete the contract",
        ),
        DraftKind::Plan => (
            format!("Nobody may be on {id} any more, or it is refused. Its history is kept."),
            "Delete the plan",
        ),
    };
    action(
        frame,
        &Url::to(words(view.editor.kind).delete).query("id", id),
        Action {
            name: "Delete",
            what: &what,
            verb,
            is_hard: true,
            needs: Right::Edit,
        },
        hidden("version", view.editor.version),
    )
}

fn rollout(frame: &PageFrame, view: &Thing) -> Html {
    if view.rollout.is_empty() {
        return Html::default();
    }
    let row = |step: &RolloutStep| {
        el("li")
            .with(name(&step.policy))
            .with(steps(frame, view, step))
    };
    let shadowed = view.shadowed.filter(|count| *count > 0).map(|count| {
        el("p").text(format!(
            "In the last hour {} passed that a policy in shadow mode would have refused.",
            number::counted(count, "request")
        ))
    });
    panel("Rollout")
        .with(el("p").class("note").text("A policy in shadow mode counts and refuses nothing. A percentage enforces it for that share of keys, always the same ones."))
        .with(shadowed)
        .with(el("ul").class("rollout").each(view.rollout.iter().map(row)))
        .into()
}

/// Shadow, a percentage, all: the current step, and buttons for the others. Buttons submit the editor's
/// fields too, so that no edit is lost.
fn steps(frame: &PageFrame, view: &Thing, step: &RolloutStep) -> Element {
    let now = percent(step.mode);
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
        step_button(view, &step.policy, percent)
            .attr("aria-pressed", percent == now)
            .text(words)
            .flag("disabled", !frame.may(Right::Edit))
    };
    el("div")
        .class("steps")
        .attr("role", "group")
        .attr("aria-label", "Enforced for")
        .each(stops.into_iter().map(button))
}

const fn percent(mode: BindingMode) -> u8 {
    match mode {
        BindingMode::Shadow => 0,
        BindingMode::Percent(percent) => percent,
        BindingMode::Enforce => 100,
    }
}

fn step_button(view: &Thing, policy: &str, percent: u8) -> Element {
    let to = Url::to("/console/contract/rollout").query("id", &view.id);
    el("button")
        .attr("form", "editor")
        .url("formaction", &to)
        .attr("formnovalidate", "")
        .attr("name", "rollout")
        .attr("value", format!("{percent}:{policy}"))
}

/// Asks before a step is taken.
fn confirm(view: &Thing, step: &RolloutStep) -> Element {
    let what = match step.mode {
        BindingMode::Shadow => "It counts and refuses nothing.".to_owned(),
        mode => format!(
            "It refuses for {} from then on, on every node.",
            match mode {
                BindingMode::Percent(_) => mode.text(),
                _ => "all keys".to_owned(),
            }
        ),
    };
    let why = labelled(
        "Reason",
        el("input")
            .attr("form", "editor")
            .attr("name", "rollout.reason")
            .attr("maxlength", 500)
            .attr("autofocus", "")
            .attr("autocomplete", "off"),
    );
    let cancel = el("button")
        .attr("form", "editor")
        .attr("formnovalidate", "")
        .attr("name", "do")
        .attr("value", "keep")
        .text("Cancel");
    panel("Roll out?")
        .attr("role", "alert")
        .with(
            el("p")
                .text("The saved policy ")
                .with(name(&step.policy))
                .text(format!(": {}. {what}", step.mode.text())),
        )
        .with(
            el("p")
                .class("note")
                .text("What you typed below stays as it is, and is not saved by this."),
        )
        .with(why)
        .with(
            el("div")
                .class("buttons")
                .with(
                    step_button(view, &step.policy, percent(step.mode))
                        .class("main")
                        .text("Roll out"),
                )
                .with(cancel),
        )
}
