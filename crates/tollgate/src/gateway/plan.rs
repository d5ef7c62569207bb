//! `tollgate gateway plan`: how many brokers a topic needs, the share of each, and the expected waits, before anything
//! moves.
//!
//! Not here: the model (`tollgate-split`), and measuring.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args;
use serde_json::{Value, json};
use tollgate_split::plan::fit::{PlacementPlan, Task, Topic, plan, predict};
use tollgate_split::plan::place::{Broker, BrokerShare, Principles, Publisher};
use tollgate_split::plan::predict::{ArrivalStream, Costs, PartRate, burst_for};

use crate::cli::Format;
use crate::failure::Failure;
use crate::report::table::{cell, tame, write_table};
use crate::report::{Ink, Meaning, TerminalStyle};

/// Options of `gateway plan`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct PlanOptions {
    #[command(flatten)]
    traffic: TrafficOptions,

    /// Brokers there are, each with a gateway
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=1000))]
    brokers: u16,

    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is published, and what must be kept.
#[derive(Args, Debug)]
pub(crate) struct TrafficOptions {
    /// The topic, or a filter, as it goes into the contract
    #[arg(long, value_name = "FILTER", default_value = "#")]
    pub(super) topic: String,

    /// Messages per second of the whole topic
    #[arg(long, value_name = "MSG/S", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rate: u64,

    /// Who publishes, each as much as any other
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    publishers: u64,

    /// Messages that a publisher sends at once
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,

    /// Publishers that send at the same time, in groups of so many
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    groups: u64,

    /// What must be kept: a percentile and a time, as `p99=1ms`
    #[arg(long, value_name = "PERCENTILE=TIME", default_value = "p99=1ms", value_parser = objective)]
    pub(super) slo: Objective,

    /// Messages per second that a broker can carry
    #[arg(long, value_name = "MSG/S", default_value_t = 60_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    capacity: u64,

    /// Messages per second of other topics at every broker
    #[arg(long, value_name = "MSG/S", default_value_t = 0)]
    load: u64,

    /// How much above the rate the limit is, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    margin: u64,

    /// The burst of the bucket; where absent what the model says the traffic needs, times the slack
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u64).range(1..))]
    burst: Option<u64>,

    /// How many times more burst than the model says
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    slack: f64,

    #[command(flatten)]
    costs: CostOptions,
}

/// What a broker takes for messages.
#[derive(Args, Debug)]
struct CostOptions {
    /// What a broker takes for a message, in microseconds; measure yours with `tollgate bench mqtt`
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 10.0)]
    message_cost: f64,

    /// What a broker takes for a batch, in microseconds, whatever is in it
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 23.0)]
    batch_cost: f64,

    /// What a message takes without any load, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 300.0)]
    base: f64,

    /// Batches that a broker serves at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    servers: u32,
}

/// A percentile that must be kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Objective {
    /// The part of the messages that may be later.
    pub(super) late: f64,
    pub(super) bound_ns: u64,
}

pub(super) struct Planned {
    pub(super) task: Task,
    pub(super) topic: Topic,
    pub(super) plan: PlacementPlan,
}

