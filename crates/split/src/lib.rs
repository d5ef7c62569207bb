//! One token bucket cut into sub-buckets, one at each node, with queues.
//!
//! A [`SplitMachine`] is one node's part in one topic: messages wait for tokens of its sub-bucket, and tokens are
//! borrowed from nodes that have more. Whatever happens between the nodes, all departures together conform to the one
//! bucket that was cut. An [`Adaptor`] moves the cuts. [`Topics`] has a machine for every key, and tells messages at
//! once when they may go. [`plan`] says where publishers should go, and what it would cost.
//!
//! Deliberately not here: sockets, clocks, randomness, membership.

mod adaptor;
mod asks;
mod bucket;
mod by_node;
mod config;
mod demand;
mod hires;
mod holds;
mod limits;
mod line;
mod machine;
mod pace;
mod part;
mod peers;
pub mod plan;
mod portion;
mod setup;
mod topics;
mod waiting;
mod wire;

pub use adaptor::Adaptor;
pub use config::{AdaptorConfig, BadConfig, Borrow, Depths, SplitConfig};
pub use limits::{BadTopicLimits, Share, TopicLimits};
pub use machine::SplitMachine;
pub use part::{Adapt, Split, limits};
pub use portion::{fill_up, level_up, portions};
pub use setup::{ArrivalError, BadSetup, Begin, Departure, Inspection, SplitCounts, SplitSetup};
pub use topics::{Topics, TopicsSetup};
pub use wire::FRAME_BYTES_MAX;
