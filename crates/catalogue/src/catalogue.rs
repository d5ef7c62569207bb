//! The contracts and plans at one moment, and the rules for changing them.
//!
//! Not here: assignments, of which there may be millions; the storage asks [`Catalogue::suits`] about their shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_contract::file::{Place, Problem, Problems, RawContract, RawPlan, Text, hint, quote};
use tollgate_contract::{
    CONTRACTS_MAX, Contract, ContractErrors, Contracts, ErrorKind, PLANS_MAX, POLICIES_TOTAL_MAX,
    Plans,
};

use crate::Document;
use crate::ban::check_names;
use crate::change::{Kind, check_size};
use crate::refusal::{Refusal, SHOWN_MAX};

/// Contracts and plans that are consistent.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    contracts: BTreeMap<String, Arc<Contract>>,
    plans: Plans,
}

/// The assignments that a change may break: those whose shape has one of the plans, or that are about one of the
/// contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// The changed plan, and those that follow it.
    pub plans: Vec<String>,
    /// Changed contracts.
    pub contracts: Vec<String>,
    /// The entries that those count by, before or after the change.
    pub entries: Vec<String>,
}

impl Catalogue {
    /// Reads documents that were checked before, plans first. The error is the kind and id of the first invalid
    /// document.
    pub fn load<'a>(
        plans: impl IntoIterator<Item = (&'a str, &'a str)>,
        contracts: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, (Kind, String, Refusal)> {
        let mut all = Self::default();
        let mut waiting: Vec<(&str, &str)> = plans.into_iter().collect();
        // A plan is put when the one that it follows exists; every round puts at least one.
        while !waiting.is_empty() {
            let mut left = Vec::new();
            let mut first = None;
            let before = waiting.len();
            for (id, text) in waiting {
                if let Err(errors) = all.plans.put(text) {
                    first.get_or_insert((Kind::Plan, id.to_owned(), Refusal::Invalid(errors)));
                    left.push((id, text));
                }
            }
            match first {
                Some(first) if left.len() == before => return Err(first),
                _ => waiting = left,
            }
        }
        for (id, text) in contracts {
            let read = Contract::read(text, &all.plans);
            let (contract, _) =
                read.map_err(|errors| (Kind::Contract, id.to_owned(), Refusal::Invalid(errors)))?;
            all.contracts
                .insert(contract.id.clone(), Arc::new(contract));
        }
        Ok(all)
    }

    pub fn of(contracts: &Contracts) -> Self {
        let list = contracts.as_slice().iter();
        Self {
            contracts: list
                .map(|contract| (contract.id.clone(), Arc::new(contract.clone())))
                .collect(),
            plans: contracts.plans().clone(),
        }
    }

    pub fn contracts(&self) -> impl Iterator<Item = &Contract> {
        self.contracts.values().map(|contract| &**contract)
    }

    pub fn contract(&self, id: &str) -> Option<&Contract> {
        self.contracts.get(id).map(|contract| &**contract)
    }

    pub fn has_contract(&self, id: &str) -> bool {
        self.contracts.contains_key(id)
    }

    pub const fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The contracts as a node uses them, ordered by id.
    pub fn compiled(&self) -> Contracts {
        Contracts::following(self.contracts().cloned().collect(), self.plans.clone())
    }

    /// Adds or replaces a contract or plan. Returns the document to store, and the assignments that may conflict.
    pub fn put(
        &mut self,
        kind: Kind,
        id: &str,
        text: &str,
    ) -> Result<(Document, Affected), Refusal> {
        check_size(text)?;
        match kind {
            Kind::Contract => self.put_contract(id, text),
            Kind::Plan => self.put_plan(id, text),
            Kind::Assignment | Kind::Import | Kind::Ban => Err(not_here(kind)),
        }
    }

