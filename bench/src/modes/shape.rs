//! The shapes of traffic: how many keys, how close to their limits, how many requests at once.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use tollgate_load::{
    Arrivals, Call, Distribution, KeyTemplate, Keys, LoadPlan, LoadReport, Pace, ServerAddress,
};

/// A shape of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// A thousand keys far from their limits, 16 requests at once on each connection
    #[value(name = "calm-1k")]
    Calm1K,
    /// A hundred thousand
    #[value(name = "calm-100k")]
    Calm100K,
    /// A million
    #[value(name = "calm-1m")]
    Calm1M,
    /// A hundred thousand, one request at a time on each connection
    #[value(name = "calm-100k-depth-1")]
    Calm100KDepth1,
    /// A hundred thousand, 5,000 requests a second at times fixed beforehand: what latency is like
    #[value(name = "paced")]
    Paced,
    /// Ten thousand keys, each asked for 0.3 times a second, of ten it may have: none should be refused
    #[value(name = "sparse")]
    Sparse,
    /// A thousand keys at twice their limits
    #[value(name = "busy")]
    Busy,
    /// One key at three times its limit, 16 requests at once
    #[value(name = "hot")]
    Hot,
    /// One key far from its limit, 16 requests at once
    #[value(name = "hot-calm")]
    HotCalm,
}

impl Shape {
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) const fn keys(self) -> u64 {
        match self {
            Self::Calm1K | Self::Busy => 1_000,
            Self::Sparse => 10_000,
            Self::Calm100K | Self::Calm100KDepth1 | Self::Paced => 100_000,
            Self::Calm1M => 1_000_000,
            Self::Hot | Self::HotCalm => 1,
        }
    }

    /// The entry by which a key is counted: one contract for each kind of limit.
    const fn entry(self) -> &'static str {
        match self {
            Self::Busy | Self::Sparse => "busy",
            Self::Hot => "hot",
            _ => "calm",
        }
    }

    const fn depth(self) -> usize {
        match self {
            Self::Calm100KDepth1 | Self::Paced | Self::Sparse => 1,
            _ => 16,
        }
    }

    fn pace(self) -> Pace {
        let rate = match self {
            Self::Paced => 5_000.0,
            Self::Sparse => 3_000.0,
            Self::Busy => 2.0 * 1_000.0 * f64::from(BUSY_LIMIT),
            Self::Hot => 3.0 * f64::from(HOT_LIMIT),
            _ => return Pace::Closed,
        };
        Pace::Open {
            rate,
            arrivals: Arrivals::Poisson,
        }
    }

    /// What one bucket would let pass of a run that long, if the shape is about one key at its limit.
    pub(super) fn one_bucket(self, seconds: f64) -> Option<f64> {
        let limit = f64::from(HOT_LIMIT);
        (self == Self::Hot).then_some(limit * (1.0 + seconds))
    }

    /// Loads all nodes for `duration`.
    pub(super) fn ask(
        self,
        sockets: &[impl AsRef<Path>],
        duration: Duration,
    ) -> Result<LoadReport> {
        self.run(sockets, Distribution::Uniform, self.pace(), duration)
    }

    /// Requests one key after the other, as fast as nodes answer.
    pub(super) fn fill(
        self,
        sockets: &[impl AsRef<Path>],
        duration: Duration,
    ) -> Result<LoadReport> {
        self.run(sockets, Distribution::Sequence, Pace::Closed, duration)
    }

    fn run(
        self,
        sockets: &[impl AsRef<Path>],
        distribution: Distribution,
        pace: Pace,
        duration: Duration,
    ) -> Result<LoadReport> {
        let traffic = Traffic {
            template: format!("{}={{}}", self.entry()),
            keys: self.keys(),
            distribution,
            pace,
            depth: self.depth(),
        };
        traffic.run(sockets, duration)
    }
}

/// What is asked.
pub(super) struct Traffic {
    /// A key, with its number for `{}`.
    pub(super) template: String,
    pub(super) keys: u64,
    pub(super) distribution: Distribution,
    pub(super) pace: Pace,
    pub(super) depth: usize,
}

impl Traffic {
    /// Asks all nodes for so long.
    pub(super) fn run(
        &self,
        sockets: &[impl AsRef<Path>],
        duration: Duration,
    ) -> Result<LoadReport> {
        let at = |socket: &dyn AsRef<Path>| ServerAddress::Unix(socket.as_ref().to_owned());
        let mut servers = sockets.iter().map(|socket| at(socket));
        let plan = LoadPlan {
            server: servers.next().unwrap_or(ServerAddress::Tcp(String::new())),
            others: servers.collect(),
            call: Call::TollgateCheck,
            keys: Keys {
                count: self.keys,
                distribution: self.distribution,
                template: KeyTemplate::new(self.template.clone())?,
            },
            pace: self.pace,
            connections: CONNECTIONS,
            depth: self.depth,
            threads: 1,
            warm_up: WARM_UP,
            duration,
            token: None,
            marks: Vec::new(),
            seed: 1,
        };
        Ok(tollgate_load::run(&plan, |_| {})?)
    }
}

/// The contracts of all shapes, under one coordination.
pub(super) fn contracts(coordination: &str) -> String {
    let contract = |entry: &str, limit: u32, per: &str| {
        format!(
            "  - {{ id: {entry}, key: [{entry}], {coordination}, policies: [{{ name: p, limit: {limit}, per: {per} }}] }}\n"
        )
    };
    let each = [
        contract("calm", CALM_LIMIT, "1s"),
        contract("busy", BUSY_LIMIT, "1s"),
        contract("hot", HOT_LIMIT, "1s"),
        contract("slow", SLOW_LIMIT, "1h"),
    ];
    format!("contracts:\n{}", each.concat())
}

/// Far above the rate of one key: a million a second at most.
const CALM_LIMIT: u32 = 10_000_000;
const BUSY_LIMIT: u32 = 10;
const HOT_LIMIT: u32 = 5_000;
/// What a key has that a flood meets, enough for every node to have some.
const SLOW_LIMIT: u32 = 30;
/// A multiple of the nodes, so that each gets the same load.
const CONNECTIONS: usize = 24;
/// Load before anything is recorded.
pub(super) const WARM_UP: Duration = Duration::from_millis(300);
