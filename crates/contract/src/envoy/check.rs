//! From descriptors as typed to a tree, under the rules of the service the file is from.

use std::collections::BTreeMap;

use tollgate_limit::{Algorithm, Period, Policy, PolicyConfig};

use super::parts::DescriptorTexts;
use super::raw::{RawDescriptor, RawDescriptors, RawDomain, RawRateLimit};
use super::tree::{DescriptorNode, EnvoyDomain, EnvoyDomains, Level, Rule, RuleLimit};
use super::wildcard::Wildcard;
use crate::CONTRACTS_MAX;
use crate::error::{ContractErrors, ErrorKind};
use crate::nearest::hint;
use crate::problems::{Problem, Problems};
use crate::scalar;
use crate::snippet::{Place, quote};
use crate::text::{Text, YamlNode};

pub(super) fn check(
    raw: &[RawDomain],
    parts: &DescriptorTexts<'_>,
) -> Result<EnvoyDomains, ContractErrors> {
    let mut checker = Checker::of(parts);
    let domains: Vec<_> = raw.iter().map(|domain| checker.domain(domain)).collect();
    if raw.is_empty() {
        let place = Place {
            line: 1,
            column: 1,
            width: 1,
        };
        checker.wrong(
            ErrorKind::Missing,
            place,
            "the file is empty; a descriptor file has a `domain`",
        );
    }
    let Checker { problems, .. } = checker;
    if problems.is_empty() {
        Ok(EnvoyDomains::new(domains))
    } else {
        Err(problems.into_errors(&parts.text))
    }
}

struct Checker<'p> {
    parts: &'p DescriptorTexts<'p>,
    problems: Problems,
    /// Lines of the rules so far, by id.
    ids: BTreeMap<String, u32>,
    /// Rules so far that limit, in all domains.
    contracts: usize,
}

/// The way from the top of a domain to a descriptor.
#[derive(Clone, Default)]
struct Path {
    id: String,
    keys: Vec<(String, Option<String>)>,
    shared: Vec<Option<Box<str>>>,
}

impl<'p> Checker<'p> {
    fn of(parts: &'p DescriptorTexts<'p>) -> Self {
        Self {
            parts,
            problems: Problems::default(),
            ids: BTreeMap::new(),
            contracts: 0,
        }
    }

    fn wrong(&mut self, kind: ErrorKind, place: Place, what: impl Into<String>) {
        self.problems.add(Problem::new(kind, place, what));
    }

    fn domain(&mut self, raw: &RawDomain) -> EnvoyDomain {
        let name = self
            .problems
            .keep(scalar::name(&raw.domain, "the domain"))
            .unwrap_or_default();
        let path = Path {
            id: name.clone(),
            ..Path::default()
        };
        let mut rules = Vec::new();
        let root = self.level(&raw.descriptors, &path, &mut rules);
        EnvoyDomain { name, root, rules }
    }

    fn level(&mut self, raw: &RawDescriptors, path: &Path, rules: &mut Vec<Rule>) -> Level {
        let mut seen = BTreeMap::new();
        let mut children = Vec::with_capacity(raw.0.len());
        for descriptor in &raw.0 {
            if self.problems.is_hopeless() || self.is_too_large(descriptor, path) {
                break;
            }
            let composite = composite(descriptor);
            if let Some(line) = seen.insert(composite.clone(), descriptor.key.place.line) {
                let what = format!(
                    "{} stands at this level already, on {}",
                    quote(&composite),
                    self.parts.told(line)
                );
                self.wrong(ErrorKind::Duplicate, descriptor.key.place, what);
                continue;
            }
            children.push(self.child(descriptor, &path.to(descriptor, &composite), rules));
        }
        leveled(children)
    }

    /// Whether the tree has grown beyond its bounds; says so once.
    fn is_too_large(&mut self, raw: &RawDescriptor, path: &Path) -> bool {
        let what = if self.ids.len() > CONTRACTS_MAX {
            format!("more than {CONTRACTS_MAX} rules")
        } else if path.id.len() > PATH_BYTES_MAX {
            format!("keys and values down to here have more than {PATH_BYTES_MAX} bytes")
        } else {
            return false;
        };
        self.wrong(ErrorKind::TooLarge, raw.key.place, what);
        true
    }

    fn child(&mut self, raw: &RawDescriptor, path: &Path, rules: &mut Vec<Rule>) -> DescriptorNode {
        let key = self
            .problems
            .keep(scalar::name(&raw.key, "the key"))
            .unwrap_or_default();
        let value =
            value_of(raw).and_then(|text| self.problems.keep(scalar::name(text, "the value")));
        let value = value.unwrap_or_default();
        if raw.share_threshold && !value.contains('*') {
            let what = "only a value with a `*` in it has `share_threshold`";
            self.wrong(ErrorKind::Conflict, raw.key.place, what);
        }
        let rule = raw
            .rate_limit
            .as_ref()
            .and_then(|limit| self.rule(limit, raw, path));
        let rule = rule.map(|rule| {
            rules.push(rule);
            rules.len() - 1
        });
        let below = self.level(&raw.descriptors, path, rules);
        DescriptorNode {
            key: key.into(),
            value: value.into(),
            rule,
            below,
        }
    }

