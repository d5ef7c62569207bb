//! How contracts match messages: the topic filters and user properties they name, and the entries of a message
//! for them.
//!
//! A message has the entries `topic`, `client`, `user`, `ip` and `property.NAME`. Values of `match` under `topic` may
//! be topic filters: no topic has a wildcard in its name, so that a message simply has one more `topic` entry for every
//! filter of the contracts that matches it, after the one that it is counted by. Not here: deciding.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Weak};

use tollgate_contract::{Contract, Contracts, Coordination};
use tollgate_mqtt::{BadFilter, Filters, TopicFilter};
use tollgate_node::Node;

use super::JudgedMessage;

/// Why a gateway cannot enforce contracts.
#[derive(Debug)]
pub enum JudgeError {
    /// A topic filter in `match` is invalid.
    Filter {
        contract: String,
        filter: String,
        error: BadFilter,
    },
    /// A filter in `match` is for a shared subscription, which cannot be published to.
    Shared { contract: String, filter: String },
}

/// A contract that binds no message: it names an entry that messages do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    pub contract: String,
    pub entry: String,
}

/// Whether a gateway can enforce these contracts.
pub fn check(contracts: &Contracts) -> Result<(), JudgeError> {
    let mut all = contracts.as_slice().iter();
    all.try_for_each(|contract| filters_of(contract).try_for_each(|filter| filter.map(drop)))
}

pub(crate) fn idle(contracts: &Contracts) -> Vec<Idle> {
    let strange = |contract: &Contract| {
        let entry = entries_of(contract).find(|entry| !is_known(entry))?;
        let (contract, entry) = (contract.id.clone(), entry.to_owned());
        Some(Idle { contract, entry })
    };
    contracts.as_slice().iter().filter_map(strange).collect()
}

#[derive(Debug, Default)]
pub(super) struct Lens {
    /// The node of the contracts; the weak reference keeps its address from being reused.
    node: Weak<Node>,
    filters: Filters,
    /// The text of each filter, by its index.
    texts: Vec<Box<str>>,
    /// Names of user properties that contracts name, with the names of their entries.
    properties: BTreeMap<Box<str>, Box<str>>,
    /// Whether a contract is shared with other nodes, on another clock.
    is_together: bool,
}

impl Lens {
    /// Invalid filters match nothing; [`check`] finds them.
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

    /// Whether messages can be decided as of their arrival.
    pub(super) const fn knows_earlier(&self) -> bool {
        !self.is_together
    }

    pub(super) fn is_of(&self, node: &Arc<Node>) -> bool {
        std::ptr::eq(self.node.as_ptr(), Arc::as_ptr(node))
    }

    /// The entries of a message; if a name occurs twice, the first is counted.
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
