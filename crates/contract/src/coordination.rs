//! How the nodes agree about a policy, and which algorithms that works for.

use tollgate_limit::Algorithm;

/// How nodes agree about a policy's state: one knob, eight positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coordination {
    /// Each node counts alone.
    #[default]
    Local,
    /// Each key has one owner node; the others forward.
    Owner,
    /// One shared engine decides.
    Store,
    /// Clients hold leased tokens; what is lent counts as spent.
    Lease,
    /// Every node decides; replicated state spreads by gossip.
    Gossip,
    /// Every node owns a share of the rate and passes it on.
    Supply,
    /// The bucket is cut into sub-buckets.
    Split,
    /// Every node has the whole bucket and tells one of them now and then what it spent; too much is admitted.
    Sync,
}

impl Coordination {
    /// Every position, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Local,
        Self::Owner,
        Self::Store,
        Self::Lease,
        Self::Gossip,
        Self::Supply,
        Self::Split,
        Self::Sync,
    ];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Whether the algorithm works under this coordination.
    pub const fn allows(self, algorithm: Algorithm) -> bool {
        match self {
            Self::Local | Self::Owner | Self::Store | Self::Lease => true,
            Self::Gossip => !matches!(algorithm, Algorithm::SlidingLog),
            Self::Supply | Self::Split => algorithm.is_bucket(),
            Self::Sync => matches!(algorithm, Algorithm::TokenBucket),
        }
    }

    /// For a pair that does not go together: the coordination nearest to this one that has the algorithm, and the
    /// algorithm nearest to the given one that this coordination has.
    ///
    /// Nearest is by promise: `supply` and `lease` never admit one over, `split`, `sync` and `gossip` ask nobody.
    pub const fn nearest_for(self, algorithm: Algorithm) -> (Self, Algorithm) {
        match self {
            Self::Split | Self::Sync if Self::Gossip.allows(algorithm) => {
                (Self::Gossip, Algorithm::TokenBucket)
            }
            Self::Supply | Self::Split | Self::Sync => (Self::Lease, Algorithm::TokenBucket),
            Self::Gossip => (Self::Lease, Algorithm::SlidingCounters),
            Self::Local | Self::Owner | Self::Store | Self::Lease => (self, algorithm),
        }
    }
}

/// How nodes that gossip agree: what they keep, and when they speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Design {
    /// `segments` where that sends less, else `home`.
    #[default]
    Auto,
    /// Busy-period segments with silent shares.
    Segments,
    /// One node per key collects and announces.
    Home,
}

impl Design {
    /// Every design, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Segments, Self::Home];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        DESIGNS[self as usize]
    }

    /// Whether the algorithm can be counted this way.
    pub const fn allows(self, algorithm: Algorithm) -> bool {
        match (self, algorithm) {
            (_, Algorithm::SlidingLog) => false,
            (Self::Auto | Self::Segments, _) | (_, Algorithm::TokenBucket) => true,
            (Self::Home, algorithm) => matches!(algorithm, Algorithm::LeakyBucket),
        }
    }
}

/// What a policy answers when whoever it must ask does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OnFailure {
    /// The request passes.
    Allow,
    /// The request is refused.
    Deny,
    /// This node decides by what it knows.
    #[default]
    Local,
}

impl OnFailure {
    /// Every choice, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Deny, Self::Local];

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        ON_FAILURE[self as usize]
    }
}

/// The names of the positions, in the order of [`Coordination::ALL`].
pub(crate) const NAMES: [&str; 8] = [
    "local", "owner", "store", "lease", "gossip", "supply", "split", "sync",
];
/// The names of the designs, in the order of [`Design::ALL`].
pub(crate) const DESIGNS: [&str; 3] = ["auto", "segments", "home"];
/// The names of the choices, in the order of [`OnFailure::ALL`].
pub(crate) const ON_FAILURE: [&str; 3] = ["allow", "deny", "local"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alternative_is_allowed() {
        for coordination in Coordination::ALL {
            for algorithm in Algorithm::ALL {
                if coordination.allows(algorithm) {
                    continue;
                }
                let (instead, with) = coordination.nearest_for(algorithm);
                assert!(
                    instead.allows(algorithm),
                    "{} {}",
                    coordination.name(),
                    algorithm.name()
                );
                assert!(
                    coordination.allows(with),
                    "{} {}",
                    coordination.name(),
                    algorithm.name()
                );
            }
        }
    }

    #[test]
    fn forbids_what_the_matrix_forbids() {
        let forbidden = Coordination::ALL.into_iter().flat_map(|coordination| {
            let algorithms = Algorithm::ALL
                .into_iter()
                .filter(move |a| !coordination.allows(*a));
            algorithms.map(move |algorithm| (coordination.name(), algorithm.name()))
        });
        assert_eq!(
            forbidden.collect::<Vec<_>>(),
            [
                ("gossip", "sliding-log"),
                ("supply", "fixed-window"),
                ("supply", "sliding-log"),
                ("supply", "sliding-counters"),
                ("supply", "sliding-weighted"),
                ("split", "fixed-window"),
                ("split", "sliding-log"),
                ("split", "sliding-counters"),
                ("split", "sliding-weighted"),
                ("sync", "leaky-bucket"),
                ("sync", "fixed-window"),
                ("sync", "sliding-log"),
                ("sync", "sliding-counters"),
                ("sync", "sliding-weighted"),
            ]
        );
    }
}
