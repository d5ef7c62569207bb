//! Tables, panels, heads and empty states.

use core::fmt::Display;

use crate::chart::Meaning;
use crate::html::{Element, Html, el};
use crate::url::Url;

/// The name, and whether it holds numbers.
pub(crate) struct Column(pub(crate) &'static str, pub(crate) bool);

/// The head of a page: title, one line about it, and actions.
pub(crate) fn head(
    title: impl Into<Html>,
    note: impl Into<Html>,
    actions: impl Into<Html>,
) -> Element {
    el("div")
        .class("head")
        .with(
            el("div")
                .with(el("h1").with(title))
                .with(el("p").class("note").with(note)),
        )
        .with(el("div").class("actions").with(actions))
}

pub(crate) fn panel(title: impl Display) -> Element {
    el("section").class("panel").with(el("h2").text(title))
}

/// A part that the script keeps up to date by asking for the page again.
pub(crate) fn live(id: &'static str, page: &Url) -> Element {
    el("div").class("live").id(id).url("data-live", page)
}

/// Scrolls by itself where it is too wide.
pub(crate) fn table(name: &str, columns: &[Column], rows: Vec<Element>) -> Element {
    let heads = columns.iter().map(|Column(name, is_number)| {
        let th = el("th").attr("scope", "col").text(name);
        if *is_number { th.class("n") } else { th }
    });
    el("div")
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", name)
        .with(
            el("table")
                .class("dense")
                .with(el("thead").with(el("tr").each(heads)))
                .with(el("tbody").each(rows)),
        )
}

pub(crate) fn cell(inside: impl Into<Html>) -> Element {
    el("td").with(inside)
}

/// Aligned to the right.
pub(crate) fn number_cell(text: impl Display) -> Element {
    el("td").class("n").text(text)
}

/// `next` is what to do about it.
pub(crate) fn empty(what: &str, next: impl Into<Html>) -> Element {
    el("div")
        .class("empty")
        .with(el("p").with(el("b").text(what)))
        .with(el("p").with(next))
}

/// A user-chosen name, isolated so that its writing direction cannot reorder the text around it.
pub(crate) fn name(text: impl Display) -> Element {
    el("bdi").class("name").text(text)
}

pub(crate) fn facts(rows: impl IntoIterator<Item = (&'static str, Html)>) -> Element {
    let row = |(name, value): (&'static str, Html)| {
        el("div")
            .with(el("dt").text(name))
            .with(el("dd").with(value))
    };
    el("dl").class("facts").each(rows.into_iter().map(row))
}

/// A word with its sign.
pub(crate) fn verdict(meaning: Meaning) -> Element {
    let class = match meaning {
        Meaning::Allowed => "verdict allowed",
        Meaning::Delayed => "verdict delayed",
        Meaning::Denied => "verdict denied",
        Meaning::Plain | Meaning::Accent => "verdict",
    };
    el("span")
        .class(class)
        .with(crate::chart::sign(meaning))
        .text(" ")
        .text(meaning.class())
}

/// Empty on the last page.
pub(crate) fn more(next: Option<&Url>) -> Html {
    let link = next.map(|url| {
        el("p")
            .class("more")
            .with(el("a").url("href", url).text("Next page"))
    });
    link.into()
}
