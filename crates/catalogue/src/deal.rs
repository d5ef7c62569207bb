//! Whether contracts and plans allow an assignment.
//!
//! Policies may differ by key, as long as a key is counted in the same place as the others of its contract. An error
//! says what to do instead.

use std::collections::BTreeSet;

use serde::Serialize;
use tollgate_contract::file::{Place, Problem, Problems, RawPolicies, Text, hint, quote, read};
use tollgate_contract::{
    Contract, Coordination, Deal, Decider, ErrorKind, Feature, NamedPolicy, Recovery, Terms,
};

use crate::Document;
use crate::assignment::Assignment;
use crate::catalogue::Catalogue;
use crate::change::check_size;
use crate::refusal::Refusal;

/// The part of an assignment that plans and contracts must allow: many assignments share one shape.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AssignmentShape {
    pub plan: Option<String>,
    /// The name of the identity's entry.
    pub entry: String,
    /// Set if it is about one contract only.
    pub contract: Option<String>,
    pub overrides: Option<String>,
}

impl Catalogue {
    /// Reads and checks an assignment. Returns it, and the document to store.
    pub fn assignment(&self, text: &str) -> Result<(Assignment, Document), Refusal> {
        self.assignment_but_for(text, |_| false)
    }

    /// The same; shapes that are known to be valid are not checked again.
    pub fn assignment_but_for(
        &self,
        text: &str,
        suits: impl Fn(&AssignmentShape) -> bool,
    ) -> Result<(Assignment, Document), Refusal> {
        check_size(text)?;
        let mut problems = Problems::default();
        let parsed = Assignment::parse(text, &mut problems).map_err(Refusal::Invalid)?;
        if let Some((assignment, _)) = &parsed
            && problems.is_empty()
        {
            let (entry, contract) = (assignment.identity.entry(), assignment.contract.as_deref());
            let (shape, then) = assignment.shapes();
            let now = Some((&assignment.deal, &shape));
            let after = assignment.then.as_ref().zip(then.as_ref());
            let asked = now
                .into_iter()
                .chain(after)
                .filter(|(_, shape)| !suits(shape));
            for (deal, _) in asked {
                self.check_deal(entry, contract, deal, &mut problems);
            }
        }
        match parsed {
            Some(parsed) if problems.is_empty() => Ok(parsed),
            _ => Err(Refusal::Invalid(problems.into_errors(text))),
        }
    }

    /// The error says why assignments of that shape are invalid.
    pub fn suits(&self, shape: &AssignmentShape) -> Result<(), String> {
        let mut problems = Problems::default();
        let overrides = shape.overrides.as_deref().unwrap_or("[]");
        let overrides: RawPolicies = read(overrides).map_err(|errors| errors.to_string())?;
        let place = Place::default();
        let plan = shape.plan.as_ref().map(|plan| Text {
            value: plan.as_str().into(),
            place,
            plain: false,
        });
        let deal = Deal::new(plan, &overrides, place, &mut problems);
        let contract = shape.contract.as_deref();
        self.check_deal(&shape.entry, contract, &deal, &mut problems);
        let told: Vec<&str> = problems.messages().collect();
        if told.is_empty() {
            Ok(())
        } else {
            Err(told.join("; "))
        }
    }

