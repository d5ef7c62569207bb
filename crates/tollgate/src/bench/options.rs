//! Flags of `bench`, and the plan they make.

use std::thread;
use std::time::Duration;

use super::mqtt::options::{MQTT_EXAMPLES, MqttOptions};
use clap::{Args, Subcommand, ValueEnum};
use tollgate_load::{
    Arrivals, Call, CallLimit, Distribution, KeyTemplate, Keys, LoadPlan, Pace, ServerAddress,
};

use crate::cli::Format;

/// What to load, and how.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    #[command(flatten)]
    Ask(AskCommand),
    /// MQTT: publishers by the thousand at any broker, and how long messages take to a subscriber
    #[command(after_help = MQTT_EXAMPLES, after_long_help = MQTT_EXAMPLES)]
    Mqtt(Box<MqttOptions>),
}

/// What to ask a limiter.
#[derive(Debug, Subcommand)]
pub(crate) enum AskCommand {
    /// RESP: CL.THROTTLE, THROTTLE, TOLLGATE.CHECK; for Redis itself SET, PING or a token bucket in Lua
    #[command(after_help = RESP_EXAMPLES, after_long_help = RESP_EXAMPLES)]
    Resp(RespOptions),
    /// HTTP/1.1: POST /v1/check, throttlecrab's POST /throttle, or GET of any path
    #[command(after_help = HTTP_EXAMPLES, after_long_help = HTTP_EXAMPLES)]
    Http(HttpOptions),
    /// gRPC: Envoy's rate limit service
    #[command(after_help = RLS_EXAMPLES, after_long_help = RLS_EXAMPLES)]
    Rls(RlsOptions),
    /// gRPC: gubernator's `GetRateLimits`
    #[command(after_help = GUBERNATOR_EXAMPLES, after_long_help = GUBERNATOR_EXAMPLES)]
    Gubernator(GubernatorOptions),
    /// gRPC: throttlecrab's Throttle
    Throttlecrab(ThrottlecrabOptions),
}

/// How much, how fast, how long: the same for every protocol.
#[derive(Args, Debug)]
pub(crate) struct LoadOptions {
    /// Where the server is: `host:port`, `http://host:port`, `unix:/path`; given again, connections go to all in turn
    #[arg(long, value_name = "ADDR")]
    pub server: Vec<ServerAddress>,

    /// Connections, all together
    #[arg(long, short = 'c', value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub connections: u32,

    /// Requests under way on each connection: pipelined, or streams of HTTP/2
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub pipeline: u32,

    /// Open loop: requests a second, at times fixed beforehand; latency counts from those times
    #[arg(long, value_name = "PER SECOND", value_parser = rate)]
    pub rate: Option<f64>,

    /// Gaps between requests of an open loop
    #[arg(long, value_enum, default_value_t = Gaps::Poisson, requires = "rate")]
    pub arrivals: Gaps,

    /// Seconds to measure
    #[arg(long, short = 'd', value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub duration: Duration,

    /// Seconds to ask before anything is measured
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub warm_up: Duration,

    /// How many different keys
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub keys: u64,

    /// Which come how often: uniform, zipf, zipf:EXPONENT, sequence
    #[arg(long, value_name = "WAY", default_value = "uniform", value_parser = distribution)]
    pub key_dist: Distribution,

    /// How a key is made of its number, such as user:{} or user={},plan=free
    #[arg(long, value_name = "TEMPLATE", value_parser = template)]
    pub key: Option<KeyTemplate>,

    /// Threads that ask; half of the cores unless given
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Keys and arrivals follow from it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// A secret to show to the server
    #[arg(
        long,
        value_name = "TOKEN",
        env = "TOLLGATE_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// A limit that requests carry along.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LimitOptions {
    /// The most at once, in requests that carry a limit
    #[arg(long, value_name = "TOKENS", default_value_t = 1_000_000)]
    pub burst: u32,

    /// Tokens refilled in a period
    #[arg(long, value_name = "TOKENS", default_value_t = 1_000_000)]
    pub count: u32,

    /// The period in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    pub period: u32,
}

