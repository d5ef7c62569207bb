//! What is spent of the policies that bind a key, contract by contract: a bar for each.

use super::things::link as link_to;
use crate::chart::{Meaning, share_bar};
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{BindingMode, verdict};

#[derive(Clone, Debug, Default)]
pub struct Spent {
    pub policy: String,
    /// In words: `20 / s · burst 40`.
    pub text: String,
    /// Tokens spent: more than `limit` if there is debt.
    pub spent: u64,
    pub limit: u64,
    /// When the key is full again; `None` where nothing is spent.
    pub full: Option<Moment>,
    pub mode: BindingMode,
    /// What the policy would answer now.
    pub meaning: Meaning,
}

#[derive(Clone, Debug, Default)]
pub struct KeyState {
    pub contract: String,
    pub plan: Option<String>,
    pub policies: Vec<Spent>,
}

pub(super) fn states(frame: &PageFrame, states: &[KeyState]) -> Html {
    let state = |state: &KeyState| {
        let plan = state.plan.as_ref().map(|plan| {
            el("span")
                .class("note")
                .text("plan ")
                .with(el("bdi").text(plan))
        });
        el("section")
            .class("panel")
            .with(
                el("h2")
                    .with(link_to("/console/contract", &state.contract))
                    .with(" ")
                    .with(plan),
            )
            .with(spent(&state.policies, frame.now))
    };
    Html::join(states.iter().map(state))
}

pub(super) fn spent(policies: &[Spent], now: Moment) -> Element {
    let row = |spent: &Spent| {
        let left = spent.limit.saturating_sub(spent.spent);
        let owed = spent.spent.saturating_sub(spent.limit);
        let left = match owed {
            0 => (number::whole(left), " of ", " left"),
            _ => (format!("owes {}", number::whole(owed)), " beyond ", ""),
        };
        let refill = match spent.full {
            Some(full) if full > now => format!("full in {}", full.until(now)),
            _ => "full".to_owned(),
        };
        let mode = (spent.mode != BindingMode::Enforce)
            .then(|| el("i").class("mode").text(spent.mode.text()));
        let refuses = matches!(spent.meaning, Meaning::Denied | Meaning::Delayed);
        let answer = refuses.then(|| verdict(spent.meaning));
        el("li")
            .with(
                el("div")
                    .class("line")
                    .with(
                        el("span")
                            .with(el("bdi").text(&spent.policy))
                            .with(" ")
                            .with(el("span").class("note").text(&spent.text))
                            .with(" ")
                            .with(mode)
                            .with(" ")
                            .with(answer),
                    )
                    .with(
                        el("span")
                            .class("n")
                            .with(el("b").text(left.0))
                            .text(left.1)
                            .text(number::whole(spent.limit))
                            .text(left.2),
                    ),
            )
            .with(share_bar(spent.spent.min(spent.limit), spent.limit))
            .with(
                el("div")
                    .class("line note")
                    .with(el("span").text(number::whole(spent.spent)).text(" spent"))
                    .with(el("span").text(refill)),
            )
    };
    el("ul").class("bars").each(policies.iter().map(row))
}
