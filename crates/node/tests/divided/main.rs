//! Nodes that divide a rate or cut buckets, in one process, and together admit what one bucket would.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod cut;
mod supply;
mod world;
