//! Cells made of the sets: which traffic, how many nodes, what goes wrong.
//!
//! Not here: the experiments that are made of them.

use std::sync::Arc;

use tollgate_gossip::{Bucket, Key, Knobs};
use tollgate_limit::Span;

use super::plan::{Cell, Variant};
use super::told;
use crate::contender::Contender;
use crate::report::{Reported, Source};
use crate::sets::{Set, set};
use crate::world::{Cluster, Fault, collectors_of};

/// The three sets of one user that is limited.
pub(super) const LIMITED: [(&str, &str); 3] = [
    ("b-extreme", "B-extreme"),
    ("b-substantial", "B-substantial"),
    ("b-barely", "B-barely"),
];

/// A cell being made.
#[derive(Clone)]
pub(super) struct Making {
    set: Set,
    label: String,
    place: Option<(String, f64)>,
    cluster: Cluster,
    told: Vec<(String, Reported)>,
    /// The one user, where faults must know who it is.
    key: Option<Key>,
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
            key: None,
        })
    }

    /// The same under another label, with what the table says of that.
    pub(super) fn labelled(mut self, label: String, table: &str) -> Self {
        self.told = told::told(Source::Reference, table, &label);
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
    pub(super) fn with(mut self, fault: Fault) -> Self {
        if let Fault::Delay { base, .. } = fault {
            self.cluster.knobs.delay = base;
        }
        self.cluster.faults.push(fault);
        self
    }

    pub(super) fn with_all(self, faults: &[Fault]) -> Self {
        faults.iter().cloned().fold(self, Self::with)
    }

    pub(super) fn cluster(mut self, change: impl Fn(&mut Cluster)) -> Self {
        change(&mut self.cluster);
        self
    }

    /// The same with one user that is known beforehand, so that faults can strike the nodes that collect it.
    pub(super) fn known(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Where it stands in plots over a parameter.
    pub(super) fn at(mut self, series: &str, x: f64) -> Self {
        self.place = Some((series.to_owned(), x));
        self
    }

    /// The cell, with designs as they are.
    pub(super) fn plain(self, designs: &[Contender]) -> Cell {
        let variants = designs.iter().copied().map(Variant::plain).collect();
        self.variants(variants)
    }

    pub(super) fn variants(self, variants: Vec<Variant>) -> Cell {
        let (set, bucket, nodes) = (self.set, self.cluster.bucket, self.cluster.nodes);
        let key = self.key;
        Cell {
            set: self.label,
            place: self.place,
            arrivals: Arc::new(move |seed| {
                let mut requests = set.trace(bucket, nodes, seed);
                for request in &mut requests {
                    request.key = key.unwrap_or(request.key);
                }
                requests.into()
            }),
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
pub(super) const fn delay(millis: u64) -> Fault {
    Fault::Delay {
        base: ms(millis),
        jitter: Span::ZERO,
    }
}

/// A node restarts at once, without its memory.
pub(super) const fn crash(node: u16, at_s: u64) -> Fault {
    outage(node, ms(at_s * 1000), Span::ZERO)
}

/// A node is gone for a while and comes back without its memory.
pub(super) const fn outage(node: u16, at: Span, outage: Span) -> Fault {
    Fault::Crash {
        node,
        at,
        outage,
        keeps_state: false,
    }
}

/// A user whose home and standby are far apart in the ring of 30 nodes, as those of most users are.
pub(super) fn apart() -> Key {
    known(|home, standby| (2..=28).contains(&home.abs_diff(standby)))
}

/// One whose home comes right after its standby.
pub(super) fn beside() -> Key {
    known(|home, standby| home == (standby + 1) % 30)
}

/// The first user whose home and standby among 30 nodes are as wanted.
fn known(is_wanted: impl Fn(u16, u16) -> bool) -> Key {
    let fits = |key: &Key| {
        let (home, standby) = collectors_of(*key, 30);
        is_wanted(home, standby)
    };
    (1..KNOWN_MAX).map(Key).find(fits).unwrap_or_default()
}

/// One in thirty has what is wanted.
const KNOWN_MAX: u128 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_users_are_where_the_faults_expect_them() {
        let (home, standby) = collectors_of(apart(), 30);
        assert!((2..=28).contains(&home.abs_diff(standby)));
        let (home, standby) = collectors_of(beside(), 30);
        assert_eq!(home, (standby + 1) % 30);
    }
}
