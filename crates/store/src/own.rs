//! A key's own terms, stored with the shape of their states, so that a reader of the text has them in full.
//!
//! A shape defines how states are read; this adds how its policies decide. Not here: which key has which terms.

use serde::{Deserialize, Serialize};
use tollgate_contract::{Coordination, ModeFields, NamedPolicy, OnFailure, Terms};
use tollgate_limit::{Inherit, OnLimit, Policy, PolicyConfig};

/// The part of terms that a shape does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShapeTerms {
    version: u64,
    manners: Vec<Manner>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manner {
    coordination: String,
    on_failure: String,
    durable: bool,
    inherit: String,
    enforce_percent: u8,
    count_refused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_debt: Option<u64>,
    /// `None` refuses at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delay: Option<Delay>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Delay {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_wait_ns: Option<u64>,
}

impl ShapeTerms {
    pub(crate) fn of(terms: &Terms) -> Self {
        Self {
            version: terms.version,
            manners: terms.policies.iter().map(Manner::of).collect(),
        }
    }

    /// `None` if the parts are inconsistent.
    pub(crate) fn terms<'a>(
        &self,
        policies: impl ExactSizeIterator<Item = (&'a str, PolicyConfig)>,
    ) -> Option<Terms> {
        if policies.len() != self.manners.len() || self.version == 0 {
            return None;
        }
        let named = policies.zip(&self.manners);
        let named = named.map(|((name, config), manner)| manner.named(name, config));
        Terms::new(named.collect::<Option<_>>()?, self.version).ok()
    }
}

impl Manner {
    fn of(named: &NamedPolicy) -> Self {
        let config = named.policy.config();
        Self {
            coordination: named.coordination.name().into(),
            on_failure: named.on_failure.name().into(),
            durable: named.durable,
            inherit: inherit_name(config.inherit).into(),
            enforce_percent: config.enforce_percent,
            count_refused: config.count_refused,
            max_debt: config.max_debt,
            delay: match config.on_limit {
                OnLimit::Deny => None,
                OnLimit::Delay { max_wait_ns } => Some(Delay { max_wait_ns }),
            },
        }
    }

    fn named(&self, name: &str, numbers: PolicyConfig) -> Option<NamedPolicy> {
        let delay = |Delay { max_wait_ns }| OnLimit::Delay { max_wait_ns };
        let config = PolicyConfig {
            on_limit: self.delay.map_or(OnLimit::Deny, delay),
            max_debt: self.max_debt,
            count_refused: self.count_refused,
            enforce_percent: self.enforce_percent,
            inherit: INHERITS
                .into_iter()
                .find(|is| inherit_name(*is) == self.inherit)?,
            ..numbers
        };
        let on_failure = OnFailure::ALL.into_iter();
        Some(NamedPolicy {
            name: name.into(),
            policy: Policy::new(config).ok()?,
            coordination: Coordination::from_name(&self.coordination)?,
            fields: ModeFields::default(),
            on_failure: on_failure
                .into_iter()
                .find(|is| is.name() == self.on_failure)?,
            durable: self.durable,
        })
    }
}

const fn inherit_name(inherit: Inherit) -> &'static str {
    match inherit {
        Inherit::AsIs => "as-is",
        Inherit::Proportional => "proportional",
        Inherit::Time => "time",
        Inherit::Reset => "reset",
    }
}

const INHERITS: [Inherit; 4] = [
    Inherit::AsIs,
    Inherit::Proportional,
    Inherit::Time,
    Inherit::Reset,
];
