//! What contracts and callers may ask for, and which modes do it: a table with a cell for each pair.
//!
//! A mode does what its row does not say it lacks. The reader of contract files and the checks of assignments refuse
//! with the reason of the cell, the reference prints the table, and a test asks for the feature of every cell
//! (`crates/tollgate/tests/cluster/compose`). Not here: how a mode does it.

use tollgate_limit::{Algorithm, OnLimit, PolicyConfig};

use super::Coordination;

/// The list: what it is called in the table, and the name in code, in the order of the documentation.
macro_rules! features {
    ($( $feature:ident $name:literal, )*) => {
        /// Something that a contract or a caller may ask for under every mode.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature {
            $( #[doc = $name] $feature, )*
            /// Counting by this algorithm.
            Algorithm(Algorithm),
        }

        /// All but the algorithms.
        const NAMED: &[Feature] = &[$( Feature::$feature, )*];

        impl Feature {
            /// What the table calls it.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$feature => $name, )*
                    Self::Algorithm(algorithm) => algorithm.name(),
                }
            }
        }
    };
}

features! {
    SeveralPolicies "several policies",
    SeveralContracts "several contracts of one key",
    Plan "a plan of the key's own",
    Overrides "overrides of the key's own",
    Waiting "waiting beside other policies",
    Reserve "reserve, commit, cancel",
    Settle "settle up and down",
    Charge "charge with debt",
    Refund "refund",
    Reset "reset",
    Durable "`durable`",
    Ids "operation ids",
    LiveChange "live contract change",
    Percent "`enforce_percent`",
    CountRefused "`count_refused`",
    Peek "peek",
    Explain "explain",
}

impl Feature {
    /// Every feature, algorithms first.
    pub fn all() -> impl Iterator<Item = Self> {
        let algorithms = Algorithm::ALL.into_iter().map(Self::Algorithm);
        algorithms.chain(NAMED.iter().copied())
    }

    /// The field by which a policy asks for it, where it is asked for by one and this policy does.
    pub(crate) fn asked_by(self, config: &PolicyConfig, durable: bool) -> Option<&'static str> {
        let delays = matches!(config.on_limit, OnLimit::Delay { .. });
        let (field, is_asked) = match self {
            Self::Waiting => ("on_limit", delays),
            Self::Durable => ("durable", durable),
            Self::Percent => ("enforce_percent", config.enforce_percent != 100),
            Self::CountRefused => ("count_refused", config.count_refused),
            _ => return None,
        };
        is_asked.then_some(field)
    }
}

impl Coordination {
    /// Whether it does what a contract or a caller may ask for; the reason why not, with what to do instead.
    pub fn does(self, feature: Feature) -> Result<(), String> {
        if let Feature::Algorithm(algorithm) = feature {
            return self.counts(algorithm);
        }
        let mut lacks = self.row().lacks.iter();
        let lacking = lacks.find(|(is, _)| *is == feature);
        lacking.map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
    }

    fn counts(self, algorithm: Algorithm) -> Result<(), String> {
        if self.allows(algorithm) {
            return Ok(());
        }
        let (instead, with) = self.nearest_for(algorithm);
        let (own_name, name) = (self.name(), algorithm.name());
        Err(format!(
            "{name} does not work under {own_name}; use `coordination: {}`, or `algorithm: {}`",
            instead.name(),
            with.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_cells_work() {
        let cells = Coordination::ALL.into_iter().flat_map(|mode| {
            let features = Feature::all();
            features.map(move |feature| (mode, feature))
        });
        let (work, lack): (Vec<_>, Vec<_>) =
            cells.partition(|(mode, feature)| mode.does(*feature).is_ok());
        assert!(work.len() >= 9 * lack.len(), "{lack:?}");
    }
}
