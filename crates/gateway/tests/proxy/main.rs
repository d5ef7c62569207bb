//! The gateway in front of a real broker: what passes, what does not, and the answers.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod arrival;
mod delays;
mod door;
mod faults;
mod kit;
mod left;
mod limits;
mod paho;
mod passing;
mod placed;
mod rumqtt;
mod sealed;

/// Everything passes.
const NONE: &str = "contracts: [{ id: none, match: { client: nobody }, policies: [{ name: a, limit: 1, per: 1h }] }]";
