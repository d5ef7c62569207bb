//! Flags of `bench mqtt`, and the plan they make.

use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollgate_load::{
    Arrivals, Assign, Groups, Login, Messages, MqttPace, MqttPlan, Qos, ServerAddress,
    SubscriberPlan, Timing, TopicTemplate, Version,
};

use crate::bench::options::seconds;
use crate::cli::Format;

/// Options of `bench mqtt`.
#[derive(Args, Debug)]
pub(crate) struct MqttOptions {
    #[command(flatten)]
    pub place: PlaceOptions,

    #[command(flatten)]
    pub pace: PaceOptions,

    #[command(flatten)]
    pub messages: MessageOptions,

    #[command(flatten)]
    pub login: LoginOptions,

    /// Seconds to measure
    #[arg(long, short = 'd', value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub duration: Duration,

    /// Seconds to publish before anything is measured
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub warm_up: Duration,

    /// Seconds to wait at the end for what has not arrived
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub patience: Duration,

    /// Threads that publish; half of the cores unless given. Subscribers have one more
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Times follow from it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// What to print
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who connects where.
#[derive(Args, Debug)]
pub(crate) struct PlaceOptions {
    /// Where publishers connect, `host:port`; given again, they are spread over all
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:1883")]
    pub target: Vec<ServerAddress>,

    /// Which publisher connects where, with several targets
    #[arg(long, value_enum, default_value_t = AssignWay::Spread)]
    pub assign: AssignWay,

    /// Where subscribers wait for the messages; each target unless given. With several gateways before one broker: that
    /// broker
    #[arg(long, value_name = "ADDR")]
    pub subscribe: Vec<ServerAddress>,

    /// Nobody waits for the messages: only acknowledgements are measured
    #[arg(long, conflicts_with_all = ["subscribe", "subscribers", "subscribe_qos"])]
    pub no_subscribe: bool,

    /// Subscribers at each place; more than one share the messages (`$share`), and their order is not to be trusted
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub subscribers: u16,

    /// How surely subscribers want them; as publishers unless given
    #[arg(long, value_name = "QOS", value_enum)]
    pub subscribe_qos: Option<QosOption>,

    /// Clients that publish
    #[arg(long, short = 'c', value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=200_000))]
    pub publishers: u32,

    /// More clients that connect, keep alive and publish nothing
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=200_000))]
    pub idle: u32,
}

/// When messages are published.
#[derive(Args, Debug)]
pub(crate) struct PaceOptions {
    /// Messages a second of EACH publisher, at times fixed beforehand; or `max`: as fast as they are acknowledged
    #[arg(long, value_name = "PER SECOND", default_value = "1", value_parser = pace)]
    pub rate: Rate,

    /// Gaps between the batches of a publisher, or of a group
    #[arg(long, value_enum, default_value_t = ArrivalsOption::Poisson)]
    pub arrivals: ArrivalsOption,

    /// Messages that a publisher publishes at once; batches are rarer by as much
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,

    /// Publishers of a group, which publish at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub group: u32,

    /// Milliseconds over which the messages of a group are spread
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = spread)]
    pub spread: f64,

    /// Messages that a publisher has under way unacknowledged; fewer where the broker says so
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=60_000))]
    pub in_flight: u16,
}

/// What is published.
#[derive(Args, Debug)]
pub(crate) struct MessageOptions {
    /// How surely messages are published
    #[arg(long, short = 'q', value_enum, default_value_t = QosOption::Zero)]
    pub qos: QosOption,

    /// Bytes of a payload
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(32..=1 << 20))]
    pub size: u32,

    /// The topic; %p in it is the publisher's number, %g its group's
    #[arg(long, value_name = "TOPIC", default_value = "bench/%g/%p", value_parser = topic)]
    pub topic: TopicTemplate,

    /// A user property that has the group's number (MQTT 5)
    #[arg(long, value_name = "NAME")]
    pub group_property: Option<String>,
}

/// Who connects.
#[derive(Args, Debug)]
pub(crate) struct LoginOptions {
    /// The protocol's version
    #[arg(long, value_enum, default_value_t = VersionOption::Five)]
    pub version: VersionOption,

    /// The user's name
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// The user's password
    #[arg(
        long,
        value_name = "SECRET",
        env = "TOLLGATE_MQTT_PASSWORD",
        hide_env_values = true,
        requires = "user"
    )]
    pub password: Option<String>,

    /// What identifiers of clients begin with
    #[arg(long, value_name = "TEXT", default_value = "bench-", value_parser = prefix)]
    pub client_prefix: String,

    /// Keep-alive of all connections; 0 is none
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub keep_alive: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rate {
    /// As fast as messages are acknowledged.
    Max,
    /// So many a second.
    Of(f64),
}

/// Which publisher connects where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssignWay {
    /// Publishers in turn: those of a group at different targets
    Spread,
    /// Wherever their numbers fall by the seed, whatever their group
    Blind,
    /// Groups in turn: all of a group at one target
    Groups,
}

