//! The nodes: who is there, how fresh their news is, what they say to each other, and how limits are divided among
//! them.

use super::overview::State;
use super::split::{self, Cut, GatewayRow};
use crate::chart::{Bar, Meaning, bar};
use crate::frame::Frame;
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, cell, empty, head, live, name, number_cell, panel, table};
use crate::section::Section;

/// How a node is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The one that answers.
    #[default]
    Itself,
    /// Its news is that many milliseconds old.
    Fresh(u64),
    /// It was not heard of for that long, and may be gone.
    Late(u64),
    /// It should be there and is not, in words.
    Missing(String),
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// How it is seen.
    pub freshness: Freshness,
    /// Decisions each second.
    pub rate: f64,
    /// Bytes sent to it each second.
    pub sent: f64,
    /// Bytes received from it each second.
    pub received: f64,
    /// The version it runs.
    pub version: String,
}

/// A node's part of a divided limit, in tokens for each second.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// The node.
    pub node: String,
    /// What it has by right, less what it lent.
    pub own: u64,
    /// What it borrowed.
    pub borrowed: u64,
    /// What it lent.
    pub lent: u64,
}

/// A divided limit.
#[derive(Clone, Debug, Default)]
pub struct Supply {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// All of it, for each second.
    pub limit: u64,
    /// The parts.
    pub shares: Vec<Share>,
}

/// The page.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The nodes.
    pub nodes: Vec<NodeRow>,
    /// Who should be there and is not, in one sentence with what it means.
    pub missing: Option<String>,
    /// Which nodes do not see each other, in one sentence with what it means.
    pub partition: Option<String>,
    /// Divided limits.
    pub supplies: Vec<Supply>,
    /// Buckets that are cut.
    pub cuts: Vec<Cut>,
    /// Gateways.
    pub gateways: Vec<GatewayRow>,
}

/// The page.
pub fn cluster(frame: &Frame, view: &Cluster) -> String {
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
        live("supply", &page).with(supplies(view)).into(),
        live("split", &page)
            .with(split::cuts(&view.cuts))
            .with(split::gateways(&view.gateways))
            .into(),
    ]);
    frame.page(Some(Section::Cluster), "Cluster", body)
}

fn nodes(view: &Cluster) -> Element {
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
        Freshness::Itself => (State::Good, "this node".to_owned()),
        Freshness::Fresh(millis) => (State::Good, format!("{} ago", number::span(*millis))),
        Freshness::Late(millis) => (State::Warn, format!("silent for {}", number::span(*millis))),
        Freshness::Missing(words) => (State::Bad, words.clone()),
    };
    el("span")
        .class("nowrap")
        .with(state.sign())
        .text(" ")
        .text(words)
}

fn supplies(view: &Cluster) -> Html {
    let share = |supply: &Supply, share: &Share| {
        let usable = share.own.saturating_add(share.borrowed);
        let parts = [
            Bar {
                value: share.own,
                meaning: Meaning::Plain,
            },
            Bar {
                value: share.borrowed,
                meaning: Meaning::Accent,
            },
        ];
        let words = format!(
            "own {} · borrowed {} · lent {}",
            number::whole(share.own),
            number::whole(share.borrowed),
            number::whole(share.lent)
        );
        el("li")
            .with(
                el("div").class("line").with(name(&share.node)).with(
                    el("span")
                        .class("n")
                        .with(el("b").text(number::whole(usable)))
                        .text(" /s"),
                ),
            )
            .with(bar(&parts, supply.limit, &words))
            .with(el("div").class("line note").text(&words))
    };
    Html::join(view.supplies.iter().map(|supply| {
        el("section")
            .class("panel")
            .with(
                el("h2")
                    .text("Divided: ")
                    .with(name(&supply.contract))
                    .text(" / ")
                    .with(name(&supply.policy))
                    .with(" ")
                    .with(
                        el("span")
                            .class("note")
                            .text(number::whole(supply.limit))
                            .text(" each second among ")
                            .text(number::counted(supply.shares.len() as u64, "node")),
                    ),
            )
            .with(
                el("ul")
                    .class("bars columns")
                    .each(supply.shares.iter().map(|one| share(supply, one))),
            )
    }))
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
