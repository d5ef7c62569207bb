//! Buckets that are cut among nodes, and gateways: what each node has of a bucket, and what messages wait for.
//!
//! Not here: the page they stand on (`cluster`), and how the figures come about.

use crate::chart::{Bar, Meaning, bar};
use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, cell, name, number_cell, panel, table};

/// A node's part of a bucket that is cut. Amounts are messages, rates messages each second.
#[derive(Clone, Debug, Default)]
pub struct CutPart {
    /// The node.
    pub node: String,
    /// Its part of the rate.
    pub rate: f64,
    /// Its part of the depth.
    pub burst: f64,
    /// Tokens it has.
    pub tokens: f64,
    /// What messages wait for.
    pub queue: f64,
    /// Messages that it admitted, and those of them that had to wait.
    pub admitted: u64,
    /// Of these, those that had to wait.
    pub delayed: u64,
    /// Tokens it got from others.
    pub borrowed: f64,
    /// Tokens it gave to others.
    pub given: f64,
}

/// A bucket that is cut.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// The contract.
    pub contract: String,
    /// The policy.
    pub policy: String,
    /// All of the rate.
    pub rate: f64,
    /// All of the depth.
    pub burst: f64,
    /// The parts that are known.
    pub parts: Vec<CutPart>,
}

/// How long something took, in milliseconds: half, 95 of a hundred, 99 of a hundred and 999 of a thousand are not
/// longer.
pub type Delays = [f64; 4];

/// A gateway.
#[derive(Clone, Debug, Default)]
pub struct GatewayRow {
    /// Its node.
    pub name: String,
    /// Where clients connect.
    pub listen: String,
    /// Its broker.
    pub upstream: String,
    /// Clients that are connected.
    pub clients: u64,
    /// Of these, those that belong to another gateway.
    pub elsewhere: u64,
    /// How long limits held messages back; nothing where none passed.
    pub access: Option<Delays>,
    /// How long the broker took for messages; nothing where it answered none.
    pub service: Option<Delays>,
}

/// Buckets that are cut.
pub(super) fn cuts(cuts: &[Cut]) -> Html {
    Html::join(cuts.iter().map(|cut| {
        let words = format!(
            " {} each second, burst {}",
            number::short(cut.rate),
            number::short(cut.burst)
        );
        let title = el("h2")
            .text("Cut: ")
            .with(name(&cut.contract))
            .text(" / ")
            .with(name(&cut.policy))
            .with(el("span").class("note").text(words));
        let rows = cut.parts.iter().map(|part| row(cut, part)).collect();
        el("section").class("panel").with(title).with(table(
            "Parts of a bucket that is cut",
            &PARTS,
            rows,
        ))
    }))
}

const PARTS: [Column; 10] = [
    Column("Node", false),
    Column("Rate", true),
    Column("", false),
    Column("Burst", true),
    Column("Tokens", true),
    Column("Queue", true),
    Column("Admitted", true),
    Column("Had to wait", true),
    Column("Borrowed", true),
    Column("Given", true),
];

fn row(cut: &Cut, part: &CutPart) -> Element {
    let own = Bar {
        value: milli(part.rate),
        meaning: Meaning::Plain,
    };
    let rate = number::rate(part.rate);
    el("tr")
        .with(cell(name(&part.node)))
        .with(number_cell(&rate))
        .with(cell(bar(&[own], milli(cut.rate), &rate)).class("wide"))
        .with(number_cell(number::short(part.burst)))
        .with(number_cell(number::short(part.tokens)))
        .with(number_cell(number::short(part.queue)))
        .with(number_cell(number::whole(part.admitted)))
        .with(number_cell(number::share(part.delayed, part.admitted)))
        .with(number_cell(number::short(part.borrowed)))
        .with(number_cell(number::short(part.given)))
}

/// Gateways, and what messages wait for there.
pub(super) fn gateways(gateways: &[GatewayRow]) -> Html {
    if gateways.is_empty() {
        return Html::default();
    }
    let note = el("p").class("note").text(
        "Access is how long limits held messages back, service how long the broker took to answer them (QoS 1 and 2), of all messages since the start.",
    );
    let rows = gateways.iter().map(gateway).collect();
    panel("Gateways")
        .with(note)
        .with(table("Gateways", &GATEWAYS, rows))
        .into()
}

const GATEWAYS: [Column; 12] = [
    Column("Gateway", false),
    Column("Clients", true),
    Column("Access p50", true),
    Column("p95", true),
    Column("p99", true),
    Column("p99.9", true),
    Column("Service p50", true),
    Column("p95", true),
    Column("p99", true),
    Column("p99.9", true),
    Column("Listens at", false),
    Column("Broker", false),
];

fn gateway(of: &GatewayRow) -> Element {
    let clients = match of.elsewhere {
        0 => number::whole(of.clients),
        some => format!(
            "{}, {} not at theirs",
            number::whole(of.clients),
            number::whole(some)
        ),
    };
    let row = el("tr")
        .with(cell(name(&of.name)))
        .with(number_cell(clients));
    let row = [of.access, of.service]
        .into_iter()
        .fold(row, |row, delays| row.each(times(delays)));
    row.with(cell(name(&of.listen)))
        .with(cell(name(&of.upstream)))
}

fn times(delays: Option<Delays>) -> [Element; 4] {
    let shown = |place: usize| {
        let millis = delays.and_then(|delays| delays.get(place).copied());
        match millis {
            None => number_cell("–"),
            Some(millis) => number_cell(number::latency(millis * 1e3)),
        }
    };
    [0, 1, 2, 3].map(shown)
}

/// Thousandths, for the length of a bar.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths of bars, and the cast saturates"
)]
const fn milli(value: f64) -> u64 {
    (value * 1e3) as u64
}
