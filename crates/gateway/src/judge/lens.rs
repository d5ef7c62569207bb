//! Contracts as they see messages: which topic filters and user properties they ask for, and the entries of a message
//! by them.
//!
//! A message has the entries `topic`, `client`, `user`, `ip` and `property.NAME`. Values of `match` under `topic` may
//! be topic filters: no topic has a wildcard in its name, so that a message simply has one more `topic` entry for every
//! filter of the contracts that matches it, behind the one by which it is counted. Not here: deciding.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Weak};

use tollgate_contract::{Contract, Contracts, Coordination};
use tollgate_mqtt::{BadFilter, Filters, TopicFilter};
use tollgate_node::Node;

use super::JudgedMessage;

/// Why contracts cannot be kept by a gateway.
#[derive(Debug)]
pub enum JudgeError {
    /// A topic filter in `match` is none.
    Filter {
        /// The contract.
        contract: String,
        /// The filter.
        filter: String,
        /// What is wrong with it.
        error: BadFilter,
    },
    /// A filter in `match` is for a shared subscription, which is nothing one publishes to.
    Shared {
        /// The contract.
        contract: String,
        /// The filter.
        filter: String,
    },
}

/// A contract that binds no message: it asks for an entry that messages do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The contract.
    pub contract: String,
    /// The entry.
    pub entry: String,
}

/// Whether a gateway can keep these contracts.
pub fn check(contracts: &Contracts) -> Result<(), JudgeError> {
    let mut all = contracts.as_slice().iter();
    all.try_for_each(|contract| filters_of(contract).try_for_each(|filter| filter.map(drop)))
}

/// Contracts that bind no message.
pub(crate) fn idle(contracts: &Contracts) -> Vec<Idle> {
    let strange = |contract: &Contract| {
        let entry = entries_of(contract).find(|entry| !is_known(entry))?;
        let (contract, entry) = (contract.id.clone(), entry.to_owned());
        Some(Idle { contract, entry })
    };
    contracts.as_slice().iter().filter_map(strange).collect()
}

/// How the contracts of one node see messages.
#[derive(Debug, Default)]
pub(super) struct Lens {
    /// Whose contracts; nobody else has its place in memory while this is kept.
    node: Weak<Node>,
    filters: Filters,
    /// The text of each filter, by its place.
    texts: Vec<Box<str>>,
    /// Names of user properties that contracts ask for, with the names of their entries.
    properties: BTreeMap<Box<str>, Box<str>>,
    /// Whether something is counted together with others, on a clock of its own.
    is_together: bool,
}

impl Lens {
    /// Filters that are none match nothing; [`check`] finds them.
    pub(super) fn of(node: &Arc<Node>) -> Self {
        let mut lens = Self {
            node: Arc::downgrade(node),
            ..Self::default()
        };
        let mut seen = BTreeSet::new();
        for contract in node.contracts().as_slice() {
            for filter in filters_of(contract).flatten() {
                if seen.insert(filter.as_str().to_owned()) {
                    lens.filters.add(&filter);
                    lens.texts.push(filter.as_str().into());
                }
            }
            let mut policies = contract.policies.iter();
            lens.is_together |= policies.any(|named| named.coordination != Coordination::Local);
            for entry in entries_of(contract) {
                if let Some(name) = entry.strip_prefix(PROPERTY) {
                    lens.properties.insert(name.into(), entry.into());
                }
            }
        }
        lens
    }

    /// Whether messages can be decided as of when they came.
    pub(super) const fn knows_earlier(&self) -> bool {
        !self.is_together
    }

    pub(super) fn is_of(&self, node: &Arc<Node>) -> bool {
        std::ptr::eq(self.node.as_ptr(), Arc::as_ptr(node))
    }

    /// The entries of a message; where a name comes twice, the first is counted by.
    pub(super) fn entries<'a>(&'a self, message: &JudgedMessage<'a>) -> Vec<(&'a str, &'a str)> {
        let (sender, topic) = (message.sender, message.topic);
        let mut entries = vec![(TOPIC, topic), (CLIENT, &*sender.client), (IP, &*sender.ip)];
        entries.extend(sender.user.as_deref().map(|user| (USER, user)));
        if !self.properties.is_empty() {
            for (name, value) in message.head.properties.user() {
                if let Some(entry) = self.properties.get(name)
                    && !entries.iter().any(|(known, _)| *known == &**entry)
                {
                    entries.push((entry, value));
                }
            }
        }
        self.filters
            .matching(topic, |place| entries.push((TOPIC, &self.texts[place])));
        entries
    }
}

/// The topic filters that a contract asks for.
fn filters_of(contract: &Contract) -> impl Iterator<Item = Result<TopicFilter, JudgeError>> {
    let wanted = contract.matches.iter().filter(|(key, _)| key == TOPIC);
    let wild = wanted.filter(|(_, value)| value != ANY && value.contains(['+', '#']));
    wild.map(|(_, text)| {
        let (contract, filter) = (contract.id.clone(), text.clone());
        match TopicFilter::parse(text) {
            Ok(filter) if filter.share().is_none() => Ok(filter),
            Ok(_) => Err(JudgeError::Shared { contract, filter }),
            Err(error) => Err(JudgeError::Filter {
                contract,
                filter,
                error,
            }),
        }
    })
}

/// The names of all entries that a contract asks for.
fn entries_of(contract: &Contract) -> impl Iterator<Item = &str> {
    let matched = contract.matches.iter().map(|(key, _)| &**key);
    matched.chain(contract.key.iter().map(|key| &**key))
}

fn is_known(entry: &str) -> bool {
    matches!(entry, TOPIC | CLIENT | USER | IP) || entry.starts_with(PROPERTY)
}

const TOPIC: &str = "topic";
const CLIENT: &str = "client";
const USER: &str = "user";
const IP: &str = "ip";
const PROPERTY: &str = "property.";
/// The value in `match` that stands for any.
const ANY: &str = "*";

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter {
                contract,
                filter,
                error,
            } => write!(f, "contract `{contract}`: topic `{filter}`: {error}"),
            Self::Shared { contract, filter } => write!(
                f,
                "contract `{contract}`: topic `{filter}`: nothing is published to a shared subscription; leave out `$share/…/`"
            ),
        }
    }
}

impl std::error::Error for JudgeError {}
