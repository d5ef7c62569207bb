//! One identity: why it is blocked and until when, what is left, what was decided, and what can be done.

use super::assignments::{AssignmentRow, assignments};
use super::bans::{BanRow, lift};
use super::identities::to;
use crate::chart::{Meaning, Tally, share_bar};
use crate::editor::AssignmentDraft;
use crate::frame::{Frame, Right, hidden};
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{
    Action, Column, Mode, action, cell, empty, field, head, live, name, number_cell, panel, table,
    verdict,
};
use crate::section::Section;
use crate::url::Url;

/// Why somebody is blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// What blocks: `policy burst of contract free-users is spent (40 of 40)`.
    pub why: String,
    /// Until when; `None` where nothing but a person ends it.
    pub until: Option<Moment>,
}

/// What is spent of one policy.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    /// The policy.
    pub policy: String,
    /// In words: `20 / s · burst 40`.
    pub text: String,
    /// Tokens spent: more than there are where some are owed.
    pub spent: u64,
    /// Tokens there are.
    pub limit: u64,
    /// When all of it is back; `None` where nothing is spent.
    pub full: Option<Moment>,
    /// How it binds.
    pub mode: Mode,
}

/// What one contract knows of the identity.
#[derive(Clone, Debug, Default)]
pub struct KeyState {
    /// The contract.
    pub contract: String,
    /// The plan in force there.
    pub plan: Option<String>,
    /// Its policies.
    pub policies: Vec<Spent>,
}

/// A decision.
#[derive(Clone, Debug, Default)]
pub struct DecisionRow {
    /// When.
    pub at: Moment,
    /// The contract.
    pub contract: String,
    /// What it cost.
    pub cost: u64,
    /// What was answered.
    pub meaning: Meaning,
    /// Why, where it was not allowed at once: `burst, try again in 1.2 s`.
    pub detail: String,
}

/// What was used in one contract.
#[derive(Clone, Debug, Default)]
pub struct UsedRow {
    /// The contract.
    pub contract: String,
    /// Requests since midnight.
    pub today: Tally,
    /// Requests since the first of the month.
    pub month: Tally,
    /// What those of the month cost, less what was given back.
    pub cost: u64,
}

/// The page of one identity.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Who.
    pub identity: String,
    /// Why it is blocked, where it is.
    pub blocked: Option<Blocked>,
    /// Bans that cover it.
    pub bans: Vec<BanRow>,
    /// What is spent, by contract.
    pub states: Vec<KeyState>,
    /// The newest decisions.
    pub decisions: Vec<DecisionRow>,
    /// What was used; `None` where nobody counts.
    pub used: Option<Vec<UsedRow>>,
    /// Its assignments.
    pub assignments: Vec<AssignmentRow>,
    /// The assignment that a form begins with.
    pub draft: AssignmentDraft,
    /// The plans there are.
    pub plans: Vec<String>,
    /// The contracts there are.
    pub contracts: Vec<String>,
    /// The page for the customer: a signed link, as the server made it.
    pub customer: Option<String>,
}

/// The page.
pub fn identity(frame: &Frame, view: &Identity) -> String {
    let here = to(&view.identity);
    let note = Html::join([
        Html::from(
            el("a")
                .url("href", &Section::Identities.url())
                .text("Identities"),
        ),
        " / ".into(),
        Html::text("detail"),
    ]);
    let body = Html::join([
        Html::from(head(name(&view.identity), note, actions(frame, view))),
        live("state", &here)
            .with(sentence(frame, view))
            .with(states(frame, view))
            .into(),
        live("decisions", &here).with(decisions(view)).into(),
        live("used", &here)
            .with(view.used.as_deref().map(used))
            .into(),
        assignments(frame, view).into(),
        link(frame, view).into(),
    ]);
    frame.page(Some(Section::Identities), &view.identity, body)
}

/// Why and until when, in one sentence.
fn sentence(frame: &Frame, view: &Identity) -> Element {
    let Some(blocked) = &view.blocked else {
        return el("p")
            .class("verdict-line allowed")
            .with(crate::chart::sign(Meaning::Allowed))
            .text(" Not blocked: the next request passes.");
    };
    let until = match blocked.until {
        Some(until) => el("span")
            .text("until ")
            .with(
                el("time")
                    .attr("datetime", until.machine())
                    .attr("title", until.absolute())
                    .text(until.seconds()),
            )
            .text(" UTC (")
            .text(until.until(frame.now))
            .text(" left)."),
        None => el("span").text("until somebody lifts it."),
    };
    el("p")
        .class("verdict-line denied")
        .with(crate::chart::sign(Meaning::Denied))
        .text(" Blocked because ")
        .with(el("bdi").text(&blocked.why))
        .text(" ")
        .with(until)
}

