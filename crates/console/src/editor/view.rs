//! The form in which contracts and plans are edited: as a sentence, or as text.

use super::draft::{Draft, DraftKind};
use super::sentence::{algorithms, coordinations, policy};
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::part::{FormError, button, field, messages, reason, select};
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct Editor {
    pub kind: DraftKind,
    pub id: String,
    /// The version that the editor was opened with; 0 for a new one.
    pub version: u64,
    /// `None` where only text can represent the document.
    pub draft: Option<Draft>,
    pub text: String,
    /// Whether the text is shown first.
    pub is_text: bool,
    /// `None` before the first check.
    pub messages: Option<Vec<FormError>>,
    pub reason: String,
    pub plans: Vec<String>,
}

pub fn editor(frame: &PageFrame, view: &Editor) -> Html {
    let shows_text = view.is_text || view.draft.is_none();
    let face = match &view.draft {
        Some(draft) if !shows_text => sentence(view, draft),
        _ => text(view),
    };
    let path = match view.kind {
        DraftKind::Contract => "/console/contract",
        DraftKind::Plan => "/console/plan",
    };
    let form = frame
        .form(&Url::to(path))
        .class("editor")
        .id("editor")
        .url("data-check", &check_url(view.kind))
        .with(hidden("version", view.version))
        .with(hidden("face", if shows_text { "text" } else { "sentence" }))
        .with(tabs(view, shows_text))
        .with(face)
        .with(
            el("div")
                .class("said")
                .attr("aria-live", "polite")
                .flag("data-messages", true)
                .with(view.messages.as_deref().map(messages)),
        );
    if frame.may(Right::Edit) {
        form.with(save(view)).into()
    } else {
        el("fieldset")
            .class("all")
            .flag("disabled", true)
            .with(form)
            .into()
    }
}

/// The script posts the form here while the user types.
fn check_url(kind: DraftKind) -> Url {
    Url::to(match kind {
        DraftKind::Contract => "/console/contract/check",
        DraftKind::Plan => "/console/plan/check",
    })
}

fn tabs(view: &Editor, shows_text: bool) -> Element {
    let tab = |name: &'static str, words: &'static str, is_shown: bool| {
        button(words)
            .attr("name", "do")
            .attr("value", name)
            .attr("aria-pressed", is_shown)
            .attr("formnovalidate", "")
    };
    let why = view.draft.is_none().then(|| {
        el("span")
            .class("note")
            .text("This document says more than the form can, so it is edited as text.")
    });
    el("div")
        .class("tabs")
        .with(
            tab("as-sentence", "As a sentence", !shows_text).flag("disabled", view.draft.is_none()),
        )
        .with(tab("as-text", "As YAML", shows_text))
        .with(why)
}

fn text(view: &Editor) -> Html {
    let area = el("textarea")
        .class("code")
        .attr("name", "text")
        .attr("rows", 16)
        .attr("spellcheck", "false")
        .text(&view.text);
    let label = el("label")
        .class("field wide")
        .with(el("span").text("YAML or JSON"))
        .with(area);
    Html::join([id(view), label])
}

/// The id of a saved document cannot change.
fn id(view: &Editor) -> Element {
    if view.version == 0 {
        field("Id", "id", &view.id)
    } else {
        hidden("id", &view.id)
    }
}

fn sentence(view: &Editor, draft: &Draft) -> Html {
    let policies = draft
        .policies
        .iter()
        .enumerate()
        .map(|(i, policy)| self::policy(policy, i, agreed(draft)));
    Html::join([
        Html::from(
            el("div")
                .class("fields top")
                .with(id(view))
                .with(words(view, draft)),
        ),
        match view.kind {
            DraftKind::Contract => binds(draft).into(),
            DraftKind::Plan => Html::default(),
        },
        Html::join(policies),
        el("div")
            .class("buttons")
            .with(
                button("Add a policy")
                    .attr("name", "do")
                    .attr("value", "add-policy")
                    .attr("formnovalidate", ""),
            )
            .with(
                button("Show the fields of what is chosen")
                    .class("scriptless")
                    .attr("name", "do")
                    .attr("value", "fields")
                    .attr("formnovalidate", ""),
            )
            .into(),
        algorithms().into(),
    ])
}

/// The coordination of policies that set none.
fn agreed(draft: &Draft) -> &str {
    match draft.word("coordination") {
        "" => "local",
        said => said,
    }
}

fn words(view: &Editor, draft: &Draft) -> Html {
    let plans: Vec<(&str, &str)> = [("", "none")]
        .into_iter()
        .chain(view.plans.iter().map(|plan| (&**plan, &**plan)))
        .collect();
    match view.kind {
        DraftKind::Plan => select(Some("Follows"), "follows", draft.word("follows"), &plans).into(),
        DraftKind::Contract => {
            let agreements: Vec<(&str, &str)> = [("", "alone (default)")]
                .into_iter()
                .chain(coordinations())
                .collect();
            let headers: Vec<(&str, &str)> = [("", "the listener's")]
                .into_iter()
                .chain(tollgate_contract::Dialect::NAMES.map(|name| (name, name)))
                .collect();
            let fields = [
                select(Some("Follows the plan"), "plan", draft.word("plan"), &plans),
                select(
                    Some("Agreed by"),
                    "coordination",
                    draft.word("coordination"),
                    &agreements,
                ),
                select(Some("Headers"), "headers", draft.word("headers"), &headers),
            ];
            Html::join(fields)
        }
    }
}

/// The entries that a request must have, and those that identify the counter.
fn binds(draft: &Draft) -> Element {
    let empty = (String::new(), String::new());
    let pairs = draft
        .matches
        .iter()
        .chain([&empty])
        .enumerate()
        .map(|(i, (name, value))| {
            el("span")
                .class("entry")
                .with(gap(
                    &format!("match.{i}.name"),
                    "Entry to match",
                    name,
                    "entry",
                ))
                .with(" = ")
                .with(gap(
                    &format!("match.{i}.value"),
                    "Its value",
                    value,
                    "value",
                ))
        });
    let nothing = String::new();
    let keys = draft
        .key
        .iter()
        .chain([&nothing])
        .enumerate()
        .map(|(i, name)| {
            let gap = gap(&format!("key.{i}"), "Entry to count by", name, "entry");
            Html::join([gap.into(), Html::from(" ")])
        });
    el("p")
        .class("sentence")
        .with("Bind requests with ")
        .each(pairs)
        .with(" and count them by ")
        .each(keys)
        .with(
            el("span")
                .class("note")
                .text("Leave both empty for one counter for everybody."),
        )
}

fn gap(name: &str, label: &str, value: &str, hint: &str) -> Element {
    el("input")
        .attr("name", name)
        .attr("value", value)
        .attr("aria-label", label)
        .attr("placeholder", hint)
        .attr("size", 10)
        .attr("autocomplete", "off")
        .attr("spellcheck", "false")
}

fn save(view: &Editor) -> Element {
    let try_url = Url::to(match view.kind {
        DraftKind::Contract => "/console/contract/try",
        DraftKind::Plan => "/console/plan/try",
    });
    let verb = if view.version == 0 { "Create" } else { "Save" };
    el("div").class("save").with(reason(&view.reason)).with(
        el("div")
            .class("buttons")
            .with(
                button("Preview")
                    .url("formaction", &try_url)
                    .attr("formnovalidate", ""),
            )
            .with(
                button(verb)
                    .class("main")
                    .attr("name", "do")
                    .attr("value", "save"),
            ),
    )
}
