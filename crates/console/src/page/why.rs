//! Why a key passes or not: the verdict, every policy, what would change it, which contracts nearly bind it, and the
//! actions.

use super::acts::{actions, link};
use super::assignments::{AssignmentRow, assignments};
use super::bans::BanRow;
use super::spent::{KeyState, states};
use super::things::link as link_to;
use crate::chart::{Meaning, Tally};
use crate::editor::AssignmentDraft;
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{
    Column, button, cell, empty, head, live, name, number_cell, panel, table, verdict,
};
use crate::section::Section;
use crate::url::Url;

/// The answer that a request would get now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PredictedAnswer {
    /// [`Meaning::Accent`] if it passes because no contract binds it.
    pub meaning: Meaning,
    /// One sentence; names stand between backticks.
    pub summary: String,
    /// Set if time alone ends it.
    pub until: Option<Moment>,
}

/// A way to change the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// One sentence; names stand between backticks.
    pub text: String,
    /// The contract to edit; `None` if the page itself has the action.
    pub to: Option<Url>,
}

/// A contract that nearly binds the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    pub contract: String,
    /// What the key lacks, and what was probably intended.
    pub lacks: String,
    /// The key that it would bind; `None` if a value would have to be invented.
    pub key: Option<String>,
}

/// A key of a recent request that has all entries of the question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentKey {
    pub key: String,
    /// Its last request.
    pub at: Moment,
    /// The answer to that request.
    pub meaning: Meaning,
}

#[derive(Clone, Debug, Default)]
pub struct DecisionRow {
    pub at: Moment,
    pub contract: String,
    pub cost: u64,
    pub meaning: Meaning,
    /// Why, unless it was allowed at once: `burst, try again in 1.2 s`.
    pub detail: String,
}

#[derive(Clone, Debug, Default)]
pub struct UsedRow {
    pub contract: String,
    /// Requests since midnight.
    pub today: Tally,
    /// Requests since the first of the month.
    pub month: Tally,
    /// Cost of the month's requests, minus refunds.
    pub cost: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Why {
    /// As typed: entries with commas between them, as `user=42,plan=free`. Empty if nothing was
    /// requested.
    pub key: String,
    /// As typed.
    pub cost: String,
    pub complaint: Option<String>,
    pub outcome: Option<PredictedAnswer>,
    pub ways: Vec<Way>,
    pub bans: Vec<BanRow>,
    pub states: Vec<KeyState>,
    /// Nearest first.
    pub misses: Vec<Missed>,
    /// Recent keys with more entries.
    pub seen: Vec<RecentKey>,
    pub decisions: Vec<DecisionRow>,
    /// `None` if no statistics are kept.
    pub used: Option<Vec<UsedRow>>,
    /// The identities in the key, with their plans.
    pub assigned: Assigned,
    /// A signed link, as the server made it.
    pub customer: Option<String>,
}

/// The identities in a key, and their assignments.
#[derive(Clone, Debug, Default)]
pub struct Assigned {
    /// The entries of the key with their values, each of which can have an assignment or a ban.
    pub identities: Vec<String>,
    pub rows: Vec<AssignmentRow>,
    /// Set if an entry has an assignment but no contract that counts by it follows a plan.
    pub unfollowed: Option<Unfollowed>,
    /// Initial values of the form.
    pub draft: AssignmentDraft,
    pub plans: Vec<String>,
    pub contracts: Vec<String>,
}

/// An assigned plan that has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfollowed {
    pub entry: String,
    pub plan: String,
    /// Contracts that count by the entry and follow no plan.
    pub contracts: Vec<String>,
}

pub(super) fn to(key: &str) -> Url {
    Url::to("/console/why").query("key", key)
}

/// `identity` is an entry with its value.
pub fn as_part(identity: &str) -> String {
    identity.replace('%', "%25").replace(',', "%2C")
}

pub fn why(frame: &PageFrame, view: &Why) -> String {
    let here = to(&view.key).query("cost", &view.cost);
    let is_asked = !view.key.is_empty();
    let title = if is_asked {
        Html::join([Html::text("Why? "), name(&view.key).into()])
    } else {
        Html::text("Why?")
    };
    let actions = view.outcome.as_ref().map(|_| actions(frame, view));
    let complaint = view
        .complaint
        .as_ref()
        .map(|text| el("p").class("banner bad").attr("role", "alert").text(text));
    let answer = view.outcome.as_ref().map(|outcome| {
        Html::join([
            live("state", &here)
                .with(sentence(frame, outcome))
                .with(ways(&view.ways))
                .with(states(frame, &view.states))
                .with(misses(&view.misses))
                .into(),
            live("decisions", &here)
                .with(seen(frame, &view.seen))
                .with(decisions(view))
                .into(),
            live("used", &here)
                .with(view.used.as_deref().map(used))
                .into(),
            assignments(frame, view).into(),
            link(frame, view),
        ])
    });
    let hint = (!is_asked).then(|| {
        empty(
            "Which key?",
            "Type its entries with commas between them, as the request has them. Any key can be asked about; nothing is taken from it.",
        )
    });
    let body = Html::join([
        Html::from(head(
            title,
            "Why a key passes or not, by what this node knows now.",
            actions,
        )),
        question(view).into(),
        complaint.into(),
        answer.into(),
        hint.into(),
    ]);
    let shown = if is_asked { &view.key } else { "Why?" };
    frame.page(Some(Section::Why), shown, body)
}

