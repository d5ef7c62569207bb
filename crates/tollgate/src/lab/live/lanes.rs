//! What is run: traffic, each with a contract of its own.
//!
//! Not here: running it.

use std::fmt::Write;
use std::sync::Arc;

use tollgate_contract::nearest;
use tollgate_gossip::{Bucket, Knobs};
use tollgate_lab::{Cluster, ExperimentCell, Request, experiments, places, set, sets};

use super::super::options::LiveOptions;
use crate::cluster::read_script;
use crate::cluster::script::to_faults;
use crate::failure::Failure;

pub(super) struct LiveLane {
    pub(super) id: String,
    pub(super) set: String,
    pub(super) cluster: Cluster,
    pub(super) trace: Arc<[Request]>,
    /// The node of each request.
    pub(super) places: Vec<u16>,
}

impl LiveLane {
    pub(super) fn is_calm(&self) -> bool {
        self.cluster.faults.is_empty()
    }
}

/// Everything the options ask for, in order.
pub(super) fn lanes(options: &LiveOptions) -> Result<Vec<LiveLane>, Failure> {
    let said = options.faults.as_deref().map(read_script).transpose()?;
    let said = said.map_or_else(Vec::new, |said| to_faults(&said));
    let mut lanes = Vec::new();
    for traffic in options.names.iter().map(|name| traffic(name, options)) {
        for (set, mut cluster, trace) in traffic? {
            cluster.faults.extend(said.iter().cloned());
            let places = places(&cluster, &trace, options.seed);
            let places = places.map_err(|error| Failure::usage(format!("error: {error}")))?;
            lanes.push(LiveLane {
                id: format!("lane-{}", lanes.len()),
                set,
                cluster,
                trace,
                places,
            });
        }
    }
    Ok(lanes)
}

type Traffic = (String, Cluster, Arc<[Request]>);

/// The traffic of a set, or of every cell of an experiment that needs no changed parameters.
fn traffic(name: &str, options: &LiveOptions) -> Result<Vec<Traffic>, Failure> {
    if let Some(set) = set(name) {
        let mut cluster = Cluster::new(set.bucket());
        cluster.nodes = options.nodes;
        let trace = set.trace(cluster.bucket, options.nodes, options.seed);
        return Ok(vec![(name.to_owned(), cluster, trace.into())]);
    }
    let experiment = experiments().find(|own| own.name == name);
    let Some(experiment) = experiment else {
        return Err(unknown(name));
    };
    let cells = experiment.cells();
    let usable = cells.iter().filter(|cell| is_usual(cell));
    let lanes: Vec<Traffic> = usable
        .map(|cell| {
            let mut cluster = cell.cluster.clone();
            cluster.nodes = options.nodes;
            (cell.set.clone(), cluster, (cell.arrivals)(options.seed))
        })
        .collect();
    if lanes.is_empty() {
        return Err(Failure::usage(format!(
            "error: {name} turns knobs that nodes do not have; the lab can only simulate it"
        )));
    }
    Ok(lanes)
}

/// Whether a cell has the nodes' default parameters.
fn is_usual(cell: &ExperimentCell) -> bool {
    let usual = Knobs {
        delay: cell.cluster.knobs.delay,
        ..Knobs::default()
    };
    cell.cluster.knobs == usual
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = sets()
        .iter()
        .map(|set| set.name)
        .chain(experiments().map(|experiment| experiment.name))
        .collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("sets are {}", names.join(", ")),
    };
    Failure::usage(format!(
        "error: no set and no experiment is called {name:?}; {hint}"
    ))
}

pub(super) fn contracts(lanes: &[LiveLane]) -> String {
    let mut text = "contracts:\n".to_owned();
    for lane in lanes {
        let id = &lane.id;
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "  - id: {id}\n    match: {{ lane: {id} }}\n    key: [user]\n    coordination: gossip\n    \
             policies:\n      - {{ name: bucket, {} }}\n",
            numbers(lane.cluster.bucket)
        );
    }
    text
}

/// A bucket as in contract files: tokens regained in a time, and capacity.
fn numbers(bucket: Bucket) -> String {
    let (limit, per, burst) = (bucket.refilled(1), bucket.grains(1), bucket.burst());
    format!("limit: {limit}, per: {per}ns, burst: {burst}")
}
