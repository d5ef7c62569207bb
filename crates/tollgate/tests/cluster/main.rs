//! Clusters of real processes: started by one command, hurt, healed, and judged by what they admitted.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

mod capture;
mod clocks;
mod compose;
mod dead;
mod dev;
mod divided;
mod faked;
mod foretell;
mod inherited;
mod judge;
mod kit;
mod lent;
mod live;
mod load;
mod namespaces;
mod owned;
mod phases;
mod supply;
mod whole;
