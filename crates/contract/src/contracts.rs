//! All contracts of a file, and which of them bind a request.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::check;
use crate::contract::Contract;
use crate::entries::{CounterIdentity, Descriptor};
use crate::envoy::{self, EnvoyDomains};
use crate::error::ContractErrors;
use crate::index::Index;
use crate::modes::Coordination;
use crate::plans::Plans;
use crate::raw::{RawContract, RawFile, RawPart, RawPlan};
use crate::yaml;

/// What becomes of a key that no contract binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unmatched {
    /// It passes.
    Allow,
    /// It passes, and is told of in the log.
    #[default]
    Warn,
    /// It is refused.
    Deny,
}

impl Unmatched {
    /// All of them, and their names in files.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Warn, Self::Deny];
    /// In the same order.
    pub const NAMES: [&'static str; 3] = ["allow", "warn", "deny"];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        let [allow, warn, deny] = Self::NAMES;
        match self {
            Self::Allow => allow,
            Self::Warn => warn,
            Self::Deny => deny,
        }
    }
}

/// The contracts of a file, in its order. A contract is known by its position.
#[derive(Clone, Debug, Default)]
pub struct Contracts {
    list: Vec<Contract>,
    rules: Rules,
    /// Positions, sorted by id.
    by_id: Vec<usize>,
    plans: Arc<Plans>,
    unmatched: Option<Unmatched>,
}

/// How the contracts that bind a request are found.
#[derive(Clone, Debug)]
enum Rules {
    /// Every contract that applies.
    Each(Index),
    /// At most one of each domain, found by walking its tree.
    Envoy(EnvoyDomains),
}

impl Default for Rules {
    fn default() -> Self {
        Self::Each(Index::default())
    }
}

