//! An action with its reason and a second look before it is done.
//!
//! Without a script the form unfolds; the script shows it as a dialog.

use super::form::{button, reason};
use crate::frame::{PageFrame, Right};
use crate::html::{Html, el};
use crate::url::Url;

/// Something that can be done.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// What is on the button that opens it.
    pub name: &'static str,
    /// What will happen, in one sentence.
    pub what: &'a str,
    /// What is on the button that does it.
    pub verb: &'static str,
    /// Whether it takes something away.
    pub is_hard: bool,
    /// Who may.
    pub needs: Right,
}

/// The action as a form that is opened first. `fields` are those beside the reason.
pub fn action(frame: &PageFrame, to: &Url, action: Action<'_>, fields: impl Into<Html>) -> Html {
    if !frame.may(action.needs) {
        return Html::default();
    }
    let verb = button(action.verb).class(if action.is_hard { "hard" } else { "main" });
    el("details")
        .class("action")
        .flag("data-dialog", true)
        .with(
            el("summary")
                .class(if action.is_hard {
                    "button hard"
                } else {
                    "button"
                })
                .text(action.name),
        )
        .with(
            frame
                .form(to)
                .class("card")
                .with(el("p").text(action.what))
                .with(fields)
                .with(reason(""))
                .with(el("div").class("buttons").with(verb)),
        )
        .into()
}