    /// Checks a deal in every contract that it is about.
    fn check_deal(&self, entry: &str, only: Option<&str>, deal: &Deal, problems: &mut Problems) {
        let mut names: BTreeSet<String> = BTreeSet::new();
        if let Some(plan) = deal.plan() {
            if !self.plans().has(&plan.value) {
                return problems.add(self.unknown_plan(plan));
            }
            names.extend(self.plans().policy_names(&plan.value));
        }
        if let Some(only) = only
            && !self.has_contract(only)
        {
            return problems.add(self.unknown_contract(only, deal.place()));
        }
        let mut is_somewhere = false;
        for contract in self.contracts_for(entry, only) {
            is_somewhere = true;
            names.extend(contract.policies.iter().map(|named| named.name.clone()));
            if let Some(terms) = contract.terms(self.plans(), deal, problems) {
                check_changes(contract, &terms, deal, problems);
            }
        }
        if !is_somewhere && (only.is_some() || deal.plan().is_none()) {
            let what = match only {
                Some(id) => format!(
                    "the contract {} does not count by {}",
                    quote(id),
                    quote(entry)
                ),
                None => format!("no contract that follows a plan counts by {}", quote(entry)),
            };
            problems.add(Problem::new(ErrorKind::Conflict, deal.place(), what));
            return;
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        for (name, place) in deal.overridden().filter(|(name, _)| !names.contains(*name)) {
            let what = format!("unknown policy {}{}", quote(name), hint(name, &known));
            problems.add(Problem::new(ErrorKind::UnknownName, place, what));
        }
    }

    /// The contracts that an assignment is about.
    fn contracts_for<'a>(
        &'a self,
        entry: &'a str,
        only: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Contract> {
        self.contracts().filter(move |contract| {
            is_about(contract, only) && contract.key.iter().any(|key| key == entry)
        })
    }
}

/// Whether an assignment for that contract alone, or for any contract, is about this one.
pub(crate) fn is_about(contract: &Contract, only: Option<&str>) -> bool {
    match only {
        Some(only) => contract.id == only,
        None => contract.plan.is_some(),
    }
}

/// Refuses terms for keys of a contract that has no plan, and terms that would be counted in another place than the
/// contract.
pub(crate) fn check_changes(
    contract: &Contract,
    terms: &Terms,
    deal: &Deal,
    problems: &mut Problems,
) {
    if contract.policies == terms.policies {
        return;
    }
    let id = quote(&contract.id);
    let mut policies = contract.policies.iter().chain(&terms.policies);
    let wanted = match deal.plan() {
        Some(_) => Feature::Plan,
        None => Feature::Overrides,
    };
    let lacking = |named: &NamedPolicy| named.coordination.does(wanted).err();
    let shared = policies.find_map(|named| Some((named, lacking(named)?)));
    let (who, what) = if let Some((named, why)) = shared {
        let (policy, name) = (quote(&named.name), named.coordination.name());
        let what =
            format!("the policy {policy} of the contract {id} has `coordination: {name}`: {why}");
        (Some(named), what)
    } else if contract.plan.is_none() {
        let what = format!(
            "the contract {id} follows no plan, so that all its keys have its policies; let it follow one"
        );
        (None, what)
    } else if let Some(other) = moved(contract, terms).or_else(|| written(contract, terms)) {
        other
    } else {
        return;
    };
    let own = |(name, _): &(&str, Place)| who.is_some_and(|who| who.name == *name);
    let place = deal.overridden().find(own);
    let place = place.map_or(deal.place(), |(_, place)| place);
    problems.add(Problem::new(ErrorKind::Conflict, place, what));
}

/// The error of terms that would be counted, or stored, in another place than the keys of the contract.
fn moved<'t>(contract: &Contract, terms: &'t Terms) -> Option<(Option<&'t NamedPolicy>, String)> {
    let id = quote(&contract.id);
    let (is, would) = (counted_by(&contract.policies), counted_by(&terms.policies));
    if is != would {
        let mut policies = terms.policies.iter();
        let who = policies.find(|named| named.coordination != is);
        let what = format!(
            "the contract {id} is counted by `coordination: {}`, and would be by `{}` for these keys; say `coordination` in the \
             contract and not in its plans, or the same in all of them",
            is.name(),
            would.name()
        );
        return Some((who, what));
    }
    let is_kept = contract.policies.iter().any(|named| named.durable);
    let kept = terms.policies.iter().find(|named| named.durable);
    let kept = kept.filter(|_| !is_kept)?;
    let what = format!(
        "the policy {} would be durable for these keys, and no policy of the contract {id} is; make one of those durable, or this \
         one not",
        quote(&kept.name)
    );
    Some((Some(kept), what))
}

/// The error of terms for keys whose counts replicas on all nodes write, or a ledger has.
fn written<'t>(
    contract: &'t Contract,
    terms: &'t Terms,
) -> Option<(Option<&'t NamedPolicy>, String)> {
    let is_written = |named: &&NamedPolicy| {
        let by_all = named.coordination.row().decider == Decider::Each;
        named.durable && (by_all || named.recovery() == Recovery::Ledger)
    };
    let who = contract
        .policies
        .iter()
        .chain(&terms.policies)
        .find(is_written)?;
    let what = format!(
        "the policy {} of the contract {} is durable, and its counts are kept with the numbers that all keys share; use \
         `coordination: owner`, or leave `durable` out",
        quote(&who.name),
        quote(&contract.id)
    );
    Some((Some(who), what))
}

/// The coordination of a contract: the first in this order that one of its policies has.
fn counted_by(policies: &[NamedPolicy]) -> Coordination {
    let has = |coordination| {
        let mut policies = policies.iter();
        policies.any(|named| named.coordination == coordination)
    };
    let others = Coordination::ALL.into_iter();
    let others = others.filter(|is| *is != Coordination::Local);
    let elsewhere = [Coordination::Store].into_iter().chain(others);
    let elsewhere = { elsewhere }.find(|is| has(*is));
    elsewhere.unwrap_or(Coordination::Local)
}
