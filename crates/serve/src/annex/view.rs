//! How a gateway stands, as `/v1/gateway` shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DelaysView;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GatewayView {
    pub on: bool,
    /// Its name in the placement list, if it has one.
    pub name: Option<String>,
    /// The address for clients.
    pub listen: String,
    pub upstream: String,
    /// A digest of the placement list in force; it differs for a different list.
    pub placement: Option<String>,
    /// Connected clients.
    pub clients: u64,
    /// Connected clients that belong to another gateway by the list in force.
    pub elsewhere: u64,
    /// Messages since the start, by outcome.
    pub publishes: BTreeMap<String, u64>,
    pub access: DelaysView,
    /// From sending a message to the broker until its acknowledgement; `QoS` 0 has none.
    pub service: DelaysView,
}
