//! Contracts as they bind messages: the entries of a PUBLISH, and what is decided about it.
//!
//! A message has the entries `topic`, `client`, `user`, `ip` and `property.NAME`. Values of `match` under `topic` may be topic
//! filters: no topic has a wildcard in its name, so that a message simply has one more `topic` entry for every filter of the
//! contracts that matches it, behind the one by which it is counted. Not here: sockets, packets, waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use tollgate_client::{Limiter, LimiterConfig, LimiterError, SystemClock};
use tollgate_contract::{Contract, Contracts};
use tollgate_limit::Verdict;
use tollgate_mqtt::{BadFilter, Filter, Filters, PublishHead};
use tollgate_node::{Receipt, RefusedBy};

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
    /// The limiter does not take them.
    Limiter(LimiterError),
}

/// A contract that binds no message: it asks for an entry that messages do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The contract.
    pub contract: String,
    /// The entry.
    pub entry: String,
}

/// Who sends, as the broker let it in.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) client: String,
    pub(crate) user: Option<String>,
    pub(crate) ip: String,
}

impl Sender {
    pub(crate) fn new(client: &str, user: Option<&str>, ip: IpAddr) -> Self {
        Self {
            client: client.to_owned(),
            user: user.map(str::to_owned),
            // Whoever comes over IPv4 is the same on a socket for both.
            ip: ip.to_canonical().to_string(),
        }
    }
}

/// Decides about messages.
#[derive(Debug)]
pub(crate) struct Judge {
    limiter: Limiter,
    filters: Filters,
    /// The text of each filter, by its place.
    texts: Vec<Box<str>>,
    /// Names of user properties that contracts ask for, with the names of their entries.
    properties: BTreeMap<Box<str>, Box<str>>,
}

/// What is decided about a message.
#[derive(Debug)]
pub(crate) enum Ruling<'j> {
    /// It passes.
    Pass,
    /// It passes after a wait.
    Wait(Duration, Held<'j>),
    /// It does not pass, in the name of that policy, by place, where it was one.
    Refuse(Option<(usize, usize)>),
}

/// What a message that waits was charged; given back where it never passes.
#[derive(Debug)]
pub(crate) struct Held<'j> {
    judge: &'j Judge,
    receipt: Receipt,
}

impl Held<'_> {
    /// The message has passed.
    pub(crate) fn keep(mut self) {
        self.receipt = Receipt::Nothing;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.judge.limiter.settle(&self.receipt, 0);
    }
}

impl Judge {
    pub(crate) fn new(contracts: Contracts) -> Result<Self, JudgeError> {
        let (mut filters, mut texts) = (Filters::default(), Vec::new());
        let mut properties = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for contract in contracts.as_slice() {
            for filter in filters_of(contract)? {
                if seen.insert(filter.as_str().to_owned()) {
                    filters.add(&filter);
                    texts.push(filter.as_str().into());
                }
            }
            for entry in entries_of(contract) {
                if let Some(name) = entry.strip_prefix(PROPERTY) {
                    properties.insert(name.into(), entry.into());
                }
            }
        }
        let config = LimiterConfig::default();
        let limiter = Limiter::with(contracts, config, SystemClock::new());
        Ok(Self {
            limiter: limiter.map_err(JudgeError::Limiter)?,
            filters,
            texts,
            properties,
        })
    }

    pub(crate) fn contracts(&self) -> &[Contract] {
        self.limiter.node().contracts().as_slice()
    }

    /// Contracts that bind no message.
    pub(crate) fn idle(&self) -> Vec<Idle> {
        let strange = |contract: &Contract| {
            let entry = entries_of(contract).find(|entry| !is_known(entry))?;
            let (contract, entry) = (contract.id.clone(), entry.to_owned());
            Some(Idle { contract, entry })
        };
        self.contracts().iter().filter_map(strange).collect()
    }

    /// Decides about one message; one that would wait longer than that is refused.
    pub(crate) fn rule(
        &self,
        sender: &Sender,
        topic: &str,
        head: &PublishHead<'_>,
        wait_max: Duration,
    ) -> Ruling<'_> {
        let entries = self.entries(sender, topic, head);
        let answer = self.limiter.check(entries.as_slice(), 1);
        let refused_by = match answer.refused_by {
            Some(RefusedBy::Policy { contract, policy }) => Some((contract, policy)),
            Some(RefusedBy::FullTable) | None => None,
        };
        match answer.verdict {
            Verdict::Allow => Ruling::Pass,
            Verdict::Deny { .. } | Verdict::Never => Ruling::Refuse(refused_by),
            Verdict::Delay { wait } => {
                let receipt = answer.receipt;
                let charge = Held {
                    judge: self,
                    receipt,
                };
                let wait = Duration::from(wait);
                if wait > wait_max {
                    Ruling::Refuse(answer.contract.map(|contract| (contract, answer.policy)))
                } else {
                    Ruling::Wait(wait, charge)
                }
            }
        }
    }

    /// The entries of a message; where a name comes twice, the first is counted by.
    fn entries<'a>(
        &'a self,
        sender: &'a Sender,
        topic: &'a str,
        head: &PublishHead<'a>,
    ) -> Vec<(&'a str, &'a str)> {
        let mut entries = vec![(TOPIC, topic), (CLIENT, &*sender.client), (IP, &*sender.ip)];
        entries.extend(sender.user.as_deref().map(|user| (USER, user)));
        self.filters
            .matching(topic, |place| entries.push((TOPIC, &self.texts[place])));
        if !self.properties.is_empty() {
            for (name, value) in head.properties.user() {
                if let Some(entry) = self.properties.get(name)
                    && !entries.iter().any(|(known, _)| *known == &**entry)
                {
                    entries.push((entry, value));
                }
            }
        }
        entries
    }
}

/// The topic filters that a contract asks for.
fn filters_of(contract: &Contract) -> Result<Vec<Filter>, JudgeError> {
    let wanted = contract.matches.iter().filter(|(key, _)| key == TOPIC);
    let wild = wanted.filter(|(_, value)| value != ANY && value.contains(['+', '#']));
    let filter = |(_, text): &(String, String)| {
        let (contract, filter) = (contract.id.clone(), text.clone());
        match Filter::parse(text) {
            Ok(filter) if filter.share().is_none() => Ok(filter),
            Ok(_) => Err(JudgeError::Shared { contract, filter }),
            Err(error) => Err(JudgeError::Filter {
                contract,
                filter,
                error,
            }),
        }
    };
    wild.map(filter).collect()
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
            Self::Limiter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JudgeError {}

#[cfg(test)]
mod tests;
