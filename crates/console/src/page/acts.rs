//! What can be done for a key and its entries: refund or take tokens, a ban, a link for the customer.

use super::bans::lift;
use super::why::Why;
use crate::frame::{PageFrame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::part::{Action, action, field, panel, select};
use crate::url::Url;

pub(super) fn actions(frame: &PageFrame, view: &Why) -> Html {
    let one = |path: &'static str, it: Action<'_>, fields: Html| {
        let key = hidden("key", &view.key).into();
        action(frame, &Url::to(path), it, Html::join([key, fields]))
    };
    let amount = || Html::from(field("Cost", "cost", 1));
    let on_key = [
        (
            "/console/key/refund",
            "Refund",
            "Gives tokens back in every policy.",
            amount(),
        ),
        (
            "/console/key/reset",
            "Reset",
            "Forgets everything that is spent, in every contract.",
            Html::default(),
        ),
        (
            "/console/key/charge",
            "Charge",
            "Takes tokens in every policy, as a request would.",
            amount(),
        ),
    ];
    let on_key = on_key.map(|(path, verb, what, fields)| {
        let it = Action {
            name: verb,
            what,
            verb,
            is_hard: false,
            needs: Right::Act,
        };
        one(path, it, fields)
    });
    let ban = Action {
        name: "Ban",
        what: "Every request is denied on every node, whatever is left.",
        verb: "Ban",
        is_hard: true,
        needs: Right::Assign,
    };
    let ban = if view.assigned.identities.is_empty() {
        Html::default()
    } else if view.bans.is_empty() {
        let fields = [whose(view), until().into()];
        one("/console/identity/ban", ban, Html::join(fields))
    } else {
        Html::join(view.bans.iter().map(|ban| lift(frame, ban)))
    };
    Html::join(on_key.into_iter().chain([ban]))
}

pub(super) fn whose(view: &Why) -> Html {
    match &*view.assigned.identities {
        [] => Html::default(),
        [only] => hidden("identity", only).into(),
        [first, ..] => {
            let options: Vec<(&str, &str)> = view
                .assigned
                .identities
                .iter()
                .map(|one| (&**one, &**one))
                .collect();
            select(Some("Whose"), "identity", first, &options).into()
        }
    }
}

fn until() -> Element {
    el("label")
        .class("field")
        .with(el("span").text("Until (UTC), as 2026-12-31T23:00; empty for ever"))
        .with(
            el("input")
                .attr("type", "datetime-local")
                .attr("name", "until"),
        )
}

pub(super) fn link(frame: &PageFrame, view: &Why) -> Html {
    if view.assigned.identities.is_empty() {
        return Html::default();
    }
    let shown = view.customer.as_ref().map(|link| {
        el("p")
            .class("copy")
            .with(el("code").text(link))
            .with(" ")
            .with(copy(link))
    });
    let fields = Html::join([
        hidden("key", &view.key).into(),
        whose(view),
        field("Days", "days", 30).into(),
    ]);
    let make = action(
        frame,
        &Url::to("/console/identity/link"),
        Action {
            name: "Make a link",
            what: "It opens without a token, until its time is up.",
            verb: "Make the link",
            is_hard: false,
            needs: Right::Act,
        },
        fields,
    );
    panel("Customer page")
        .with(
            el("p").class("note").text(
                "Shows these limits and this usage, and nothing else, to whoever has the link.",
            ),
        )
        .with(shown)
        .with(el("div").class("buttons").with(make))
        .into()
}

pub(super) fn copy(text: &str) -> Element {
    el("button")
        .attr("type", "button")
        .class("quiet")
        .attr("data-copy", text)
        .flag("hidden", true)
        .text("Copy")
}
