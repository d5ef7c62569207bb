//! `tollgate lab trace`: any recorded traffic through a simulated cluster.
//!
//! Not here: reading formats, and the simulation.

use std::sync::Arc;

use tollgate_gossip::{Bucket, Knobs, ModeKey};
use tollgate_lab::{
    Cluster, ExperimentCell, ExperimentPlan, Frequency, RecordingOptions, Request, Routing,
    RunRequest, Variant, View, WorldFault,
};
use tollgate_limit::{Instant, Span};

use super::options::{NetworkOptions, RoutingName, TraceOptions};
use super::show::{ProgressMeter, Show, threads};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::replay::name_of;
use crate::trace::{Class, TraceError, TraceReader, TraceRecord};

/// Limit on requests in memory: about 2.4 GB.
pub(super) const REQUESTS_MAX: usize = 50_000_000;
/// The longest trace. Gossip goes on between requests, so a decade of silence would take a decade of rounds.
const SPAN_MS_MAX: u64 = 31 * 86_400_000;
/// The fastest and the slowest gossip.
const GOSSIP_NS: std::ops::RangeInclusive<u128> = 1_000_000..=86_400_000_000_000;

pub(super) fn run(options: &TraceOptions) -> Result<(), Failure> {
    let cluster = cluster(options)?;
    let name = name_of(&options.file);
    let requests = read(options, &name)?;
    let mut show = Show::new(&options.output, false)?;
    let meter = ProgressMeter::new("trace");
    let plan = plan(options, cluster, &name, requests);
    let report = plan.run(
        options.seeds,
        &RunRequest {
            first: options.output.first,
            seeds: None,
            threads: threads(&options.output),
            designs: None,
            curves: options.output.html.is_some(),
            progress: &|done, of| meter.tick(done, of),
        },
    );
    drop(meter);
    let report = report.map_err(|error| Failure::usage(format!("error: {error}")))?;
    show.add(&report)?;
    show.finish()
}

fn plan(
    options: &TraceOptions,
    cluster: Cluster,
    name: &str,
    requests: Vec<Request>,
) -> ExperimentPlan {
    let set = options
        .file
        .file_stem()
        .map_or("trace".into(), |stem| stem.to_string_lossy());
    let set = if name == "standard input" {
        "trace".into()
    } else {
        set
    };
    let keys: std::collections::BTreeSet<ModeKey> =
        requests.iter().map(|request| request.key).collect();
    let span = requests
        .last()
        .zip(requests.first())
        .map_or(0, |(last, first)| last.at.nanos_since(first.at));
    let mut parameters = vec![("trace".to_owned(), name.to_owned())];
    parameters.push(("requests".to_owned(), requests.len().to_string()));
    parameters.push(("users".to_owned(), keys.len().to_string()));
    parameters.push(("seconds".to_owned(), seconds(u128::from(span))));
    parameters.extend(told(options));
    let requests: Arc<[Request]> = requests.into();
    ExperimentPlan {
        name: "trace".to_owned(),
        title: match cluster.nodes {
            1 => format!("{set} through one node"),
            nodes => format!("{set} through {nodes} nodes"),
        },
        about: format!(
            "{} requests of {} users went through a simulated cluster, once per design and seed, and through one \
             central bucket that sees everything.",
            requests.len(),
            keys.len()
        ),
        parameters,
        cells: vec![ExperimentCell {
            set: set.into_owned(),
            place: None,
            arrivals: Arc::new(move |_| Arc::clone(&requests)),
            cluster,
            variants: options
                .designs
                .0
                .iter()
                .copied()
                .map(Variant::plain)
                .collect(),
            told: Vec::new(),
            seeds_max: None,
        }],
        views: vec![
            View::Rejections,
            View::Difference,
            View::Memory,
            View::Bandwidth,
            View::Users,
        ],
    }
}

