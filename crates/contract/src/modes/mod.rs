//! The ways for nodes to agree about a policy: a row for each, and the list of all.
//!
//! A mode is added by a file with its row and two lines here. The reader of contract files, their JSON schema, the
//! console's form, `tollgate config check` and the reference go by the rows. Not here: how modes work, which is in the
//! crates that `tollgate-mode` is the boundary of.

mod features;
mod gossip;
mod lease;
mod local;
mod owner;
mod split;
mod store;
mod supply;
mod sync;

use tollgate_limit::{Algorithm, PolicyConfig};

use crate::contract::NamedPolicy;
use crate::fields::PolicyField;

pub use features::Feature;
pub use lease::Recovery;
pub(crate) use lease::{can_be_kept, can_be_lent};

/// The list: a sentence, the name in code and the file, in the order of the documentation.
macro_rules! modes {
    ($( #[doc = $about:literal] $mode:ident $file:ident, )*) => {
        /// How nodes agree about a policy's state.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Coordination {
            #[default]
            $( #[doc = $about] $mode, )*
        }

        impl Coordination {
            /// Every mode, in the order of the documentation.
            pub const ALL: [Self; Self::NAMES.len()] = [$( Self::$mode, )*];
            /// The names used in contract files, in the same order.
            pub const NAMES: [&'static str; [$( stringify!($file), )*].len()] = [$( stringify!($file), )*];

            /// What it does, in a sentence.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$mode => $about.trim_ascii(), )* }
            }

            /// Its row.
            pub const fn row(self) -> &'static ModeRow {
                match self { $( Self::$mode => &$file::ROW, )* }
            }
        }
    };
}

modes! {
    /// Each node counts alone.
    Local local,
    /// Each key has one owner node; the others forward.
    Owner owner,
    /// One shared engine decides.
    Store store,
    /// Clients hold leased tokens; what is lent counts as spent.
    Lease lease,
    /// Every node decides; replicated state spreads by gossip.
    Gossip gossip,
    /// Every node owns a share of the rate and passes it on.
    Supply supply,
    /// The bucket is cut into sub-buckets.
    Split split,
    /// Every node has the whole bucket and tells one of them now and then what it spent; too much is admitted.
    Sync sync,
}

/// What the rest of the workspace knows of a mode.
#[derive(Debug)]
pub struct ModeRow {
    /// What a form calls it.
    pub label: &'static str,
    /// Who decides.
    pub decider: Decider,
    /// The algorithms that it counts.
    pub algorithms: &'static [Algorithm],
    /// For an algorithm that it does not count: the modes to take instead, of which the nearest that counts it is
    /// named, and the algorithm.
    ///
    /// Nearest is by promise: `supply` and `lease` never admit one over, `split`, `sync` and `gossip` ask nobody.
    pub instead: (&'static [Coordination], Algorithm),
    /// What else it lacks of what contracts and callers may ask for ([`Feature`]): why, and what to do instead.
    pub lacks: &'static [(Feature, &'static str)],
    /// What its fields say: they say how …
    pub how: &'static str,
    /// Fields of a policy that only it has.
    pub fields: &'static [PolicyField],
    /// What is wrong with a policy of which each field by itself is right: fields, and what to write.
    pub check: fn(&PolicyConfig, &ModeFields) -> Vec<(&'static str, String)>,
}

impl ModeRow {
    /// A mode that counts every algorithm and has no fields.
    const fn new(label: &'static str, decider: Decider) -> Self {
        Self {
            label,
            decider,
            algorithms: &Algorithm::ALL,
            instead: (&[], Algorithm::TokenBucket),
            lacks: &[],
            how: "",
            fields: &[],
            check: |_, _| Vec::new(),
        }
    }
}

/// Who decides a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// The node that is asked, by itself.
    Alone,
    /// The owner of the key.
    Owner,
    /// The store.
    Store,
    /// A client, by what the owner of the key lent it.
    Client,
    /// The node that is asked, by what the others told it.
    Each,
    /// The node that is asked, by its part of a limit that a roster divides.
    Roster,
}

impl Coordination {
    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The name used in contract files.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the algorithm works under this coordination.
    pub fn allows(self, algorithm: Algorithm) -> bool {
        self.row().algorithms.contains(&algorithm)
    }

    /// For a pair that does not go together: the coordination nearest to this one that has the algorithm, and the
    /// algorithm nearest to the given one that this coordination has.
    pub fn nearest_for(self, algorithm: Algorithm) -> (Self, Algorithm) {
        let (modes, with) = self.row().instead;
        let mode = modes.iter().find(|mode| mode.allows(algorithm));
        mode.map_or((self, algorithm), |mode| (*mode, with))
    }

    /// Whether it is meant for nodes of a cluster.
    pub const fn needs_cluster(self) -> bool {
        let decider = self.row().decider;
        matches!(decider, Decider::Owner | Decider::Each | Decider::Roster)
    }

    /// Whether every node of a roster has a part of the limit.
    pub const fn is_divided(self) -> bool {
        matches!(self.row().decider, Decider::Roster)
    }
}

/// What a policy says of how its mode works: fields of the mode's row, lengths of time in nanoseconds, and choices by
/// their places. What is the default is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeFields(Box<[(&'static str, u64)]>);

impl ModeFields {
    pub(crate) fn of(given: impl Iterator<Item = (&'static PolicyField, u64)>) -> Self {
        let said = given.filter(|(field, value)| field.default() != Some(*value));
        Self(said.map(|(field, value)| (field.name, value)).collect())
    }

    /// What the field of that name says.
    pub fn get(&self, name: &str) -> Option<u64> {
        let mut said = self.0.iter();
        said.find(|(is, _)| *is == name).map(|(_, value)| *value)
    }

    /// What it says of a choice: its place among the values there are.
    pub fn choice(&self, name: &str) -> usize {
        usize::try_from(self.get(name).unwrap_or(0)).unwrap_or(0)
    }
}

impl NamedPolicy {
    /// What of its mode a running part cannot take over, so that it begins again where that changes.
    pub fn restarts_by(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        let fields = self.coordination.row().fields.iter();
        let restarts = fields.filter(|field| field.restarts);
        restarts.map(|field| self.fields.get(field.name))
    }
}

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
