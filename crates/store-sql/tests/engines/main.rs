//! Both engines on real databases, each made for one test alone.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod failures;
mod kit;
mod postgres;
mod sqlite;
mod tls;
