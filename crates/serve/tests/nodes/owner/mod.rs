//! Owned keys through every protocol of three servers. The network between them is a stand-in that can be cut and
//! slowed down;
//! that the real one carries the same is tested with it (`owner_cluster`).

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod arrival;
mod doors;
mod faults;
mod garbage;
mod kit;
mod moves;
mod terms;
mod writes;
