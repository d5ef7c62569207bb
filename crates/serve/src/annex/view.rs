//! How a gateway stands, as `/v1/gateway` shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DelaysView;

/// How a gateway stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatewayView {
    /// Whether this server is a gateway.
    pub on: bool,
    /// What it is called, where it has a list of who belongs where.
    pub name: Option<String>,
    /// Where clients connect.
    pub listen: String,
    /// Its broker.
    pub upstream: String,
    /// The list of who belongs where that is in force: a number that is another for another list.
    pub placement: Option<String>,
    /// Clients that are connected.
    pub clients: u64,
    /// Of these, those that belong to another gateway by the list in force.
    pub elsewhere: u64,
    /// Messages since the start, by what became of them.
    pub publishes: BTreeMap<String, u64>,
    /// How long messages that passed were held back by limits.
    pub access: DelaysView,
    /// From when messages were handed to the broker to its acknowledgement; messages of `QoS` 0 have none.
    pub service: DelaysView,
}
