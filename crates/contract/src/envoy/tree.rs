//! The checked tree of descriptors, and the walk that finds a request's rule.

use std::collections::BTreeMap;

use tollgate_limit::{Policy, PolicySet};

use super::raw::Data;
use super::wildcard::Wildcard;
use crate::contract::{Contract, NamedPolicy};
use crate::entries::{CounterIdentity, Descriptor};

/// The domains of a descriptor file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvoyDomains {
    domains: Vec<EnvoyDomain>,
    /// Positions, by name.
    names: BTreeMap<String, usize>,
}

/// One domain: a tree of descriptors.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvoyDomain {
    pub(super) name: String,
    pub(super) root: Level,
    pub(super) rules: Vec<Rule>,
}

/// The descriptors under one descriptor, or at the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Level {
    /// Sorted by key and value; the value of a bare key is empty.
    pub(super) children: Vec<DescriptorNode>,
    /// Positions of the children with a star in their value, in file order.
    pub(super) wildcards: Vec<(Wildcard, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DescriptorNode {
    pub(super) key: Box<str>,
    pub(super) value: Box<str>,
    /// Position of its rule in the domain.
    pub(super) rule: Option<usize>,
    pub(super) below: Level,
}

/// A `rate_limit`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// `None` is unlimited.
    pub(super) limit: Option<RuleLimit>,
    pub(super) shadow: bool,
    pub(super) quota: bool,
    pub(super) replaces: Vec<String>,
    /// The key of each level, with its value or pattern where it has one.
    pub(super) path: Vec<(String, Option<String>)>,
    /// What stands for the value of each level, where all values share one counter.
    pub(super) shared: Vec<Option<Box<str>>>,
    pub(super) metadata: Option<Data>,
}

/// The policy of a rule, and its position among the contracts of all domains.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RuleLimit {
    pub(super) policy: Policy,
    pub(super) contract: usize,
}

impl EnvoyDomains {
    pub(super) fn new(domains: Vec<EnvoyDomain>) -> Self {
        let names = domains
            .iter()
            .enumerate()
            .map(|(at, domain)| (domain.name.clone(), at));
        Self {
            names: names.collect(),
            domains,
        }
    }

    /// The domains, in the order of the file.
    pub fn iter(&self) -> core::slice::Iter<'_, EnvoyDomain> {
        self.domains.iter()
    }

    /// The domain with that name.
    pub fn get(&self, name: &str) -> Option<&EnvoyDomain> {
        self.domains.get(*self.names.get(name)?)
    }

    /// The rule of the request's domain or, where it names none, of each domain.
    pub fn rules_for<'a>(
        &'a self,
        request: &Descriptor<'a>,
    ) -> impl Iterator<Item = EnvoyRule<'a>> + 'a {
        let entries = request.entries;
        let asked = match request.domain {
            Some(name) => self.get(name).map_or(&[][..], core::slice::from_ref),
            None => &self.domains,
        };
        asked
            .iter()
            .filter_map(move |domain| domain.rule_for(entries))
    }

    /// One contract for each rule that limits, by position.
    pub(crate) fn contracts(&self) -> Vec<Contract> {
        let rules = self.iter().flat_map(|domain| &domain.rules);
        rules.filter_map(Rule::contract).collect()
    }
}

impl<'a> IntoIterator for &'a EnvoyDomains {
    type Item = &'a EnvoyDomain;
    type IntoIter = core::slice::Iter<'a, EnvoyDomain>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl EnvoyDomain {
    /// Names the domain.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every rule that limits: the position of its contract, and the key of each level, behind it `_` and its value
    /// where it has one.
    pub fn limits(&self) -> impl Iterator<Item = (usize, Vec<String>)> + '_ {
        let joined = |(key, value): &(String, Option<String>)| match value {
            Some(value) => format!("{key}_{value}"),
            None => key.clone(),
        };
        let limited = self.rules.iter();
        limited.filter_map(move |rule| {
            let contract = rule.limit.as_ref()?.contract;
            Some((contract, rule.path.iter().map(joined).collect()))
        })
    }

    /// The rule that counts a request with these entries; without one it passes.
    pub fn rule_for<'a>(&'a self, entries: &'a [(&'a str, &'a str)]) -> Option<EnvoyRule<'a>> {
        let mut level = &self.root;
        let mut rule = None;
        for (key, value) in entries {
            let child = level.child(key, value)?;
            rule = child.rule;
            level = &child.below;
        }
        let rule = self.rules.get(rule?)?;
        Some(EnvoyRule { rule, entries })
    }
}

