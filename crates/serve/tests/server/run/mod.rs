//! A whole server through real sockets: starting, stopping, reading again, TLS, and malicious callers.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod basics;
mod fault;
mod kit;
mod reload;
mod statistics;
mod stop;
mod tls;
mod tokens;