/// Gaps between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsOption {
    /// As if they came independently
    Poisson,
    /// All the same, from a phase of its own for each group
    Periodic,
}

/// How surely messages are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QosOption {
    /// At most once
    #[value(name = "0")]
    Zero,
    /// At least once
    #[value(name = "1")]
    One,
    /// Exactly once
    #[value(name = "2")]
    Two,
}

/// Versions of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VersionOption {
    /// MQTT 3.1.1
    #[value(name = "3.1.1")]
    Old,
    /// MQTT 5
    #[value(name = "5")]
    Five,
}

impl QosOption {
    const fn qos(self) -> Qos {
        match self {
            Self::Zero => Qos::AtMostOnce,
            Self::One => Qos::AtLeastOnce,
            Self::Two => Qos::ExactlyOnce,
        }
    }
}

impl MqttOptions {
    pub(crate) fn plan(&self) -> MqttPlan {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (place, when) = (&self.place, &self.pace);
        MqttPlan {
            targets: place.target.clone(),
            assign: match place.assign {
                AssignWay::Spread => Assign::Spread,
                AssignWay::Blind => Assign::Blind,
                AssignWay::Groups => Assign::Groups,
            },
            watch: self.watch(),
            publishers: place.publishers,
            idle: place.idle,
            pace: match when.rate {
                Rate::Max => MqttPace::Closed,
                Rate::Of(rate) => MqttPace::Open {
                    rate,
                    arrivals: match when.arrivals {
                        ArrivalsOption::Poisson => Arrivals::Poisson,
                        ArrivalsOption::Periodic => Arrivals::Even,
                    },
                },
            },
            groups: Groups {
                size: when.group,
                batch: when.batch,
                spread: Duration::from_secs_f64(when.spread / 1000.0),
            },
            messages: Messages {
                qos: self.messages.qos.qos(),
                size: usize::try_from(self.messages.size).unwrap_or(usize::MAX),
                topic: self.messages.topic.clone(),
                group_property: self.messages.group_property.clone(),
            },
            login: self.login(),
            in_flight: when.in_flight,
            threads: self.threads.map_or((cores / 2).max(1), usize::from),
            timing: Timing {
                warm_up: self.warm_up,
                duration: self.duration,
                patience: self.patience,
            },
            seed: self.seed,
        }
    }

    fn watch(&self) -> SubscriberPlan {
        let place = &self.place;
        let nobody = place.no_subscribe || place.publishers == 0;
        let at = match place.subscribe.as_slice() {
            _ if nobody => Vec::new(),
            [] => place.target.clone(),
            named => named.to_vec(),
        };
        SubscriberPlan {
            at,
            subscribers: place.subscribers,
            qos: place.subscribe_qos.unwrap_or(self.messages.qos).qos(),
        }
    }

    fn login(&self) -> Login {
        let login = &self.login;
        Login {
            version: match login.version {
                VersionOption::Old => Version::V311,
                VersionOption::Five => Version::V5,
            },
            user: login.user.clone(),
            password: login.password.clone(),
            prefix: login.client_prefix.clone(),
            keep_alive: login.keep_alive,
        }
    }
}

fn pace(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= RATE_MAX => Ok(Rate::Of(rate)),
        _ => Err(format!(
            "write messages a second of each publisher, above 0 and at most {RATE_MAX}, or max"
        )),
    }
}

fn spread(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=SPREAD_MS_MAX).contains(&ms) => Ok(ms),
        _ => Err(format!("write milliseconds, at most {SPREAD_MS_MAX}")),
    }
}

fn topic(text: &str) -> Result<TopicTemplate, String> {
    TopicTemplate::new(text).map_err(|error| error.to_string())
}

fn prefix(text: &str) -> Result<String, String> {
    if text.len() > PREFIX_MAX || text.contains('\0') {
        return Err(format!("at most {PREFIX_MAX} bytes, without NUL"));
    }
    Ok(text.to_owned())
}

const RATE_MAX: f64 = 1e6;
const SPREAD_MS_MAX: f64 = 60_000.0;
const PREFIX_MAX: usize = 1000;

/// Shown behind the options.
pub(crate) const MQTT_EXAMPLES: &str = "\
Examples:
  tollgate bench mqtt                                              # 100 publishers, a message a second each, to port 1883
  tollgate bench mqtt --publishers 2000 --rate 10 --qos 1
  tollgate bench mqtt --rate max --qos 1 --publishers 20           # how much the broker can take
  tollgate bench mqtt --target 127.0.0.1:1884 --subscribe 127.0.0.1:1883    # through a gateway, seen at its broker
  tollgate bench mqtt --publishers 500 --group 50 --spread 20 --batch 4 --arrivals periodic
  tollgate bench mqtt --target a:1884 --target b:1884 --assign groups --group 50 --subscribe broker:1883
  tollgate bench mqtt --publishers 0 --idle 5000 --duration 60     # connections that are only kept alive

Latency counts from the time a message was due to its arrival at a subscriber of the tool's own.
`lateness` says how late the generator itself was: where it is near the latency, the generator is what is measured.";
