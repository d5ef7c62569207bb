//! What a customer sees behind a signed link: limits, usage, when it refills; nothing else.

use super::spent::{Spent, spent};
use crate::chart::Tally;
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::empty;

/// The page of a customer.
#[derive(Clone, Debug, Default)]
pub struct Customer {
    /// Who looks, as they know themselves.
    pub name: String,
    /// The plan, as it is sold.
    pub plan: Option<String>,
    /// The limits and what is left.
    pub limits: Vec<Spent>,
    /// Requests since midnight.
    pub today: Tally,
    /// Requests since the first.
    pub month: Tally,
}

/// The page; without navigation, without forms.
pub fn customer(frame: &PageFrame, view: &Customer) -> String {
    let plan = view.plan.as_ref().map(|plan| {
        el("p")
            .class("note")
            .text("Plan ")
            .with(el("bdi").text(plan))
    });
    let limits = if view.limits.is_empty() {
        empty("No limit applies to you.", "Requests pass as they come.")
    } else {
        spent(&view.limits, frame.now)
    };
    let body = el("div")
        .class("customer")
        .with(el("h1").with(el("bdi").text(&view.name)))
        .with(plan)
        .with(
            el("section")
                .class("panel")
                .with(el("h2").text("Your limits"))
                .with(limits),
        )
        .with(
            el("section")
                .class("panel")
                .with(el("h2").text("Your usage"))
                .with(
                    el("dl")
                        .class("tiles")
                        .with(used("Today", view.today))
                        .with(used("This month", view.month)),
                ),
        )
        .with(
            el("p")
                .class("note")
                .text("As of ")
                .with(
                    el("time")
                        .attr("datetime", frame.now.machine())
                        .text(frame.now.absolute()),
                )
                .text("; days and months are those of UTC."),
        );
    frame.bare("Your limits", Html::from(body))
}

/// A link that opens nothing.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// What is wrong with it.
    pub sentence: String,
    /// What to do.
    pub advice: String,
}

/// The page behind such a link: what to do, and no way further.
pub fn closed(frame: &PageFrame, view: &Closed) -> String {
    let body = el("div")
        .class("customer")
        .with(el("h1").text("This link opens nothing"))
        .with(
            el("section")
                .class("panel")
                .with(el("p").text(&view.sentence))
                .with(el("p").with(el("b").text(&view.advice))),
        );
    frame.bare("This link opens nothing", Html::from(body))
}

pub(super) fn used(label: &'static str, tally: Tally) -> Element {
    let passed = tally.allowed.saturating_add(tally.delayed);
    let denied = if tally.denied == 0 {
        "none denied".to_owned()
    } else {
        format!("{} denied", number::whole(tally.denied))
    };
    el("div").class("tile").with(el("dt").text(label)).with(
        el("dd").with(el("b").text(number::whole(passed))).with(
            el("span")
                .class("note")
                .text("requests passed, ")
                .text(denied),
        ),
    )
}
