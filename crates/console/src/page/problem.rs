//! What went wrong, and what to do about it.

use crate::frame::{PageFrame, hidden};
use crate::html::{Element, Html, el};
use crate::part::{ChangeRow, Difference, differences, head, name, object, panel};
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct Conflict {
    /// The change that was saved first.
    pub theirs: ChangeRow,
    /// The reader's edit, against the version it started from.
    pub mine: Vec<Difference>,
    /// The document as typed, so that the edit is not lost.
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct ProblemPage {
    /// The HTTP status.
    pub status: u16,
    pub sentence: String,
    pub advice: String,
    pub conflict: Option<Conflict>,
    /// What was typed, by the names of its fields, so that it can be corrected and sent again.
    pub typed: Vec<(String, String)>,
}

pub fn problem(frame: &PageFrame, view: &ProblemPage) -> String {
    let title = match view.status {
        401 => "Sign in first",
        403 => "Not allowed",
        404 => "Not found",
        409 if view.conflict.is_some() => "Somebody else was first",
        409 => "Not possible here",
        429 => "Too many tries",
        500.. => "That did not work",
        _ => "Not understood",
    };
    let next = if frame.who.is_some() {
        el("a")
            .class("button")
            .url("href", &Url::to("/console"))
            .text("To the overview")
    } else {
        el("a")
            .class("button main")
            .url("href", &Url::to("/console/login"))
            .text("Sign in")
    };
    let theirs = view.conflict.as_ref().map(|conflict| &conflict.theirs);
    let again = theirs.and_then(|theirs| {
        let link = el("a")
            .class("button main")
            .url("href", &object(&theirs.kind, &theirs.id)?);
        Some(link.text(format!("Edit version {}", theirs.version)))
    });
    let said = el("div")
        .class("problem")
        .with(head(
            title,
            format!("Answer {}", view.status),
            Html::default(),
        ))
        .with(el("p").attr("data-complaint", "").text(&view.sentence))
        .with(el("p").with(el("b").text(&view.advice)))
        .with(frame.who.as_ref().and_then(|_| again_form(frame, view)))
        .with(view.conflict.as_ref().map(|conflict| both(frame, conflict)))
        .with(el("div").class("buttons").with(again).with(next));
    if frame.who.is_some() {
        frame.page(None, title, said.into())
    } else {
        frame.bare(title, said.into())
    }
}

/// The fields as typed, to be corrected and sent to the same address.
fn again_form(frame: &PageFrame, view: &ProblemPage) -> Option<Element> {
    let is_typed = view.typed.iter().any(|(name, _)| !is_carried(name));
    let one = |(name, value): &(String, String)| {
        let control = el("input").attr("name", name).attr("value", value);
        if is_carried(name) {
            return control.attr("type", "hidden");
        }
        el("label")
            .class("field")
            .with(el("span").text(name))
            .with(control.attr("autocomplete", "off"))
    };
    let send = el("button").class("main").text("Try again");
    // Without an address the browser posts to the current page.
    let form = el("form").attr("method", "post").class("card");
    is_typed.then(|| {
        form.with(hidden("csrf", &frame.csrf))
            .with(el("div").class("fields").each(view.typed.iter().map(one)))
            .with(el("div").class("buttons").with(send))
    })
}

/// Whether a field is hidden, not typed.
fn is_carried(name: &str) -> bool {
    matches!(name, "key" | "identity" | "id" | "version" | "to") || name.contains('.')
}

fn both(frame: &PageFrame, conflict: &Conflict) -> Element {
    let theirs = &conflict.theirs;
    el("div")
        .class("pair")
        .with(
            panel("Saved meanwhile")
                .with(
                    el("p")
                        .class("who")
                        .with(name(&theirs.author))
                        .with(" ")
                        .with(theirs.at.ago(frame.now))
                        .text(format!(", version {}", theirs.version)),
                )
                .with(el("p").class("reason").with(el("bdi").text(&theirs.reason)))
                .with(differences(&theirs.differences)),
        )
        .with(
            panel("Yours, not saved")
                .with(differences(&conflict.mine))
                .with(
                    el("label")
                        .class("field wide")
                        .with(el("span").text("Your document, to take along"))
                        .with(
                            el("textarea")
                                .class("code")
                                .attr("rows", 8)
                                .attr("readonly", "")
                                .text(&conflict.text),
                        ),
                ),
        )
}
