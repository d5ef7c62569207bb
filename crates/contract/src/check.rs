//! From the file as typed to contracts that make sense, or everything found wrong with it.

use std::collections::BTreeMap;

use tollgate_limit::PolicySet;

use crate::contract::{Contract, NamedPolicy, can_all_be_kept, says_ledger};
use crate::contracts::Unmatched;
use crate::dialect::Dialect;
use crate::error::{ContractErrors, ErrorKind};
use crate::merge::{Given, check_names, overlaid};
use crate::modes::Coordination;
use crate::plans::{self, Plans};
use crate::policy::{self, Inherited};
use crate::problems::{Problem, Problems};
use crate::raw::{RawContract, RawFile, RawPlan, RawPlans, RawPolicies};
use crate::scalar;
use crate::snippet::{Place, quote};
use crate::source::PolicySource;
use crate::text::{Text, YamlNode};
use crate::{ENTRIES_MAX, POLICIES_TOTAL_MAX};

/// What a file says of keys that no contract binds.
pub(crate) fn unmatched(raw: &RawFile, text: &str) -> Result<Option<Unmatched>, ContractErrors> {
    let Some(typed) = &raw.unmatched else {
        return Ok(None);
    };
    let place = scalar::choice(
        typed,
        "unknown word for keys that no contract binds",
        &Unmatched::NAMES,
    );
    let place = place.map_err(|problem| problem.alone(text))?;
    Ok(Unmatched::ALL.get(place).copied())
}

/// Checks a whole file; `text` is what it was read from.
pub(crate) fn check(raw: &RawFile, text: &str) -> Result<(Vec<Contract>, Plans), ContractErrors> {
    let mut problems = Problems::default();
    let typed = check_plans(&raw.plans, &mut problems);
    let listed = match &raw.contracts {
        None => return Err(no_contracts(text).alone(text)),
        Some(list) if list.value.0.is_empty() => {
            let what = "the list of contracts is empty; a contract file has at least one";
            problems.add(Problem::new(ErrorKind::Missing, list.place, what));
            &[][..]
        }
        Some(list) => &list.value.0,
    };
    let mut ids = BTreeMap::new();
    let mut contracts = Vec::with_capacity(listed.len());
    let mut policies = 0;
    for raw in listed {
        check_unique("contract", &raw.value.id, &mut ids, &mut problems);
        let plan = |name: &Text, problems: &mut Problems| typed.named(name, problems);
        let contract = check_contract(raw, plan, &mut problems);
        policies += contract
            .as_ref()
            .map_or(0, |contract| contract.policies.len());
        contracts.extend(contract);
        if policies > POLICIES_TOTAL_MAX {
            let what = format!("more than {POLICIES_TOTAL_MAX} policies in all contracts together");
            problems.add(Problem::new(ErrorKind::TooLarge, raw.place, what));
            break;
        }
        if problems.is_hopeless() {
            break;
        }
    }
    if problems.is_empty() {
        Ok((contracts, typed.plans))
    } else {
        Err(problems.into_errors(text))
    }
}

fn no_contracts(text: &str) -> Problem {
    let is_blank = |line: &str| line.is_empty() || line.starts_with('#') || line == "---";
    let blank = text
        .trim_start_matches('\u{FEFF}')
        .lines()
        .map(str::trim)
        .all(is_blank);
    let what = if blank {
        "the file is empty; a contract file begins with `contracts:`"
    } else {
        "the field `contracts` is missing; it lists the contracts"
    };
    Problem::new(
        ErrorKind::Missing,
        Place {
            line: 1,
            column: 1,
            width: 1,
        },
        what,
    )
}

/// The plans of a file, with the places of what they say.
struct Typed<'a> {
    plans: Plans,
    own: BTreeMap<&'a str, Vec<Given>>,
}

impl Typed<'_> {
    /// A plan's policies, with those of the plans it follows.
    fn resolved(&self, id: &str) -> Option<Vec<Given>> {
        self.plans.resolved_by(id, |id| self.own.get(id).cloned())
    }

    /// The policies of the plan that a contract follows.
    fn named(&self, name: &Text, problems: &mut Problems) -> Option<Vec<Given>> {
        if self.plans.is_empty() {
            let what = format!(
                "unknown plan {}; the file has no `plans`",
                quote(&name.value)
            );
            problems.add(Problem::new(ErrorKind::UnknownName, name.place, what));
        } else if !self.plans.has(&name.value) {
            problems.add(self.plans.unknown(&name.value, name.place));
        }
        self.resolved(&name.value)
    }
}

fn check_plans<'a>(raw: &'a RawPlans, problems: &mut Problems) -> Typed<'a> {
    let mut ids = BTreeMap::new();
    let mut typed = Typed {
        plans: Plans::default(),
        own: BTreeMap::new(),
    };
    for plan in &raw.0 {
        if problems.is_hopeless() {
            return typed;
        }
        check_unique("plan", &plan.id, &mut ids, problems);
        let own = check_plan(plan, problems);
        typed.own.entry(&plan.id.value).or_insert_with(|| {
            typed.plans.insert(plan, &own);
            own
        });
    }
    for plan in &raw.0 {
        if problems.is_hopeless() {
            break;
        }
        typed.plans.check_follows(plan, true, problems);
        if let Some(all) = typed.resolved(&plan.id.value) {
            plans::check_resolved(&all, plan.id.place, problems);
        }
    }
    typed
}