fn question(view: &Why) -> Element {
    let gap = |name: &'static str, label: &'static str, value: &str, hint: &'static str| {
        el("input")
            .attr("name", name)
            .attr("value", value)
            .attr("aria-label", label)
            .attr("placeholder", hint)
            .attr("autocomplete", "off")
            .attr("spellcheck", "false")
    };
    el("form")
        .class("search")
        .attr("role", "search")
        .url("action", &Section::Why.url())
        .with(
            gap("key", "Entries of the key", &view.key, "user=42, plan=free")
                .attr("type", "search"),
        )
        .with(gap("cost", "Cost", &view.cost, "cost 1").attr("inputmode", "numeric"))
        .with(button("Explain"))
}

/// Isolates names in the sentence, so that their writing direction does not affect it.
fn said(text: &str) -> Element {
    el("bdi").text(text.replace('`', ""))
}

fn sentence(frame: &PageFrame, outcome: &PredictedAnswer) -> Element {
    let until = outcome.until.map(|until| {
        let is_near = until < frame.now.plus(NEAR_MS);
        let shown = if is_near {
            format!("{} UTC", until.seconds())
        } else {
            until.absolute()
        };
        el("span")
            .text(" (")
            .with(
                el("time")
                    .attr("datetime", until.machine())
                    .attr("title", until.relative(frame.now))
                    .text(shown),
            )
            .text(")")
    });
    let class = match outcome.meaning {
        Meaning::Denied => "verdict-line denied",
        Meaning::Delayed => "verdict-line delayed",
        Meaning::Accent => "verdict-line unmatched",
        _ => "verdict-line allowed",
    };
    let mut summary = outcome.summary.clone();
    // The summary repeats the verdict already, so it becomes a sentence of its own.
    if let Some(first) = summary.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    el("p")
        .class(class)
        .with(crate::chart::sign(outcome.meaning))
        .text(" ")
        .with(said(&summary))
        .with(until)
        .text(".")
}

fn ways(ways: &[Way]) -> Html {
    if ways.is_empty() {
        return Html::default();
    }
    let item = |way: &Way| {
        let more = way
            .to
            .as_ref()
            .map(|to| el("a").url("href", to).text("Open the contract"));
        el("li").with(said(&way.text)).text(" ").with(more)
    };
    panel("What would change it")
        .with(el("ul").class("ways").each(ways.iter().map(item)))
        .into()
}

fn misses(misses: &[Missed]) -> Html {
    if misses.is_empty() {
        return Html::default();
    }
    let row = |miss: &Missed| {
        let with = miss
            .key
            .as_ref()
            .map(|key| el("a").url("href", &to(key)).with(name(key)));
        el("tr")
            .with(cell(link_to("/console/contract", &miss.contract)))
            .with(cell(with))
            .with(cell(said(&miss.lacks)))
    };
    let columns = [
        Column("Contract", false),
        Column("It would bind", false),
        Column("The key lacks", false),
    ];
    panel("Near misses")
        .with(table(
            "Near misses",
            &columns,
            misses.iter().map(row).collect(),
        ))
        .into()
}

fn seen(frame: &PageFrame, seen: &[RecentKey]) -> Html {
    if seen.is_empty() {
        return Html::default();
    }
    let row = |seen: &RecentKey| {
        el("tr")
            .with(cell(
                el("a").url("href", &to(&seen.key)).with(name(&seen.key)),
            ))
            .with(cell(verdict(seen.meaning)))
            .with(cell(seen.at.ago(frame.now)))
    };
    let columns = [
        Column("Key", false),
        Column("Last answer", false),
        Column("When", false),
    ];
    panel("Requests had more entries")
        .with(el("p").class("note").text("This node saw these keys lately; contracts that bind them may not bind the entries above alone."))
        .with(table("Keys", &columns, seen.iter().map(row).collect()))
        .into()
}

fn decisions(view: &Why) -> Element {
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

/// Times closer than this are shown without the day.
const NEAR_MS: i64 = 12 * 3_600_000;