impl Contracts {
    /// Reads a contract file: YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, ContractErrors> {
        let raw: RawFile = yaml::read(text)?;
        let unmatched = check::unmatched(&raw, text)?;
        let (contracts, plans) = check::check(&raw, text)?;
        Ok(Self {
            unmatched,
            ..Self::following(contracts, plans)
        })
    }

    /// Reads the contracts in a file that holds more than them: fields that are none of a contract file are passed
    /// over.
    pub fn parse_within(text: &str) -> Result<Self, ContractErrors> {
        let raw = RawFile::from(yaml::read::<RawPart>(text)?);
        let (contracts, plans) = check::check(&raw, text)?;
        Ok(Self::following(contracts, plans))
    }

    /// The plans and contracts of a contract file as they were typed, where nothing is wrong with it.
    pub fn typed(text: &str) -> Result<(Vec<RawPlan>, Vec<RawContract>), ContractErrors> {
        Self::as_typed(yaml::read(text)?, text)
    }

    /// The same of a file that holds more than contracts.
    pub fn typed_within(text: &str) -> Result<(Vec<RawPlan>, Vec<RawContract>), ContractErrors> {
        Self::as_typed(RawFile::from(yaml::read::<RawPart>(text)?), text)
    }

    fn as_typed(
        raw: RawFile,
        text: &str,
    ) -> Result<(Vec<RawPlan>, Vec<RawContract>), ContractErrors> {
        check::check(&raw, text)?;
        let contracts = raw.contracts.into_iter().flat_map(|list| list.value.0);
        let contracts = contracts.map(|contract| contract.value).collect();
        Ok((raw.plans.0, contracts))
    }

    /// Checked contracts, every one of which binds the requests it applies to, and the plans they follow.
    pub fn following(contracts: Vec<Contract>, plans: Plans) -> Self {
        Self {
            plans: Arc::new(plans),
            ..Self::of(contracts)
        }
    }

    pub(crate) fn of(contracts: Vec<Contract>) -> Self {
        let rules = Rules::Each(Index::of(&contracts));
        Self::with(contracts, rules)
    }

    fn with(contracts: Vec<Contract>, rules: Rules) -> Self {
        let mut by_id: Vec<_> = (0..contracts.len()).collect();
        let id = |position: &usize| contracts.get(*position).map(|contract| &*contract.id);
        by_id.sort_by_key(id);
        Self {
            list: contracts,
            rules,
            by_id,
            plans: Arc::default(),
            unmatched: None,
        }
    }

    /// What becomes of a key that none of them binds, where their file says so.
    pub const fn unmatched(&self) -> Option<Unmatched> {
        self.unmatched
    }

    /// The plans of the file.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// Reads a contract file from bytes that should be UTF-8.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, ContractErrors> {
        Self::parse(yaml::decode(bytes)?)
    }

    /// Reads a contract file or a descriptor file of envoyproxy/ratelimit, whichever the text is.
    pub fn parse_any(text: &str) -> Result<Self, ContractErrors> {
        Self::parse(text).or_else(|errors| {
            // A text that is neither is refused as a contract file.
            if is_envoy(text) {
                envoy::parse(text).map(Self::from)
            } else {
                Err(errors)
            }
        })
    }

    /// Like [`Self::parse_any`], from bytes that should be UTF-8.
    pub fn parse_any_bytes(bytes: &[u8]) -> Result<Self, ContractErrors> {
        Self::parse_any(yaml::decode(bytes)?)
    }

    /// How many contracts there are; their positions are below this.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no contract, so that nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The contracts, by position.
    pub fn as_slice(&self) -> &[Contract] {
        &self.list
    }

    /// Lets nodes agree otherwise about one policy of a contract; nothing where there is none.
    pub fn set_coordination(&mut self, contract: usize, policy: usize, to: Coordination) {
        let contract = self.list.get_mut(contract);
        if let Some(named) = contract.and_then(|contract| contract.policies.get_mut(policy)) {
            named.coordination = to;
        }
    }

    /// Lets nodes agree so about every imported rule. One that admits nothing is refused by each node alone.
    pub fn coordinate_imported(&mut self, to: Coordination) {
        if self.envoy().is_none() {
            return;
        }
        let policies = self.list.iter_mut().flat_map(|rule| &mut rule.policies);
        for named in policies.filter(|named| named.policy.capacity() > 0) {
            named.coordination = to;
        }
    }

    /// The contract at a position.
    pub fn get(&self, index: usize) -> Option<&Contract> {
        self.list.get(index)
    }

    /// The position of the contract with that id.
    pub fn position(&self, id: &str) -> Option<usize> {
        let id_at = |position: &usize| self.list.get(*position).map(|contract| &*contract.id);
        let found = self.by_id.binary_search_by_key(&Some(id), id_at);
        self.by_id.get(found.ok()?).copied()
    }

    /// Where the contracts were imported, what more their file says: names, replacements, unlimited rules.
    pub const fn envoy(&self) -> Option<&EnvoyDomains> {
        match &self.rules {
            Rules::Each(_) => None,
            Rules::Envoy(domains) => Some(domains),
        }
    }

    /// Calls `visit` with the position of every contract that binds the request and the values that identify its
    /// counter there, in the order of the file.
    pub fn bind<'a>(
        &'a self,
        request: &Descriptor<'a>,
        mut visit: impl FnMut(usize, CounterIdentity<'a>),
    ) {
        match &self.rules {
            Rules::Each(index) => {
                for (position, _, identity) in index.matching(&self.list, request.entries) {
                    visit(position, identity);
                }
            }
            Rules::Envoy(domains) => {
                for rule in domains.rules_for(request) {
                    if let Some(position) = rule.contract() {
                        visit(position, rule.identity());
                    }
                }
            }
        }
    }

    /// The contracts that bind the request with their positions, in the order of the file.
    pub fn matching<'a>(
        &'a self,
        request: &Descriptor<'a>,
    ) -> impl Iterator<Item = (usize, &'a Contract)> + 'a {
        let (each, imported) = match &self.rules {
            Rules::Each(index) => (Some(index.matching(&self.list, request.entries)), None),
            Rules::Envoy(domains) => (None, Some(domains.rules_for(request))),
        };
        let imported = imported.into_iter().flatten().filter_map(|rule| {
            let position = rule.contract()?;
            Some((position, self.list.get(position)?))
        });
        let each = each
            .into_iter()
            .flatten()
            .map(|(position, contract, _)| (position, contract));
        each.chain(imported)
    }
}

impl From<EnvoyDomains> for Contracts {
    fn from(domains: EnvoyDomains) -> Self {
        Self::with(domains.contracts(), Rules::Envoy(domains))
    }
}

/// Whether a text is a descriptor file, or would be one if it were readable.
fn is_envoy(text: &str) -> bool {
    if let Ok(documents) = yaml::read_all::<Probe>(text) {
        return documents.iter().any(Probe::is_envoy);
    }
    let has = |field: &str| text.lines().any(|line| line.starts_with(field));
    !has("contracts:") && (has("domain:") || has("descriptors:"))
}

/// Just enough of a document to tell the kinds of file apart.
#[derive(Deserialize)]
struct Probe {
    #[serde(default)]
    domain: Option<IgnoredAny>,
    #[serde(default)]
    descriptors: Option<IgnoredAny>,
    #[serde(default)]
    contracts: Option<IgnoredAny>,
}

impl Probe {
    fn is_envoy(&self) -> bool {
        self.contracts.is_none() && (self.domain.is_some() || self.descriptors.is_some())
    }
}