/// Checks what a plan says by itself.
pub(crate) fn check_plan(plan: &RawPlan, problems: &mut Problems) -> Vec<Given> {
    problems.keep(scalar::name(&plan.id, "the id"));
    let own = given(&plan.policies, problems);
    if own.is_empty() && plan.follows.is_none() {
        let what = format!("the plan {} has no policies", quote(&plan.id.value));
        problems.add(Problem::new(ErrorKind::Missing, plan.id.place, what));
    }
    own
}

/// The policies as given, each name once.
pub(crate) fn given(raw: &RawPolicies, problems: &mut Problems) -> Vec<Given> {
    let policies: Vec<Given> = raw
        .0
        .iter()
        .map(|policy| Given::of(policy, problems))
        .collect();
    check_names(&policies, problems);
    policies
}

fn check_unique<'a>(
    what: &str,
    id: &'a Text,
    lines: &mut BTreeMap<&'a str, u32>,
    problems: &mut Problems,
) {
    if let Some(line) = lines.get(&*id.value) {
        let what = format!(
            "there is already a {what} with the id {}, on line {line}",
            quote(&id.value)
        );
        problems.add(Problem::new(ErrorKind::Duplicate, id.place, what));
    } else {
        lines.insert(&id.value, id.place.line);
    }
}

/// Checks one contract; `plan` finds the policies of the plan it follows.
pub(crate) fn check_contract(
    raw: &YamlNode<RawContract>,
    plan: impl FnOnce(&Text, &mut Problems) -> Option<Vec<Given>>,
    problems: &mut Problems,
) -> Option<Contract> {
    let contract = &raw.value;
    let id = problems.keep(scalar::name(&contract.id, "the id"));
    let matches = check_matches(contract, problems);
    let key = check_key(contract, problems);
    let default = check_coordination(contract, problems);
    let headers = check_headers(contract, problems);
    let own = given(&contract.policies, problems);
    let source = PolicySource::of(&own, default);
    let all = match &contract.plan {
        None => own,
        Some(name) => overlaid(&plan(name, problems)?, &own),
    };
    if all.is_empty() && contract.plan.is_none() {
        let what = "a contract needs `policies`, or a `plan` that has some";
        problems.add(Problem::new(ErrorKind::Missing, raw.place, what));
    }
    let policies = check_policies(&all, default, raw.place, problems)?;
    let set = PolicySet::new(policies.iter().map(|named| named.policy.clone()).collect()).ok()?;
    Some(Contract {
        id: id?,
        matches,
        key,
        headers,
        plan: contract.plan.as_ref().map(|plan| plan.value.to_string()),
        policies,
        set,
        source: Some(source),
    })
}

/// Checks policies as they came together; `None` when something is wrong with one of them.
pub(crate) fn check_policies(
    all: &[Given],
    default: Inherited,
    place: Place,
    problems: &mut Problems,
) -> Option<Vec<NamedPolicy>> {
    plans::check_count(all.len(), place, problems);
    let policies: Vec<_> = all
        .iter()
        .filter_map(|given| policy::check(given, default, problems))
        .collect();
    if says_ledger(&policies) && !can_all_be_kept(&policies) && policies.len() == all.len() {
        let what = "`recovery: ledger` keeps all policies of a contract together, and one of them cannot be lent; put that one \
                    into a contract of its own";
        problems.add(Problem::new(ErrorKind::Conflict, place, what));
        return None;
    }
    (policies.len() == all.len()).then_some(policies)
}

fn check_matches(raw: &RawContract, problems: &mut Problems) -> Vec<(String, String)> {
    let mut matches = Vec::new();
    for (index, (key, value)) in raw.matches.0.iter().enumerate() {
        if index == ENTRIES_MAX {
            let what = format!("more entries to match than {ENTRIES_MAX}");
            problems.add(Problem::new(ErrorKind::TooLarge, key.place, what));
            break;
        }
        let key = problems.keep(scalar::name(key, "the key of an entry"));
        let value = problems.keep(scalar::name(value, "the value of an entry"));
        matches.extend(key.zip(value));
    }
    matches.sort();
    matches
}

fn check_key(raw: &RawContract, problems: &mut Problems) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in &raw.key.0 {
        let Some(name) = problems.keep(scalar::name(key, "the key of an entry")) else {
            continue;
        };
        if names.contains(&name) {
            let what = format!("{} is already in the key", quote(&name));
            problems.add(Problem::new(ErrorKind::Duplicate, key.place, what));
        }
        names.push(name);
    }
    names
}

fn check_coordination(raw: &RawContract, problems: &mut Problems) -> Inherited {
    let chosen = raw.coordination.as_ref().and_then(|text| {
        let index = scalar::choice(text, "unknown coordination", &Coordination::NAMES);
        problems.keep(index)
    });
    Inherited {
        coordination: chosen.map_or(Coordination::default(), |index| Coordination::ALL[index]),
        place: raw.coordination.as_ref().map(|text| text.place),
        is_plan: false,
    }
}

fn check_headers(raw: &RawContract, problems: &mut Problems) -> Option<Dialect> {
    let text = raw.headers.as_ref()?;
    let index = scalar::choice(text, "unknown dialect of headers", &Dialect::NAMES);
    problems.keep(index).map(|index| Dialect::ALL[index])
}
