//! Servers that decide by a catalogue: changes come into force, terms begin and end, and databases come and go.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a broken set-up must stop the test"
)]

mod bans;
mod elsewhere;
mod file;
mod kit;
mod postgres;
mod terms;
