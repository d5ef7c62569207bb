//! The configuration of a contract when its cells were written: its key and its policies.
//!
//! A cell's bytes cannot be read without the policies that wrote them. So every cell names its shape, and a cell of
//! another shape than the present one is converted, policy by policy, as by a reload. Not here: the contract
//! file's format.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tollgate_contract::{Contract, NamedPolicy, Terms};
use tollgate_limit::{
    Algorithm, Calendar, Inherit, OnLimit, Period, Policy, PolicyConfig, PolicySet,
};

use crate::own::ShapeTerms;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractShape {
    /// Entries whose values identify a key: other entries give other fingerprints.
    key: Vec<String>,
    policies: Vec<Kept>,
    /// Set for a key with its own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<ShapeTerms>,
}

/// The part of a policy that its states depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    name: String,
    algorithm: String,
    limit: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calendar: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slices: Option<u32>,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset_ns: u64,
    durable: bool,
}

/// A shape, ready to read its cells.
#[derive(Clone, Debug)]
pub struct Old {
    /// The policies that wrote the cells.
    pub set: PolicySet,
    /// For each present policy, its index among the old ones.
    pub origins: Vec<Option<usize>>,
    /// Set if they were a key's own terms.
    pub terms: Option<Arc<Terms>>,
}

impl ContractShape {
    /// The present shape of a contract with these policies in the cells, stored if `is_kept` says so.
    pub fn of(
        contract: &Contract,
        policies: &[&NamedPolicy],
        is_kept: impl Fn(&NamedPolicy) -> bool,
    ) -> Self {
        let policies = policies.iter().map(|named| {
            let config = named.policy.config();
            Kept::of(&named.name, config, is_kept(named))
        });
        Self {
            key: contract.key.clone(),
            policies: policies.collect(),
            own: None,
        }
    }

    /// The present shape for a key with these terms; durable policies are stored.
    pub fn of_terms(contract: &Contract, terms: &Terms) -> Self {
        let policies: Vec<_> = terms.policies.iter().collect();
        Self {
            own: Some(ShapeTerms::of(terms)),
            ..Self::of(contract, &policies, |named| named.durable)
        }
    }

    /// Set if it is that of a key's own terms in this contract.
    pub fn terms(&self, contract: &Contract) -> Option<Terms> {
        let own = self.own.as_ref().filter(|_| self.key == contract.key)?;
        let policies = self.policies.iter();
        let named = policies.map(|kept| Some((kept.name.as_str(), kept.config()?)));
        let named: Vec<_> = named.collect::<Option<_>>()?;
        own.terms(named.into_iter())
    }

    /// Equal shapes have equal texts.
    pub fn text(&self) -> String {
        // Strings and numbers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// How to convert cells of this shape for a contract; `None` if nothing is usable there.
    pub fn for_contract(
        &self,
        contract: &Contract,
        policies_now: &[&NamedPolicy],
        is_kept: impl Fn(&NamedPolicy) -> bool,
    ) -> Option<Old> {
        if self.key != contract.key {
            return None;
        }
        let policies = self
            .policies
            .iter()
            .map(Kept::policy)
            .collect::<Option<_>>()?;
        let set = PolicySet::new(policies).ok()?;
        let origin = |name: &str| {
            let was = |kept: &Kept| kept.durable && kept.name == name;
            self.policies.iter().position(was)
        };
        let origins: Vec<_> = policies_now
            .iter()
            .map(|named| origin(&named.name).filter(|_| is_kept(named)))
            .collect();
        let terms = self.terms(contract).map(Arc::new);
        let any = terms.is_some() || origins.iter().any(Option::is_some);
        any.then_some(Old {
            set,
            origins,
            terms,
        })
    }
}

impl Kept {
    fn of(name: &str, config: &PolicyConfig, durable: bool) -> Self {
        let (period_ns, calendar, zone) = match &config.period {
            Period::Fixed(nanos) => (Some(*nanos), None, None),
            Period::Calendar(calendar) => {
                let zone = calendar.zone_name().filter(|_| !calendar.is_utc());
                let unit = calendar.name().to_owned();
                (None, Some(unit), zone.map(str::to_owned))
            }
        };
        let slices = (config.algorithm == Algorithm::SlidingCounters).then_some(config.slices);
        Self {
            name: name.into(),
            algorithm: config.algorithm.name().into(),
            limit: config.limit,
            period_ns,
            calendar,
            zone,
            burst: config.burst,
            slices,
            offset_ns: config.offset_ns,
            durable,
        }
    }

    /// A policy that reads the states; its decisions do not matter.
    fn policy(&self) -> Option<Policy> {
        Policy::new(self.config()?).ok()
    }

