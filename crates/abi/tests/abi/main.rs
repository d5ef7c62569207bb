//! `libtollgate` as its callers see it: the header, programs of C, and calls with everything wrong that can be.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod calls;
mod connect;
mod header;
mod program;
