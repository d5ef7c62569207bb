//! The nodes: membership, age of their last report, traffic between them, and the state of policies that they
//! count together.

use super::gateways::{self, GatewayRow};
use super::overview::HealthLevel;
use crate::chart::{Bar, Meaning, bar};
use crate::frame::PageFrame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, cell, empty, head, live, name, number_cell, panel, table};
use crate::section::Section;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The one that answers.
    #[default]
    Itself,
    /// Milliseconds since its last report.
    Fresh(u64),
    /// Milliseconds since its last report; the node may be gone.
    Late(u64),
    /// Expected but absent, in words.
    Missing(String),
}

#[derive(Clone, Debug, Default)]
pub struct NodeRow {
    pub name: String,
    pub address: String,
    pub freshness: Freshness,
    /// Per second.
    pub rate: f64,
    /// Bytes per second from this node to it.
    pub sent: f64,
    /// Bytes per second from it to this node.
    pub received: f64,
    /// The version of its software.
    pub version: String,
}

#[derive(Clone, Debug, Default)]
pub struct CountedPolicy {
    pub contract: String,
    pub policy: String,
    pub mode: String,
    /// What the mode shows: names, and values as they are shown.
    pub figures: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct ClusterPage {
    pub nodes: Vec<NodeRow>,
    /// Which nodes are missing, in one sentence with what it means.
    pub missing: Option<String>,
    /// Which nodes do not see each other, in one sentence with what it means.
    pub partition: Option<String>,
    pub counted: Vec<CountedPolicy>,
    pub gateways: Vec<GatewayRow>,
}

pub fn cluster(frame: &PageFrame, view: &ClusterPage) -> String {
    let page = Section::Cluster.url();
    let seen = view
        .nodes
        .iter()
        .filter(|node| matches!(node.freshness, Freshness::Itself | Freshness::Fresh(_)))
        .count() as u64;
    let note = format!(
        "{} of {} heard of.",
        number::whole(seen),
        number::counted(view.nodes.len() as u64, "node")
    );
    let banners = [
        ("Missing. ", view.missing.as_ref()),
        ("Partition. ", view.partition.as_ref()),
    ];
    let banners = banners.into_iter().filter_map(|(word, sentence)| {
        let banner = el("p").class("banner bad").attr("role", "alert");
        Some(banner.with(el("b").text(word)).text(sentence?))
    });
    let body = Html::join([
        Html::from(head("Cluster", note, Html::default())),
        live("nodes", &page).each(banners).with(nodes(view)).into(),
        live("counted", &page)
            .with(Html::join(view.counted.iter().map(counted)))
            .with(gateways::gateways(&view.gateways))
            .into(),
    ]);
    frame.page(Some(Section::Cluster), "Cluster", body)
}

fn nodes(view: &ClusterPage) -> Element {
    if view.nodes.len() < 2 {
        return panel("Nodes").with(empty(
            "This node is alone.",
            Html::join([
                el("span").text("Five on one machine, to try it: "),
                el("code").text("tollgate cluster dev --nodes 5"),
            ]),
        ));
    }
    let busiest = most(view.nodes.iter().map(|node| node.rate));
    let chattiest = most(view.nodes.iter().map(|node| node.sent + node.received));
    let row = |node: &NodeRow| {
        let bytes = [
            Bar {
                value: whole(node.sent),
                meaning: Meaning::Plain,
            },
            Bar {
                value: whole(node.received),
                meaning: Meaning::Accent,
            },
        ];
        el("tr")
            .with(cell(name(&node.name)))
            .with(cell(freshness(&node.freshness)))
            .with(number_cell(number::rate(node.rate)))
            .with(
                cell(bar(
                    &[Bar {
                        value: whole(node.rate),
                        meaning: Meaning::Plain,
                    }],
                    busiest,
                    &number::rate(node.rate),
                ))
                .class("wide"),
            )
            .with(number_cell(format!("{}/s", number::bytes(node.sent))))
            .with(number_cell(format!("{}/s", number::bytes(node.received))))
            .with(cell(bar(&bytes, chattiest, "Bytes sent and received")).class("wide"))
            .with(cell(name(&node.address)))
            .with(cell(name(&node.version)))
    };
    let columns = [
        Column("Node", false),
        Column("Heard of", false),
        Column("Decides", true),
        Column("", false),
        Column("Sent to it", true),
        Column("Got from it", true),
        Column("", false),
        Column("Address", false),
        Column("Version", false),
    ];
    panel("Nodes").with(table(
        "Nodes",
        &columns,
        view.nodes.iter().map(row).collect(),
    ))
}

fn freshness(freshness: &Freshness) -> Element {
    let (state, words) = match freshness {
        Freshness::Itself => (HealthLevel::Good, "this node".to_owned()),
        Freshness::Fresh(millis) => (HealthLevel::Good, format!("{} ago", number::span(*millis))),
        Freshness::Late(millis) => (
            HealthLevel::Warn,
            format!("silent for {}", number::span(*millis)),
        ),
        Freshness::Missing(words) => (HealthLevel::Bad, words.clone()),
    };
    el("span")
        .class("nowrap")
        .with(state.sign())
        .text(" ")
        .text(words)
}

fn counted(policy: &CountedPolicy) -> Element {
    let title = el("h2")
        .with(name(&policy.contract))
        .text(" / ")
        .with(name(&policy.policy))
        .text(" ")
        .with(el("span").class("note").text(&policy.mode));
    let figure = |(name, value): &(String, String)| {
        let value = el("span").class("n").with(el("b").text(value));
        el("li").with(
            el("div")
                .class("line")
                .with(el("span").text(name))
                .with(value),
        )
    };
    let figures = policy.figures.iter().map(figure);
    el("section")
        .class("panel")
        .with(title)
        .with(el("ul").class("bars columns").each(figures))
}

fn most(values: impl Iterator<Item = f64>) -> u64 {
    whole(values.fold(1.0, f64::max))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths of bars, and the cast saturates"
)]
const fn whole(value: f64) -> u64 {
    value as u64
}
