//! The management API from outside: a real server, real sockets, both databases.

#![allow(clippy::expect_used, clippy::unwrap_used)] // Whatever a test cannot do without must be there.

mod access;
mod bad;
mod console;
mod day;
mod describe;
mod edits;
mod intruders;
mod keys;
mod killed;
mod kit;
mod roles;
mod schemathesis;
mod small;
mod statistics;
mod tail;
mod why;
