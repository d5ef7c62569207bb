//! What a customer sees behind a signed link: limits, usage, when it refills; nothing else.

use super::spent::{Spent, spent};
use crate::chart::Tally;
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::empty;

#[derive(Clone, Debug, Default)]
pub struct Customer {
    /// As the customers know themselves.
    pub name: String,
    /// The name under which the plan is sold.
    pub plan: Option<String>,
    pub limits: Vec<Spent>,
    /// Since midnight.
    pub today: Tally,
    /// Since the first of the month.
    pub month: Tally,
}

/// Without navigation, without forms.
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

/// A link that is invalid or expired.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    pub sentence: String,
    pub advice: String,
}

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