/// The options that decide the result.
fn told(options: &TraceOptions) -> Vec<(String, String)> {
    let (cluster, tuning, network) = (&options.cluster, &options.tuning, &options.network);
    let refill = cluster.refill;
    let mut told = vec![
        ("nodes", cluster.nodes.to_string()),
        ("capacity", cluster.capacity.to_string()),
        (
            "refill",
            format!("{}/{} s", refill.tokens, seconds(u128::from(refill.per_ns))),
        ),
        ("routing", format!("{:?}", cluster.routing).to_lowercase()),
        ("gossip", format!("{} s", seconds(tuning.gossip.as_nanos()))),
        (
            "threshold",
            format!("{} s", seconds(tuning.threshold.as_nanos())),
        ),
    ];
    told.extend(tuning.window.map(|window| ("window", window.to_string())));
    told.extend(tuning.beta.as_ref().map(|beta| ("beta", beta.text.clone())));
    told.extend(tuning.no_buddy.then(|| ("buddy", "off".to_owned())));
    for (name, span) in [
        ("delay", network.delay),
        ("jitter", network.jitter),
        ("skew", network.skew),
    ] {
        told.extend((span > Span::ZERO).then(|| (name, format!("{} s", seconds(span.as_nanos())))));
    }
    for (name, share) in [("loss", network.loss), ("duplication", network.duplication)] {
        told.extend((share.0 > 0).then(|| (name, format!("{} %", f64::from(share.0) / 10_000.0))));
    }
    told.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Nanoseconds as seconds, exactly.
fn seconds(nanos: u128) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn cluster(options: &TraceOptions) -> Result<Cluster, Failure> {
    let (own, tuning) = (&options.cluster, &options.tuning);
    if !GOSSIP_NS.contains(&tuning.gossip.as_nanos()) {
        return Err(Failure::usage("error: --gossip is 1ms to 1d"));
    }
    let network = &options.network;
    for (name, span) in [
        ("--delay", network.delay),
        ("--jitter", network.jitter),
        ("--skew", network.skew),
    ] {
        if span.as_nanos() > HOUR_NS {
            return Err(Failure::usage(format!("error: {name} is at most 1h")));
        }
    }
    let bucket = Bucket::new(own.capacity, own.refill.tokens, own.refill.per_ns)
        .map_err(|error| Failure::usage(format!("error: --capacity, --refill: {error}")))?;
    let usual = Knobs::default();
    let knobs = Knobs {
        interval: tuning.gossip,
        delay: network.delay,
        beta: tuning.beta.as_ref().map_or(usual.beta, |beta| beta.ratio),
        buddy: !tuning.no_buddy,
        ..usual
    };
    Ok(Cluster {
        nodes: u16::try_from(own.nodes).unwrap_or(u16::MAX),
        knobs,
        frequency: Frequency {
            window: tuning.window,
            threshold: tuning.threshold,
        },
        routing: routing(own.routing),
        faults: faults(network),
        watch: RecordingOptions::default(),
        ..Cluster::new(bucket)
    })
}

fn routing(name: RoutingName) -> Routing {
    match name {
        RoutingName::Hash => Routing::Hash,
        RoutingName::Uniform => Routing::Uniform,
        RoutingName::Sticky => Routing::Sticky,
        RoutingName::Hot => Routing::HotNode,
    }
}

fn faults(network: &NetworkOptions) -> Vec<WorldFault> {
    let mut faults = Vec::new();
    if network.delay > Span::ZERO || network.jitter > Span::ZERO {
        faults.push(WorldFault::Delay {
            base: network.delay,
            jitter: network.jitter,
        });
    }
    if network.loss.0 > 0 {
        faults.push(WorldFault::Loss(network.loss.0));
    }
    if network.duplication.0 > 0 {
        faults.push(WorldFault::Duplication(network.duplication.0));
    }
    if network.skew > Span::ZERO {
        faults.push(WorldFault::Skew(network.skew));
    }
    faults
}

/// The whole trace, in order of time.
fn read(options: &TraceOptions, name: &str) -> Result<Vec<Request>, Failure> {
    let failed = |error: TraceError| Failure::trace(name, &error);
    let mut reader = TraceReader::open(&options.file, options.input_format).map_err(failed)?;
    let mut progress = Progress::new(reader.size(), true);
    let mut intake = Intake {
        nodes: options.cluster.nodes,
        sort: options.sort,
        requests: Vec::new(),
    };
    while let Some(mut block) = reader.block().map_err(failed)? {
        while let Some(record) = block.next() {
            let record = record.map_err(failed)?;
            intake
                .add(&record)
                .map_err(|(what, hint)| failed(fault(record.line, what, hint)))?;
        }
        progress.tick(reader.bytes_read(), intake.requests.len() as u64);
    }
    let mut requests = intake.requests;
    requests.sort_by_key(|request| request.at);
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else {
        return Err(failed(fault(
            1,
            "no requests in the trace".to_owned(),
            None,
        )));
    };
    let span_ms = last.at.nanos_since(first.at) / 1_000_000;
    if span_ms > SPAN_MS_MAX {
        let what = format!(
            "the trace spans {} days, more than 31",
            span_ms / 86_400_000
        );
        return Err(failed(fault(1, what, Some("cut it into parts"))));
    }
    Ok(requests)
}

fn fault(line: u64, what: String, hint: Option<&'static str>) -> TraceError {
    TraceError {
        class: Class::Record,
        line,
        column: None,
        what,
        hint,
    }
}

struct Intake {
    nodes: u64,
    sort: bool,
    requests: Vec<Request>,
}

type Refused = (String, Option<&'static str>);

impl Intake {
    fn add(&mut self, record: &TraceRecord<'_>) -> Result<(), Refused> {
        if self.requests.len() >= REQUESTS_MAX {
            let what = format!("more than {REQUESTS_MAX} requests, which are held in memory");
            return Err((what, Some("cut the trace into parts")));
        }
        let at = Instant::from_millis(record.time_ms).unwrap_or(Instant::LAST);
        if !self.sort && self.requests.last().is_some_and(|before| before.at > at) {
            let what = format!("the time {} is before the one above it", record.time_ms);
            return Err((what, Some("sort the trace, or give --sort")));
        }
        self.requests.push(Request {
            at,
            key: key(record.entries),
            cost: record.cost,
            node: self.node(record.entries)?,
        });
        Ok(())
    }

    /// The node that a record names.
    fn node(&self, entries: &[(&str, &str)]) -> Result<Option<u16>, Refused> {
        let Some((_, text)) = entries.iter().find(|(name, _)| *name == "node") else {
            return Ok(None);
        };
        let node = text
            .parse()
            .ok()
            .filter(|node| u64::from(*node) < self.nodes);
        node.map(Some).ok_or_else(|| {
            let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            let what = format!(
                "no node is called \"{shown}\": they are 0 to {}",
                self.nodes - 1
            );
            (what, Some("give more --nodes, or leave the field out"))
        })
    }
}

/// The user, or everything that describes the request if there is none.
fn key(entries: &[(&str, &str)]) -> ModeKey {
    if let Some((_, user)) = entries.iter().find(|(name, _)| *name == "user") {
        return ModeKey(fnv(FNV_START, user.as_bytes()));
    }
    let described = entries.iter().filter(|(name, _)| *name != "node");
    ModeKey(described.fold(FNV_START, |hash, (name, value)| {
        let hash = fnv(fnv(hash, name.as_bytes()), &[0xff]);
        fnv(fnv(hash, value.as_bytes()), &[0xff])
    }))
}

/// FNV-1a of 128 bits: the same on every machine, and short keys do not collide.
fn fnv(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(FNV_PRIME)
    })
}

const FNV_START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
const HOUR_NS: u128 = 3_600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_the_key_and_otherwise_everything_but_the_node() {
        let user = key(&[("user", "a"), ("route", "/x")]);
        assert_eq!(user, key(&[("node", "3"), ("user", "a")]));
        assert_ne!(user, key(&[("user", "b")]));
        let bare = key(&[("route", "/x"), ("ip", "1")]);
        assert_eq!(bare, key(&[("route", "/x"), ("ip", "1"), ("node", "2")]));
        assert_ne!(bare, key(&[("route", "/x1"), ("ip", "")]));
        // The published value for "a".
        assert_eq!(user, ModeKey(0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964));
    }

    #[test]
    fn seconds_are_written_without_loss() {
        assert_eq!(seconds(300_000_000), "0.3");
        assert_eq!(seconds(10_000_000_000), "10");
        assert_eq!(seconds(1), "0.000000001");
    }
}