    fn config(&self) -> Option<PolicyConfig> {
        let algorithm = Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == self.algorithm)?;
        let mut config = PolicyConfig::new(algorithm, self.limit, self.period()?);
        config.burst = self.burst;
        config.slices = self.slices.unwrap_or(config.slices);
        config.offset_ns = self.offset_ns;
        config.on_limit = OnLimit::Deny;
        config.inherit = Inherit::AsIs;
        Some(config)
    }

    fn period(&self) -> Option<Period> {
        let unit = match (self.period_ns, self.calendar.as_deref()) {
            (Some(nanos), None) => return Some(Period::from_nanos(nanos)),
            (None, Some("day")) => Calendar::DAY,
            (None, Some("week")) => Calendar::WEEK,
            (None, Some("month")) => Calendar::MONTH,
            (None, Some("year")) => Calendar::YEAR,
            _ => return None,
        };
        let calendar = match &self.zone {
            None => unit,
            Some(zone) => unit.in_zone(zone)?,
        };
        Some(Period::Calendar(calendar))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // The signature is serde's.
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_contract::Contracts;

    const FILE: &str = "
contracts:
  - id: api
    key: [user]
    policies:
      - { name: fast, limit: 10, per: 1s, durable: true }
      - { name: slices, limit: 10, per: 1m, algorithm: sliding-counters, slices: 6, durable: true }
      - { name: berlin, limit: 1000, per: month, time_zone: Europe/Berlin, algorithm: fixed-window, durable: true }
      - { name: lost, limit: 5, per: 1s }
";

    fn all(contract: &Contract) -> Vec<&NamedPolicy> {
        contract.policies.iter().collect()
    }

    fn of(contract: &Contract) -> ContractShape {
        ContractShape::of(contract, &all(contract), |named| named.durable)
    }

    #[test]
    fn a_contract_reads_cells_of_its_own_shape_policy_by_policy() {
        let contracts = Contracts::parse(FILE).unwrap();
        let contract = contracts.get(0).unwrap();
        let shape = of(contract);
        assert_eq!(ContractShape::parse(&shape.text()).as_ref(), Some(&shape));
        let old = shape
            .for_contract(contract, &all(contract), |named| named.durable)
            .unwrap();
        assert_eq!(old.origins, [Some(0), Some(1), Some(2), None]);
        let named = contract.policies.iter().map(|named| named.policy.config());
        for (policy, config) in old.set.policies().iter().zip(named) {
            assert_eq!(policy.config(), config);
        }
    }

    #[test]
    fn terms_of_a_key_come_back_whole_from_their_text() {
        let contracts = Contracts::parse(FILE).unwrap();
        let contract = contracts.get(0).unwrap();
        let other = "
contracts:
  - id: api
    key: [user]
    coordination: owner
    policies:
      - { name: fast, limit: 7, per: 1s, on_limit: delay, max_wait: 3s, burst: 20, durable: true, on_failure: deny }
      - { name: slices, limit: 10, per: 1m, algorithm: sliding-counters, slices: 6, inherit: reset, count_refused: true }
      - { name: more, limit: 9, per: day, algorithm: fixed-window, max_debt: 5, enforce_percent: 10, durable: true }
";
        let policies = Contracts::parse(other)
            .unwrap()
            .get(0)
            .unwrap()
            .policies
            .clone();
        let terms = Terms::new(policies, u64::MAX).unwrap();
        let shape = ContractShape::of_terms(contract, &terms);
        let back = ContractShape::parse(&shape.text()).unwrap();
        assert_eq!(back, shape);
        assert_eq!(back.terms(contract).as_ref(), Some(&terms));
        let old = back
            .for_contract(contract, &all(contract), |named| named.durable)
            .unwrap();
        assert_eq!(old.origins, [Some(0), None, None, None]);
        assert_eq!(old.terms.as_deref(), Some(&terms));
        assert_eq!(of(contract).terms(contract), None);
        let elsewhere = Contracts::parse(&FILE.replace("[user]", "[ip]")).unwrap();
        assert_eq!(back.terms(elsewhere.get(0).unwrap()), None);
    }

    #[test]
    fn other_keys_make_cells_useless_and_other_limits_do_not() {
        let contracts = Contracts::parse(FILE).unwrap();
        let shape = of(contracts.get(0).unwrap());
        let other = Contracts::parse(&FILE.replace("[user]", "[ip]")).unwrap();
        let contract = other.get(0).unwrap();
        assert!(
            shape
                .for_contract(contract, &all(contract), |named| named.durable)
                .is_none()
        );
        let other = Contracts::parse(&FILE.replace("limit: 10", "limit: 20")).unwrap();
        let contract = other.get(0).unwrap();
        assert!(
            shape
                .for_contract(contract, &all(contract), |named| named.durable)
                .is_some()
        );
        assert_ne!(shape.text(), of(contract).text());
        assert!(ContractShape::parse("{}").is_none() && ContractShape::parse("x").is_none());
    }
}
