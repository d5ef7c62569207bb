//! Data planes as Envoy's, a bucket that shares nothing with what is tested, and what both show.

mod envoy;
mod nodes;
mod scenes;
mod schedule;
mod world;
