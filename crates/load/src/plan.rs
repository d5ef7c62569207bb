//! Plans: which requests to which server, how fast and for how long.

use std::time::Duration;

use crate::address::ServerAddress;
use crate::call::Call;
use crate::key::KeyTemplate;

#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub server: ServerAddress,
    /// More servers, which share the connections.
    pub others: Vec<ServerAddress>,
    pub call: Call,
    pub keys: Keys,
    pub pace: Pace,
    /// Connections, all threads together.
    pub connections: usize,
    /// Requests under way on one connection: pipelined, or streams.
    pub depth: usize,
    /// Threads that send.
    pub threads: usize,
    /// How long to send before anything is recorded.
    pub warm_up: Duration,
    /// How long to record.
    pub duration: Duration,
    /// Times since the start of the run, in order, between which latencies are also reported separately.
    pub marks: Vec<Duration>,
    /// The token for the server.
    pub token: Option<String>,
    /// Keys and arrival times follow from it.
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct Keys {
    /// How many there are.
    pub count: u64,
    /// How often each is used.
    pub distribution: Distribution,
    /// How a key is made of a number.
    pub template: KeyTemplate,
}

/// How often each key is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All equally often.
    Uniform,
    /// The n-th by n to the power of minus the exponent.
    Zipf {
        /// 1 is usual.
        exponent: f64,
    },
    /// One after the other, and again from the first.
    Sequence,
}

/// How fast requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as another is answered.
    Closed,
    /// At times fixed beforehand.
    Open {
        /// Requests a second, all connections together.
        rate: f64,
        /// The gaps between them.
        arrivals: Arrivals,
    },
}

/// Gaps between due times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All the same.
    Even,
    /// As if many independent clients sent them.
    Poisson,
}
