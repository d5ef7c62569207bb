//! The live tail of decisions.

use crate::chart::Meaning;
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::moment::Moment;
use crate::number;
use crate::part::{
    Column, cell, empty, field, head, live, name, number_cell, select, table, verdict,
};
use crate::section::Section;
use crate::url::Url;

#[derive(Clone, Debug, Default)]
pub struct TailRow {
    pub at: Moment,
    pub meaning: Meaning,
    /// Whether a policy in shadow mode would have refused.
    pub is_shadowed: bool,
    /// The key, as `user=42,plan=free`.
    pub key: String,
    /// The contract and the policy, as `free-users/burst`.
    pub policy: String,
    /// Tokens requested.
    pub cost: u64,
    /// What is left, and when the same request would pass: `3 left of 10`.
    pub left: String,
}

#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Filter; empty for all contracts.
    pub contract: String,
    /// Filter: entries, with commas between them.
    pub key: String,
    /// Filter; empty for all verdicts.
    pub verdict: String,
    pub contracts: Vec<String>,
    pub wrong: Option<String>,
    /// The node that decided; empty where there is no cluster.
    pub node: String,
    /// When the tail was started.
    pub since: Option<Moment>,
    /// Decisions that did not fit.
    pub dropped: u64,
    /// Newest first.
    pub rows: Vec<TailRow>,
}

pub fn tail(frame: &PageFrame, view: &Tail) -> String {
    let contracts: Vec<(&str, &str)> = [("", "All")]
        .into_iter()
        .chain(view.contracts.iter().map(|id| (id.as_str(), id.as_str())))
        .collect();
    let filter = el("form")
        .class("filter")
        .url("action", &Section::Tail.url())
        .with(select(
            Some("Contract"),
            "contract",
            &view.contract,
            &contracts,
        ))
        .with(field("Key", "key", &view.key))
        .with(select(Some("Verdict"), "verdict", &view.verdict, &VERDICTS))
        .with(el("button").text("Show"));
    let whose = if view.node.is_empty() {
        "this server".to_owned()
    } else {
        format!("the node {}", view.node)
    };
    let note = format!("Decisions of {whose} as they are made; no decision waits for this page.");
    let body = Html::join([
        Html::from(head("Tail", note, Html::default())),
        filter.into(),
        live("results", &here(view)).with(results(view)).into(),
    ]);
    frame.page(Some(Section::Tail), "Tail", body)
}

fn here(view: &Tail) -> Url {
    Section::Tail
        .url()
        .query("contract", &view.contract)
        .query("key", &view.key)
        .query("verdict", &view.verdict)
}

fn results(view: &Tail) -> Html {
    if let Some(wrong) = &view.wrong {
        return el("p")
            .class("banner bad")
            .attr("role", "alert")
            .text(wrong)
            .into();
    }
    let again = el("p")
        .class("note")
        .with(el("a").url("href", &here(view)).text("Look again"))
        .text(" within 15 seconds to see what came meanwhile.");
    if view.rows.is_empty() {
        let since = view
            .since
            .map_or_else(String::new, |at| format!(" since {}", at.absolute()));
        let what = format!("Nothing was decided{since}.");
        return Html::join([
            Html::from(empty(&what, "Send a request, or choose less.")),
            again.into(),
        ]);
    }
    let dropped = (view.dropped > 0).then(|| {
        let count = number::whole(view.dropped);
        let text = format!("{count} decisions are not shown: more came than are shown.");
        el("p").class("note").text(text)
    });
    let columns = [
        Column("Time (UTC)", false),
        Column("Answer", false),
        Column("Key", false),
        Column("Policy", false),
        Column("Cost", true),
        Column("Left", false),
    ];
    let rows = view.rows.iter().map(row).collect();
    let panel = el("div")
        .class("panel")
        .with(table("Decisions", &columns, rows));
    Html::join([Html::from(panel), dropped.into(), again.into()])
}

fn row(row: &TailRow) -> Element {
    let shadow = row
        .is_shadowed
        .then(|| el("span").class("note").text(" in shadow denied"));
    el("tr")
        .with(cell(row.at.at()))
        .with(cell(Html::join([
            Html::from(verdict(row.meaning)),
            shadow.into(),
        ])))
        .with(cell(
            el("a")
                .url("href", &super::why::to(&row.key))
                .with(name(&row.key)),
        ))
        .with(cell(name(&row.policy)))
        .with(number_cell(number::whole(row.cost)))
        .with(cell(el("bdi").text(&row.left)))
}

/// Verdicts that can be chosen, with their labels.
const VERDICTS: [(&str, &str); 7] = [
    ("", "All"),
    ("refused", "Refused"),
    ("admitted", "Admitted"),
    ("delay", "Delayed"),
    ("allow", "Allowed at once"),
    ("shadow_deny", "Denied in shadow"),
    ("error", "Without a decision"),
];