    /// Returns the assignments that may conflict.
    pub fn remove(&mut self, kind: Kind, id: &str) -> Result<Affected, Refusal> {
        let none = || Refusal::NotFound(kind, id.to_owned());
        match kind {
            Kind::Contract => {
                let contract = self.contracts.remove(id).ok_or_else(none)?;
                Ok(Affected {
                    plans: Vec::new(),
                    contracts: vec![id.to_owned()],
                    entries: contract.key.clone(),
                })
            }
            Kind::Plan => {
                if !self.plans.has(id) {
                    return Err(none());
                }
                self.check_unused(id)?;
                self.plans.remove(id);
                Ok(Affected {
                    plans: vec![id.to_owned()],
                    ..Affected::default()
                })
            }
            Kind::Assignment | Kind::Import | Kind::Ban => Err(not_here(kind)),
        }
    }

    fn put_contract(&mut self, id: &str, text: &str) -> Result<(Document, Affected), Refusal> {
        let read = Contract::read(text, &self.plans).map_err(Refusal::Invalid);
        let (contract, raw) = read?;
        check_id(&contract.id, id)?;
        check_names(contract.policies.iter().map(|named| &*named.name))?;
        let mut entries = contract.key.clone();
        let policies = contract.policies.len();
        let before = self.contracts.insert(id.to_owned(), Arc::new(contract));
        entries.extend(before.iter().flat_map(|before| before.key.clone()));
        entries.sort();
        entries.dedup();
        let all: usize = self
            .contracts()
            .map(|contract| contract.policies.len())
            .sum();
        if self.contracts.len() > CONTRACTS_MAX || (policies > 0 && all > POLICIES_TOTAL_MAX) {
            match before {
                Some(before) => self.contracts.insert(id.to_owned(), before),
                None => self.contracts.remove(id),
            };
            let what = format!(
                "there are at most {CONTRACTS_MAX} contracts with {POLICIES_TOTAL_MAX} policies"
            );
            return Err(Refusal::Wrong(what));
        }
        let affected = Affected {
            plans: Vec::new(),
            contracts: vec![id.to_owned()],
            entries,
        };
        Ok((document(&raw), affected))
    }

    fn put_plan(&mut self, id: &str, text: &str) -> Result<(Document, Affected), Refusal> {
        let mut plans = self.plans.clone();
        let raw = plans.put(text).map_err(Refusal::Invalid)?;
        check_id(raw.id(), id)?;
        check_names(plans.policy_names(id).iter().map(|name| &**name))?;
        if plans.len() > PLANS_MAX {
            return Err(Refusal::Wrong(format!(
                "there are at most {PLANS_MAX} plans"
            )));
        }
        let family: Vec<String> = plans.family(id).into_iter().map(str::to_owned).collect();
        let mut broken = Broken::default();
        for plan in &family {
            broken.add("plan", plan, &plans.recheck(plan));
        }
        let mut renewed = Vec::new();
        let follows = |contract: &&Contract| {
            contract
                .plan
                .as_ref()
                .is_some_and(|plan| family.contains(plan))
        };
        for contract in self.contracts().filter(follows) {
            match contract.renewed(&plans) {
                Ok(contract) => renewed.push(contract),
                Err(problems) => broken.add("contract", &contract.id, &problems),
            }
        }
        broken.none()?;
        let mut affected = Affected {
            plans: family,
            ..Affected::default()
        };
        for contract in renewed {
            affected.entries.extend(contract.key.clone());
            affected.contracts.push(contract.id.clone());
            self.contracts
                .insert(contract.id.clone(), Arc::new(contract));
        }
        affected.entries.sort();
        affected.entries.dedup();
        self.plans = plans;
        Ok((document(&raw), affected))
    }