fn states(frame: &Frame, view: &Identity) -> Html {
    if view.states.is_empty() {
        return empty("No contract binds it.", "A contract binds whoever has the entries of its key. Make one that counts by this entry.").into();
    }
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
                    .with(
                        el("a")
                            .url(
                                "href",
                                &Url::to("/console/contract").query("id", &state.contract),
                            )
                            .with(name(&state.contract)),
                    )
                    .with(" ")
                    .with(plan),
            )
            .with(spent(&state.policies, frame.now))
    };
    Html::join(view.states.iter().map(state))
}

/// A bar for each policy.
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
        let mode =
            (spent.mode != Mode::Enforce).then(|| el("i").class("mode").text(spent.mode.text()));
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
                            .with(mode),
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

fn decisions(view: &Identity) -> Element {
    let panel = panel("Recent decisions");
    if view.decisions.is_empty() {
        return panel.with(empty(
            "No decision is remembered.",
            "The newest ones are kept for a while on each node.",
        ));
    }
    let row = |row: &DecisionRow| {
        el("tr")
            .with(cell(row.at.at()))
            .with(cell(verdict(row.meaning)))
            .with(cell(name(&row.contract)))
            .with(number_cell(number::whole(row.cost)))
            .with(cell(el("bdi").text(&row.detail)))
    };
    let columns = [
        Column("Time (UTC)", false),
        Column("Answer", false),
        Column("Contract", false),
        Column("Cost", true),
        Column("Why", false),
    ];
    panel.with(table(
        "Recent decisions",
        &columns,
        view.decisions.iter().map(row).collect(),
    ))
}

fn actions(frame: &Frame, view: &Identity) -> Html {
    let carried = || hidden("identity", &view.identity);
    let one = |path: &'static str, it: Action<'_>, fields: Html| {
        action(
            frame,
            &Url::to(path),
            it,
            Html::join([carried().into(), fields]),
        )
    };
    let amount = || Html::from(field("Cost", "cost", 1));
    let ban = if view.bans.is_empty() {
        one(
            "/console/identity/ban",
            Action {
                name: "Ban",
                what: "Every request is denied on every node, whatever is left.",
                verb: "Ban",
                is_hard: true,
                needs: Right::Assign,
            },
            until().into(),
        )
    } else {
        Html::join(view.bans.iter().map(|ban| lift(frame, ban)))
    };
    Html::join([
        one(
            "/console/identity/refund",
            Action {
                name: "Refund",
                what: "Gives tokens back in every policy.",
                verb: "Refund",
                is_hard: false,
                needs: Right::Act,
            },
            amount(),
        ),
        one(
            "/console/identity/reset",
            Action {
                name: "Reset",
                what: "Forgets everything that is spent, in every contract.",
                verb: "Reset",
                is_hard: false,
                needs: Right::Act,
            },
            Html::default(),
        ),
        one(
            "/console/identity/charge",
            Action {
                name: "Charge",
                what: "Takes tokens in every policy, as a request would.",
                verb: "Charge",
                is_hard: false,
                needs: Right::Act,
            },
            amount(),
        ),
        ban,
    ])
}

/// When a ban ends.
fn until() -> Element {
    el("label")
        .class("field")
        .with(el("span").text("Until (UTC), empty for ever"))
        .with(
            el("input")
                .attr("type", "datetime-local")
                .attr("name", "until"),
        )
}

/// What was used, by contract.
fn used(rows: &[UsedRow]) -> Element {
    let panel = panel("Usage");
    if rows.is_empty() {
        return panel.with(empty(
            "Nothing was used this month.",
            "Days and months are those of UTC.",
        ));
    }
    let row = |row: &UsedRow| {
        let passed = |tally: Tally| number::whole(tally.allowed.saturating_add(tally.delayed));
        el("tr")
            .with(cell(name(&row.contract)))
            .with(number_cell(passed(row.today)))
            .with(number_cell(number::whole(row.today.denied)))
            .with(number_cell(passed(row.month)))
            .with(number_cell(number::whole(row.month.denied)))
            .with(number_cell(number::whole(row.cost)))
    };
    let columns = [
        Column("Contract", false),
        Column("Passed today", true),
        Column("Denied today", true),
        Column("Passed this month", true),
        Column("Denied this month", true),
        Column("Cost this month", true),
    ];
    panel.with(table("Usage", &columns, rows.iter().map(row).collect()))
}

fn link(frame: &Frame, view: &Identity) -> Element {
    let shown = view.customer.as_ref().map(|link| {
        el("p")
            .class("copy")
            .with(el("code").text(link))
            .with(" ")
            .with(copy(link))
    });
    let fields = Html::join([
        Html::from(hidden("identity", &view.identity)),
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
}

/// A button that the script shows where it can copy.
pub(super) fn copy(text: &str) -> Element {
    el("button")
        .attr("type", "button")
        .class("quiet")
        .attr("data-copy", text)
        .flag("hidden", true)
        .text("Copy")
}
