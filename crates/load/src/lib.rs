//! A load generator for limiters: closed and open loops, decisions and latencies.
//!
//! A [`LoadPlan`] says which requests to send to which server; [`run`] sends them and returns a [`LoadReport`]. In a
//! *closed* loop every connection keeps a number of requests under way, which finds the most a server can do. In an
//! *open* loop requests come at times fixed beforehand, whatever the server does, and latency counts from the time a
//! request was due: a server that stalls is charged for every request it kept from being sent.
//!
//! The generator shares a machine with what it measures, so it does little: one thread polls many sockets, requests are
//! templates into which a number is written, and of a reply only the verdict is read. Any server with one of the
//! protocols can be loaded. [`run_mqtt`] does the same for MQTT brokers, where latency counts to the arrival at a
//! subscriber. Deliberately not here: TLS, starting servers, printing.

#![allow(missing_docs, reason = "internal: comments say why, not what")]

mod address;
mod call;
mod codec;
mod drive;
mod errors;
mod key;
mod mqtt;
mod plan;
mod random;
mod report;
mod schedule;
mod template;

pub use address::{AddressError, ServerAddress};
pub use call::{Call, CallError, CallLimit, LUA_TOKEN_BUCKET};
pub use drive::{LoadError, Progress, run};
pub use errors::{ErrorCount, ErrorKind};
pub use key::{KeyParts, KeySyntaxError, KeyTemplate, parts};
pub use mqtt::{
    Assign, Groups, Login, MessageCounts, Messages, MqttError, MqttPace, MqttPhase, MqttPlan,
    MqttProgress, MqttReport, SIZE_MIN, SubscriberPlan, TargetReport, Timing, TopicError,
    TopicTemplate, run_mqtt,
};
pub use plan::{Arrivals, Distribution, Keys, LoadPlan, Pace};
pub use report::{Decisions, Latency, LoadReport, Slice};
pub use tollgate_mqtt::{Qos, Version};
