//! Pieces of forms.

use core::fmt::Display;

use crate::html::{Element, Html, el};
use crate::url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// As `policy.0.limit`; empty for the whole.
    pub field: String,
    /// What is wrong, and what to write.
    pub text: String,
}

/// Without messages, a sentence that the document is valid.
pub fn messages(list: &[FormError]) -> Html {
    if list.is_empty() {
        return el("p")
            .class("fine")
            .text("Nothing to complain about.")
            .into();
    }
    let item = |message: &FormError| {
        let place = (!message.field.is_empty()).then(|| el("code").text(&message.field));
        el("li")
            .attr("data-field", &message.field)
            .with(place)
            .with(" ")
            .text(&message.text)
    };
    el("ul")
        .class("messages")
        .each(list.iter().map(item))
        .into()
}

pub(crate) fn button(text: impl Display) -> Element {
    el("button").text(text)
}

pub(crate) fn labelled(label: &'static str, control: Element) -> Element {
    el("label")
        .class("field")
        .with(el("span").text(label))
        .with(control)
}

pub(crate) fn field(label: &'static str, name: impl Display, value: impl Display) -> Element {
    labelled(
        label,
        el("input")
            .attr("name", name)
            .attr("value", value)
            .attr("autocomplete", "off")
            .attr("spellcheck", "false"),
    )
}

/// The reason is stored with the change.
pub(crate) fn reason(value: &str) -> Element {
    el("label")
        .class("field wide")
        .with(el("span").text("Reason"))
        .with(
            el("input")
                .attr("name", "reason")
                .attr("value", value)
                .attr("maxlength", 500)
                .attr("required", "")
                .attr("placeholder", "Kept in the history, for whoever asks later")
                .attr("autocomplete", "off"),
        )
}

/// A value that is not among the choices is kept as it is.
pub(crate) fn select(
    label: Option<&str>,
    name: impl Display,
    value: &str,
    options: &[(&str, &str)],
) -> Element {
    let option = |(name, text): (&str, &str)| {
        el("option")
            .attr("value", name)
            .flag("selected", name == value)
            .text(text)
    };
    let unknown = !options.iter().any(|(name, _)| *name == value);
    let choice = el("select")
        .attr("name", &name)
        .each(unknown.then(|| option((value, value))))
        .each(options.iter().copied().map(option));
    match label {
        Some(label) => el("label")
            .class("field")
            .with(el("span").text(label))
            .with(choice),
        None => choice.attr("aria-label", name),
    }
}

/// The search box of a list; the script updates the list while the user types.
pub(crate) fn search(action: &Url, label: &'static str, value: &str) -> Element {
    el("form")
        .class("search")
        .attr("role", "search")
        .url("action", action)
        .flag("data-search", true)
        .with(
            el("input")
                .attr("type", "search")
                .attr("name", "q")
                .attr("value", value)
                .attr("placeholder", label)
                .attr("aria-label", label)
                .attr("autocomplete", "off")
                .attr("spellcheck", "false"),
        )
        .with(button("Search"))
}