    fn check_unused(&self, id: &str) -> Result<(), Refusal> {
        let plans = self
            .plans
            .names()
            .filter(|name| self.plans.follows(name) == Some(id));
        let plans = plans.map(|name| format!("plan {}", quote(name)));
        let contracts = self
            .contracts()
            .filter(|contract| contract.plan.as_deref() == Some(id));
        let contracts = contracts.map(|contract| format!("contract {}", quote(&contract.id)));
        let users: Vec<String> = plans.chain(contracts).collect();
        if users.is_empty() {
            return Ok(());
        }
        Err(Refusal::InUse {
            count: users.len().try_into().unwrap_or(u64::MAX),
            first: users.into_iter().take(SHOWN_MAX).collect(),
        })
    }

    pub(crate) fn unknown_plan(&self, name: &Text) -> Problem {
        let known: Vec<&str> = self.plans.names().collect();
        let what = format!(
            "unknown plan {}{}",
            quote(&name.value),
            hint(&name.value, &known)
        );
        Problem::new(ErrorKind::UnknownName, name.place, what)
    }

    pub(crate) fn unknown_contract(&self, name: &str, place: Place) -> Problem {
        let known: Vec<&str> = self.contracts.keys().map(String::as_str).collect();
        let what = format!("unknown contract {}{}", quote(name), hint(name, &known));
        Problem::new(ErrorKind::UnknownName, place, what)
    }
}

/// The documents of a contract file, in an order in which they can be put one by one: each plan after the one it
/// follows, then the contracts.
pub fn documents(text: &str) -> Result<Vec<(Kind, String, Document)>, ContractErrors> {
    let (plans, contracts) = Contracts::typed(text)?;
    Ok(in_order(&plans, &contracts))
}

/// The same of a file that holds more than contracts.
pub fn documents_within(text: &str) -> Result<Vec<(Kind, String, Document)>, ContractErrors> {
    let (plans, contracts) = Contracts::typed_within(text)?;
    Ok(in_order(&plans, &contracts))
}

fn in_order(plans: &[RawPlan], contracts: &[RawContract]) -> Vec<(Kind, String, Document)> {
    let by_id: BTreeMap<&str, &RawPlan> = plans.iter().map(|plan| (plan.id(), plan)).collect();
    let depth = |plan: &&RawPlan| {
        let next = |id: &&str| by_id.get(*id).and_then(|plan| plan.follows());
        core::iter::successors(plan.follows(), next).count()
    };
    let mut plans: Vec<&RawPlan> = plans.iter().collect();
    plans.sort_by_key(depth);
    let plans = plans
        .into_iter()
        .map(|plan| (Kind::Plan, plan.id().to_owned(), document(plan)));
    let contracts = contracts.iter();
    let contracts = contracts.map(|raw| (Kind::Contract, raw.id().to_owned(), document(raw)));
    plans.chain(contracts).collect()
}

/// What a change would break: all counted, a few named.
#[derive(Default)]
struct Broken {
    count: u64,
    first: Vec<String>,
}

impl Broken {
    fn add(&mut self, what: &str, id: &str, problems: &Problems) {
        let Some(why) = problems.messages().next() else {
            return;
        };
        self.count += 1;
        if self.first.len() < SHOWN_MAX {
            self.first.push(format!("{what} {}: {why}", quote(id)));
        }
    }

    fn none(self) -> Result<(), Refusal> {
        match self {
            Self { count: 0, .. } => Ok(()),
            Self { count, first } => Err(Refusal::Breaks { count, first }),
        }
    }
}

fn check_id(is: &str, asked: &str) -> Result<(), Refusal> {
    if is == asked {
        return Ok(());
    }
    let what = format!(
        "the document has the id {}, but {} is asked for; an id never changes",
        quote(is),
        quote(asked)
    );
    Err(Refusal::Wrong(what))
}

fn not_here(kind: Kind) -> Refusal {
    Refusal::Wrong(format!(
        "a catalogue has contracts and plans, no {}",
        kind.name()
    ))
}

/// Strings, numbers and booleans under string keys: this cannot fail.
fn document(raw: &impl serde::Serialize) -> Document {
    serde_json::to_value(raw).unwrap_or_default()
}
