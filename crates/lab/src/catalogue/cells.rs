//! Cells made of the sets: which traffic, how many nodes, what goes wrong.
//!
//! Not here: the experiments that are made of them.

use std::sync::Arc;

use tollgate_gossip::{Bucket, Knobs};
use tollgate_limit::Span;

use super::plan::{ExperimentCell, Variant};
use super::told;
use crate::contender::Contender;
use crate::report::{FigureSource, Reported};
use crate::sets::{Set, set};
use crate::world::{Cluster, WorldFault};

/// The three sets of one user that is limited.
pub(super) const LIMITED: [(&str, &str); 3] = [
    ("b-extreme", "B-extreme"),
    ("b-substantial", "B-substantial"),
    ("b-barely", "B-barely"),
];

#[derive(Clone)]
pub(super) struct Making {
    set: Set,
    label: String,
    place: Option<(String, f64)>,
    cluster: Cluster,
    told: Vec<(String, Reported)>,
}

impl Making {
    /// The set of that name in its usual cluster, with what others report of it. The catalogue's tests know the names.
    pub(super) fn of(name: &str, label: &str) -> Option<Self> {
        let set = set(name)?;
        let mut told = told::thesis(label);
        told.extend(told::reference(label));
        Some(Self {
            cluster: Cluster::new(set.bucket()),
            set,
            label: label.to_owned(),
            place: None,
            told,
        })
    }

    /// The same under another label, with what the table says of that.
    pub(super) fn labelled(mut self, label: String, table: &str) -> Self {
        self.told = told::told(FigureSource::Reference, table, &label);
        self.label = label;
        self
    }

    /// The same with that many nodes and a bucket of that burst, which regains a thousandth of it in a second.
    pub(super) fn sized(mut self, nodes: u16, burst: u64) -> Self {
        self.cluster.nodes = nodes;
        if let Ok(bucket) = Bucket::new(burst, burst, 1_000_000_000_000) {
            self.cluster.bucket = bucket;
        }
        self
    }

    /// The same where that goes wrong too. Nodes are told how long messages take.
    pub(super) fn with(mut self, fault: WorldFault) -> Self {
        if let WorldFault::Delay { base, .. } = fault {
            self.cluster.knobs.delay = base;
        }
        self.cluster.faults.push(fault);
        self
    }

    pub(super) fn with_all(self, faults: &[WorldFault]) -> Self {
        faults.iter().cloned().fold(self, Self::with)
    }

    pub(super) fn cluster(mut self, change: impl Fn(&mut Cluster)) -> Self {
        change(&mut self.cluster);
        self
    }

    /// Where it stands in plots over a parameter.
    pub(super) fn at(mut self, series: &str, x: f64) -> Self {
        self.place = Some((series.to_owned(), x));
        self
    }

    pub(super) fn plain(self, designs: &[Contender]) -> ExperimentCell {
        let variants = designs.iter().copied().map(Variant::plain).collect();
        self.variants(variants)
    }

    pub(super) fn variants(self, variants: Vec<Variant>) -> ExperimentCell {
        let (set, bucket, nodes) = (self.set, self.cluster.bucket, self.cluster.nodes);
        ExperimentCell {
            set: self.label,
            place: self.place,
            arrivals: Arc::new(move |seed| set.trace(bucket, nodes, seed).into()),
            cluster: self.cluster,
            variants,
            told: self.told,
            seeds_max: None,
        }
    }

    /// A design with other knobs than the cluster's.
    pub(super) fn tuned(
        &self,
        name: &str,
        contender: Contender,
        tune: impl Fn(&mut Knobs),
    ) -> Variant {
        let mut knobs = self.cluster.knobs.clone();
        tune(&mut knobs);
        Variant {
            name: name.to_owned(),
            contender,
            knobs: Some(knobs),
        }
    }
}

pub(super) const fn ms(millis: u64) -> Span {
    Span::from_nanos(millis as u128 * 1_000_000)
}

/// Every message takes that long.
pub(super) const fn delay(millis: u64) -> WorldFault {
    WorldFault::Delay {
        base: ms(millis),
        jitter: Span::ZERO,
    }
}

/// A node restarts at once, without its memory.
pub(super) const fn crash(node: u16, at_s: u64) -> WorldFault {
    outage(node, ms(at_s * 1000), Span::ZERO)
}

/// A node is gone for a while and comes back without its memory.
pub(super) const fn outage(node: u16, at: Span, outage: Span) -> WorldFault {
    WorldFault::Crash {
        node,
        at,
        outage,
        keeps_state: false,
    }
}