    fn rule(
        &mut self,
        limit: &YamlNode<RawRateLimit>,
        raw: &RawDescriptor,
        path: &Path,
    ) -> Option<Rule> {
        let name = limit
            .value
            .name
            .as_ref()
            .filter(|text| !text.value.is_empty());
        let name = name.and_then(|text| self.problems.keep(scalar::name(text, "the name")));
        if let Some(line) = self.ids.insert(path.id.clone(), limit.place.line) {
            let what = format!(
                "there is already a rule {}, on {}",
                quote(&path.id),
                self.parts.told(line)
            );
            self.wrong(ErrorKind::Duplicate, raw.key.place, what);
        }
        let replaces = self.replaces(&limit.value, name.as_deref());
        let limit = if limit.value.unlimited {
            self.unlimited(&limit.value);
            None
        } else {
            Some(self.limit(limit, raw.shadow_mode)?)
        };
        let Path { id, keys, shared } = path.clone();
        let (shadow, quota) = (raw.shadow_mode, raw.quota_mode);
        Some(Rule {
            id,
            name,
            limit,
            shadow,
            quota,
            replaces,
            path: keys,
            shared,
            metadata: raw.metadata.clone().filter(|data| !data.is_empty()),
        })
    }

    fn replaces(&mut self, limit: &RawRateLimit, own: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        for replaced in &limit.replaces.0 {
            let Some(name) = self.problems.keep(scalar::name(&replaced.name, "the name")) else {
                continue;
            };
            if Some(&*name) == own {
                self.wrong(
                    ErrorKind::Conflict,
                    replaced.name.place,
                    "a rule cannot replace itself",
                );
            }
            names.push(name);
        }
        names
    }

    fn unlimited(&mut self, limit: &RawRateLimit) {
        if let Some(unit) = &limit.unit {
            let what = "an unlimited rule has no `unit`; remove one of the two";
            self.wrong(ErrorKind::Conflict, unit.place, what);
        }
    }

    fn limit(&mut self, limit: &YamlNode<RawRateLimit>, shadow: bool) -> Option<RuleLimit> {
        let unit = self.required(limit.value.unit.as_ref(), limit.place, "unit");
        let seconds = unit.and_then(|text| self.problems.keep(unit_seconds(text)));
        let count = self.required(
            limit.value.requests_per_unit.as_ref(),
            limit.place,
            "requests_per_unit",
        );
        let count = count.and_then(|text| {
            let most = u64::from(u32::MAX);
            self.problems
                .keep(scalar::whole(text, "`requests_per_unit`", 0, most))
        });
        let period = Period::from_nanos(seconds? * 1_000_000_000);
        let mut config = PolicyConfig::new(Algorithm::FixedWindow, count?, period);
        config.count_refused = true;
        config.enforce_percent = if shadow { 0 } else { 100 };
        let contract = self.contracts;
        let policy = Policy::new(config)
            .map_err(|error| Problem::new(ErrorKind::BadValue, limit.place, error.to_string()));
        let policy = self.problems.keep(policy)?;
        self.contracts += 1;
        Some(RuleLimit { policy, contract })
    }

    fn required<'t>(
        &mut self,
        text: Option<&'t Text>,
        place: Place,
        field: &str,
    ) -> Option<&'t Text> {
        if text.is_none() {
            self.wrong(
                ErrorKind::Missing,
                place,
                format!("a rule that is not `unlimited` needs `{field}`"),
            );
        }
        text
    }
}

impl Path {
    /// The way on to a descriptor.
    fn to(&self, raw: &RawDescriptor, composite: &str) -> Self {
        let value = value_of(raw).map(|text| text.value.to_string());
        let shared = value.clone().filter(|_| raw.share_threshold);
        let mut path = self.clone();
        path.id = format!("{}/{composite}", self.id);
        path.keys.push((raw.key.value.to_string(), value));
        path.shared.push(shared.map(Into::into));
        path
    }
}

/// Sorts the children for look-up and remembers the file's order of its wildcards.
fn leveled(children: Vec<DescriptorNode>) -> Level {
    let mut numbered: Vec<(usize, DescriptorNode)> = children.into_iter().enumerate().collect();
    numbered.sort_by(|(_, a), (_, b)| (&a.key, &a.value).cmp(&(&b.key, &b.value)));
    let mut wildcards: Vec<(usize, (Wildcard, usize))> = Vec::new();
    for (at, (number, child)) in numbered.iter().enumerate() {
        wildcards.extend(Wildcard::of(&child.value).map(|wildcard| (*number, (wildcard, at))));
    }
    wildcards.sort_by_key(|(number, _)| *number);
    Level {
        children: numbered.into_iter().map(|(_, child)| child).collect(),
        wildcards: wildcards.into_iter().map(|(_, found)| found).collect(),
    }
}

/// A value that is typed but empty is none.
fn value_of(raw: &RawDescriptor) -> Option<&Text> {
    raw.value.as_ref().filter(|text| !text.value.is_empty())
}

/// `key_value`, or the key alone: what must be unique at a level there.
fn composite(raw: &RawDescriptor) -> String {
    match value_of(raw) {
        Some(value) => format!("{}_{}", raw.key.value, value.value),
        None => raw.key.value.to_string(),
    }
}

fn unit_seconds(text: &Text) -> Result<u64, Problem> {
    let lower = text.value.to_lowercase();
    let found = UNITS.into_iter().find(|(name, _)| *name == lower);
    found.map(|(_, seconds)| seconds).ok_or_else(|| {
        let hint = hint(&lower, &UNITS.map(|(name, _)| name));
        let what = format!("unknown unit {}{hint}", quote(&text.value));
        Problem::new(ErrorKind::UnknownName, text.place, what)
    })
}

/// The longest path of keys and values above a descriptor, in bytes.
const PATH_BYTES_MAX: usize = 1024;

/// Units and their seconds; months and years are not of the calendar there.
const UNITS: [(&str, u64); 7] = [
    ("second", 1),
    ("minute", 60),
    ("hour", 3_600),
    ("day", 86_400),
    ("week", 7 * 86_400),
    ("month", 30 * 86_400),
    ("year", 365 * 86_400),
];
