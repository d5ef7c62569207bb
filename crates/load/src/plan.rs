//! What to ask of which server, how fast and for how long.

use std::time::Duration;

use crate::address::ServerAddress;
use crate::call::Call;
use crate::key::KeyTemplate;

/// A run.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The server.
    pub server: ServerAddress,
    /// More servers, each of which gets its part of the connections.
    pub others: Vec<ServerAddress>,
    /// What is asked.
    pub call: Call,
    /// Which keys.
    pub keys: Keys,
    /// How fast.
    pub pace: Pace,
    /// Connections, all threads together.
    pub connections: usize,
    /// Requests under way on one connection: pipelined, or streams.
    pub depth: usize,
    /// Threads that send.
    pub threads: usize,
    /// How long to ask before anything is recorded.
    pub warm_up: Duration,
    /// How long to record.
    pub duration: Duration,
    /// Times since the start of the run, in order, between which latencies are told by themselves too.
    pub marks: Vec<Duration>,
    /// A secret to show to the server.
    pub token: Option<String>,
    /// Keys and arrival times follow from it.
    pub seed: u64,
}

/// The keys that are asked about.
#[derive(Clone, Debug)]
pub struct Keys {
    /// How many there are.
    pub count: u64,
    /// Which come how often.
    pub distribution: Distribution,
    /// How a key is made of a number.
    pub template: KeyTemplate,
}

/// Which keys come how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// The n-th by n to the power of minus the exponent.
    Zipf {
        /// 1 is usual.
        exponent: f64,
    },
    /// One after the other, and again from the first.
    Sequence,
}

/// How fast requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as another is answered.
    Closed,
    /// At times fixed beforehand.
    Open {
        /// Requests a second, all connections together.
        rate: f64,
        /// How the gaps between them are.
        arrivals: Arrivals,
    },
}

/// Gaps between due times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All the same.
    Even,
    /// As if many strangers asked independently.
    Poisson,
}