/// Options of `bench resp`.
#[derive(Args, Debug)]
pub(crate) struct RespOptions {
    /// Which command
    #[arg(long, value_enum, default_value_t = RespCall::ClThrottle)]
    pub command: RespCall,

    #[command(flatten)]
    pub limit: LimitOptions,

    #[command(flatten)]
    pub load: LoadOptions,
}

/// Options of `bench http`.
#[derive(Args, Debug)]
pub(crate) struct HttpOptions {
    /// Which request
    #[arg(long, value_enum, default_value_t = HttpCall::Check)]
    pub call: HttpCall,

    /// The path of `--call get`; {} in it is the key's number
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub path: String,

    /// Checks in one request of `--call check`
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub batch: u16,

    #[command(flatten)]
    pub limit: LimitOptions,

    #[command(flatten)]
    pub load: LoadOptions,
}

/// Options of `bench rls`.
#[derive(Args, Debug)]
pub(crate) struct RlsOptions {
    /// The domain of every request
    #[arg(long, value_name = "NAME", default_value = "bench")]
    pub domain: String,

    /// Descriptors in one call
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub batch: u16,

    #[command(flatten)]
    pub load: LoadOptions,
}

/// Options of `bench gubernator`.
#[derive(Args, Debug)]
pub(crate) struct GubernatorOptions {
    /// Requests in one call
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub batch: u16,

    #[command(flatten)]
    pub limit: LimitOptions,

    #[command(flatten)]
    pub load: LoadOptions,
}

/// Options of `bench throttlecrab`.
#[derive(Args, Debug)]
pub(crate) struct ThrottlecrabOptions {
    #[command(flatten)]
    pub limit: LimitOptions,

    #[command(flatten)]
    pub load: LoadOptions,
}

/// Commands of RESP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RespCall {
    /// CL.THROTTLE, as redis-cell
    ClThrottle,
    /// THROTTLE, as throttlecrab
    Throttle,
    /// TOLLGATE.CHECK, by the server's contracts
    Check,
    /// SET, for Redis itself
    Set,
    /// PING
    Ping,
    /// A token bucket in Lua by EVALSHA, for Redis itself
    Lua,
}

/// Requests of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpCall {
    /// POST /v1/check
    Check,
    /// POST /throttle
    Throttle,
    /// GET of --path
    Get,
}

/// Gaps between requests of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gaps {
    /// As if many strangers asked independently
    Poisson,
    /// All the same
    Even,
}

impl AskCommand {
    pub(crate) fn load(&self) -> &LoadOptions {
        match self {
            Self::Resp(options) => &options.load,
            Self::Http(options) => &options.load,
            Self::Rls(options) => &options.load,
            Self::Gubernator(options) => &options.load,
            Self::Throttlecrab(options) => &options.load,
        }
    }

    /// The plan that the flags make, or what is wrong with them.
    pub(crate) fn plan(&self) -> Result<LoadPlan, String> {
        let load = self.load();
        let mut servers = load.server.iter().cloned();
        let key = load
            .key
            .clone()
            .map_or_else(|| KeyTemplate::new(self.key_default()), Ok);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Ok(LoadPlan {
            server: servers
                .next()
                .map_or_else(|| self.server_default().parse(), Ok)
                .map_err(text)?,
            others: servers.collect(),
            call: self.call(),
            keys: Keys {
                count: load.keys,
                distribution: load.key_dist,
                template: key.map_err(text)?,
            },
            pace: load.rate.map_or(Pace::Closed, |rate| Pace::Open {
                rate,
                arrivals: match load.arrivals {
                    Gaps::Poisson => Arrivals::Poisson,
                    Gaps::Even => Arrivals::Even,
                },
            }),
            connections: usize::try_from(load.connections).map_err(text)?,
            depth: usize::try_from(load.pipeline).map_err(text)?,
            threads: load.threads.map_or((cores / 2).max(1), usize::from),
            warm_up: load.warm_up,
            duration: load.duration,
            token: load.token.clone(),
            marks: Vec::new(),
            seed: load.seed,
        })
    }

