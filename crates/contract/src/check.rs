//! From the file as typed to contracts that make sense, or everything found wrong with it.

use std::collections::BTreeMap;

use tollgate_limit::{POLICIES_MAX, PolicySet};

use crate::contract::{Contract, NamedPolicy};
use crate::coordination::{self, Coordination, Design};
use crate::dialect::Dialect;
use crate::error::{ContractErrors, ErrorKind};
use crate::merge::{Given, check_names, overlaid};
use crate::nearest::hint;
use crate::policy::{self, Inherited};
use crate::problems::{Problem, Problems};
use crate::raw::{RawContract, RawFile, RawPlans, RawPolicies};
use crate::scalar;
use crate::snippet::{Place, quote};
use crate::text::{Node, Text};
use crate::{ENTRIES_MAX, POLICIES_TOTAL_MAX};

/// Checks a whole file; `text` is what it was read from.
pub(crate) fn check(raw: &RawFile, text: &str) -> Result<Vec<Contract>, ContractErrors> {
    let mut problems = Problems::default();
    let plans = check_plans(&raw.plans, &mut problems);
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
        let contract = check_contract(raw, &plans, &mut problems);
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
        Ok(contracts)
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

type Plans<'a> = BTreeMap<&'a str, Vec<Given>>;

fn check_plans<'a>(raw: &'a RawPlans, problems: &mut Problems) -> Plans<'a> {
    let mut ids = BTreeMap::new();
    let mut plans = BTreeMap::new();
    for plan in &raw.0 {
        if problems.is_hopeless() {
            break;
        }
        check_unique("plan", &plan.id, &mut ids, problems);
        problems.keep(scalar::name(&plan.id, "the id"));
        let policies = given(&plan.policies, problems);
        if policies.is_empty() {
            let what = format!("the plan {} has no policies", quote(&plan.id.value));
            problems.add(Problem::new(ErrorKind::Missing, plan.id.place, what));
        }
        for policy in &policies {
            policy::check(policy, Inherited::of_plan(), problems);
        }
        plans.entry(&*plan.id.value).or_insert(policies);
    }
    plans
}

/// The policies as given, each name once.
fn given(raw: &RawPolicies, problems: &mut Problems) -> Vec<Given> {
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

fn check_contract(
    raw: &Node<RawContract>,
    plans: &Plans<'_>,
    problems: &mut Problems,
) -> Option<Contract> {
    let contract = &raw.value;
    let id = problems.keep(scalar::name(&contract.id, "the id"));
    let matches = check_matches(contract, problems);
    let key = check_key(contract, problems);
    let default = check_coordination(contract, problems);
    let headers = check_headers(contract, problems);
    let own = given(&contract.policies, problems);
    let all = match &contract.plan {
        None => own,
        Some(plan) => overlaid(plan_named(plan, plans, problems)?, &own),
    };
    if all.is_empty() && contract.plan.is_none() {
        let what = "a contract needs `policies`, or a `plan` that has some";
        problems.add(Problem::new(ErrorKind::Missing, raw.place, what));
    }
    if all.len() > POLICIES_MAX {
        let what = format!(
            "{} policies, the plan's included, are more than {POLICIES_MAX}",
            all.len()
        );
        problems.add(Problem::new(ErrorKind::TooLarge, raw.place, what));
    }
    let policies: Vec<_> = all
        .iter()
        .filter_map(|given| policy::check(given, default, problems))
        .collect();
    if policies.len() < all.len() {
        return None;
    }
    let gossips = |named: &NamedPolicy| named.coordination == Coordination::Gossip;
    if let Some((_, place)) = default.design
        && !policies.iter().any(gossips)
    {
        let what = "no policy of the contract has `coordination: gossip`, which `design` is about";
        problems.add(Problem::new(ErrorKind::Conflict, place, what));
    }
    let set = PolicySet::new(policies.iter().map(|named| named.policy.clone()).collect()).ok()?;
    Some(Contract {
        id: id?,
        matches,
        key,
        headers,
        plan: contract.plan.as_ref().map(|plan| plan.value.to_string()),
        policies,
        set,
    })
}

fn plan_named<'p>(
    name: &Text,
    plans: &'p Plans<'_>,
    problems: &mut Problems,
) -> Option<&'p [Given]> {
    let plan = plans.get(&*name.value);
    if plan.is_none() {
        let known: Vec<&str> = plans.keys().copied().collect();
        let hint = if known.is_empty() {
            "; the file has no `plans`".into()
        } else {
            hint(&name.value, &known)
        };
        let what = format!("unknown plan {}{hint}", quote(&name.value));
        problems.add(Problem::new(ErrorKind::UnknownName, name.place, what));
    }
    plan.map(Vec::as_slice)
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
    let mut chosen = |text: &Option<Text>, unknown: &str, names: &[&str]| {
        let text = text.as_ref()?;
        let index = problems.keep(scalar::choice(text, unknown, names))?;
        Some((index, text.place))
    };
    let coordination = chosen(
        &raw.coordination,
        "unknown coordination",
        &coordination::NAMES,
    );
    let design = chosen(&raw.design, "unknown design", &coordination::DESIGNS);
    Inherited {
        coordination: coordination.map_or(Coordination::default(), |(index, _)| {
            Coordination::ALL[index]
        }),
        place: raw.coordination.as_ref().map(|text| text.place),
        design: design.map(|(index, place)| (Design::ALL[index], place)),
        is_plan: false,
    }
}

fn check_headers(raw: &RawContract, problems: &mut Problems) -> Option<Dialect> {
    let text = raw.headers.as_ref()?;
    let index = scalar::choice(text, "unknown dialect of headers", &Dialect::NAMES);
    problems.keep(index).map(|index| Dialect::ALL[index])
}
