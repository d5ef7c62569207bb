//! Gateways, and what messages wait for there.
//!
//! Not here: the page that shows them (`cluster`), and how the figures are measured.

use crate::html::{Element, Html, el};
use crate::number;
use crate::part::{Column, cell, name, number_cell, panel, table};

/// Milliseconds: the quantiles 50 %, 95 %, 99 % and 99.9 %.
pub type Delays = [f64; 4];

#[derive(Clone, Debug, Default)]
pub struct GatewayRow {
    pub name: String,
    /// Where clients connect.
    pub listen: String,
    /// The broker it forwards to.
    pub upstream: String,
    pub clients: u64,
    /// Of these, clients that belong to another gateway.
    pub elsewhere: u64,
    /// How long limits held messages back; `None` without messages.
    pub access: Option<Delays>,
    /// How long the broker took for messages; `None` without answers.
    pub service: Option<Delays>,
}

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