    fn call(&self) -> Call {
        match self {
            Self::Resp(options) => match options.command {
                RespCall::ClThrottle => Call::ClThrottle(options.limit.limit()),
                RespCall::Throttle => Call::Throttle(options.limit.limit()),
                RespCall::Check => Call::TollgateCheck,
                RespCall::Set => Call::Set,
                RespCall::Ping => Call::Ping,
                RespCall::Lua => Call::Lua(options.limit.limit()),
            },
            Self::Http(options) => match options.call {
                HttpCall::Check => Call::Check {
                    batch: options.batch.into(),
                },
                HttpCall::Throttle => Call::HttpThrottle(options.limit.limit()),
                HttpCall::Get => Call::Get {
                    path: options.path.clone(),
                },
            },
            Self::Rls(options) => Call::Rls {
                domain: options.domain.clone(),
                batch: options.batch.into(),
            },
            Self::Gubernator(options) => Call::Gubernator {
                limit: options.limit.limit(),
                batch: options.batch.into(),
            },
            Self::Throttlecrab(options) => Call::GrpcThrottle(options.limit.limit()),
        }
    }

    fn server_default(&self) -> &'static str {
        match self {
            Self::Resp(_) => RESP_DEFAULT,
            _ => HTTP_DEFAULT,
        }
    }

    /// Contracts match names; a call with its own limit needs none.
    fn key_default(&self) -> &'static str {
        match self.call() {
            // Another kind of value than what `SET` leaves behind.
            Call::Lua(_) => "bucket:{}",
            Call::TollgateCheck | Call::Check { .. } | Call::Rls { .. } => "user={}",
            _ => "user:{}",
        }
    }
}

impl LimitOptions {
    fn limit(self) -> CallLimit {
        CallLimit {
            burst: self.burst,
            count: self.count,
            period_secs: self.period,
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.trim_end_matches('s').parse().map_err(self::text)?;
    Duration::try_from_secs_f64(seconds).map_err(self::text)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(self::text)?;
    match rate {
        rate if rate > 0.0 && rate <= RATE_MAX => Ok(rate),
        _ => Err(format!("a rate is above 0 and at most {RATE_MAX}")),
    }
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let zipf = |exponent: &str| match exponent.parse::<f64>() {
        Ok(exponent) if exponent > 0.0 && exponent <= 10.0 => Ok(Distribution::Zipf { exponent }),
        _ => Err("the exponent is a number above 0 and at most 10".to_owned()),
    };
    match text {
        "uniform" => Ok(Distribution::Uniform),
        "sequence" => Ok(Distribution::Sequence),
        "zipf" => Ok(Distribution::Zipf { exponent: 1.0 }),
        _ => match text.strip_prefix("zipf:") {
            Some(exponent) => zipf(exponent),
            None => Err("write uniform, zipf, zipf:EXPONENT or sequence".to_owned()),
        },
    }
}

fn template(text: &str) -> Result<KeyTemplate, String> {
    KeyTemplate::new(text).map_err(self::text)
}

const RATE_MAX: f64 = 1e9;
const RESP_DEFAULT: &str = "127.0.0.1:6380";
const HTTP_DEFAULT: &str = "127.0.0.1:8080";

const RESP_EXAMPLES: &str = "\
Examples:
  tollgate bench resp                                          # 50 connections, as fast as they are answered
  tollgate bench resp --pipeline 64 --key-dist zipf
  tollgate bench resp --rate 20000 --duration 30               # latency at a fixed rate
  tollgate bench resp --command check --key 'user={},plan=free'
  tollgate bench resp --command lua --server 127.0.0.1:6379    # Redis with a script, to compare";

const HTTP_EXAMPLES: &str = "\
Examples:
  tollgate bench http
  tollgate bench http --rate 10000 --format json
  tollgate bench http --batch 100 --connections 4
  tollgate bench http --server unix:/run/tollgate.sock
  tollgate bench http --call get --path '/page?user={}' --server 127.0.0.1:80";

const RLS_EXAMPLES: &str = "\
Examples:
  tollgate bench rls --connections 4 --pipeline 16
  tollgate bench rls --domain envoy --key 'remote_address={}' --rate 5000";

const GUBERNATOR_EXAMPLES: &str = "\
Examples:
  tollgate bench gubernator --connections 4 --pipeline 16
  tollgate bench gubernator --batch 100 --connections 4 --server 127.0.0.1:1051";
