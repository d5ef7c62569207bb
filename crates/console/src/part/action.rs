//! An action with its reason and a confirmation before it is done.
//!
//! Without a script the form expands in place; the script shows it as a dialog.

use super::form::{button, reason};
use crate::frame::{PageFrame, Right};
use crate::html::{Html, el};
use crate::url::Url;

#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// Label of the button that opens it.
    pub name: &'static str,
    /// One sentence about the effect.
    pub what: &'a str,
    /// Label of the button that performs it.
    pub verb: &'static str,
    /// Whether it is destructive.
    pub is_hard: bool,
    pub needs: Right,
}

/// `fields` are those besides the reason.
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