impl Level {
    fn child(&self, key: &str, value: &str) -> Option<&DescriptorNode> {
        let exact = if value.is_empty() {
            None
        } else {
            self.exact(key, value)
        };
        exact
            .or_else(|| self.wildcard(key, value))
            .or_else(|| self.exact(key, ""))
    }

    fn exact(&self, key: &str, value: &str) -> Option<&DescriptorNode> {
        let found = self
            .children
            .binary_search_by(|child| (&*child.key, &*child.value).cmp(&(key, value)));
        found.ok().and_then(|at| self.children.get(at))
    }

    fn wildcard(&self, key: &str, value: &str) -> Option<&DescriptorNode> {
        self.wildcards.iter().find_map(|(wildcard, at)| {
            let child = self.children.get(*at)?;
            (&*child.key == key && wildcard.matches(value)).then_some(child)
        })
    }
}

impl Rule {
    fn contract(&self) -> Option<Contract> {
        let policy = self.limit.as_ref()?.policy.clone();
        let fixed = self
            .path
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .filter(|(_, value)| !value.contains('*'));
        let mut matches: Vec<_> = fixed.collect();
        matches.sort();
        let name = self.name.clone().unwrap_or_else(|| UNNAMED.into());
        let named = NamedPolicy::plain(name, policy.clone());
        Some(Contract {
            id: self.id.clone(),
            matches,
            key: self.path.iter().map(|(key, _)| key.clone()).collect(),
            headers: None,
            plan: None,
            policies: vec![named],
            set: PolicySet::new(vec![policy]).ok()?,
            source: None,
        })
    }
}

/// The rule that counts a request.
#[derive(Clone, Copy, Debug)]
pub struct EnvoyRule<'a> {
    rule: &'a Rule,
    entries: &'a [(&'a str, &'a str)],
}

impl<'a> EnvoyRule<'a> {
    /// The rule's path: `domain/key_value/key`.
    pub fn id(&self) -> &'a str {
        &self.rule.id
    }

    /// Its name, where it has one.
    pub fn name(&self) -> Option<&'a str> {
        self.rule.name.as_deref()
    }

    /// The limit as a policy; `None` is unlimited.
    pub fn policy(&self) -> Option<&'a Policy> {
        self.rule.limit.as_ref().map(|limit| &limit.policy)
    }

    /// Position of its contract in [`crate::Contracts`]; an unlimited rule has none.
    pub fn contract(&self) -> Option<usize> {
        self.rule.limit.as_ref().map(|limit| limit.contract)
    }

    /// Whether it matches, and limits nothing.
    pub const fn is_unlimited(&self) -> bool {
        self.rule.limit.is_none()
    }

    /// Whether it counts without refusing.
    pub const fn is_shadow(&self) -> bool {
        self.rule.shadow
    }

    /// Whether a request is refused only when all its rules in quota mode refuse it.
    pub const fn is_quota(&self) -> bool {
        self.rule.quota
    }

    /// What the file says beside the rule.
    pub fn metadata(&self) -> Option<&'a Data> {
        self.rule.metadata.as_ref()
    }

    /// Names of rules that this one takes the place of, where both count the same request.
    pub fn replaces(&self) -> &'a [String] {
        &self.rule.replaces
    }

    /// The values that identify the counter, one for each entry.
    pub fn identity(&self) -> CounterIdentity<'a> {
        CounterIdentity::by_place(&self.rule.shared, self.entries)
    }

    /// The counter as a sequence of keys and values; with `share_threshold` the pattern stands for the value.
    pub fn counter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.entries
            .iter()
            .map(|(key, _)| *key)
            .zip(self.identity())
    }
}

/// The name of an imported policy that has none.
const UNNAMED: &str = "rate_limit";