pub(super) fn run(options: &PlanOptions) -> Result<(), Failure> {
    let planned = planned(&options.traffic, options.brokers)?;
    let text = match options.format {
        Format::Json => format!("{}\n", machine(options, &planned)),
        Format::Human => human(options, &planned, TerminalStyle::of_stdout()),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

#[allow(clippy::cast_precision_loss)] // A model of floats.
pub(super) fn planned(options: &TrafficOptions, brokers: u16) -> Result<Planned, Failure> {
    let positive = |value: f64| value.is_finite() && value >= 0.0;
    let costs = [
        options.costs.message_cost,
        options.costs.batch_cost,
        options.costs.base,
    ];
    let has_slack = positive(options.slack) && options.slack > 0.0;
    if !(costs.into_iter().all(positive) && has_slack) {
        let text = "error: costs must be zero or more microseconds, and the slack above zero";
        return Err(Failure::usage(text));
    }
    let rate = options.rate as f64;
    let limit = rate * (100 + options.margin) as f64 / 100.0;
    let stream = ArrivalStream {
        rate,
        batch: f64::from(options.batch),
        group: options.groups as f64,
    };
    let needed = burst_for(&stream, limit, options.slo.late);
    let needed = needed.map(|burst| (burst * options.slack).ceil().max(1.0));
    let depth = options.burst.map(|burst| burst as f64).or(needed);
    let depth = depth.ok_or_else(|| Failure::usage("error: the rate must be below the limit"))?;
    let each = options.rate.saturating_mul(1000) / options.publishers;
    let publisher = |id: u64| Publisher {
        id,
        rate: each.max(1),
        batch: options.batch,
        group: (options.groups > 1).then(|| id / options.groups),
    };
    let broker = Broker {
        capacity: options.capacity.saturating_mul(1000),
        load: options.load.saturating_mul(1000),
    };
    let task = Task {
        publishers: (0..options.publishers).map(publisher).collect(),
        brokers: vec![broker; usize::from(brokers)],
        principles: Principles::ALL,
        seed: 1,
        bound_ns: options.slo.bound_ns,
    };
    let topic = Topic {
        bucket: PartRate { rate: limit, depth },
        costs: Costs {
            servers: options.costs.servers,
            wake: options.costs.batch_cost / 1e6,
            message: options.costs.message_cost / 1e6,
            base: options.costs.base / 1e6,
        },
        beside_batch: 1.0,
        late: options.slo.late,
    };
    let plan = plan(&task, &topic, 1).map_err(|error| {
        Failure::usage(format!(
            "error: {error}; add brokers, or say what one can carry with --capacity"
        ))
    })?;
    Ok(Planned { task, topic, plan })
}

impl Planned {
    /// Access, service and both of one broker, in milliseconds, at some percentiles.
    fn percentiles(&self, place: &BrokerShare) -> [(f64, [f64; 3]); 3] {
        [0.5, 0.05, 0.01].map(|late| {
            let topic = Topic { late, ..self.topic };
            let said = predict(&self.task, &topic, place);
            let millis = [said.access, said.service, said.total].map(|seconds| seconds * 1e3);
            (late, millis)
        })
    }

    fn is_kept(&self) -> bool {
        #[allow(clippy::cast_precision_loss)] // Below a day.
        let bound = self.task.bound_ns as f64 / 1e9;
        self.plan.worst() <= bound
    }

    /// A broker's share of the bucket: rate and depth.
    #[allow(clippy::cast_precision_loss)] // Rates and depths of a plan.
    fn part(&self, place: &BrokerShare) -> (f64, f64) {
        let whole: u64 = self.plan.places.iter().map(|place| place.quota).sum();
        let part = place.quota as f64 / whole.max(1) as f64;
        (
            self.topic.bucket.rate * part,
            self.topic.bucket.depth * part,
        )
    }
}

fn machine(options: &PlanOptions, planned: &Planned) -> Value {
    let brokers = planned.plan.places.iter().map(|place| {
        let (rate, depth) = planned.part(place);
        let percentiles = planned.percentiles(place);
        let of = |which: usize| {
            let pairs = percentiles.iter().zip(["p50", "p95", "p99"]);
            pairs.map(move |((_, millis), name)| (name.to_owned(), json!(millis[which])))
        };
        json!({
            "broker": place.broker,
            "publishers": place.publishers.len(),
            "quota": place.quota / 1000,
            "rate": rate,
            "burst": depth,
            "access_ms": of(0).collect::<serde_json::Map<_, _>>(),
            "service_ms": of(1).collect::<serde_json::Map<_, _>>(),
            "total_ms": of(2).collect::<serde_json::Map<_, _>>(),
        })
    });
    json!({
        "topic": options.traffic.topic,
        "k": planned.plan.places.len(),
        "limit": planned.topic.bucket.rate,
        "burst": planned.topic.bucket.depth,
        "slo_kept": planned.is_kept(),
        "worst_ms": planned.plan.worst() * 1e3,
        "brokers": brokers.collect::<Vec<_>>(),
    })
}

fn human(options: &PlanOptions, planned: &Planned, look: TerminalStyle) -> String {
    let mut text = String::new();
    let count = planned.plan.places.len();
    let bucket = planned.topic.bucket;
    let line = format!(
        "{}: {count} of {} brokers, limit {:.0}/s, burst {:.0}",
        tame(&options.traffic.topic, NAME_MAX),
        options.brokers,
        bucket.rate,
        bucket.depth
    );
    let _ = writeln!(text, "{}\n", look.paint(Ink::Bold, &line));
    let header = [
        "broker",
        ">publishers",
        ">msg/s",
        ">limit/s",
        ">burst",
        ">p50 ms",
        ">p95 ms",
        ">p99 ms",
        ">of it for tokens",
    ];
    let row = |place: &BrokerShare| {
        let (rate, depth) = planned.part(place);
        let percentiles = planned.percentiles(place);
        let mut cells = vec![
            cell(format!("{}", place.broker + 1)).ink(Ink::Bold),
            cell(place.publishers.len().to_string()),
            cell((place.quota / 1000).to_string()),
            cell(format!("{rate:.0}")),
            cell(format!("{depth:.1}")),
        ];
        cells.extend(percentiles.map(|(_, [_, _, total])| cell(millis(total))));
        let [.., (_, [access, ..])] = percentiles;
        cells.push(cell(millis(access)));
        cells
    };
    write_table(
        &header,
        planned.plan.places.iter().map(row),
        look,
        &mut text,
    );
    let (meaning, said) = if planned.is_kept() {
        (Meaning::Allowed, "kept")
    } else {
        (
            Meaning::Denied,
            "not kept by any number of these brokers; this comes closest",
        )
    };
    let _ = writeln!(
        text,
        "\nobjective {}: {}",
        objective_text(options.traffic.slo),
        look.paint(Ink::Meaning(meaning), said)
    );
    text.push_str("without borrowing; tokens that gateways lend each other take most of the wait for tokens away\n\n");
    text.push_str(&contract(options, planned));
    text
}

fn contract(options: &PlanOptions, planned: &Planned) -> String {
    let names = planned.plan.places.iter().map(|place| {
        let (name, weight) = (place.broker + 1, place.quota / 1000);
        format!("g{name}: {}", weight.max(1))
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let bucket = planned.topic.bucket;
    let topic = &options.traffic.topic;
    let matched = json!(topic);
    format!(
        "contracts.yaml of every gateway:\n  contracts:\n    - id: planned\n      match: {{ topic: {matched} }}\n      policies:\n        \
         - {{ name: topic, limit: {:.0}, per: 1s, burst: {:.0}, on_limit: delay, max_wait: 1s, coordination: split }}\n\
         server.yaml, besides the cluster's keys and addresses:\n  cluster: {{ roster: {{ {names} }} }}\n",
        bucket.rate, bucket.depth
    )
}

fn millis(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.2}")
    } else {
        "without end".to_owned()
    }
}

pub(super) fn objective_text(slo: Objective) -> String {
    let percent = (1.0 - slo.late) * 100.0;
    #[allow(clippy::cast_precision_loss)] // Below a day.
    let bound = slo.bound_ns as f64 / 1e6;
    format!("p{percent:.4}")
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
        + &format!(" within {bound} ms")
}

/// A percentile and a time.
fn objective(text: &str) -> Result<Objective, String> {
    const WRONG: &str = "write a percentile and a time, such as p99=1ms or p99.9=2.5ms";
    let (percentile, time) = text.split_once('=').ok_or(WRONG)?;
    let percentile = percentile.strip_prefix('p').ok_or(WRONG)?;
    let percentile: f64 = percentile.parse().map_err(|_| WRONG)?;
    let (number, unit_ns) = [("ms", 1e6), ("us", 1e3), ("s", 1e9)]
        .into_iter()
        .find_map(|(unit, nanos)| Some((time.strip_suffix(unit)?, nanos)))
        .ok_or(WRONG)?;
    let nanos = number.parse::<f64>().map_err(|_| WRONG)? * unit_ns;
    let fits = (0.0..100.0).contains(&percentile) && (1.0..=DAY_NS).contains(&nanos);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Within a day.
    fits.then(|| Objective {
        late: 1.0 - percentile / 100.0,
        bound_ns: nanos as u64,
    })
    .ok_or_else(|| WRONG.to_owned())
}

const DAY_NS: f64 = 86_400e9;
const NAME_MAX: usize = 120;

const EXAMPLES: &str = "\
Examples:
  tollgate gateway plan --topic sensors/# --rate 10000 --publishers 1000 --slo p99=1ms
  tollgate gateway plan --rate 10000 --batch 10 --groups 20 --slack 2 --slo p99=1ms
  tollgate gateway plan --rate 60000 --brokers 4 --capacity 40000 --load 5000 --format json

It uses the fewest brokers that keep the objective, gives none of them a small part, and keeps apart publishers that send at the same
time. Waits are those of sub-buckets that do not borrow. Costs are those of a broker that carries 60,000 single messages a second.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        plan: PlanOptions,
    }

    fn of(arguments: &[&str]) -> Planned {
        let line = Line::try_parse_from([&["x"], arguments].concat()).unwrap();
        planned(&line.plan.traffic, line.plan.brokers).unwrap_or_else(|failure| panic!("{failure}"))
    }

    #[test]
    fn random_messages_need_one_broker_and_the_bucket_that_the_theory_says() {
        let found = of(&["--rate", "10000"]);
        assert_eq!(found.plan.places.len(), 1);
        assert!((25.0..=27.0).contains(&found.topic.bucket.depth));
        assert!(found.is_kept());
    }

    #[test]
    fn groups_need_more_brokers_and_too_little_room_is_said() {
        let few = of(&["--rate", "10000", "--batch", "10", "--groups", "5"]);
        let many = of(&["--rate", "10000", "--batch", "10", "--groups", "20"]);
        assert!(few.plan.places.len() < many.plan.places.len());
        let whole: usize = many
            .plan
            .places
            .iter()
            .map(|place| place.publishers.len())
            .sum();
        assert_eq!(whole, 1000);
        let line = Line::try_parse_from(["x", "--rate", "10000", "--capacity", "100"]).unwrap();
        let failure = planned(&line.plan.traffic, line.plan.brokers)
            .err()
            .unwrap()
            .to_string();
        assert!(failure.contains("add brokers"), "{failure}");
    }

    #[test]
    fn objectives_are_read_or_refused() {
        let found = objective("p99.9=2.5ms").unwrap();
        assert!((found.late - 0.001).abs() < 1e-9 && found.bound_ns == 2_500_000);
        assert_eq!(objective_text(found), "p99.9 within 2.5 ms");
        for text in [
            "", "p99", "99=1ms", "p100=1ms", "p99=1", "p99=-1ms", "pNaN=1ms",
        ] {
            assert!(objective(text).is_err(), "{text}");
        }
    }
}
